"""``np.searchsorted`` for very many wanted numbers in no order: a table says where each search begins."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

FEW: Final = 1_000
"""Wanted numbers below which a table costs more than it saves."""
MOST_KEYS: Final = 1 << 19
"""Keys beyond which the table is no longer in the cache."""
CHUNK: Final = 1 << 15
"""Wanted numbers searched together: what is known of them stays in the cache."""
STEPS: Final = 8
"""Keys that are tried from where a search begins; hashes hardly ever have more in one slice."""


def search_many(keys: NDArray[np.int64], wanted: NDArray[np.integer], bits: int) -> NDArray[np.int64]:
    """How many keys are below each wanted number: (n,) int64, as ``np.searchsorted(keys, wanted)``.

    ``keys``: (p,) ascending; both in 0 .. 2^``bits`` - 1. That space is cut into two to four slices a key; the search
    begins at the slice's first key. O(1) each for keys that are spread evenly, O(log p) at worst; 8 bytes a slice.

    >>> search_many(np.array([3, 3, 7]), np.array([2, 3, 4, 8]), 4).tolist()
    [0, 0, 2, 3]
    """
    if len(wanted) < max(FEW, len(keys) // 4) or not 0 < len(keys) <= MOST_KEYS:
        return np.searchsorted(keys, wanted.astype(np.int64, copy=False))
    shift = max(bits - len(keys).bit_length() - 1, 0)
    counts = np.bincount(keys >> shift, minlength=1 << (bits - shift))
    # Where a slice's keys begin, or the complement of it (negative) where there is one.
    entries = (np.cumsum(counts) - counts).astype(np.int32)
    np.invert(entries, out=entries, where=counts > 0)
    # A key that is never below a wanted number stops every search.
    stopped = np.append(keys, np.int64(1 << bits))
    found = np.empty(len(wanted), dtype=np.int64)
    for low in range(0, len(wanted), CHUNK):
        asked = wanted[low : low + CHUNK].astype(np.int64, copy=False)
        at = entries.take(asked >> shift)
        rows = np.flatnonzero(at < 0)
        at[rows] = _from(stopped, ~at[rows], asked[rows])
        found[low : low + CHUNK] = at
    return found


def _from(keys: NDArray[np.int64], at: NDArray[np.int32], wanted: NDArray[np.int64]) -> NDArray[np.int32]:
    """Go on from ``at`` to the first key that is not below each wanted number."""
    for _ in range(STEPS):
        below = keys.take(at) < wanted
        if not below.any():
            return at
        at += below
    rest = np.flatnonzero(keys.take(at) < wanted)
    at[rest] = np.searchsorted(keys, wanted[rest])
    return at
