"""Journals at the command line: written when asked for, gone on with, and never lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.cluster.journal.file import recover
from engine.cluster.timeline import Timeline
from tests.tui.cli.conftest import Run
from tui.cli.session import applied
from tui.sources.answers import opened
from tui.sources.sessions import SessionSaver


def test_steps_that_were_applied_are_in_the_journal_and_can_be_replayed(run: Run, tmp_path: Path) -> None:
    assert run("--apply", "add c-new", "--journal", "mine", "--once").code == 0
    again = run("replay", "mine", "--json")
    assert again.code == 0
    document = json.loads(again.out)
    assert document["status"]["step"] == 1
    assert "c-new" in [row["name"] for row in document["consumers"]]


def test_replaying_headless_leaves_the_journal_as_it_is(run: Run, tmp_path: Path) -> None:
    run("--apply", "add c-new", "--journal", "mine", "--once")
    before = (tmp_path / "mine").read_bytes()
    assert run("replay", "mine", "--apply", "add c-other", "--once").code == 0
    assert (tmp_path / "mine").read_bytes() == before


def test_a_journal_or_script_that_is_opened_as_answers_names_the_right_command(run: Run, tmp_path: Path) -> None:
    run("--apply", "add c-new", "--journal", "mine", "--once")
    ran = run("mine", "--once")
    assert (ran.code, ran.out) == (2, "")
    assert "ringside replay mine" in ran.err
    (tmp_path / "story.ringside").write_text("scene pip392\n")
    ran = run("story.ringside", "--once")
    assert ran.code == 2
    assert "ringside demo story.ringside" in ran.err


@pytest.mark.parametrize("words", [("--topics", "20"), ("--keys", "20"), ("--producers", "5")])
@pytest.mark.parametrize("command", [("--once",), ("why",), ("heirs",)])
def test_what_json_printed_is_not_taken_for_answers(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], command: tuple[str, ...]
) -> None:
    """Some of its members have names that answers have too, and would be complained of one by one."""
    printed = run("new", *words, "--json").out
    (tmp_path / "x").write_text(printed)
    for source in ("x", "-"):
        with (tmp_path / "x").open() as file:
            monkeypatch.setattr("sys.stdin", file)
            ran = run(*command, source)
        assert (ran.code, ran.out) == (2, "")
        assert json.loads(printed)["format"] in ran.err
        assert len(ran.err.splitlines()) == 1


@pytest.mark.parametrize("words", [("--once",), ("--json",), ("--once", "--no-journal")])
def test_a_file_that_is_no_journal_is_named_as_that_with_what_is_expected(
    run: Run, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "text").write_text("root:x:0:0:root:/root:/bin/bash\n")
    ran = run("replay", "text", *words)
    assert (ran.code, ran.out) == (2, "")
    assert "text: this is not a journal; one begins with the header that ringside writes" in ran.err
    assert "check sum" not in ran.err and len(ran.err.splitlines()) == 1


def test_a_damaged_journal_is_still_reported_as_one(run: Run, tmp_path: Path) -> None:
    run("--apply", "add c-new", "--journal", "mine", "--once")
    data = (tmp_path / "mine").read_bytes()
    (tmp_path / "mine").write_bytes(data.replace(b'"seed":0', b'"seed":1', 1))
    assert "the line was damaged or changed" in run("replay", "mine", "--once").err


def test_a_journal_is_never_written_over(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    ran = run("--journal", "mine", "--once")
    assert (ran.code, ran.out) == (2, "")
    assert "mine" in ran.err
    assert (tmp_path / "mine").read_text() == "precious"


def test_a_torn_last_line_is_reported_and_the_rest_is_shown(run: Run, tmp_path: Path) -> None:
    run("--apply", "add c-new", "--journal", "mine", "--once")
    with (tmp_path / "mine").open("ab") as journal:
        journal.write(b'{"kind":"step","st')
    ran = run("replay", "mine", "--json")
    assert ran.code == 0
    assert "mine" in ran.err
    assert json.loads(ran.out)["status"]["step"] == 1


def test_headless_runs_leave_no_session_file(run: Run, tmp_path: Path) -> None:
    assert run("--apply", "add c-new", "--once").code == 0
    assert not (tmp_path / "state").exists()


def test_a_folder_that_cannot_be_made_is_trouble_and_not_an_error() -> None:
    def place() -> Path:
        raise OSError(28, "No space left on device", "/somewhere")

    start = opened(None)
    timeline = Timeline.start(start.state)
    keeping = SessionSaver(place)
    assert keeping.record(timeline) == ""
    stepped = applied(timeline, "add c-new")
    assert keeping.record(stepped) == "not saved: /somewhere: No space left on device"
    assert keeping.close() == "/somewhere: No space left on device"


def test_what_could_not_be_saved_is_saved_as_soon_as_it_can(tmp_path: Path) -> None:
    places = iter([OSError(28, "No space left on device"), tmp_path / "kept"])

    def place() -> Path:
        where = next(places)
        if isinstance(where, OSError):
            raise where
        return where

    start = opened(None)
    keeping = SessionSaver(place)
    stepped = applied(Timeline.start(start.state), "add c-new")
    assert keeping.record(stepped).startswith("not saved")
    assert keeping.close() == ""
    assert recover(tmp_path / "kept")[0].length == 1
