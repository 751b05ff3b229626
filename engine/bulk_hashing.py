"""Murmur3 and CRC-32 of many names at once, equal to ``engine.hashing`` name by name; and points of rings.

MurmurHash3 (x86, 32 bit, seed 0) of Arrow buffers works on columns of 4-byte blocks: one numpy step mixes one block of
many names. Names come as a list of texts, a list of bytes, a numpy array of bytes (``S``) or texts (``U``, object), or
as Arrow keeps them: one buffer and offsets into it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain, islice, pairwise
from typing import Any, Final, TypeAlias

import mmh3
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from engine.hashing import utf8

HASH_BITS: Final = 31
"""Bits of a Pulsar hash; fewer keep the low bits only, which makes points and topics meet (for tests)."""
STEP: Final = 1 << 12
"""Names hashed one by one before their hashes are put away: so many stay in the cache."""


class ByteColumn(Struct, frozen=True):
    """Byte strings as Arrow keeps them: string i is ``data[offsets[i]:offsets[i + 1]]``.

    ``offsets``: (n + 1,) int32 or int64, not descending; ``data``: uint8. A slice of an Arrow column may begin at an
    offset above 0. Nulls are the caller's: an absent name has no hash.
    """

    offsets: NDArray[np.int32] | NDArray[np.int64]
    data: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def from_buffers(cls, offsets: Any, data: Any, count: int, first: int = 0) -> ByteColumn:
        """An Arrow column of type string or binary: its buffers, its length, and the place where a slice begins.

        Both are anything with Python's buffer protocol, or None where Arrow has none: ``data`` of empty strings, and
        both of a column without strings. ``offsets``: int32, at least ``first + count + 1`` of them. For the large
        types make the column from an int64 array of offsets.

        >>> column = ByteColumn.from_buffers(np.array([0, 2, 5], np.int32).tobytes(), b"ababc", 1, 1)
        >>> list(column.values())
        [b'abc']
        """
        if not count:
            return cls(np.zeros(1, dtype=np.int32), np.zeros(0, dtype=np.uint8))
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

    O(bytes). Arrow buffers go through a numpy kernel, all else through one C call for each name: the fastest way for
    each, as measured by the benchmark. numpy drops NULs at the end of an ``S`` element, so a name that ends in one must
    come in another form.

    >>> murmur3_bulk(["", "ab", "abc"]).tolist()
    [0, 465557343, 870159354]
    >>> murmur3_bulk(np.array([b"ab", b"abc"])).tolist(), murmur3_bulk(["ab"], bits=8).tolist()
    ([465557343, 870159354], [95])
    """
    assert 1 <= bits <= HASH_BITS, f"a hash has 1 to {HASH_BITS} bits, not {bits}"
    mask = np.uint32((1 << bits) - 1)
    if isinstance(names, ByteColumn):
        offsets = names.offsets.astype(np.int64, copy=False)
        words = murmur3_of_buffer(names.data, offsets[:-1], np.diff(offsets))
        words &= mask
        return words.astype(np.int64)
    if isinstance(names, np.ndarray) and names.dtype.kind == "S":
        # A few at a time, so that not all of them are objects at once.
        chunks = (names[low : low + STEP].tolist() for low in range(0, len(names), STEP))
        return _one_by_one(chain.from_iterable(chunks), len(names), mask)
    listed = _listed(names)
    if len(listed) and isinstance(listed[0], str):
        # mmh3 takes texts too, but a surrogate without its partner ends the process: it must not see one.
        try:
            return _one_by_one(map(str.encode, listed), len(listed), mask)
        except UnicodeEncodeError:
            return _one_by_one(map(utf8, listed), len(listed), mask)
    return _one_by_one(listed, len(listed), mask)


def _one_by_one(values: Iterable[bytes], count: int, mask: np.uint32) -> NDArray[np.int64]:
    """One C call a name. What it gives is kept as bytes: numbers in between would take longer than the hash."""
    digests = map(mmh3.mmh3_32_digest, values)
    hashes = np.empty(count, dtype=np.int64)
    for low in range(0, count, STEP):
        words = np.frombuffer(b"".join(islice(digests, STEP)), dtype="<u4")
        np.bitwise_and(words, mask, out=hashes[low : low + STEP])
    return hashes


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


def _listed(names: Sequence[str] | Sequence[bytes] | NDArray[Any]) -> Sequence[Any]:
    return names.tolist() if isinstance(names, np.ndarray) else names


def _as_bytes(listed: Sequence[Any]) -> Iterable[bytes]:
    return (utf8(name) if isinstance(name, str) else name for name in listed)


Words = NDArray[np.uint32]

CHUNK: Final = 1 << 13
"""Names mixed together: their states and their bytes stay in the cache."""
LONGEST: Final = 256
"""Bytes beyond which a name is hashed on its own: every name of a chunk takes the room of the longest."""

_C1: Final = np.uint32(0xCC9E2D51)
_C2: Final = np.uint32(0x1B873593)
_FIVE: Final = np.uint32(5)
_ADD: Final = np.uint32(0xE6546B64)
_TAIL_MASKS: Final = np.array([0, 0xFF, 0xFFFF, 0xFFFFFF], dtype=np.uint32)


def murmur3_of_buffer(data: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> Words:
    """The unsigned 32-bit hash of each ``data[start:start + length]``; starts and lengths (n,), in any order.

    O(bytes), in chunks of ``CHUNK`` names.

    >>> murmur3_of_buffer(np.frombuffer(b"ababc", np.uint8), np.array([0, 2]), np.array([2, 3])).tolist() == [
    ...     mmh3.hash(b"ab", signed=False), mmh3.hash(b"abc", signed=False)]
    True
    """
    data = np.ascontiguousarray(data)
    hashes = np.empty(len(starts), dtype=np.uint32)
    for low in range(0, len(starts), CHUNK):
        rows = slice(low, low + CHUNK)
        hashes[rows] = _chunk(data, starts[rows], lengths[rows])
    return hashes


def scramble(blocks: Words, scratch: Words) -> None:
    """Make 4-byte blocks ready to be taken into a state by ``^=``, in place; ``scratch`` has their shape."""
    blocks *= _C1
    _rotate(blocks, 15, scratch)
    blocks *= _C2


def advance(state: Words, scratch: Words) -> None:
    """What follows on each whole block that was taken into a state, in place; ``scratch`` has its shape."""
    _rotate(state, 13, scratch)
    state *= _FIVE
    state += _ADD


def finish(state: Words, lengths: NDArray[np.uint32] | np.uint32, scratch: Words) -> None:
    """The end of a hash, when all bytes are taken in, in place; ``scratch`` has the shape of ``state``."""
    state ^= lengths
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        state ^= np.right_shift(state, np.uint32(shift), out=scratch)
        state *= np.uint32(factor)
    state ^= np.right_shift(state, np.uint32(16), out=scratch)


def _rotate(words: Words, left: int, scratch: Words) -> None:
    np.right_shift(words, np.uint32(32 - left), out=scratch)
    words <<= np.uint32(left)
    words |= scratch


def _chunk(data: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> Words:
    long = np.flatnonzero(lengths > LONGEST)
    alone = [mmh3.hash(data[starts[at] : starts[at] + lengths[at]].tobytes(), 0, False) for at in long.tolist()]
    if len(long):
        lengths = lengths.copy()
        lengths[long] = 0
    blocks = lengths >> 2
    # The longest first: the names that still have a block are a prefix then.
    order = np.argsort(-blocks.astype(np.int16), kind="stable")
    sizes = lengths[order].astype(np.uint32)
    reaching = np.cumsum(np.bincount(blocks)[::-1])[::-1].tolist()
    columns = _columns(data, starts[order], reaching)
    # The first column that is the end of a name: the bytes after the end belong to another name.
    masks = _TAIL_MASKS[sizes & np.uint32(3)]
    for column, (here, whole) in enumerate(zip(reaching, [*reaching[1:], 0], strict=True)):
        columns[column, whole:here] &= masks[whole:here]
    scratch = np.empty_like(columns)
    scramble(columns, scratch)
    state = np.zeros(len(starts), dtype=np.uint32)
    for column, (here, whole) in enumerate(zip(reaching, [*reaching[1:], 0], strict=True)):
        state[:here] ^= columns[column, :here]
        advance(state[:whole], scratch[0, :whole])
    finish(state, sizes, scratch[0])
    hashes = np.empty_like(state)
    hashes[order] = state
    hashes[long] = alone
    return hashes


def _columns(data: NDArray[np.uint8], starts: NDArray[np.int64], reaching: list[int]) -> Words:
    """Block i of the first ``reaching[i]`` names, with the bytes behind their ends: (blocks, names)."""
    width = 4 * len(reaching)
    if int(starts.max()) + width > len(data):
        first = int(starts.min())
        data, starts = np.append(data[first:], np.zeros(width, dtype=np.uint8)), starts - first
    # Every place of the buffer as the start of a window: an index then copies a whole name at once.
    windows = np.ndarray((len(data) - width + 1,), dtype=f"V{width}", buffer=data, strides=(1,))
    names = windows[starts].view("<u4").reshape(len(starts), len(reaching))
    columns = np.zeros((len(reaching), len(starts)), dtype=np.uint32)
    for column, here in enumerate(reaching):
        columns[column, :here] = names[:here, column]
    return columns


_FEW = 2_000
"""Points up to which one call for each is faster than numpy's."""
_LONG_NAME = 256


def point_hashes(names: Sequence[bytes], points: int, *, bits: int = HASH_BITS) -> NDArray[np.int32]:
    """``murmur3_32(name + str(i))`` for i = 0 .. points - 1 of each name: (names, points) int32 in 0 .. 2^bits - 1.

    Names of one length are mixed together, and what they share with all their points once. O(names x points).

    >>> point_hashes([b"c1", b"c11"], 11)[:, [0, 10]].tolist() == [
    ...     [mmh3.hash(text) & 0x7FFFFFFF for text in pair] for pair in (("c10", "c110"), ("c110", "c1110"))]
    True
    """
    assert points >= 1, f"a member of a ring has 1 point or more, not {points}"
    hashes = np.empty((len(names), points), dtype=np.uint32)
    suffixes = _suffixes(points)
    by_length: dict[int, list[int]] = {}
    for row, name in enumerate(names):
        by_length.setdefault(len(name), []).append(row)
    for length, rows in by_length.items():
        if len(rows) * points <= _FEW or length > _LONG_NAME:
            for row in rows:
                hashes[row] = point_hashes_of_one(names[row], points)
        else:
            group = np.frombuffer(b"".join([names[row] for row in rows]), dtype=np.uint8).reshape(len(rows), length)
            hashes[rows] = _of_one_length(group, suffixes)
    hashes &= np.uint32((1 << bits) - 1)
    return hashes.view(np.int32)


def point_hashes_of_one(name: bytes, points: int) -> NDArray[np.uint32]:
    """The unsigned 32-bit hashes of one name with each number: (points,). A C call for each."""
    extended = map(name.__add__, _suffixes(points))
    return np.fromiter(map(mmh3.mmh3_32_uintdigest, extended), dtype=np.uint32, count=points)


@lru_cache(maxsize=8)
def _suffixes(points: int) -> tuple[bytes, ...]:
    return tuple(b"%d" % replica for replica in range(points))


def _of_one_length(names: NDArray[np.uint8], suffixes: Sequence[bytes]) -> Words:
    """``names``: (n, length) bytes."""
    count, length = names.shape
    whole, rest = length // 4 * 4, length % 4
    padded = np.zeros((count, whole + 4), dtype=np.uint8)
    padded[:, :length] = names
    blocks = padded.view("<u4")
    state, scratch = np.zeros((2, count), dtype=np.uint32)
    for column in range(whole // 4):
        block = blocks[:, column].copy()
        scramble(block, scratch)
        state ^= block
        advance(state, scratch)
    hashes = np.empty((count, len(suffixes)), dtype=np.uint32)
    low = 0
    while low < len(suffixes):
        # Suffixes of one length are neighbours: 0..9, 10..99, 100..999.
        digits = len(suffixes[low])
        high = min(len(suffixes), 10**digits)
        hashes[:, low:high] = _finished(state, blocks[:, -1], rest, suffixes[low:high], length + digits)
        low = high
    return hashes


def _finished(state: Words, ends: Words, rest: int, suffixes: Sequence[bytes], length: int) -> Words:
    """Each state with its last ``rest`` bytes and each suffix (all of one length) taken in: (n, suffixes)."""
    numbers = np.array([int.from_bytes(suffix, "little") for suffix in suffixes], dtype=np.uint64)
    text = ends.astype(np.uint64)[:, None] | (numbers << np.uint64(8 * rest))[None, :]
    mixed = np.repeat(state[:, None], len(suffixes), axis=1)
    scratch = np.empty_like(mixed)
    left = rest + len(suffixes[0])
    while True:
        block = text.astype(np.uint32)
        scramble(block, scratch)
        mixed ^= block
        if left < 4:
            break
        advance(mixed, scratch)
        text >>= np.uint64(32)
        left -= 4
    finish(mixed, np.uint32(length), scratch)
    return mixed
