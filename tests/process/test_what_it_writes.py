"""What ``SECURITY.md`` says of files, connections and programs, seen by the interpreter's own audit of real runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from engine.cluster.journal.file import recover
from tests.patience import HANG_S
from tests.process.terminal import Terminal
from tests.process.test_saving import hidden, rows_of
from tests.process.test_screen import SHOWN
from tests.starting import signals_heard
from tests.tui.fleet_scenes import small_result

pytestmark = pytest.mark.xdist_group("process")

AUDITED = """
import json, os, sys
notes, seen = sys.argv.pop(1), set()
CHANGES = {"os.mkdir", "os.rename", "os.link", "os.symlink", "os.remove", "os.rmdir", "os.truncate"}
RUNS = {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.startfile", "pty.spawn"}
TALKS = {"socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"}
def note(event, args):
    if event == "open":
        path, _, flags = args
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND) and not isinstance(path, int):
            seen.add(f"write {os.fsdecode(path)}")
    elif event in CHANGES:
        seen.update(f"write {os.fsdecode(path)}" for path in args if isinstance(path, (str, bytes, os.PathLike)))
    elif event in RUNS | TALKS:
        seen.add(f"{event} {args!r}")
sys.addaudithook(note)
from tui.cli.main import main
code = main()
found = sorted(seen)
with open(notes, "w") as file:
    json.dump(found, file)
sys.exit(code)
"""
HARMLESS = {"write /dev/null", "write /dev/tty"}


@pytest.fixture
def env(env: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """Nothing of what Python itself keeps beside its modules."""
    return env | {"PYTHONDONTWRITEBYTECODE": "1", "HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path / "tmp")}


def noted(tmp_path: Path) -> set[str]:
    return set(json.loads((tmp_path / "notes").read_bytes())) - HARMLESS


@pytest.mark.parametrize(
    "words",
    [
        ["--json"],
        ["demo", "three-splits", "--once"],
        ["new", "--topics", "20", "--apply", "add x", "--once"],
        ["explain", "topic-7"],
    ],
    ids=" ".join,
)
def test_without_a_screen_nothing_is_written_sent_or_run(env: dict[str, str], tmp_path: Path, words: list[str]) -> None:
    command = [sys.executable, "-c", AUDITED, str(tmp_path / "notes"), *words]
    ran = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=HANG_S, check=False)
    assert ran.returncode in (0, 1), ran.stderr
    assert noted(tmp_path) == set()
    assert [path.name for path in tmp_path.iterdir()] == ["notes"]


def test_a_session_writes_its_journal_and_sends_and_runs_nothing(
    env: dict[str, str], tmp_path: Path, sessions: Path
) -> None:
    program = (sys.executable, "-c", AUDITED, str(tmp_path / "notes"))
    with Terminal(["--no-animation"], env=env, cwd=tmp_path, program=program) as terminal:
        seen = terminal.wait_for(SHOWN)
        terminal.send("c")
        terminal.wait_for("saved in", after=seen)
        terminal.send("q")
        assert terminal.wait() == 0
    (journal,) = sessions.iterdir()
    assert {each.partition(" ")[0] for each in noted(tmp_path)} == {"write"}
    places = {Path(each.partition(" ")[2]) for each in noted(tmp_path)}
    drafts = {path for path in places if path.parent == sessions and path.name.startswith(".ringside-")}
    assert len(drafts) == 1
    assert places - drafts == {journal, *journal.parents[:4]} - {tmp_path}
    assert {path.name for path in tmp_path.iterdir()} == {"notes", "state"}


def test_an_export_that_was_reported_survives_a_kill(env: dict[str, str], tmp_path: Path) -> None:
    out = small_result(tmp_path / "out")
    before = {path.relative_to(out) for path in out.rglob("*")}
    with Terminal(["fleet", "open", str(out)], env=env, cwd=tmp_path) as terminal:
        seen = terminal.wait_for("billing")
        terminal.send("e")
        seen = terminal.wait_for("export to", after=seen)
        terminal.send("\r")
        terminal.wait_for("written to", after=seen)
        terminal.signal(signal.SIGKILL)
        assert terminal.wait() == -signal.SIGKILL
    assert rows_of(tmp_path / "subscriptions.csv") == 3
    assert {path.name for path in tmp_path.iterdir()} == {"out", "subscriptions.csv"}
    assert {path.relative_to(out) for path in out.rglob("*")} == before


@pytest.mark.parametrize("stdout", ["closed pipe", "full disk"])
def test_a_journal_that_was_asked_for_is_whole_though_nobody_takes_the_page(
    env: dict[str, str], tmp_path: Path, stdout: str
) -> None:
    if stdout == "closed pipe":
        reader, taken = os.pipe()
        os.close(reader)
    else:
        taken = os.open("/dev/full", os.O_WRONLY)
    command = [sys.executable, "-m", "tui", "--apply", "add x", "--journal", "mine", "--once"]
    with signals_heard():
        ran = subprocess.run(
            command, env=env, cwd=tmp_path, stdout=taken, stderr=subprocess.PIPE, timeout=HANG_S, check=False
        )
    os.close(taken)
    assert ran.returncode == (141 if stdout == "closed pipe" else 1), ran.stderr
    timeline, problems = recover(tmp_path / "mine")
    assert (timeline.length, problems) == (1, ())
    assert not hidden(tmp_path)
