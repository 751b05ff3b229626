"""The dashboard where the screen library has another driver, as textual-serve starts it: pipes, and no terminal."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.patience import HANG_S

pytestmark = pytest.mark.xdist_group("process")

SHOWN = b"billing-9"
DRIVER = "textual.drivers.web_driver:WebDriver"


@contextmanager
def served(env: dict[str, str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The program behind two pipes, in a terminal that shows nothing."""
    more = {"TEXTUAL_DRIVER": DRIVER, "TERM": "dumb", "COLUMNS": "120", "ROWS": "40"}
    program = [sys.executable, "-m", "tui", "--no-animation"]
    pipe = subprocess.PIPE
    with subprocess.Popen(program, stdin=pipe, stdout=pipe, stderr=pipe, cwd=folder, env={**env, **more}) as process:
        try:
            yield process
        finally:
            process.kill()


def packet(kind: bytes, payload: bytes) -> bytes:
    return kind + len(payload).to_bytes(4, "big") + payload


def shows(process: subprocess.Popen[bytes], word: bytes) -> bool:
    """Read what is painted until it has the word; False where the output ends without it."""
    assert process.stdout is not None
    painted = b""
    while word not in painted:
        head = process.stdout.read(5)
        if len(head) < 5:
            return False
        painted += process.stdout.read(int.from_bytes(head[1:], "big"))
    return True


def send(process: subprocess.Popen[bytes], kind: bytes, payload: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(packet(kind, payload))
    process.stdin.flush()


def test_it_paints_takes_keys_and_ends_with_the_browser(env: dict[str, str], tmp_path: Path) -> None:
    with served(env, tmp_path) as process:
        assert process.stdout is not None and process.stdout.readline() == b"__GANGLION__\n"
        assert shows(process, SHOWN)
        send(process, b"D", b"c")
        assert shows(process, b"hash ring")
        send(process, b"M", json.dumps({"type": "quit"}).encode())
        assert process.wait(HANG_S) == 0


def test_it_ends_when_its_server_is_gone(env: dict[str, str], tmp_path: Path) -> None:
    with served(env, tmp_path) as process:
        assert process.stdout is not None and process.stdin is not None
        assert process.stdout.readline() == b"__GANGLION__\n" and shows(process, SHOWN)
        process.stdin.close()
        process.stdout.read()
        assert process.wait(HANG_S) == 129
