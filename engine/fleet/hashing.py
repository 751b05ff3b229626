"""Murmur3 and CRC-32 of many names at once, equal to ``engine.hashing`` name by name.

Names come as a list of texts, a list of bytes, a numpy array of bytes (``S``) or texts (``U``, object), or as Arrow
keeps them: one buffer and offsets into it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, TypeAlias

import mmh3
import numpy as np
from numpy.typing import NDArray

from engine.fleet.murmur3_kernel import murmur3_of_buffer
from engine.hashing import utf8

HASH_BITS: Final = 31
"""Bits of a Pulsar hash; fewer keep the low bits only, which makes points and topics meet (for tests)."""


@dataclass(frozen=True, slots=True)
class ByteColumn:
    """Byte strings as Arrow keeps them: string i is ``data[offsets[i]:offsets[i + 1]]``.

    ``offsets``: (n + 1,) int32 or int64, not descending; ``data``: uint8. A slice of an Arrow column may begin at an
    offset above 0. Nulls are the caller's: an absent name has no hash.
    """

    offsets: NDArray[np.int32] | NDArray[np.int64]
    data: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def from_buffers(cls, offsets: Any, data: Any | None, count: int, first: int = 0) -> ByteColumn:
        """An Arrow column of type string or binary: its buffers, its length, and the place where a slice begins.

        Both are anything with Python's buffer protocol. ``offsets``: int32, at least ``first + count + 1`` of them;
        ``data``: None where Arrow has none. For the large types make the column from an int64 array of offsets.

        >>> column = ByteColumn.from_buffers(np.array([0, 2, 5], np.int32).tobytes(), b"ababc", 1, 1)
        >>> list(column.values())
        [b'abc']
        """
        bounds = np.frombuffer(offsets, dtype="<i4", count=count + 1, offset=4 * first)
        return cls(bounds, np.frombuffer(b"" if data is None else data, dtype=np.uint8))

    def values(self) -> Iterable[bytes]:
        """The strings one by one."""
        first = int(self.offsets[0])
        data = self.data[first : int(self.offsets[-1])].tobytes()
        return (data[start - first : end - first] for start, end in pairwise(self.offsets.tolist()))


Names: TypeAlias = Sequence[str] | Sequence[bytes] | NDArray[Any] | ByteColumn
"""Many names; a text stands for its UTF-8 bytes (``engine.hashing.utf8``)."""


def murmur3_bulk(names: Names, *, bits: int = HASH_BITS) -> NDArray[np.int64]:
    """``engine.hashing.murmur3_32`` of each name: (n,) int64 in 0 .. 2^bits - 1.

    O(bytes). Arrays and Arrow buffers go through a numpy kernel, lists through one C call for each name: the fastest
    way for each, as measured by the benchmark.

    >>> murmur3_bulk(["", "ab", "abc"]).tolist()
    [0, 465557343, 870159354]
    >>> murmur3_bulk(np.array([b"ab", b"abc"])).tolist(), murmur3_bulk(["ab"], bits=8).tolist()
    ([465557343, 870159354], [95])
    """
    assert 1 <= bits <= HASH_BITS, f"a hash has 1 to {HASH_BITS} bits, not {bits}"
    mask = (1 << bits) - 1
    if isinstance(names, ByteColumn):
        offsets = names.offsets.astype(np.int64, copy=False)
        return murmur3_of_buffer(names.data, offsets[:-1], np.diff(offsets)).astype(np.int64) & mask
    if isinstance(names, np.ndarray) and names.dtype.kind == "S":
        return _of_fixed_width(names).astype(np.int64) & mask
    listed = _listed(names)
    # mmh3 does not look whether a text can be encoded: a surrogate without its partner ends the process.
    if len(listed) and isinstance(listed[0], str) and not "".join(listed).isascii():
        listed = list(_as_bytes(listed))
    raw = np.fromiter(map(mmh3.hash, listed), dtype=np.int64, count=len(listed))
    raw &= mask
    return raw


def crc32_bulk(names: Names) -> NDArray[np.int64]:
    """``engine.hashing.crc32_hash`` of each name: (n,) int64 in 0 .. 2^32 - 1. O(bytes).

    >>> crc32_bulk(["123456789"]).tolist() == [0xCBF43926]
    True
    """
    if isinstance(names, ByteColumn):
        values, count = names.values(), len(names)
    else:
        listed = _listed(names)
        if len(listed) and isinstance(listed[0], str):
            try:
                return np.fromiter(map(zlib.crc32, map(str.encode, listed)), dtype=np.int64, count=len(listed))
            except UnicodeEncodeError:  # a surrogate without its partner
                pass
        values, count = _as_bytes(listed), len(listed)
    return np.fromiter(map(zlib.crc32, values), dtype=np.int64, count=count)


def _of_fixed_width(names: NDArray[np.bytes_]) -> NDArray[np.uint32]:
    # numpy drops NULs at the end of such an element, so a name that ends in one must come in another form.
    flat = np.ascontiguousarray(names).reshape(-1)
    width = flat.dtype.itemsize
    lengths = np.char.str_len(flat).astype(np.int64)
    data = flat.view(np.uint8) if len(flat) and width else np.zeros(0, dtype=np.uint8)
    return murmur3_of_buffer(data, np.arange(len(flat), dtype=np.int64) * width, lengths)


def _listed(names: Sequence[str] | Sequence[bytes] | NDArray[Any]) -> Sequence[Any]:
    return names.tolist() if isinstance(names, np.ndarray) else names


def _as_bytes(listed: Sequence[Any]) -> Iterable[bytes]:
    return (utf8(name) if isinstance(name, str) else name for name in listed)
