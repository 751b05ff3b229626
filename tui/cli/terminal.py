"""The terminal as a resource: is there one, and how is it put back when all else has failed."""

from __future__ import annotations

import os
import select
import sys
from contextlib import suppress
from typing import Any, Final

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
    advice = "--once prints the same facts as text, --json as data"
    for name, stream in (("input", sys.__stdin__), ("output", sys.__stdout__), ("error", sys.__stderr__)):
        if not _is_terminal(stream):
            return f"standard {name} is not a terminal, so the screen cannot be opened; {advice}"
    term = os.environ.get("TERM", "")
    if term.lower() in _DUMB:
        return f"a terminal of type TERM={term} cannot show the screen; {advice}"
    return None


def _is_terminal(stream: Any) -> bool:
    try:
        return stream is not None and bool(stream.isatty())
    except ValueError:
        return False


class TerminalState:
    """The line settings of standard input as found, for the one case in which the screen cannot restore them itself."""

    def __init__(self) -> None:
        import termios

        self._found: list[Any] | None = None
        with suppress(termios.error, OSError, ValueError):
            self._found = termios.tcgetattr(sys.__stdin__.fileno()) if sys.__stdin__ else None

    def restore(self) -> None:
        """Put everything back; where the terminal is gone or stopped, nothing fails or waits beyond ``PATIENCE_S``."""
        import termios

        with suppress(OSError, ValueError, AttributeError):
            descriptor = sys.__stderr__.fileno()  # type: ignore[union-attr]
            _, ready, _ = select.select([], [descriptor], [], PATIENCE_S)
            if ready:
                os.write(descriptor, RESTORE.encode("ascii"))
        if self._found is not None:
            with suppress(termios.error, OSError, ValueError, AttributeError):
                termios.tcsetattr(sys.__stdin__.fileno(), termios.TCSANOW, self._found)  # type: ignore[union-attr]
