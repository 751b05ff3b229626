"""How tests start programs to which they send signals, and hand over what another command writes."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def signals_heard() -> Iterator[None]:
    """A program started within hears what a terminal sends, though the tests may have been started to ignore it.

    ``nohup make test`` ignores SIGHUP and a job in the background of a script SIGINT, and a child inherits what is
    ignored or blocked. Set here and not between fork and exec, where the threads of the tests could hold a lock.
    """
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
    blocked = signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)
    ignored = [number for number in numbers if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


@contextmanager
def piped(data: bytes) -> Iterator[str]:
    """The path of a pipe with this data, at most 64 KiB, and no more writer: what a shell gives for ``<(command)``."""
    reader, writer = os.pipe()
    try:
        os.write(writer, data)
        os.close(writer)
        yield f"/dev/fd/{reader}"
    finally:
        os.close(reader)
