"""Which of very many topics a drawing looks at: it has some thousand cells, a million dots would be in vain."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from tui.drawing.arcs import IntArray

MANY_DOTS: Final = 20_000
"""Up to so many all are drawn."""
BIN_BITS: Final = 14
"""The hash space is cut into two to the power of this many pieces, more than a drawing has cells."""

Integers = npt.NDArray[np.int32] | npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def ascends(hashes: Integers) -> bool:
    """Whether hashes stand in order. O(n)."""
    return bool(np.all(hashes[1:] >= hashes[:-1]))


def thinned(hashes: Integers, size: int, *always: Mask) -> IntArray:
    """The places of the topics to draw, ascending: of each piece of the hash space the last, and the last of each mask.

    ``hashes`` ascend in 0 .. ``size`` - 1; a mask (n,) marks topics that stand out, such as those that just moved. So
    every cell that has a topic, or one that stands out, shows one. O(n) for the masks, O(pieces log n) else.

    >>> hashes = np.arange(0, 2**31, 2**12)
    >>> places = thinned(hashes, 2**31, np.arange(len(hashes)) == 77)
    >>> len(hashes), len(places), places[:3].tolist(), 77 in places
    (524288, 16385, [31, 63, 77], True)
    """
    pieces = 1 << BIN_BITS
    edges = (np.arange(1, pieces + 1, dtype=np.int64) * size // pieces).astype(np.int64)
    # A whole column of one narrow type is searched without a copy of it.
    ends = np.searchsorted(hashes, (edges - 1).astype(hashes.dtype), side="right") - 1
    kept = [ends[ends >= 0]]
    for mask in always:
        marked = np.flatnonzero(mask)
        piece = hashes[marked].astype(np.int64) * pieces // size
        kept.append(marked[np.append(piece[1:] != piece[:-1], True)] if len(marked) else marked)
    places = np.sort(np.concatenate(kept))
    return places[np.append(places[1:] != places[:-1], True)] if len(places) else places
