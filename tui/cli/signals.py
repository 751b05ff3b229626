"""What a signal does: without a screen it unwinds the stack, with one it asks the screen to close, and insists."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from tui.cli.exits import Stopped, of_signal

GRACE_S: Final = 3.0  # how long a screen may take to close before the terminal is put back without it
_ENDING: Final = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


def unwind_on_signals() -> None:
    """Make SIGTERM and SIGHUP raise ``Stopped``, so that files are closed on the way out.

    A signal that the parent told us to ignore (nohup) stays ignored.
    """
    for number in _ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _raise_stopped)


def _raise_stopped(number: int, _frame: FrameType | None) -> None:
    raise Stopped(number)


class ScreenSignals:
    """Signals while the screen is open.

    The first one calls ``close`` with its exit code; a second one, or ``GRACE_S`` seconds without success, calls
    ``restore`` and ends the process at once. ``code`` is the exit code that the signal asked for, None without one.
    """

    def __init__(self, close: Callable[[int], None], restore: Callable[[], None]) -> None:
        self._close = close
        self._restore = restore
        self._watchdog: threading.Timer | None = None
        self.code: int | None = None

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        if self.code is not None:
            self._insist()
        self.code = of_signal(number)
        self._watchdog = threading.Timer(GRACE_S, self._insist)
        self._watchdog.daemon = True
        self._watchdog.start()
        self._close(self.code)

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Take over SIGINT, SIGTERM and SIGHUP, and give them back."""
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, *_ENDING)}
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, self)
        try:
            yield
        finally:
            if self._watchdog is not None:
                self._watchdog.cancel()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _insist(self) -> None:
        self._restore()
        os._exit(self.code if self.code is not None else 1)
