"""MurmurHash3 (x86, 32 bit, seed 0) over columns of 4-byte blocks: one numpy step mixes one block of many names."""

from __future__ import annotations

from typing import Final

import mmh3
import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]

CHUNK: Final = 1 << 13
"""Names mixed together: their states and their bytes stay in the cache."""
LONGEST: Final = 1024
"""Bytes beyond which a name is hashed on its own: a few long ones would make a step for each of their blocks."""

_C1: Final = np.uint32(0xCC9E2D51)
_C2: Final = np.uint32(0x1B873593)
_FIVE: Final = np.uint32(5)
_ADD: Final = np.uint32(0xE6546B64)
_TAIL_MASKS: Final = np.array([0, 0xFF, 0xFFFF, 0xFFFFFF], dtype=np.uint32)


def murmur3_of_buffer(data: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> Words:
    """The unsigned 32-bit hash of each ``data[start:start + length]``; starts and lengths (n,), starts ascending.

    O(bytes), in chunks of ``CHUNK`` names.

    >>> murmur3_of_buffer(np.frombuffer(b"ababc", np.uint8), np.array([0, 2]), np.array([2, 3])).tolist() == [
    ...     mmh3.hash(b"ab", signed=False), mmh3.hash(b"abc", signed=False)]
    True
    """
    found = np.empty(len(starts), dtype=np.uint32)
    for low in range(0, len(starts), CHUNK):
        rows = slice(low, low + CHUNK)
        found[rows] = _chunk(data, starts[rows], lengths[rows])
    return found


def mix_block(state: Words, block: Words) -> None:
    """Take one whole block into each state, in place; ``block`` is spoilt."""
    _scramble(block)
    state ^= block
    _rotate(state, 13)
    state *= _FIVE
    state += _ADD


def finish(state: Words, tail: Words, lengths: NDArray[np.uint32] | np.uint32) -> None:
    """Take the last 0 to 3 bytes (little-endian, 0 where there is none) and the length in, in place."""
    _scramble(tail)
    state ^= tail
    state ^= lengths
    state ^= state >> np.uint32(16)
    state *= np.uint32(0x85EBCA6B)
    state ^= state >> np.uint32(13)
    state *= np.uint32(0xC2B2AE35)
    state ^= state >> np.uint32(16)


def _scramble(block: Words) -> None:
    block *= _C1
    _rotate(block, 15)
    block *= _C2


def _rotate(words: Words, left: int) -> None:
    low = words >> np.uint32(32 - left)
    words <<= np.uint32(left)
    words |= low


def _chunk(data: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> Words:
    long = np.flatnonzero(lengths > LONGEST)
    alone = [mmh3.hash(data[starts[at] : starts[at] + lengths[at]].tobytes(), 0, False) for at in long.tolist()]
    if len(long):
        lengths = lengths.copy()
        lengths[long] = 0
    blocks = lengths >> 2
    # The longest first: the names that still have a block are a prefix then.
    order = np.argsort(-blocks.astype(np.int16), kind="stable")
    blocks, lengths, starts = blocks[order], lengths[order], starts[order]
    first = int(starts.min()) & ~3
    words = _words(data, first, int((starts + lengths).max()))
    at = (starts - first) >> 2
    shift = ((starts & 3) << 3).astype(np.uint64)
    state = np.zeros(len(starts), dtype=np.uint32)
    having = len(blocks) - np.cumsum(np.bincount(blocks))
    for count in having[:-1].tolist():
        mix_block(state[:count], (words.take(at[:count]) >> shift[:count]).astype(np.uint32))
        at[:count] += 1
    finish(
        state,
        (words.take(at) >> shift).astype(np.uint32) & _TAIL_MASKS[lengths & 3],
        lengths.astype(np.uint32),
    )
    found = np.empty_like(state)
    found[order] = state
    found[long] = alone
    return found


def _words(data: NDArray[np.uint8], first: int, end: int) -> NDArray[np.uint64]:
    """From every fourth byte on, eight bytes as one number: any block is in one of them, after a shift.

    A gather at odd addresses would be twice as slow.
    """
    size = (end - first + 3) & ~3
    padded = np.zeros(size + 8, dtype=np.uint8)
    padded[: end - first] = data[first:end]
    quads = padded.view("<u4").astype(np.uint64)
    return quads[:-1] | (quads[1:] << np.uint64(32))
