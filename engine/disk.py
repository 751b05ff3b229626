"""Files that are never seen half-written: journals, and exports of tables and pictures.

All operations on files are in one place, so that a test can simulate a full disk. A new file is written under a hidden
name in the same folder (a draft), synced, and only then renamed to its own name, which no other file has. A process
that is killed leaves at most its draft, and the next draft in that folder removes it. Exported text is harmless to a
spreadsheet that opens it.
"""

from __future__ import annotations

import csv
import errno
import io
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

import msgspec
from msgspec import Struct

from engine.errors import InputError, system_reason
from engine.text import visible

try:
    import fcntl
except ImportError:  # pragma: no cover - a system without file locks
    fcntl = None  # type: ignore[assignment]


PRIVATE: Final = 0o600
"""A journal names the tenants, topics and consumers of an installation: only its user reads and writes it."""
_AS_USUAL: Final = 0o666  # what the user's umask leaves of it
_DRAFT: Final = re.compile(r"\.ringside-[0-9a-f]{16}\.part")
_NEW: Final = os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC
_TRIES: Final = 100
_NO_HARD_LINKS: Final = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
_LOCKED_ELSEWHERE: Final = (errno.EWOULDBLOCK, errno.EACCES, errno.EAGAIN)


class Draft(Struct, frozen=True):
    """A file that is being written and has no name of its own yet; locked as long as ``descriptor`` is open."""

    path: Path
    descriptor: int


class Disk:
    """Plain POSIX files by descriptor. Every method raises OSError and nothing else."""

    def draft(self, folder: Path, *, private: bool = False) -> Draft:
        """A new file for reading and appending in a folder, from which what killed processes left is removed."""
        _sweep(folder)
        for _ in range(_TRIES):
            path = folder / f".ringside-{secrets.token_hex(8)}.part"
            descriptor = -1
            try:
                descriptor = os.open(path, _NEW, PRIVATE if private else _AS_USUAL)
                if private:
                    _make_private(descriptor)
                if self.lock(descriptor) and os.fstat(descriptor).st_nlink:
                    return Draft(path, descriptor)
                self.close(descriptor)  # another process took it for a left one before it was locked
            except BaseException:
                self.discard(Draft(path, descriptor))
                raise
        raise OSError(errno.EBUSY, "other processes remove what is being written")

    def publish(self, draft: Draft, path: Path) -> None:
        """Give a draft its name once all of it is safe; FileExistsError when there is such a file, and it stays."""
        self.sync(draft.descriptor)
        try:
            os.link(draft.path, path)
        except OSError as error:
            if error.errno not in _NO_HARD_LINKS:
                raise
            _take_name(draft.path, path)
        else:
            with suppress(OSError):
                draft.path.unlink()
        self.sync_directory(path.parent)

    def discard(self, draft: Draft) -> None:
        """Remove a draft that was not published, and close it."""
        with suppress(OSError):
            draft.path.unlink()
        self.close(draft.descriptor)

    def open(self, path: Path) -> int:
        """An existing file for reading and appending, private from now on.

        A pipe or terminal in its place does not block and keeps its rights.
        """
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK)
        _make_private(descriptor)
        return descriptor

    def lock(self, descriptor: int) -> bool:
        """Whether this process alone may write now. True on a file system without locks."""
        if fcntl is None:  # pragma: no cover
            return True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            return error.errno not in _LOCKED_ELSEWHERE
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


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A new file to write to, which has its name once the ``with`` ends well, and leaves nothing when it does not.

    Raises FileExistsError when there is such a file, before anything is written or after; it stays as it is.
    """
    if os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    disk = Disk()
    draft = disk.draft(path.parent)
    try:
        with os.fdopen(draft.descriptor, "wb", closefd=False) as file:
            yield file
        disk.publish(draft, path)
    finally:
        disk.discard(draft)


def _take_name(draft: Path, path: Path) -> None:
    """Where files cannot have two names, the name is taken by an empty file first, which the draft replaces."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, PRIVATE))
    try:
        draft.replace(path)
    except BaseException:
        with suppress(OSError):
            path.unlink()
        raise


def _sweep(folder: Path) -> None:
    """Remove drafts of processes that were killed: nobody holds their lock.

    Without locks nothing is removed, since it may be in use.
    """
    if fcntl is None:  # pragma: no cover
        return
    with suppress(OSError):
        for path in [path for path in folder.iterdir() if _DRAFT.fullmatch(path.name)]:
            with suppress(OSError):
                descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
                try:
                    if stat.S_ISREG(os.fstat(descriptor).st_mode):
                        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        path.unlink()
                finally:
                    os.close(descriptor)


def _make_private(descriptor: int) -> None:
    """Give a regular file the rights of a journal: one made by an earlier release, or under a strict umask, has others.

    Another user's file and a file system without rights are left as they are.
    """
    with suppress(OSError):
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISREG(mode) and stat.S_IMODE(mode) != PRIVATE:
            os.fchmod(descriptor, PRIVATE)


Value = float | str | None
Record = Mapping[str, Value]
_FORMULA: Final = re.compile("\\s*[=+\\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]")
"""How a text begins that a spreadsheet takes for a formula, after blanks too."""


class Exported(Struct, frozen=True):
    """What was written: ``rows``, and in how many cells a spreadsheet or a terminal would have done harm.

    Those of CSV are changed (``neutral``); JSON has escapes for them, and Parquet has no need.
    """

    rows: int
    changed_cells: int = 0


def export_records(records: Sequence[Record], path: Path) -> Exported:
    """Write records with the same keys as CSV or JSON, by the name's ending. Raises ``InputError``."""
    writer = record_writer(path)
    return Exported(len(records), saved(path, lambda file: writer(records, file)))


def record_writer(path: Path) -> Writer:
    """What writes records to a file of this name. Raises ``InputError`` for an ending that is neither CSV nor JSON."""
    return chosen(path, {".csv": _csv, ".json": _json})


def path_typed(text: str) -> Path:
    """The path that somebody typed. Raises ``InputError`` for one that no file can have."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError("this name holds half a character, which no file name can; type it anew") from error
    try:
        return Path(text.strip()).expanduser().absolute()
    except RuntimeError as error:
        raise InputError(str(error)) from error


Writer = Callable[..., int]


def chosen(path: Path, writers: Mapping[str, Writer]) -> Writer:
    """The writer for a name's ending. Raises ``InputError`` for another ending."""
    writer = writers.get(path.suffix.lower())
    if writer is None:
        raise InputError(f"{path} ends in none of {', '.join(writers)}; choose one of them")
    return writer


def saved(path: Path, write: Callable[[IO[bytes]], int]) -> int:
    """Write a file that is there when all of it is safe, or not at all; returns what ``write`` returns.

    Raises ``InputError`` for a file that is there already, and for what the system refuses.
    """
    try:
        with whole_file(path) as file:
            return write(file)
    except FileExistsError as error:
        raise InputError(f"{path} is there already; choose another name") from error
    except (OSError, ValueError) as error:  # a name with NUL is a ValueError
        raise InputError(f"{path} cannot be written: {system_reason(error)}") from error


def neutral(text: str) -> str:
    """A text as a cell that a spreadsheet shows and does not run, without characters that it would not show.

    What begins like a formula gets an apostrophe before it, the spreadsheets' own mark of a text.

    >>> neutral("=cmd|' /C calc'!A0"), neutral("\\t-1"), neutral("a-b")
    ("'=cmd|' /C calc'!A0", "'\\\\t-1", 'a-b')
    """
    shown = visible(text)
    return f"'{shown}" if _FORMULA.match(text) else shown


def _csv(records: Sequence[Record], file: IO[bytes]) -> int:
    changed = 0
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\n")
    if records:
        writer.writerow(records[0])
    for record in records:
        cells = []
        for value in record.values():
            cell = neutral(value) if isinstance(value, str) else value
            changed += isinstance(value, str) and cell != value
            cells.append(cell)
        writer.writerow(cells)
    text.detach()
    return changed


def _json(records: Sequence[Record], file: IO[bytes]) -> int:
    file.write(b"[" + b",".join(b"\n" + msgspec.json.encode(dict(record)) for record in records) + b"\n]\n")
    return 0
