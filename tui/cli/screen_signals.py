"""A request to end while the screen is open, or the end of its terminal: it asks the screen to close, and insists."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final

from tui.cli.exits import ENDING, noticing, of_signal

GRACE_S: Final = 3.0
"""How long a screen may take to close before the terminal is put back without it."""


class ScreenSignals:
    """The first signal closes the screen; a second one, or ``GRACE_S`` seconds without success, calls ``restore`` and
    ends the process at once. ``code`` is the exit code that the signal asked for, None without one. A terminal that is
    gone counts as SIGHUP, also where that is ignored (nohup): its end would be read as input over and over. A terminal
    that goes away often says so twice, so SIGHUP never insists; the ``GRACE_S`` seconds do.

    All this is done by a thread: the handlers of Python would run only once the screen's loop wakes up, and not at all
    while it hangs.
    """

    def __init__(self, restore: Callable[[], None]) -> None:
        self.code: int | None = None
        self._restore = restore
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._close: Callable[[int], None] | None = None
        self._watchdog: threading.Timer | None = None

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Take over SIGINT, SIGTERM and SIGHUP, and give them back; one that is ignored (nohup) stays so."""
        before = {number: signal.getsignal(number) for number in ENDING}
        try:
            with noticing(self._notice), _noticing_the_end_of_the_terminal(self._notice):
                for number, handler in before.items():
                    if handler is not signal.SIG_IGN:
                        signal.signal(number, _noticed_elsewhere)
                yield
        finally:
            if self._watchdog is not None:
                self._watchdog.cancel()
            for number, handler in before.items():
                signal.signal(number, handler)

    def closes(self, close: Callable[[int], None]) -> None:
        """Call ``close`` in the running loop when a signal comes, or at once when one has come already."""
        with self._lock:
            self._loop, self._close = asyncio.get_running_loop(), close
            self._ask()

    def _notice(self, number: int) -> None:
        with self._lock:
            if number in ENDING:
                if self.code is None:
                    self._begin(number)
                elif number != signal.SIGHUP:  # the kernel may send that one on top of the end of the terminal
                    self._insist()
            self._ask()

    def _begin(self, number: int) -> None:
        self.code = of_signal(number)
        self._watchdog = threading.Timer(GRACE_S, self._insist)
        self._watchdog.daemon = True
        self._watchdog.start()

    def _ask(self) -> None:
        """Wake the loop, which runs the handlers of other signals, and have it close the screen if that was asked."""
        if self._loop is None or self._close is None:
            return
        with suppress(RuntimeError):  # the loop is closed: all is over
            if self.code is None:
                self._loop.call_soon_threadsafe(_nothing)
            else:
                self._loop.call_soon_threadsafe(self._close, self.code)

    def _insist(self) -> None:
        self._restore()
        os._exit(self.code if self.code is not None else 1)


@contextmanager
def _noticing_the_end_of_the_terminal(notice: Callable[[int], None]) -> Iterator[None]:
    """Call ``notice`` with SIGHUP, in a thread of its own, once the terminal of standard input is gone."""
    if sys.__stdin__ is None or not sys.__stdin__.isatty():
        yield
        return
    terminal = sys.__stdin__.fileno()
    leave, leaving = os.pipe()
    poll = select.poll()
    poll.register(terminal, 0)  # POLLHUP is reported without being asked for, and input is not
    poll.register(leave, select.POLLIN)

    def wait() -> None:
        if any(place == terminal and event & select.POLLHUP for place, event in poll.poll()):
            notice(signal.SIGHUP)

    thread = threading.Thread(target=wait, name="terminal", daemon=True)
    thread.start()
    try:
        yield
    finally:
        os.close(leaving)
        thread.join()
        os.close(leave)


def _noticed_elsewhere(_number: int, _frame: FrameType | None) -> None:
    """Python tells a thread only of signals that have a handler."""


def _nothing() -> None:
    pass
