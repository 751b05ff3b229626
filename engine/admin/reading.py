"""Reading a path that may be anything: a file, a pipe, a device, something without an end."""

from __future__ import annotations

import os
import select
import stat
from pathlib import Path
from typing import Final

from engine.errors import InputError

MAX_STREAM_BYTES: Final = 1024**3
"""The most that is taken from something whose size nobody can tell beforehand."""
_PIECE: Final = 1 << 20


def read_path(path: Path, *, limit: int = MAX_STREAM_BYTES) -> bytes:
    """All bytes of a file or pipe. Never waits for a pipe to be opened for writing, and never reads without an end.

    Raises OSError as the system does, and ``InputError`` for a device, for more than ``limit`` bytes, and for a pipe
    that nobody writes to. O(bytes).
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise InputError("is a device, no file")
        data = _to_the_end(descriptor, limit)
    finally:
        os.close(descriptor)
    if not data and stat.S_ISFIFO(mode):
        raise InputError("is a pipe that nobody writes to")
    return data


def _to_the_end(descriptor: int, limit: int) -> bytes:
    data = bytearray()
    while True:
        try:
            piece = os.read(descriptor, _PIECE)
        except BlockingIOError:
            select.select([descriptor], [], [])
            continue
        if not piece:
            return bytes(data)
        data += piece
        if len(data) > limit:
            raise InputError(f"has more than {limit} bytes; that much is no broker answer")
