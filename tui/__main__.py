"""The command ``ringside``, also as ``python -m tui``: signals are handled before anything else is loaded."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

from tui.cli.exits import Unwinding


def command() -> NoReturn:
    """Run ``ringside`` as this process and end it with the exit code."""
    ending = Unwinding()
    with ending.installed():
        from tui.cli.main import run

        ending.code = run(None, ending)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Nothing is left to unwind: an exception while Python shuts down would be a traceback on the last line.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(ending.code)


if __name__ == "__main__":
    command()
