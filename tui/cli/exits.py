"""How a run ends: its exit code, requests to end while no screen is open, and the terminal as it was before.

Such a request unwinds the stack, and nothing on the way can lose it. Python itself may lose one: a signal that comes
after the last step of Python and before a system call is only noted, and the call waits on, for input that may never
come; and what a handler raises inside a callback of a weak reference, of the import system's locks or of the garbage
collector is printed and forgotten.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, Final

FINE: Final = 0
FAILED: Final = 1  # an expectation of a script failed, or something went wrong at run time
USAGE: Final = 2  # usage, input, or no terminal
UNREACHABLE: Final = 3  # a cluster is out of reach
CLOSED_PIPE: Final = 128 + signal.SIGPIPE  # what a shell shows for a program whose reader went away


def of_signal(number: int) -> int:
    """The code a shell shows for a program that a signal ended.

    >>> of_signal(signal.SIGINT), of_signal(signal.SIGTERM), of_signal(signal.SIGHUP)
    (130, 143, 129)
    """
    return 128 + number


class Stopped(BaseException):
    """A signal other than SIGINT came while no screen was open. Not an ``Exception``, so no handler swallows it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class ClosedPipe(BaseException):
    """The reader of standard output is gone: stop quietly."""


_FROM_OUTSIDE: Final = (
    *("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGVTALRM", "SIGPROF", "SIGXCPU"),
    *("SIGPOLL", "SIGPWR", "SIGSTKFLT"),
)
ENDING: Final = (
    *(int(getattr(signal, name)) for name in _FROM_OUTSIDE if hasattr(signal, name)),
    *(range(signal.SIGRTMIN, signal.SIGRTMAX + 1) if hasattr(signal, "SIGRTMIN") else ()),
)
"""The signals that end a process without a handler and can be handled. Not among them are those of a process's own
faults (SIGSEGV, SIGABRT and their like): no handler of Python runs in time, and ``faulthandler`` may have its own."""
_NUDGE: Final = signal.SIGURG  # without a handler it does nothing, and nothing here uses it
_NUDGE_EVERY_S: Final = 0.02
_AGAIN_AFTER_S: Final = 0.01
_AGAIN: Final = 0x80


@contextmanager
def noticing(notice: Callable[[int], None]) -> Iterator[Callable[[int], None]]:
    """Call ``notice`` in a thread of its own with the number of every signal that has a handler, as soon as it comes.

    Gives a function that passes a number below 256 to ``notice`` the same way.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    thread = threading.Thread(target=_notice_all, args=(reader, notice), name="signals", daemon=True)
    thread.start()
    earlier = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)

    def pass_on(number: int) -> None:
        with suppress(OSError):
            os.write(writer, bytes([number]))

    try:
        yield pass_on
    finally:
        signal.set_wakeup_fd(earlier)
        os.close(writer)
        thread.join()


def _notice_all(reader: int, notice: Callable[[int], None]) -> None:
    while numbers := os.read(reader, 64):
        for number in numbers:
            notice(number)
    os.close(reader)


@contextmanager
def handling(numbers: Iterable[int], handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Take signals over, but none that is ignored or has a handler that Python does not know, and give them back."""
    before = {number: signal.getsignal(number) for number in numbers}
    taken = {number: earlier for number, earlier in before.items() if earlier not in (signal.SIG_IGN, None)}
    try:
        for number in taken:
            signal.signal(number, handler)
        yield
    finally:
        for number, earlier in taken.items():
            signal.signal(number, earlier)


class Unwinding:
    """The exit code of a run: ``code``, unless a signal has asked for another (``number``)."""

    def __init__(self) -> None:
        self.number: int | None = None
        self._code = FAILED
        self._main = threading.main_thread().ident or 0
        self._nudged = True

    @property
    def code(self) -> int:
        return self._code if self.number is None else of_signal(self.number)

    @code.setter
    def code(self, code: int) -> None:
        self._code = code

    @contextmanager
    def installed(self) -> Iterator[None]:
        """SIGINT raises ``KeyboardInterrupt``, the others of ``ENDING`` raise ``Stopped``; both end this ``with``.

        A signal that the parent process has set to be ignored (nohup, a job in the background of a script) stays so.
        """
        before = signal.signal(_NUDGE, self._be_nudged)
        hook = sys.unraisablehook
        try:
            with noticing(self._notice) as pass_on:
                sys.unraisablehook = self._hook(hook, pass_on)
                with handling(ENDING, self._unwind):
                    yield
        except (KeyboardInterrupt, Stopped) as request:
            self.number = _number_of(request)
        finally:
            sys.unraisablehook = hook
            signal.signal(_NUDGE, before)

    def _unwind(self, number: int, _frame: FrameType | None) -> None:
        self.number = number
        raise KeyboardInterrupt if number == signal.SIGINT else Stopped(number)

    def _be_nudged(self, _number: int, _frame: FrameType | None) -> None:
        self._nudged = True

    def _notice(self, number: int) -> None:
        """Interrupt what the main thread waits for until it has run its handlers. In the thread of ``noticing``."""
        if number == _NUDGE:
            return
        if number >= _AGAIN:
            time.sleep(_AGAIN_AFTER_S)
            signal.pthread_kill(self._main, number - _AGAIN)
            return
        self._nudged = False
        while not self._nudged:
            signal.pthread_kill(self._main, _NUDGE)
            time.sleep(_NUDGE_EVERY_S)

    def _hook(self, earlier: Callable[[Any], object], pass_on: Callable[[int], None]) -> Callable[[Any], None]:
        def hear_again(unraisable: Any) -> None:
            if isinstance(unraisable.exc_value, KeyboardInterrupt | Stopped):
                pass_on(_AGAIN + _number_of(unraisable.exc_value))
            else:
                earlier(unraisable)

        return hear_again


def _number_of(request: BaseException) -> int:
    return int(getattr(request, "number", signal.SIGINT))


# What the screen switches on, switched off: mouse reports, focus reports, bracketed paste, in-band resize, line wrap,
# keyboard protocol; then the alternate screen is left and the cursor shown.
RESTORE: Final = (
    "\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l\x1b[?1004l\x1b[?2004l\x1b[?2048l\x1b[?7h"
    "\x1b[<u\x1b[?1049l\x1b[?25h\x1b[0m"
)
PATIENCE_S: Final = 1.0  # for a terminal that is slow to take what was drawn before
_DUMB: Final = ("dumb", "unknown")


def why_no_screen() -> str | None:
    """Why the screen cannot be opened here, as a sentence; None when it can."""
    if has_own_driver():
        return None
    advice = "--once prints the same facts as text, --json as data"
    for name, stream in (("input", sys.__stdin__), ("output", sys.__stdout__), ("error", sys.__stderr__)):
        if not _is_terminal(stream):
            return f"standard {name} is not a terminal, so the screen cannot be opened; {advice}"
    term = os.environ.get("TERM", "")
    if term.lower() in _DUMB:
        return f"a terminal of type TERM={term} cannot show the screen; {advice}"
    return None


def has_own_driver() -> bool:
    """Whether the screen library has another driver, such as that of textual-serve, which needs no terminal."""
    return bool(os.environ.get("TEXTUAL_DRIVER"))


def _is_terminal(stream: Any) -> bool:
    try:
        return stream is not None and bool(stream.isatty())
    except ValueError:
        return False


class TerminalState:
    """The line settings of standard input at the start, for when the screen cannot restore them itself."""

    def __init__(self) -> None:
        import termios

        self._settings: list[Any] | None = None
        with suppress(termios.error, OSError, ValueError):
            self._settings = termios.tcgetattr(sys.__stdin__.fileno()) if sys.__stdin__ else None

    def restore(self) -> None:
        """Put everything back; where the terminal is gone or stopped, nothing fails or waits beyond ``PATIENCE_S``."""
        import termios

        with suppress(OSError, ValueError, AttributeError):
            descriptor = sys.__stderr__.fileno()  # type: ignore[union-attr]
            _, ready, _ = select.select([], [descriptor], [], PATIENCE_S)
            if ready:
                os.write(descriptor, RESTORE.encode("ascii"))
        if self._settings is not None:
            with suppress(termios.error, OSError, ValueError, AttributeError):
                termios.tcsetattr(sys.__stdin__.fileno(), termios.TCSANOW, self._settings)  # type: ignore[union-attr]
