"""SIGINT at any moment of a run, from its first import to a dialog that waits: it ends the run without a traceback."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.patience import HANG_S
from tests.playing.server import Played, ReceivedRequest, playing
from tests.process.terminal import ALTERNATE_SCREEN, MAIN_SCREEN, Terminal
from tests.process.test_screen import SHOWN, restored
from tests.starting import signals_heard
from tui.sources.cluster.paths import CLUSTERS, VERSION

pytestmark = pytest.mark.xdist_group("process")

INTERRUPTED = """
import os, signal, sys
left = int(sys.argv.pop(1))
def count(event, _):
    global left
    # Until our own handlers are there, Python's are heard.
    if event == "import" and signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGINT)
sys.addaudithook(count)
from tui.__main__ import command
command()
"""
"""The program, which gets SIGINT at its n-th import: a moment of the start that is the same on every machine."""


@pytest.mark.parametrize("number", [1, 2, 7, 40, 150, 250])
def test_at_any_import_a_run_without_a_screen_is_over_with_130(
    env: dict[str, str], tmp_path: Path, number: int
) -> None:
    """Standard input is a pipe without a writer: a signal that is ignored would leave it waiting for ever."""
    command = [sys.executable, "-c", INTERRUPTED, str(number), "-", "--once"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with signals_heard():
        process = subprocess.Popen(command, env=env, cwd=tmp_path, text=True, **pipes)
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    code = process.wait(HANG_S)
    assert (code, process.stdout.read(), process.stderr.read().strip()) == (130, "", "")
    for stream in (process.stdin, process.stdout, process.stderr):
        stream.close()


@pytest.mark.parametrize("number", [3, 200, 400, 600])
def test_at_any_import_a_run_with_a_screen_is_over_with_130(env: dict[str, str], tmp_path: Path, number: int) -> None:
    """Before the screen is open, while it opens, and while what it shows is loaded in a thread."""
    program = (sys.executable, "-c", INTERRUPTED, str(number))
    with Terminal(["--no-animation"], env=env, cwd=tmp_path, program=program) as terminal:
        assert terminal.wait() == 130
        assert "Traceback" not in terminal.text
        assert terminal.drawn.rfind(ALTERNATE_SCREEN) <= terminal.drawn.rfind(MAIN_SCREEN)


@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        (None, ALTERNATE_SCREEN),
        ("", SHOWN),
        ("a", "add a consumer to"),
        (":", "add NAME, kill NAME"),
        ("?", "Add a consumer"),
    ],
    ids=["first paint", "idle", "dialog", "prompt", "help"],
)
def test_whatever_the_screen_waits_for_it_is_closed_with_130(
    env: dict[str, str], tmp_path: Path, keys: str | None, shown: str
) -> None:
    with Terminal(["--no-animation"], env=env, cwd=tmp_path) as terminal:
        if keys is None:
            terminal.wait_for(shown)
        else:
            seen = terminal.wait_for(SHOWN)
            if keys:
                terminal.send(keys)
                terminal.wait_for(shown, after=seen)
        terminal.signal(signal.SIGINT)
        assert terminal.wait() == 130
        assert "Traceback" not in terminal.text
        assert restored(terminal)


@pytest.mark.parametrize(("words", "turn", "kept"), [(["record"], 1, 0), (["record"], 2, 1), (["live"], 1, 0)])
def test_while_a_cluster_is_read_it_leaves_whole_moments_only(
    env: dict[str, str], tmp_path: Path, words: list[str], turn: int, kept: int
) -> None:
    """The n-th reading waits for an answer that never comes."""
    waits, begun = threading.Event(), 0

    def silent(request: ReceivedRequest) -> Played | None:
        nonlocal begun
        begun += request.path == VERSION
        if begun < turn or request.path != CLUSTERS:
            return None
        waits.set()
        return Played(hangs=True)

    with playing(silent) as server:
        of_record = [str(tmp_path / "dump"), "--every", "1ms"] if words == ["record"] else ["--once"]
        command = [sys.executable, "-m", "tui", *words, server.url, *of_record]
        with signals_heard():
            process = subprocess.Popen(command, env=env, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert waits.wait(HANG_S)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=HANG_S)
    assert process.returncode == 130
    assert (out.count(b"\n"), err.decode().strip()) == (kept, "")
    assert len(list((tmp_path / "dump").glob("*"))) == kept
    assert not list((tmp_path / "dump").glob(".*"))
