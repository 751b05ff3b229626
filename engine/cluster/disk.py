"""The file operations of a journal, in one place, so that a test can put a full disk under it."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

try:
    import fcntl
except ImportError:  # pragma: no cover - a system without file locks
    fcntl = None  # type: ignore[assignment]


PRIVATE: Final = 0o600
"""A journal names the tenants, topics and consumers of an installation: only its user reads and writes it."""


class Disk:
    """Plain POSIX files by descriptor. Every method raises OSError and nothing else."""

    def create(self, path: Path) -> int:
        """A new private file for appending; FileExistsError when there is one."""
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC, PRIVATE)
        _make_private(descriptor)
        return descriptor

    def open(self, path: Path) -> int:
        """An existing file for reading and appending, private from now on.

        A pipe or terminal in its place does not block and keeps its rights.
        """
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK)
        _make_private(descriptor)
        return descriptor

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


def _make_private(descriptor: int) -> None:
    """Give a regular file the rights of a journal: one made by an earlier release, or under a strict umask, has others.

    Another user's file and a file system without rights are left as they are.
    """
    with suppress(OSError):
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISREG(mode) and stat.S_IMODE(mode) != PRIVATE:
            os.fchmod(descriptor, PRIVATE)
