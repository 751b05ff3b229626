"""MurmurHash3 (x86, 32 bit, seed 0) over columns of 4-byte blocks: one numpy step mixes one block of many names."""

from __future__ import annotations

from typing import Final

import mmh3
import numpy as np
from numpy.typing import NDArray

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
    found = np.empty(len(starts), dtype=np.uint32)
    for low in range(0, len(starts), CHUNK):
        rows = slice(low, low + CHUNK)
        found[rows] = _chunk(data, starts[rows], lengths[rows])
    return found


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
    # The first column that is the end of a name: what stands behind the end is another's.
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
    found = np.empty_like(state)
    found[order] = state
    found[long] = alone
    return found


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
