"""``record``, ``why``, ``lint`` and ``verify`` over a running cluster, and that a dump says the same afterwards."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from engine.text import moment_ms
from tests.playing.server import Played, failing, playing, recorded, status
from tests.tui.cli.conftest import Run, run
from tests.tui.sources.cluster.test_redaction import SECRET_AS
from tui.cli.commands import record

__all__ = ["run"]
RUNTIME = "/admin/v2/brokers/configuration/runtime"
TOKEN = "abc.def-secret"
pytestmark = pytest.mark.usefixtures("no_waiting")


def moments(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_dump_has_each_answer_where_its_request_says(run: Run) -> None:
    with playing() as server:
        ran = run("record", server.url, "dump")
        assert (ran.code, ran.err) == (0, "")
        (moment,) = moments(Path("dump"))
        assert moment_ms(moment.name) is not None
        played = {
            path: answer.replace(b"127.0.0.1:53283", server.broker.encode()) for path, answer in recorded().items()
        }
    result = files(moment)
    assert len(result) == len(played)
    assert result["admin/v2/brokers/version.json"] == b"4.2.4"
    stats = "admin/v2/persistent/public/default/keys%20x/stats.json"
    assert result[stats] == played["/admin/v2/persistent/public/default/keys x/stats"]
    assert "admin/v2/persistent/public/default/orders/dispatchRate@applied=true.json" in result


@pytest.mark.parametrize(("command", "code"), [("why", 1), ("lint", 1), ("verify", 0)])
def test_a_command_says_the_same_of_a_cluster_and_of_its_dump(run: Run, command: str, code: int) -> None:
    with playing() as server:
        of_cluster = run(command, server.url, "--json")
        assert run("record", server.url, "dump").code == 0
    of_dump = run(command, "dump", "--json")
    assert (of_cluster.code, of_dump.code) == (code, code)
    # They were not read in the same second.
    one, other = (
        json.loads(re.sub(r'"held_for_s": [0-9.]+', '"held_for_s": 0', ran.out)) for ran in (of_cluster, of_dump)
    )
    for document in (one, other):
        for member in ("path", "source"):
            document.pop(member, None)
    assert one == other


def test_every_fact_of_the_recorded_broker_agrees_with_the_model(run: Run) -> None:
    with playing() as server:
        report: dict[str, Any] = json.loads(run("verify", server.url, "--json").out)
    assert (report["compared"], report["agree"], report["differences"]) == (56, 56, [])
    assert report["rules"]["release_source"] == "broker"
    assert report["rules"]["flag_source"] == "run-time configuration"


def test_a_difference_is_found_in_a_running_cluster(run: Run) -> None:
    answers = recorded()
    path = "/admin/v2/persistent/public/default/orders/partitioned-stats"
    answers[path] = answers[path].replace(b'"activeConsumerName":"c-0"', b'"activeConsumerName":"c-1"', 1)
    assert answers[path] != recorded()[path]
    with playing(answers=answers) as server:
        ran = run("verify", server.url, "--json")
    assert ran.code == 1
    result = {row["kind"]: row["subject"] for row in json.loads(ran.out)["differences"]}
    assert "orders-partition-" in result["active consumer of a partition"]


def test_a_recording_has_a_moment_for_each_turn(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "times", lambda every, lasts: iter([None] * 2))
    with playing() as server:
        assert run("record", server.url, "dump", "--every", "10s").code == 0
    assert len(moments(Path("dump"))) == 2
    document = json.loads(run("why", "dump", "--json").out)
    assert document["moments"] == 2


@pytest.mark.parametrize(
    ("every", "lasts", "takes", "began"),
    [
        (None, None, 1.0, [0]),
        (10.0, 30.0, 1.0, [0, 10, 20, 30]),
        (10.0, 35.0, 14.0, [0, 14, 28]),
        (None, 60.0, 1.0, [0, 30, 60]),
        (10.0, 5.0, 1.0, [0]),
    ],
)
def test_turns_begin_when_they_are_due_and_a_long_one_pushes_none_into_the_next(
    monkeypatch: pytest.MonkeyPatch, every: float | None, lasts: float | None, takes: float, began: list[float]
) -> None:
    now = 0.0

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    monkeypatch.setattr(record.time, "monotonic", lambda: now)
    monkeypatch.setattr(record.time, "sleep", sleep)
    result = []
    for _ in record.times(every, lasts):
        result.append(now)
        now += takes
    assert result == began


def test_a_recording_goes_on_when_the_cluster_was_away_for_a_moment(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "times", lambda every, lasts: iter([None] * 3))
    with playing() as server:
        seen = 0

        def away(request: object) -> Played | None:
            nonlocal seen
            seen += getattr(request, "path", "").endswith("/version")
            return status(503) if 1 < seen <= 4 else None

        server.faults = (away,)
        ran = run("record", server.url, "dump", "--every", "1s")
    assert (ran.code, len(moments(Path("dump")))) == (0, 2)
    assert "trying again" in ran.err


def test_a_recording_ends_when_another_cluster_is_behind_the_address(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "times", lambda every, lasts: iter([None] * 3))
    other = {**json.loads(recorded()[RUNTIME]), "clusterName": "elsewhere"}
    with playing() as server:
        first = True

        def swapped(request: object) -> Played | None:
            nonlocal first
            if getattr(request, "path", "") != RUNTIME:
                return None
            first, was = False, first
            return None if was else Played(json.dumps(other).encode())

        server.faults = (swapped,)
        ran = run("record", server.url, "dump", "--every", "1s")
    assert (ran.code, len(moments(Path("dump")))) == (1, 1)
    assert "'elsewhere'" in ran.err


@pytest.mark.parametrize("command", [["why"], ["lint"], ["verify"], ["live", "--once"], ["record"]])
def test_out_of_reach_has_its_exit_code_and_shows_no_token(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.setenv("RINGSIDE_TOKEN", TOKEN)
    words = ["dump"] if command == ["record"] else []
    with playing(failing("", status(401, f"bad token {TOKEN}"))) as server:
        ran = run(*command, server.url, *words)
        assert server.requests[0].headers["Authorization"] == f"Bearer {TOKEN}"
    assert (ran.code, ran.out) == (3, "")
    assert "--token-file" in ran.err
    assert run(*command, server.url, *words).code == 3
    assert TOKEN not in ran.err
    assert not Path("dump").exists() or moments(Path("dump")) == []


def test_a_token_is_in_no_file_of_a_dump(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("token").write_text(TOKEN)
    with playing(failing("tenants", Played(f'["public", "{TOKEN}"]'.encode()))) as server:
        assert run("record", server.url, "dump", "--token-file", "token").code == 0
    assert not [name for name, data in files(Path("dump")).items() if TOKEN.encode() in data or TOKEN in name]


@pytest.mark.parametrize("form", SECRET_AS)
def test_a_token_that_a_broker_repeats_in_any_form_is_in_no_file_of_a_dump(run: Run, form: str) -> None:
    Path("token").write_text(TOKEN)
    said = SECRET_AS[form](TOKEN)
    with playing(failing("/clusters$", Played(f'["standalone", "{said}"]'.encode()))) as server:
        assert run("record", server.url, "dump", "--token-file", "token").code == 0
    saved = files(Path("dump"))
    assert [json.loads(data) for name, data in saved.items() if name.endswith("/clusters.json")] == [
        ["standalone", "***"]
    ]
    assert not [name for name, data in saved.items() if said.encode() in data or TOKEN.encode() in data]


def test_a_topic_that_is_called_like_the_token_is_read_and_its_name_is_nowhere(run: Run) -> None:
    """It is a part of requests to the cluster, of names of files, and of all that is said about the topic."""
    Path("token").write_text(TOKEN)
    answers = {
        path.replace("keys x", TOKEN): data.replace(b"keys x", TOKEN.encode()) for path, data in recorded().items()
    }
    with playing(failing("internalStats", status(404, f"no {TOKEN}")), answers=answers) as server:
        for words in (["why"], ["lint"], ["verify"], ["live", "--once", "--subscription", "ks"], ["live", "--json"],
                      ["exporter", "--once"], ["record"]):  # fmt: skip
            target = ["dump"] if words == ["record"] else []
            ran = run(words[0], server.url, *target, *words[1:], "--token-file", "token")
            assert ran.code in (0, 1)
            assert TOKEN not in f"{ran.out} {ran.err} {words}"
        assert any(request.path.endswith(f"/{TOKEN}/stats") for request in server.requests)
    saved = files(Path("dump"))
    assert any("default/***/stats" in name for name in saved)
    assert not [name for name, data in saved.items() if TOKEN.encode() in data or TOKEN in name]


@pytest.mark.parametrize("password", ["public", "1", "standalone", "persistent", "4.2.4", "c-0", "orders-partition-0"])
def test_a_password_that_is_a_word_of_the_answers_changes_no_reading(run: Run, password: str) -> None:
    Path("password").write_text(f"admin:{password}\n")
    with playing() as server:
        plain = run("verify", server.url, "--json")
        ran = run("verify", server.url, "--json", "--basic-file", "password")
        requests = {request.path for request in server.requests}
    assert (ran.code, ran.err, "***" in "".join(requests)) == (0, "", False)
    first, second = (json.loads(each.out) for each in (plain, ran))
    assert [first[member] for member in ("compared", "agree")] == [second[member] for member in ("compared", "agree")]


def test_a_dump_with_a_password_that_is_a_word_is_as_without(run: Run) -> None:
    Path("password").write_text("admin:public\n")
    with playing() as server:
        for folder, words in (("plain", []), ("dump", ["--basic-file", "password"])):
            assert run("record", server.url, folder, *words).code == 0
    one, other = (
        {name.partition("/")[2]: data for name, data in files(Path(each)).items()} for each in ("plain", "dump")
    )
    assert one == other


def test_a_control_character_of_an_argument_is_not_printed(run: Run) -> None:
    with playing() as server:
        ran = run("record", server.url, "a\x1b[31mb\x9b")
    assert ran.code == 0
    assert not [char for char in ran.out + ran.err if (char < " " and char != "\n") or "\x7f" <= char < "\xa0"]


@pytest.mark.parametrize(
    "url", ["http://xn--a/", "http://xn--a.b:8080", "http://a..b", "http://h:0", "http://h/?t=s3cret"]
)
def test_an_address_that_is_none_ends_in_a_sentence(run: Run, url: str) -> None:
    ran = run("why", url)
    assert ran.code in (2, 3)
    assert len(ran.err.splitlines()) == 1
    assert "unexpected" not in ran.err and "s3cret" not in ran.err


def test_settings_that_cannot_be_read_are_assumed_or_given(run: Run) -> None:
    flag = "activeConsumerFailoverConsistentHashing"
    with playing(failing("configuration", status(403))) as server:
        ran = run("verify", server.url, "--json")
        assert "assumed" in ran.err
        assert json.loads(ran.out)["rules"]["flag_source"] == "tried"
        given = run("verify", server.url, "--json", "--set", f"{flag}=true")
        assert "assumed" not in given.err
        rules = json.loads(given.out)["rules"]
        assert (rules["consistent_hashing"], given.code) == (True, 1)
        assert run("verify", server.url, "--set", f"{flag}=maybe").code == 2


def test_a_folder_with_other_things_is_left_alone(run: Run) -> None:
    Path("mine").mkdir()
    Path("mine/letter.txt").write_text("dear")
    with playing() as server:
        assert run("record", server.url, "mine").code == 2
        assert run("record", server.url, "mine/letter.txt").code == 2
        assert server.requests == []
    assert [path.name for path in Path("mine").iterdir()] == ["letter.txt"]


def test_a_name_too_long_for_a_file_is_counted_and_the_rest_is_kept(run: Run) -> None:
    answers = recorded()
    answers["/admin/v2/tenants"] = json.dumps(["public", "pulsar", "t" * 300]).encode()
    answers["/admin/v2/namespaces/" + "t" * 300] = b"[]"
    with playing(answers=answers) as server:
        ran = run("record", server.url, "dump")
    (moment,) = moments(Path("dump"))
    assert (ran.code, len(files(moment))) == (0, len(recorded()))
    assert "unwritable" in ran.err


@pytest.mark.parametrize(
    "words", [["why", "x.json", "--rate", "5"], ["verify", ".", "--token-file", "t"], ["lint", ".", "--at-once", "2"]]
)
def test_options_of_a_cluster_are_refused_without_one(run: Run, words: list[str]) -> None:
    assert run(*words).code == 2


def test_a_url_without_a_command_says_what_opens_it(run: Run) -> None:
    ran = run("http://user:secret@localhost:8080")
    assert ran.code == 2
    assert "ringside record URL FOLDER" in ran.err
    assert "secret" not in ran.err


def test_one_reading_is_printed_instead_of_shown(run: Run) -> None:
    with playing() as server:
        ran = run("live", server.url, "--json", "--subscription", "ks")
        assert run("live", server.url, "--once", "--subscription", "missing").code == 2
    assert ran.code == 0
    assert json.loads(ran.out)["status"]["subscription"] == "ks"
