"""A program in a real pseudo terminal: what it draws is read, keys are typed, and how it ends is seen."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final

from tests.patience import HANG_S
from tests.starting import signals_heard

ALTERNATE_SCREEN: Final = "\x1b[?1049h"
MAIN_SCREEN: Final = "\x1b[?1049l"
SHOW_CURSOR: Final = "\x1b[?25h"
MOUSE_OFF: Final = "\x1b[?1000l"
CODES_OF_SIGNALS: Final = (
    *((signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130), (signal.SIGQUIT, 131), (signal.SIGUSR1, 138)),
    *((signal.SIGUSR2, 140), (signal.SIGALRM, 142), (signal.SIGXCPU, 152), (signal.SIGPROF, 155), (signal.SIGPWR, 158)),
    *((signal.SIGRTMIN, 162), (signal.SIGRTMAX, 192)),
)
"""Signals that end a process without a handler, and the exit code of a program that one of them ended."""
_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_=>])")


class Terminal:
    """``ringside`` with ``words`` in a terminal of ``rows`` by ``columns``; leaves no process when its context ends."""

    def __init__(
        self,
        words: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        rows: int = 40,
        columns: int = 200,
        program: Sequence[str] = (sys.executable, "-m", "tui"),
    ) -> None:
        self.drawn = ""
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._status: int | None = None
        command = [*program, *words]
        with signals_heard():
            self.pid, self._master = pty.fork()
            if self.pid == 0:  # the child: nothing but becoming the program, while signals are heard
                try:
                    os.chdir(cwd)
                    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
                    os.execve(command[0], command, dict(env))
                finally:
                    os._exit(127)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        self.hang_up()

    @property
    def text(self) -> str:
        """All that was drawn so far, without escape sequences."""
        return _ESCAPES.sub("", self.drawn)

    def wait_for(self, *markers: str, after: int = 0) -> int:
        """Read until one of ``markers`` appears in ``drawn`` or ``text`` beyond ``after`` characters of ``drawn``.

        Returns how much has been drawn then, so that a later wait can ask for something new.
        """
        deadline = time.monotonic() + HANG_S
        while not any(
            marker in (fresh := self.drawn[after:]) or marker in _ESCAPES.sub("", fresh) for marker in markers
        ):
            if not self._read(deadline):
                raise AssertionError(f"{markers!r} did not appear; the terminal shows:\n{self.text[-2000:]}")
        return len(self.drawn)

    def send(self, keys: str) -> None:
        """Type."""
        os.write(self._master, keys.encode())

    def resize(self, rows: int, columns: int) -> None:
        """Change the size; the kernel tells the program by SIGWINCH."""
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def signal(self, number: int) -> None:
        """Send a signal."""
        os.kill(self.pid, number)

    def hang_up(self) -> None:
        """Close the terminal, as a window that is closed."""
        if self._master >= 0:
            os.close(self._master)
            self._master = -1

    def wait(self) -> int:
        """Read to the end and return the exit code, negative for a signal, as ``subprocess`` has it."""
        deadline = time.monotonic() + HANG_S
        while self._master >= 0 and self._read(deadline):
            pass
        while self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._status = os.waitstatus_to_exitcode(status)
            elif time.monotonic() > deadline:
                raise AssertionError(f"the program did not end; the terminal shows:\n{self.text[-2000:]}")
            else:
                select.select([], [], [], 0.02)
        return self._status

    def _read(self, deadline: float) -> bool:
        """Read what is there; False at the end of the program's output or past the deadline."""
        ready, _, _ = select.select([self._master], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return False
        try:
            data = os.read(self._master, 65536)
        except OSError:  # Linux: the last process that had the terminal is gone
            return False
        self.drawn += self._decode(data)
        return bool(data)
