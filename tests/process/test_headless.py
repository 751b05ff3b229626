"""``ringside`` without a screen as a process of its own: pipes, full disks, signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import HANG_S
from tests.process.terminal import CODES_OF_SIGNALS
from tests.starting import signals_heard

pytestmark = pytest.mark.xdist_group("process")

RINGSIDE = (sys.executable, "-m", "tui")


def started(words: list[str], env: dict[str, str], cwd: Path, **streams: int) -> subprocess.Popen[str]:
    """A running ``ringside`` with pipes for what ``streams`` does not name."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with signals_heard():
        return subprocess.Popen([*RINGSIDE, *words], env=env, cwd=cwd, text=True, **(pipes | streams))


@pytest.mark.parametrize("words", [["--json"], ["--once"], ["--help"], ["demo"]], ids=" ".join)
def test_a_closed_pipe_ends_quietly_with_141(env: dict[str, str], tmp_path: Path, words: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    process = started(words, env, tmp_path, stdout=writer)
    os.close(writer)
    _, err = process.communicate(timeout=HANG_S)
    assert (process.returncode, err) == (141, "")


@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
def test_the_first_line_of_json_can_be_had_alone(env: dict[str, str], tmp_path: Path, unbuffered: str) -> None:
    env["PYTHONUNBUFFERED"] = unbuffered
    process = started(["new", "--topics", "2000", "--json"], env, tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == "{\n"
    process.stdout.close()
    assert process.stderr is not None
    err = process.stderr.read()
    process.wait(HANG_S)
    assert (process.returncode, err) == (141, "")


@pytest.mark.parametrize("words", [["--json"], ["--once"], ["explain", "topic-7"]], ids=" ".join)
def test_a_full_disk_below_stdout_is_1_and_reported(env: dict[str, str], tmp_path: Path, words: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        process = started(words, env, tmp_path, stdout=full.fileno())
        _, err = process.communicate(timeout=HANG_S)
    assert process.returncode == 1
    assert err == "ringside: No space left on device\n"


def test_a_closed_stdout_is_1_and_reported(env: dict[str, str], tmp_path: Path) -> None:
    command = ["/bin/sh", "-c", 'exec "$0" -m tui --once >&-', sys.executable]
    ran = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=HANG_S, check=False)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith("ringside: ")
    assert len(ran.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("number", "code"), CODES_OF_SIGNALS, ids=[signal.Signals(number).name for number, _ in CODES_OF_SIGNALS]
)
def test_a_signal_while_waiting_for_input_gives_its_code(
    env: dict[str, str], tmp_path: Path, number: int, code: int
) -> None:
    """The process reads standard input, of which the test sends a first piece and never the end."""
    reader, writer = os.pipe()
    process = started(["-", "--once"], env, tmp_path, stdin=reader)
    os.close(reader)
    # A pipe holds 64 KiB: when more than that has been taken, the process is reading.
    os.write(writer, b" " * 65536)
    os.write(writer, b" " * 65536)
    process.send_signal(number)
    _, err = process.communicate(timeout=HANG_S)
    os.close(writer)
    assert (process.returncode, err.strip()) == (code, "")


def test_standard_input_is_read_as_a_file_of_answers(env: dict[str, str], tmp_path: Path) -> None:
    process = started(["-", "--once"], env, tmp_path)
    out, err = process.communicate("not an answer", timeout=HANG_S)
    assert (process.returncode, out) == (2, "")
    assert "standard input" in err


def test_without_a_terminal_the_screen_is_refused_with_2_and_a_way_out(env: dict[str, str], tmp_path: Path) -> None:
    process = started([], env, tmp_path, stdin=subprocess.DEVNULL)
    out, err = process.communicate(timeout=HANG_S)
    assert (process.returncode, out) == (2, "")
    assert "not a terminal" in err
    assert "--once" in err


def test_an_encoding_without_the_characters_of_a_name_ends_nothing(env: dict[str, str], tmp_path: Path) -> None:
    env["PYTHONIOENCODING"] = "ascii"
    process = started(["--once", "--apply", "add violin-🎻"], env, tmp_path)
    out, _ = process.communicate(timeout=HANG_S)
    assert process.returncode == 0
    assert "violin-\\U0001f3bb" in out


def test_completion_is_offered_as_click_gives_it(env: dict[str, str], tmp_path: Path) -> None:
    process = started([], env | {"_RINGSIDE_COMPLETE": "bash_source"}, tmp_path)
    out, _ = process.communicate(timeout=HANG_S)
    assert process.returncode == 0
    assert "_ringside_completion" in out
