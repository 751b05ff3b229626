"""Gzip in pieces, so that neither a text nor the memory is larger than somebody wanted; faults keep their place."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from typing import Final

GZIP_MAGIC: Final = b"\x1f\x8b"
UNMEASURED_BYTES: Final = 64 * 1024**2
"""What unpacks to more is measured before it is kept: a small file can unpack to anything."""
_PACKED_PIECE: Final = 1 << 14
"""What lies behind the end of a member is copied, so that pieces are small: a file may have a member every 20 bytes."""
_UNPACKED_PIECE: Final = 1 << 20


class Gunzipped:
    """What gzip data holds, piece by piece; afterwards ``fault`` says what was wrong with the rest, "" for nothing.

    Members one behind the other are one text. NUL bytes behind the last member are padding, as they are for gzip.
    """

    def __init__(self, packed: Iterable[bytes]) -> None:
        self.fault = ""
        self._packed = packed
        self._place = 0
        """Where the present packed piece begins."""
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
        """Begin a member with bytes that are at ``place``; gives what it is to be fed with."""
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
        """The next piece of a member, and the packed bytes that are left."""
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
    """What comes out before the byte at which data is damaged, and the place of that byte."""
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
    """Bytes in memory as pieces."""
    return (data[at : at + _PACKED_PIECE] for at in range(0, len(data), _PACKED_PIECE))


def collected(pieces: Iterable[bytes], limit: int) -> bytes | None:
    """The pieces as one; None where they have more than ``limit`` bytes. The memory they take is taken once."""
    buffer = BytesIO()
    for piece in pieces:
        if buffer.tell() + len(piece) > limit:
            return None
        buffer.write(piece)
    return buffer.getvalue()


def collected_if_small(begin: Callable[[], Iterable[bytes]], limit: int) -> bytes | None:
    """As ``collected``, for pieces that can be had again from the first: many are counted before any more are kept."""
    data = collected(begin(), min(limit, UNMEASURED_BYTES))
    if data is not None or limit <= UNMEASURED_BYTES:
        return data
    size = 0
    for piece in begin():
        size += len(piece)
        if size > limit:
            return None
    return collected(begin(), limit)
