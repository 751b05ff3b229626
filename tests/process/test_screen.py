"""The real dashboard in a pseudo terminal: how it opens, and every way it can end."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from engine.cluster.journal.file import recover
from tests.process.terminal import (
    ALTERNATE_SCREEN,
    CODES_OF_SIGNALS,
    MAIN_SCREEN,
    MOUSE_OFF,
    SHOW_CURSOR,
    Terminal,
)

pytestmark = pytest.mark.xdist_group("process")

SHOWN = "billing-9"  # the last consumer of the embedded cluster: the table is drawn
FAULTY = """
import sys, tui.app
def fail(self): raise RuntimeError("provoked")
tui.app.RingsideApp.action_help = fail
from tui.cli.main import main
sys.exit(main())
"""
STUCK = """
import sys, tui.app
def hang(self):
    self.exit = lambda *_: None
    while True: pass
tui.app.RingsideApp.action_help = hang
from tui.cli.main import main
sys.exit(main())
"""


def restored(terminal: Terminal) -> bool:
    """Whether the alternate screen was left last, with the cursor shown and the mouse free."""
    left = terminal.drawn.rfind(MAIN_SCREEN)
    return (
        0 <= terminal.drawn.rfind(ALTERNATE_SCREEN) < left
        and terminal.drawn.rfind(SHOW_CURSOR) > left
        and terminal.drawn.rfind(MOUSE_OFF) > 0
    )


@pytest.mark.parametrize("keys", ["q", "\x03"], ids=["q", "ctrl+c"])
def test_a_key_closes_the_screen_with_0(env: dict[str, str], tmp_path: Path, keys: str) -> None:
    with Terminal(["--no-animation"], env=env, cwd=tmp_path) as terminal:
        terminal.wait_for(SHOWN)
        terminal.send(keys)
        assert terminal.wait() == 0
        assert restored(terminal)


def test_continued_without_having_been_suspended_it_paints_takes_keys_and_ends(
    env: dict[str, str], tmp_path: Path
) -> None:
    with Terminal(["--no-animation"], env=env, cwd=tmp_path) as terminal:
        seen = terminal.wait_for(SHOWN)
        for number in (signal.SIGCONT, signal.SIGSTOP, signal.SIGCONT):
            terminal.signal(number)
        seen = terminal.wait_for(SHOWN, after=seen)
        terminal.send("c")
        terminal.wait_for("saved in", after=seen)
        terminal.send("q")
        assert terminal.wait() == 0
        assert restored(terminal)


@pytest.mark.parametrize(
    ("number", "code"), CODES_OF_SIGNALS, ids=[signal.Signals(number).name for number, _ in CODES_OF_SIGNALS]
)
def test_a_signal_restores_the_terminal_and_gives_its_code(
    env: dict[str, str], tmp_path: Path, sessions: Path, number: int, code: int
) -> None:
    with Terminal(["--no-animation"], env=env, cwd=tmp_path) as terminal:
        seen = terminal.wait_for(SHOWN)
        terminal.send("c")
        terminal.wait_for("saved in", after=seen)
        terminal.signal(number)
        assert terminal.wait() == code
        assert restored(terminal)
    (journal,) = sessions.iterdir()
    timeline, problems = recover(journal)
    assert (timeline.length, problems) == (1, ())


NO_HANG_UPS = ("/bin/sh", "-c", 'trap "" HUP; exec "$0" -m tui "$@"', sys.executable)
"""As ``nohup`` starts it: its terminal can go without a signal."""


@pytest.mark.parametrize("program", [(sys.executable, "-m", "tui"), NO_HANG_UPS], ids=["heard", "ignored"])
def test_a_window_that_is_closed_ends_the_process(env: dict[str, str], tmp_path: Path, program: Sequence[str]) -> None:
    with Terminal(["--no-animation"], env=env, cwd=tmp_path, program=program) as terminal:
        terminal.wait_for(SHOWN)
        terminal.hang_up()
        assert terminal.wait() == 129


def test_a_killed_process_loses_nothing_that_was_shown_as_saved(
    env: dict[str, str], tmp_path: Path, sessions: Path
) -> None:
    with Terminal(["--no-animation"], env=env, cwd=tmp_path) as terminal:
        seen = terminal.wait_for(SHOWN)
        terminal.send("c")
        terminal.wait_for("saved in", after=seen)
        terminal.signal(signal.SIGKILL)
        assert terminal.wait() == -signal.SIGKILL
    (journal,) = sessions.iterdir()
    assert recover(journal)[0].state.settings.activeConsumerFailoverConsistentHashing is True


def test_a_session_in_which_nothing_was_done_leaves_no_file(
    env: dict[str, str], tmp_path: Path, sessions: Path
) -> None:
    with Terminal(["--no-animation"], env=env, cwd=tmp_path) as terminal:
        terminal.wait_for(SHOWN)
        terminal.send("q")
        assert terminal.wait() == 0
    assert not sessions.exists() or list(sessions.iterdir()) == []


def test_a_journal_that_cannot_be_written_is_reported_and_ends_nothing(env: dict[str, str], tmp_path: Path) -> None:
    env["XDG_STATE_HOME"] = "/dev/null/nowhere"
    with Terminal(["--no-animation"], env=env, cwd=tmp_path) as terminal:
        seen = terminal.wait_for(SHOWN)
        terminal.send("c")
        terminal.wait_for("not saved", after=seen)
        terminal.send("q")
        assert terminal.wait() == 0
        after = terminal.text[terminal.text.rfind("ringside: ") :]
        assert "the steps of this session are not all saved: /dev/null" in after


def test_a_terminal_resized_at_every_key_goes_on(env: dict[str, str], tmp_path: Path) -> None:
    sizes = [(24, 80), (5, 20), (60, 200), (1, 1), (24, 80), (40, 200)]
    with Terminal(["--no-animation"], env=env, cwd=tmp_path) as terminal:
        seen = terminal.wait_for(SHOWN)
        for (rows, columns), keys in zip(sizes, ["c", "\x1b[B", "v", "u", "c", "\x1b[A"], strict=True):
            before = len(terminal.drawn)
            terminal.resize(rows, columns)
            terminal.send(keys)
        # Sizes in between may be skipped, so only what the last one is sure to draw is waited for.
        terminal.wait_for("Notices", after=before)
        terminal.send("?")
        terminal.wait_for("Add a consumer", after=seen)
        terminal.send("\x03")
        assert terminal.wait() == 0


def test_a_fault_inside_the_screen_is_one_sentence_and_1(env: dict[str, str], tmp_path: Path) -> None:
    with Terminal(["--no-animation"], env=env, cwd=tmp_path, program=(sys.executable, "-c", FAULTY)) as terminal:
        terminal.wait_for(SHOWN)
        terminal.send("?")
        assert terminal.wait() == 1
        assert restored(terminal)
        assert "ringside: the screen stopped: RuntimeError: provoked" in terminal.text
        assert "Traceback" not in terminal.text


def test_a_screen_that_hangs_is_ended_by_force_and_the_terminal_put_back(env: dict[str, str], tmp_path: Path) -> None:
    with Terminal(["--no-animation"], env=env, cwd=tmp_path, program=(sys.executable, "-c", STUCK)) as terminal:
        terminal.wait_for(SHOWN)
        terminal.send("?")
        terminal.signal(signal.SIGTERM)
        terminal.signal(signal.SIGTERM)
        assert terminal.wait() == 143
        assert restored(terminal)


def test_a_dumb_terminal_is_refused_with_2_and_a_way_out(env: dict[str, str], tmp_path: Path) -> None:
    with Terminal(["--no-animation"], env=env | {"TERM": "dumb"}, cwd=tmp_path) as terminal:
        assert terminal.wait() == 2
        assert "--once" in terminal.text
        assert ALTERNATE_SCREEN not in terminal.drawn
