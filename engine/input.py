"""Read a path that may be a file, a pipe, a device, endless, or a small file that unpacks to any size.

All paths that somebody names are read here. What a path is decides: a file on a disk is read, and so is a pipe that
somebody writes to, such as standard input or ``<(command)``; a folder, a socket, a device, a pipe without a writer, and
a file that the system makes up while it is read and that has no end, such as ``/proc/kmsg``, are refused.
Neither a text nor the memory grows beyond the limit, and faults of packed data keep their place.
"""

from __future__ import annotations

import errno
import os
import re
import select
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Final

from msgspec import Struct

from engine.errors import InputError, Rejection

GZIP_MAGIC: Final = b"\x1f\x8b"
UNMEASURED_BYTES: Final = 64 * 1024**2
"""Larger unpacked texts are measured before they are kept: a small file can unpack to any size."""
MOST_TIMES: Final = 300
"""How many times its packed size a text may have, beyond ``UNMEASURED_BYTES``: a megabyte can hold a gigabyte of one
letter. What brokers print has 10 times, and 140 times where thousands of partitions differ in nothing but their names.
"""
_PACKED_PIECE: Final = 1 << 14
"""Pieces are small as the bytes after each gzip member are copied: a file may have a member every 20 bytes."""
_UNPACKED_PIECE: Final = 1 << 20


class Gunzipped:
    """The contents of gzip data, piece by piece; afterwards ``fault`` says what was wrong with the rest, "" for
    nothing.

    Consecutive members are one text. NUL bytes after the last member are padding, as for gzip.
    """

    def __init__(self, packed: Iterable[bytes]) -> None:
        self.fault = ""
        self._packed = packed
        self._place = 0
        """The offset of the present packed piece."""
        self._member: zlib._Decompress | None = None
        self._lead = b""
        """The first byte of a member whose second one is in the next piece."""
        self._members = 0

    def __iter__(self) -> Iterator[bytes]:
        """The unpacked pieces, each of at most 1 MB. O(length)."""
        for piece in _small(self._packed):
            rest = piece
            while rest and not self.fault:
                place = self._place + len(piece) - len(rest)
                if self._member is None:
                    rest = self._begin(rest, place)
                else:
                    out, rest = self._go_on(self._member, rest, place)
                    if out:
                        yield out
            if self.fault:
                return
            self._place += len(piece)
        if self._member is not None or self._lead:
            self.fault = "the gzip data stops in the middle"

    def _begin(self, rest: bytes, place: int) -> bytes:
        """Begin a member with the bytes at ``place``; return the bytes to feed it with."""
        if self._members and not self._lead and rest[:1] == b"\0":
            return rest.lstrip(b"\0")
        place -= len(self._lead)
        rest, self._lead = self._lead + rest, b""
        if rest[:2] == GZIP_MAGIC:
            self._member = zlib.decompressobj(wbits=31)
            self._members += 1
            return rest
        if rest == GZIP_MAGIC[:1]:
            self._lead = rest
            return b""
        what = "what follows is not gzip data" if self._members else "it does not begin as gzip data does"
        self.fault = f"byte {place + 1:,} of the file: {what}, and is set aside"
        return b""

    def _go_on(self, member: zlib._Decompress, rest: bytes, place: int) -> tuple[bytes, bytes]:
        """Return the next piece of a member, and the remaining packed bytes."""
        before = member.copy()
        try:
            out = member.decompress(rest, _UNPACKED_PIECE)
        except zlib.error as error:
            good, used = _byte_by_byte(before, rest)
            self.fault = f"byte {place + used + 1:,} of the file: the gzip data is damaged ({error})"
            return good, b""
        if not member.eof:
            return out, member.unconsumed_tail
        self._member = None
        return out, member.unused_data


def _byte_by_byte(member: zlib._Decompress, packed: bytes) -> tuple[bytes, int]:
    """Unpack up to the damaged byte, and return that with the byte's place."""
    good = bytearray()
    for at in range(len(packed)):
        try:
            good += member.decompress(packed[at : at + 1])
        except zlib.error:
            return bytes(good), at
    return bytes(good), len(packed)


def _small(pieces: Iterable[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        for at in range(0, len(piece), _PACKED_PIECE):
            yield piece[at : at + _PACKED_PIECE]


def sliced(data: bytes) -> Iterator[bytes]:
    """Yield bytes in memory as pieces."""
    return (data[at : at + _PACKED_PIECE] for at in range(0, len(data), _PACKED_PIECE))


def collected(pieces: Iterable[bytes], limit: int) -> bytes | None:
    """Join the pieces; None for more than ``limit`` bytes. The memory is used once."""
    buffer = BytesIO()
    for piece in pieces:
        if buffer.tell() + len(piece) > limit:
            return None
        buffer.write(piece)
    return buffer.getvalue()


def collected_if_small(begin: Callable[[], Iterable[bytes]], packed_bytes: int, limit: int) -> bytes | None:
    """Unpack as ``collected`` joins, from what can be begun again: a large text is measured before it is kept.

    None for more than ``limit``. Raises ``InputError`` for a text of more than ``MOST_TIMES`` its packed size.
    """
    data = collected(begin(), min(limit, UNMEASURED_BYTES))
    if data is not None or limit <= UNMEASURED_BYTES:
        return data
    size = 0
    for piece in begin():
        size += len(piece)
        if size > limit:
            return None
    if size > MOST_TIMES * packed_bytes:
        raise InputError(f"unpacks to {size_text(size)}, more than {MOST_TIMES} times its size, as no answer does")
    return collected(begin(), limit)


MAX_INPUT_BYTES: Final = 2 * 10**9
"""The most that is read by default, unpacked and of all files together (``--max-input``)."""
DEEPEST_STRING: Final = 6
"""So many strings inside each other are looked into for answers."""
HEAD_BYTES: Final = 1 << 16
_PIECE: Final = 1 << 18


class Intake(Struct):
    """The limit of one reading and what was read so far, over all its files.

    A file that would cross the limit is left out, and the next one may still fit. What was unpacked in vain counts for
    ``worked_bytes``; at twice the limit nothing more is tried.
    """

    limit_bytes: int = MAX_INPUT_BYTES
    taken_bytes: int = 0
    worked_bytes: int = 0

    @property
    def room_bytes(self) -> int:
        """The most bytes the next file may have."""
        return max(0, min(self.limit_bytes - self.taken_bytes, 2 * self.limit_bytes - self.worked_bytes))

    def take(self, size_bytes: int) -> None:
        """Count a file that is kept."""
        self.taken_bytes += size_bytes
        self.worked_bytes += size_bytes

    def refuse(self) -> str:
        """Count a file that is left out for its size, and return the reason."""
        before = f" and {size_text(self.taken_bytes)} of that were read before it" if self.taken_bytes else ""
        reason = f"has more than may be read: --max-input is {size_text(self.limit_bytes)}, unpacked{before}"
        self.worked_bytes += self.room_bytes
        return reason


def size_text(size_bytes: int) -> str:
    """Write a number of bytes for a sentence.

    >>> size_text(2_000_000_000), size_text(1_234_567), size_text(999)
    ('2 GB', '1.235 MB', '999 bytes')
    """
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size_bytes >= unit:
            return f"{round(size_bytes / unit, 3):g} {name}"
    return f"{size_bytes} bytes"


_SIZE: Final = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,9})?) ?([KMGT]?)B?", re.IGNORECASE)
_MOST_BYTES: Final = 10**18


def parse_size(text: str) -> int | Rejection:
    """Parse a text such as ``500MB``, ``1.5 GB`` or ``1000000``; units are powers of 1000.

    >>> parse_size("1.5 GB"), parse_size("64k"), parse_size("much").field
    (1500000000, 64000, 'max-input')
    """
    match = _SIZE.fullmatch(text.strip())
    size = int(float(match[1]) * 1000 ** " KMGT".index(match[2].upper() or " ")) if match is not None else 0
    if not 0 < size <= _MOST_BYTES:
        return Rejection(
            "InvalidSize", f"{text[:40]!r} is not a size; write 500MB, 2GB or a number of bytes", "max-input"
        )
    return size


class Source:
    """An open file or pipe. The beginning that was read from a pipe to examine it is given again, once."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.about = os.fstat(descriptor)
        self.is_regular = stat.S_ISREG(self.about.st_mode)
        if stat.S_ISCHR(self.about.st_mode) or stat.S_ISBLK(self.about.st_mode):
            raise InputError("is a device, no file")
        if stat.S_ISDIR(self.about.st_mode):
            raise InputError("is a folder, no file")
        self.head = self._first()
        if not self.head and stat.S_ISFIFO(self.about.st_mode):
            raise InputError("is a pipe that nobody writes to")

    @property
    def is_gzip(self) -> bool:
        return self.head[: len(GZIP_MAGIC)] == GZIP_MAGIC

    def pieces(self) -> Iterator[bytes]:
        """Yield all bytes; a pipe can be read only once."""
        if self.is_regular:
            os.lseek(self._descriptor, 0, os.SEEK_SET)
        else:
            yield self.head
        yield from self._pieces(_PIECE)

    def read(self, limit: int) -> bytes | None:
        """Read all bytes without unpacking; None for more than ``limit``."""
        size = self.about.st_size
        if not self.is_regular or size == 0:
            return collected(self.pieces(), limit)
        if size > limit:
            return None
        with os.fdopen(self._descriptor, "rb", closefd=False) as file:
            file.seek(0)
            return file.read(size + 1)

    def unpacked(self, limit: int) -> tuple[bytes | None, str]:
        """Read and unpack all bytes, None for more than ``limit``; and return the fault of the packing.

        Raises ``InputError`` for a small file of a large text, also where that is packed again.
        """
        if not self.is_gzip:
            return self.read(limit), ""
        packed = collected(self.pieces(), limit)
        if packed is None:
            return None, ""
        tried: list[Gunzipped] = []

        def begin() -> Gunzipped:
            tried.append(Gunzipped(sliced(packed)))
            return tried[-1]

        data = collected_if_small(begin, len(packed), limit)
        if data is not None and data[:2] == GZIP_MAGIC and len(data) > 2 * len(packed) + HEAD_BYTES:
            raise InputError("is packed twice, and far smaller than what it holds, as no recorded answer is")
        return data, tried[-1].fault

    def unpacked_head(self) -> bytes:
        """Return the unpacked beginning of a file."""
        return next(iter(Gunzipped(self.pieces())), b"")[:HEAD_BYTES] if self.is_gzip else self.head

    def _first(self) -> bytes:
        """Read the first bytes; of a pipe at least enough to recognise gzip, unless it ends before."""
        head = b""
        for piece in self._pieces(HEAD_BYTES):
            head += piece
            if len(head) >= len(GZIP_MAGIC):
                break
        return head

    def _pieces(self, size: int) -> Iterator[bytes]:
        while True:
            try:
                piece = os.read(self._descriptor, size)
            except BlockingIOError:
                if self.is_regular:
                    raise InputError("is no file on a disk: the system makes it up, and it has no end") from None
                select.select([self._descriptor], [], [])
                continue
            if not piece:
                return
            yield piece


@contextmanager
def opened(path: Path) -> Iterator[Source]:
    """Open a path of any kind. Never waits for a pipe to be opened for writing.

    Raises OSError as the system does, and ``InputError`` for what is refused by its kind.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as fault:
        if fault.errno == errno.ENXIO:
            raise InputError("is a socket or a device, no file") from fault
        raise
    try:
        yield Source(descriptor)
    finally:
        os.close(descriptor)


def read_path(path: Path, *, limit: int = MAX_INPUT_BYTES) -> bytes:
    """Read all bytes of a file or pipe as they are. Raises as ``opened`` does, and ``InputError`` for more bytes.

    Each ``InputError`` begins with the path.
    """
    try:
        with opened(path) as source:
            data = source.read(limit)
        if data is None:
            raise InputError(f"has more than {size_text(limit)}; that much is not read")
    except InputError as error:
        raise InputError(f"{path} {error}") from error
    return data


def head_of(path: Path, size: int) -> bytes:
    """The first bytes of a file; none of what cannot be read, nor of a pipe, which can be read only once."""
    try:
        if not path.is_file():
            return b""
        with opened(path) as source:
            return source.head[:size]
    except (InputError, OSError, ValueError):
        return b""
