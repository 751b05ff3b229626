"""The hashes of a name followed by 0, 1, 2, …: the points of many ring members at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import mmh3
import numpy as np
from numpy.typing import NDArray

from engine.bulk_hashing import HASH_BITS, Words, advance, finish, scramble

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
