"""Exit codes. stdout is data, stderr is talk, and the code says how it ended."""

from __future__ import annotations

import signal
from typing import Final

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
    """SIGTERM or SIGHUP came while no screen was open. Not an ``Exception``: nobody below may swallow it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class ClosedPipe(BaseException):
    """The reader of standard output is gone: stop quietly."""
