"""The body of a response as it grows: unpacked piece by piece, and never beyond its limit."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, Final

PLAIN: Final = ("", "identity")
_GZIP: Final = 31
_ZLIB: Final = 15
_RAW: Final = -15
_HEADER_BYTES: Final = 2
_AT_ONCE: Final = 1 << 20


class TooLargeError(Exception):
    """A body has more bytes than are read."""


class PackedError(Exception):
    """A body is packed in a way that nobody asked for, or its packed data are damaged."""


def _gzip(_: bytes) -> Any:
    return zlib.decompressobj(_GZIP)


def _deflate(head: bytes) -> Any:
    """Named so are data with a header of zlib, and those without."""
    has_header = head[0] & 0x0F == 8 and int.from_bytes(head[:_HEADER_BYTES]) % 31 == 0
    return zlib.decompressobj(_ZLIB if has_header else _RAW)


ACCEPTED: Final[dict[str, Callable[[bytes], Any]]] = {"gzip": _gzip, "deflate": _deflate}
"""Ways of packing, each with what unpacks data that begin so."""


class Body:
    """What has come of a body. ``encoding`` is the response's ``Content-Encoding``.

    A way of packing that is not accepted is refused, also one upon another: a few bytes could then be gigabytes, which
    would be there before anybody counts them.
    """

    def __init__(self, encoding: str, limit: int) -> None:
        self.data = bytearray()
        self._limit = limit
        self._encoding = encoding.strip().lower().removeprefix("x-")
        self._packed = b""
        """The beginning of packed data, while it is too short to see how they begin."""
        self._packed_bytes = 0
        self._unpacks: Any = None

    def take(self, piece: bytes) -> None:
        """Add a piece as it came.

        Raises ``TooLargeError``, with as much in ``data`` as the limit allows, and ``PackedError``.
        """
        if self._encoding in PLAIN:
            self._add(piece)
            return
        if self._encoding not in ACCEPTED:
            raise PackedError(f"the answer is packed as {self._encoding[:40]!r}; {' or '.join(ACCEPTED)} was requested")
        self._packed_bytes += len(piece)
        if self._packed_bytes > self._limit:
            raise TooLargeError
        if self._unpacks is None:
            self._packed = piece = self._packed + piece
            if len(piece) < _HEADER_BYTES:
                return
            self._unpacks = ACCEPTED[self._encoding](piece)
        try:
            unpacked = self._unpacks.decompress(piece, _AT_ONCE)
            while unpacked:
                self._add(unpacked)
                unpacked = self._unpacks.decompress(self._unpacks.unconsumed_tail, _AT_ONCE)
        except zlib.error as error:
            raise PackedError(f"the answer is packed and damaged: {error}") from error
        if self._unpacks.unused_data:
            raise PackedError("the answer is packed and goes on behind its end")

    def close(self) -> None:
        """Note that nothing more comes. Raises ``PackedError`` where packed data stop in the middle."""
        if self._packed_bytes and (self._unpacks is None or not self._unpacks.eof):
            raise PackedError("the answer is packed and stops in the middle")

    def _add(self, piece: bytes) -> None:
        room = self._limit - len(self.data)
        self.data += piece[:room]
        if len(piece) > room:
            raise TooLargeError
