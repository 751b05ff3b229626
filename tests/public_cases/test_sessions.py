"""What a terminal shows: which command names which answer, several answers in a text, and what is said of the rest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from engine.admin.files import AnswerFile
from engine.admin.moments import read_moments
from engine.admin.snapshot import read_answers
from engine.errors import InputError

TOPIC: Final = "persistent://acme/shop/orders"


def stats(backlog: int, **more: Any) -> str:
    """Statistics of a topic with one subscription."""
    consumer = {"consumerName": "c-1", "availablePermits": 7, "unackedMessages": 0, "msgOutCounter": backlog}
    sub = {"msgBacklog": backlog, "unackedMessages": 0, "type": "Shared", "consumers": [consumer]}
    return json.dumps(
        {"msgRateIn": 1.5, "msgInCounter": 9, "publishers": [], "subscriptions": {"s": sub}, **more}, indent=1
    )


def backlogs(text: str, name: str = "paste.txt") -> dict[str, int]:
    """Backlog by topic, as the reader finds them in a text."""
    (moment,) = read_moments(AnswerFile(name, text.encode()), keeps_nameless=True)
    return {topic: facts.msg_backlog_entries for topic, facts in moment.snapshot.topics.items()}


@pytest.mark.parametrize(
    ("command", "topic"),
    [
        (f"pulsar-admin topics stats {TOPIC}", TOPIC),
        ("$ bin/pulsar-admin topics stats acme/shop/orders -gpb --get-subscription-backlog-size", TOPIC),
        ("> pulsarctl topics stats orders", "persistent://public/default/orders"),
        (f"pulsar-admin --admin-url http://b:8080 topics stats -gpb {TOPIC} | jq .", TOPIC),
        (f"kubectl exec -it p-0 -- bash -c 'bin/pulsar-admin topics stats {TOPIC}'", TOPIC),
        (f'docker exec x sh -c "/pulsar/bin/pulsar-admin.sh topics stats {TOPIC}" 2>&1 | tee out', TOPIC),
        (f"admin> topics stats {TOPIC}", TOPIC),
        (f"pulsar-admin persistent stats {TOPIC}", TOPIC),
        ("curl -s http://b:8080/admin/v2/persistent/acme/shop/orders/stats | python3 -m json.tool", TOPIC),
        ("wget -qO- 'https://b:8443/admin/v2/persistent/acme/shop/a%20b/stats?getPreciseBacklog=true'",
         "persistent://acme/shop/a b"),
        ("GET /admin/v2/non-persistent/acme/shop/orders/stats HTTP/1.1", "non-persistent://acme/shop/orders"),
        (f"### {TOPIC}-partition-3", f"{TOPIC}-partition-3"),
        (f"stats of {TOPIC}:", TOPIC),
    ],
)  # fmt: skip
def test_the_words_before_an_answer_name_its_topic(command: str, topic: str) -> None:
    assert backlogs(f"{command}\n{stats(4)}\n") == {topic: 4}


@pytest.mark.parametrize(
    "name", ["persistent%3A%2F%2Facme%2Fshop%2Forders.txt", "persistent%3A%2F%2Facme%2Fshop%2Forders"]
)
def test_a_file_name_says_the_topic_whatever_its_ending(name: str) -> None:
    assert backlogs(f"see below\n{stats(4)}", name) == {TOPIC: 4}


def test_several_answers_are_named_by_their_commands_and_a_command_names_one() -> None:
    text = "".join(f"$ pulsar-admin topics stats t-{at}\n{stats(at)}\n" for at in range(3)) + stats(7)
    names = [f"persistent://public/default/t-{at}" for at in range(3)]
    assert backlogs(text) == {**{name: at for at, name in enumerate(names)}, "persistent://unknown/unknown/paste-4": 7}
    text = f"$ pulsar-admin topics stats t-0; pulsar-admin topics stats t-1\n{stats(5)}\n{stats(6)}"
    assert backlogs(text) == {names[0]: 5, names[1]: 6}


@pytest.mark.parametrize(
    ("loop", "words"),
    [
        (f"for p in 0 1 2; do pulsar-admin topics stats {TOPIC}-partition-$p; done", ["", "", ""]),
        (f"for p in {{0..2}}; do pulsar-admin topics stats {TOPIC}-partition-$p; done", ["", "", ""]),
        (f"for p in $(seq 0 2); do pulsar-admin topics stats {TOPIC}-partition-${{p}}; done", ["", "", ""]),
        (f"for p in $PARTS; do echo $p; pulsar-admin topics stats {TOPIC}-partition-$p; done", ["0", "1", "2"]),
        (f"for p in $PARTS; do echo $p; pulsar-admin topics stats {TOPIC}-partition-$p; done", ["p 0", "1", "2"]),
        ("for t in $(cat topics); do echo $t; pulsar-admin topics stats $t; done",
         [f"{TOPIC}-partition-{at}" for at in range(3)]),
    ],
)  # fmt: skip
def test_a_loop_over_partitions_names_each(loop: str, words: list[str]) -> None:
    text = f"$ {loop}\n" + "\n".join(f"{word}\n{stats(at)}" for at, word in enumerate(words))
    assert backlogs(text) == {f"{TOPIC}-partition-{at}": at for at in range(3)}


def test_numbers_between_answers_are_partitions_of_the_topic_that_the_file_names() -> None:
    text = "\n".join(f"=== {at}\n{stats(at)}" for at in range(3))
    named = backlogs(text, "persistent%3A%2F%2Facme%2Fshop%2Forders.out")
    assert named == {f"{TOPIC}-partition-{at}": at for at in range(3)}
    assert backlogs(text, "x.txt") == {f"persistent://unknown/unknown/x-partition-{at}": at for at in range(3)}


def test_the_same_command_again_is_a_later_moment() -> None:
    text = "".join(f"$ pulsar-admin topics stats {TOPIC}\n{stats(at)}\n$ sleep 9\n" for at in (3, 8))
    moments = read_moments(AnswerFile("paste.txt", text.encode()))
    assert [moment.snapshot.topics[TOPIC].msg_backlog_entries for moment in moments] == [3, 8]


def test_what_is_passed_over_is_said_with_its_line_and_nothing_of_a_sound_answer() -> None:
    text = f"Defaulted container x\n\n$ pulsar-admin topics stats {TOPIC}\n{stats(1)}\nroot@p:/# "
    problems = read_answers(AnswerFile("paste.txt", text.encode())).problems
    assert [problem.source for problem in problems] == ["paste.txt"] * 2
    assert [problem.line for problem in problems] == [1, text.count("\n") + 1]
    assert all(problem.reason.startswith("passed over: ") and problem.advice for problem in problems)
    sound = AnswerFile("x.json", json.dumps({TOPIC: json.loads(stats(1))}).encode())
    assert read_answers(sound).problems == ()


def test_a_fault_in_a_pasted_answer_is_at_its_line_in_the_file() -> None:
    text = f"$ pulsar-admin topics stats {TOPIC}\n{stats(1)}".replace('"msgRateIn": 1.5', '"msgRateIn": NaN')
    problems = read_answers(AnswerFile("paste.txt", text.encode())).problems
    assert [problem.line for problem in problems if "NaN" in problem.reason] == [3]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (stats(5)[:-2], {"s": 5}),
        (stats(5)[: stats(5).index('"msgOutCounter"')], {"s": 5}),
        (stats(5)[: stats(5).index('"type"')], {"s": None}),
        (stats(5)[: stats(5).index('"subscriptions"')], {}),
    ],
)
def test_of_an_answer_that_ends_in_the_middle_what_is_whole_is_kept(text: str, kept: dict[str, int | None]) -> None:
    read = read_answers(AnswerFile("paste.txt", f"$ pulsar-admin topics stats {TOPIC}\n{text}".encode()))
    subscriptions = read.topics[TOPIC].subscriptions
    assert {sub.name: sub.msg_backlog_entries for sub in subscriptions} == kept
    assert any("stops in the middle" in problem.reason for problem in read.problems)


def test_an_answer_that_a_prompt_interrupts_ends_there_and_the_next_one_is_whole() -> None:
    half = stats(5)[: stats(5).index('"availablePermits"')]
    text = f"$ pulsar-admin topics stats t-0 | head -9\n{half}\nme@h:~$ pulsar-admin topics stats t-1\n{stats(6)}"
    assert backlogs(text) == {f"persistent://public/default/t-{at}": at + 5 for at in range(2)}


@pytest.mark.parametrize("mark", ["...", "…", "[...]", "[…]", "... 30 more ...", "<snip>"])
def test_what_was_cut_by_hand_counts_as_unknown_and_is_named(mark: str) -> None:
    value = json.loads(stats(5))
    value["publishers"] = ["CUT"]
    text = json.dumps(value, indent=1).replace('[\n  "CUT"\n ]', mark)
    read = read_answers(AnswerFile("paste.txt", f"$ pulsar-admin topics stats {TOPIC}\n{text}".encode()))
    assert read.topics[TOPIC].subscriptions[0].msg_backlog_entries == 5
    assert [problem for problem in read.problems if "publishers was cut by hand" in problem.reason]


def test_fragments_are_members_of_an_answer() -> None:
    assert backlogs(f'"{TOPIC}": {stats(3)}') == {TOPIC: 3}
    subscriptions = json.dumps(json.loads(stats(3))["subscriptions"])
    assert backlogs(f"$ pulsar-admin topics stats {TOPIC} | jq .subscriptions\n{subscriptions}") == {TOPIC: 3}
    alone = json.dumps(json.loads(stats(3))["subscriptions"]["s"], indent=1)
    assert backlogs(f"$ pulsar-admin topics stats {TOPIC} | jq .subscriptions.s\n{alone}") == {TOPIC: 3}
    assert backlogs(f"$ pulsar-admin topics stats {TOPIC}\n{alone[1:-1]}") == {TOPIC: 3}


def test_texts_with_an_answer_are_read_in_a_folder_and_others_are_passed_over(tmp_path: Path) -> None:
    for at, name in enumerate(("a.txt", "b.log", "c.out", "d", "e.json")):
        command = f"$ pulsar-admin topics stats t-{at}\n" if name != "e.json" else ""
        text = stats(at) if command else json.dumps({"persistent://public/default/t-4": json.loads(stats(4))})
        (tmp_path / name).write_text(command + text)
    (tmp_path / "README.md").write_text("msgRateIn is a member of statistics\n")
    (tmp_path / "notes").write_text("nothing here {x: 1}")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    read = read_answers(tmp_path)
    assert {name: topic.msg_backlog_entries for name, topic in read.topics.items()} == {
        f"persistent://public/default/t-{at}": at for at in range(5)
    }
    assert (read.counts.files_read, read.counts.files_passed_over) == (5, 3)


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (b"2026-01-01 00:00:00\nFull thread dump OpenJDK 64-Bit Server VM\n", "thread dump"),
        (b"<!DOCTYPE html><html><body>login</body></html>", "HTML"),
        (b"\x89PNG\r\n\x1a\n", "picture"),
        (b"2026-01-02T03:04:05,678+0000 [main] INFO  org.apache.pulsar - started\n" * 3, "log"),
        (b"# HELP x y\n# TYPE pulsar_rate_in gauge\n", "/metrics"),
        (b"Topic not found\n\nReason: Topic not found\n", "error of the admin tool"),
        (b"From: a@b.c\nContent-Transfer-Encoding: base64\n\nJCBwdWxzYXItYWRtaW4=\n", "base64"),
        (b"stats: {MsgRateIn:1 Subscriptions:map[s:{MsgBacklog:5 Type:Shared}]}\n", "Go"),
        (b'$ pulsar-admin topics stats x | jq .\n{"name": "s", "backlog": 5}\n', "'name' and 'backlog'"),
        (b'$ pulsar-admin topics stats x | jq .subscriptions[].consumers\n[{"consumerName": "a"}]\n', "'consumerName'"),
        (b'{"ms9RateIn": O.O, "msgBack1og": l000, "consurners": [}\n', "is not JSON"),
    ],
)
def test_a_file_of_something_else_is_named(data: bytes, named: str) -> None:
    with pytest.raises(InputError) as error:
        read_answers(AnswerFile("x.txt", data))
    assert [problem for problem in error.value.problems if named in problem.reason and problem.advice]
