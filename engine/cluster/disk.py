"""The file operations of a journal, in one place, so that a test can put a full disk under it."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # pragma: no cover - a system without file locks
    fcntl = None  # type: ignore[assignment]


class Disk:
    """Plain POSIX files by descriptor. Every method raises OSError and nothing else."""

    def create(self, path: Path) -> int:
        """A new file for appending; FileExistsError when there is one."""
        return os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def open(self, path: Path) -> int:
        """An existing file for reading and appending; a pipe or terminal in its place does not block."""
        return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK)

    def lock(self, descriptor: int) -> bool:
        """Whether this process alone may write now. A file system that knows no locks does not stand in the way."""
        if fcntl is None:  # pragma: no cover
            return True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            return error.errno not in (errno.EWOULDBLOCK, errno.EACCES, errno.EAGAIN)
        return True

    def write(self, descriptor: int, data: bytes) -> int:
        """How many bytes were taken, which can be fewer than given."""
        return os.write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        os.fsync(descriptor)

    def truncate(self, descriptor: int, size: int) -> None:
        os.ftruncate(descriptor, size)

    def close(self, descriptor: int) -> None:
        with suppress(OSError):
            os.close(descriptor)

    def sync_directory(self, path: Path) -> None:
        """Make the name of a new file in this directory last; file systems that cannot are left alone."""
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def write_all(self, descriptor: int, data: bytes) -> None:
        """Write until everything is taken."""
        rest = memoryview(data)
        while rest:
            taken = self.write(descriptor, bytes(rest))
            if taken <= 0:
                raise OSError(errno.EIO, "the file takes no more bytes")
            rest = rest[taken:]
