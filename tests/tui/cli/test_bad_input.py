"""Input that is broken, odd or hostile ends with a sentence that helps, the right exit code, and the good rest."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.input import Source
from tests.tui.cli.conftest import Answers, Run

TOPIC = "persistent://public/default/orders"


def partitions(count: int) -> list[str]:
    return [f"{TOPIC}-partition-{index}" for index in range(count)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b'{"partitions": {', ":1:17"),
        (b'{"metadata": {},\n "partitions": [1,}', ":2:"),
        (b'{"an": "inventory", "of": ["something", "else"]}', "this is not an answer of a broker"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "this is not an answer of a broker"),
    ],
    ids=["empty", "truncated", "wrong JSON", "another kind", "a picture"],
)
def test_a_file_that_cannot_be_used_is_reported_with_its_place_and_2(
    run: Run, tmp_path: Path, content: bytes, message: str
) -> None:
    (tmp_path / "answers.json").write_bytes(content)
    ran = run("answers.json", "--once")
    assert (ran.code, ran.out) == (2, "")
    assert "answers.json" in ran.err
    assert message in ran.err
    assert "Traceback" not in ran.err


def test_a_folder_with_nothing_usable_is_2(run: Run, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "notes.txt").write_text("nothing")
    ran = run("folder", "--json")
    assert (ran.code, ran.out) == (2, "")
    assert "folder" in ran.err


@pytest.mark.parametrize("words", [["no-such.json"], ["explain", "x", "no-such.json"], ["replay", "no-such.json"]])
def test_a_missing_path_is_2_and_named(run: Run, words: list[str]) -> None:
    ran = run(*words, "--json")
    assert (ran.code, ran.out) == (2, "")
    assert "no-such.json" in ran.err


def test_a_path_that_cannot_be_opened_is_reported_in_the_systems_words(run: Run, tmp_path: Path) -> None:
    loop = tmp_path / "loop.json"
    loop.symlink_to(loop)
    ran = run("loop.json", "--once")
    assert (ran.code, ran.out) == (2, "")
    assert "loop.json" in ran.err


def test_a_path_with_a_nul_in_it_is_an_input_error(run: Run) -> None:
    assert run("a\0b", "--once").code == 2


def test_one_bad_file_in_a_folder_is_reported_and_the_good_one_is_shown(
    run: Run, tmp_path: Path, answers: Answers
) -> None:
    answers(["c-1"], partitions(2))
    (tmp_path / "torn.json").write_text('{"partitions": {')
    ran = run(str(tmp_path), "--once")
    assert ran.code == 0
    assert "torn.json" in ran.err
    assert "c-1" in ran.out
    assert "could not be used" in ran.out


def test_a_file_that_changes_while_it_is_read_is_reported_and_what_was_read_is_shown(
    run: Run, answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = answers(["c-1"], partitions(3))
    read = Source.read

    def read_while_it_grows(self: Source, limit: int) -> bytes | None:
        data = read(self, limit)
        path.write_bytes((data or b"") + b" ")
        return data

    monkeypatch.setattr(Source, "read", read_while_it_grows)
    ran = run("stats.json", "--once")
    assert ran.code == 0
    assert "stats.json: changed while it was being read" in ran.err
    assert "c-1" in ran.out


def test_consumers_of_one_name_are_each_shown(run: Run, answers: Answers) -> None:
    answers(["same", "same", "other"], partitions(6))
    ran = run("stats.json", "--json")
    assert ran.code == 0
    assert sorted(row["name"] for row in json.loads(ran.out)["consumers"]) == ["other", "same", "same"]


@pytest.mark.parametrize(
    "name",
    ["violin 🎻", "two\nlines", "\x1b[2Jcleared", "right\u202eleft", "n" * 10_000, "日本語の消費者"],
    ids=["emoji", "newline", "escape", "bidi", "10 kB", "wide"],
)
def test_any_name_keeps_the_table_whole(run: Run, answers: Answers, name: str) -> None:
    """No control character reaches the terminal, no line leaves 80 columns, and JSON gives the name back."""
    from rich.cells import cell_len

    answers([name, "plain"], partitions(4))
    ran = run("stats.json", "--once", "--no-journal")
    assert ran.code == 0
    assert all(char.isprintable() or char == "\n" for char in ran.out)
    assert max(cell_len(line) for line in ran.out.splitlines()) <= 80
    rows = [line for line in ran.out.splitlines() if line.startswith(("  A ", "  B "))]
    assert len(rows) == 2
    document = json.loads(run("stats.json", "--json").out)
    assert name in [row["name"] for row in document["consumers"]]


def test_half_a_surrogate_pair_is_not_a_text_and_is_reported_with_its_place(run: Run, answers: Answers) -> None:
    answers(["\udcff"], partitions(1))
    ran = run("stats.json", "--once")
    assert (ran.code, ran.out) == (2, "")
    assert "orders-partition-0" in ran.err
    assert "surrogate" in ran.err


def test_ascii_output_is_ascii(run: Run, answers: Answers) -> None:
    answers(["violin 🎻", "é"], partitions(4))
    assert run("stats.json", "--once", "--ascii").out.isascii()
    assert run("explain", "orders-partition-1", "stats.json", "--ascii").out.isascii()
    assert run("stats.json", "--json").out.isascii()


def test_a_partition_number_with_a_leading_zero_is_no_partition(run: Run, answers: Answers) -> None:
    """Pulsar's own reading: ``-partition-01`` is the name of a topic without partitions."""
    answers(["c-1", "c-2"], [f"{TOPIC}-partition-01"])
    ran = run("explain", f"{TOPIC}-partition-01", "stats.json", "--json")
    assert ran.code == 0
    assert json.loads(ran.out)["why"]["partition_index"] == -1


def test_a_negative_priority_level_is_taken_as_the_broker_takes_it(run: Run) -> None:
    ran = run("new", "--consumers", "2", "--apply", "add first priority -5", "--json")
    assert ran.code == 0
    first = json.loads(ran.out)["consumers"][0]
    assert (first["name"], first["priority_level"], first["standby"]) == ("first", -5, False)


def test_no_consumers_and_no_topics_are_states_like_others(run: Run) -> None:
    nobody = run("new", "--consumers", "0", "--once")
    assert (nobody.code, nobody.err) == (0, "")
    assert "nobody consumes this subscription" in nobody.out
    nothing = run("new", "--topics", "0", "--once")
    assert (nothing.code, nothing.err) == (0, "")


def test_answers_without_a_failover_subscription_are_shown_for_their_bundles(run: Run, tmp_path: Path) -> None:
    stats = {"msgRateIn": 1.0, "subscriptions": {}}
    document = {"msgRateIn": 1.0, "metadata": {"partitions": 1}, "partitions": {f"{TOPIC}-partition-0": stats}}
    (tmp_path / "stats.json").write_text(json.dumps(document))
    ran = run("stats.json", "--once")
    assert ran.code == 0
    assert "no Failover subscription" in ran.out
    assert "bundles of public/default: 32" in ran.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--flag", "maybe"], "maybe"),
        (["--set", "noequals"], "NAME=VALUE"),
        (["--set", "activeConsumerFailoverConsistentHashing=perhaps"], "true or false"),
        (["--set", "activeconsumerfailoverconsistenthashing=true"], "did you mean"),
        (["--pulsar", "banana"], "banana"),
        (["--pulsar", "1.0"], "older than 2.10"),
        (["--pulsar", "9.9.9.9.9"], "write it like 4.0.7"),
        (["new", "--keys", "5", "--pulsar", "9,9"], "--pulsar 9,9: "),
        (["--set", "subscriptionKeySharedConsistentHashingReplicaPoints=-5"], "Points is -5; a ring needs 1 point"),
        (["--subscription", "nobody"], "billing"),
        (["--apply", "kill nobody"], "nobody"),
        (["--apply", "udno"], "did you mean undo"),
        (["--theme", "pink"], "pink"),
        (["--once", "--journal", "j", "--no-journal"], "contradict"),
        (["--once", "--json"], "choose one"),
        (["--nonsense"], "--nonsense"),
        (["new", "--topics", "-1"], "-1"),
        (["new", "--topics", "many"], "many"),
        (["new", "--bundles", "0"], "0"),
        (["split", "LARGEST", "--algorithm", "magic"], "range_equally_divide"),
        (["split", "LARGEST", "--positions", "x"], "x"),
        (["split", "0x0_0x1"], "LARGEST"),
        (["split", "no/such/LARGEST"], "no/such"),
        (["explain", "no-such-topic-anywhere"], "no-such-topic-anywhere"),
        (["demo", "pip932", "--headless"], "pip392"),
        (["explian"], "explain"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_value_is_2_and_says_what_would_be_right(run: Run, words: list[str], message: str) -> None:
    form = [] if {"--once", "--headless"} & set(words) or words[0] in ("split", "explain", "demo") else ["--once"]
    ran = run(*words, *form)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert "unexpected" not in ran.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--once"], "9.9 is not known here: it is answered by the rules of 5.0, the newest known"),
        (["explain", "topic-7"], "answered by the rules of 5.0"),
        (["keys", "--consumers", "a,b"], "answered by the rules of 5.0"),
        (["lint", "--names", "a,b"], "answered by the rules of 5.0"),
        (["forecast"], "answered by the rules of 5.0"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_rules_that_stand_in_for_those_of_an_unknown_release_are_reported(
    run: Run, words: list[str], message: str
) -> None:
    ran = run(*words, "--pulsar", "9.9")
    assert ran.code == 0 and ran.out
    assert ran.err.startswith("ringside: --pulsar: Pulsar 9.9 ") and message in ran.err
    assert "Pulsar" not in run(*words, "--pulsar", "4.0.7").err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["keys", "--consumers", "a,,b"], "--consumers: name 2 of 3 is empty in 'a,,b'"),
        (["keys", "--consumers", "a,b,"], "--consumers: name 3 of 3 is empty"),
        (["explain", "key", "k", "--consumers", ",a"], "--consumers: name 1 of 2 is empty"),
        (["keys", "--ranges", "=0-9"], "--ranges: '=0-9' has no name before the ="),
        (["lint", "--names", "a,,b"], "--names: name 2 of 3 is empty"),
        (["lint", "--names-from", "names.json"], "names.json at $[1]: the name is empty"),
        (["keys", "--consumers-from", "objects.json"], "objects.json at $[0].name: the name is empty"),
        (["lint", "--names-from", "sticky.txt", "--sticky"], "sticky.txt:2: '=5-9' has no name"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_an_empty_consumer_name_is_refused_with_its_place(
    run: Run, tmp_path: Path, words: list[str], message: str
) -> None:
    (tmp_path / "names.json").write_text('["a", ""]')
    (tmp_path / "objects.json").write_text('[{"name": ""}]')
    (tmp_path / "sticky.txt").write_text("a=0-4\n=5-9\n")
    ran = run(*words)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


def test_a_failed_expectation_is_1_with_its_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.ringside").write_text("scene pip392\nexpect totals.idle_consumers = 3\n")
    ran = run("demo", "mine.ringside", "--headless")
    assert ran.code == 1
    assert "FAILED totals.idle_consumers = 3" in ran.out
    assert "mine.ringside:2" in ran.err


def test_an_unexpected_fault_is_one_sentence_and_1(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(*_: object) -> None:
        raise KeyError("provoked")

    monkeypatch.setattr("tui.cli.printers.dashboard.dashboard_lines", faulty)
    ran = run("--once")
    assert ran.code == 1
    assert ran.err.startswith("ringside: unexpected KeyError")
    assert len(ran.err.splitlines()) == 1
    monkeypatch.setenv("RINGSIDE_DEBUG", "1")
    assert "Traceback" in run("--once").err


def test_no_command_is_printed_for_a_namespace_with_a_shell_command_in_it(run: Run, tmp_path: Path) -> None:
    asked = "GET /admin/v2/namespaces/evil/ns%3B%24%28touch%20pwned%29/bundles"
    answers = [{"request": asked, "status": 200, "file": "01-bundles.json"}]
    (tmp_path / "scenario.json").write_text(json.dumps({"scenario": "x", "steps": [{"answers": answers}]}))
    bundles = {"boundaries": ["0x00000000", "0x80000000", "0xffffffff"], "numBundles": 2}
    (tmp_path / "01-bundles.json").write_text(json.dumps(bundles))
    ran = run("split", "0x00000000_0x80000000", str(tmp_path))
    assert ran.code == 2
    assert "pulsar-admin" not in ran.out + ran.err
    assert "$.steps[0].answers[0].request" in ran.err


EMPTY = [
    [], ["open"], ["why"], ["lint"], ["verify"], ["brokers"], ["explain", "x"], ["heirs"], ["forecast"],
    ["fleet", "open"], ["split", "LARGEST"], ["replay"],
]  # fmt: skip


@pytest.mark.parametrize("words", EMPTY, ids=" ".join)
def test_an_empty_name_is_no_path(run: Run, tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "stats.json").write_bytes(b"{}")
    ran = run(*words, "")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(("word", "hint"), [("127.0.0.1:9", 1), ("broker.example:8080", 1), ("no-such.json", 0)])
def test_an_address_without_its_scheme_is_known(run: Run, word: str, hint: int) -> None:
    ran = run("why", word)
    assert (ran.code, ran.err.count(f"http://{word}")) == (2, hint)
