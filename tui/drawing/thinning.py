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


def ascends(hashes: Integers | npt.NDArray[np.uint32]) -> bool:
    """Whether hashes stand in order. O(n)."""
    return bool(np.all(hashes[1:] >= hashes[:-1]))


class Thinning:
    """Of one column of hashes the last of each piece of the hash space, for any number of drawings."""

    __slots__ = ("_last", "_start", "_taken", "hashes")

    def __init__(self, hashes: Integers, size: int) -> None:
        """``hashes`` ascend in 0 .. ``size`` - 1. O(pieces log n)."""
        pieces = 1 << BIN_BITS
        edges = (np.arange(1, pieces + 1, dtype=np.int64) * size // pieces).astype(np.int64)
        # A whole column of one narrow type is searched without a copy of it.
        ends = np.searchsorted(hashes, (edges - 1).astype(hashes.dtype), side="right")
        starts = np.concatenate(([0], ends[:-1]))
        self.hashes = hashes
        self._taken = ends > starts
        self._start, self._last = starts[self._taken], ends[self._taken] - 1

    def places(self, *always: Mask) -> IntArray:
        """The places of the topics to draw, ascending: the last of each piece, and the last of each mask in it.

        A mask (n,) marks topics that stand out. O(pieces), and O(n) for those of a piece whose last is not marked.
        """
        kept = [self._last]
        for mask in always:
            open_ = np.flatnonzero(~mask[self._last])
            start, last = self._start[open_], self._last[open_]
            # The last mark of a piece is wanted: where few are marked all marks are looked at, else the pieces' topics.
            if 2 * np.count_nonzero(mask) < len(mask):
                marked = np.flatnonzero(mask)
            else:
                counts = last - start
                marked = np.repeat(last - np.cumsum(counts), counts) + np.arange(int(counts.sum()))
                marked = marked[mask[marked]]
            at = np.searchsorted(marked, last, side="right") - 1
            found = marked[at[at >= 0]]
            kept.append(found[found >= start[at >= 0]])
        places = np.sort(np.concatenate(kept))
        return places[np.append(places[1:] != places[:-1], True)] if len(places) else places


def thinned(hashes: Integers, size: int, *always: Mask) -> IntArray:
    """``Thinning.places``; a column that is drawn again is not searched again.

    >>> hashes = np.arange(0, 2**31, 2**12)
    >>> places = thinned(hashes, 2**31, np.arange(len(hashes)) == 77)
    >>> len(hashes), len(places), places[:3].tolist(), 77 in places
    (524288, 16385, [31, 63, 77], True)
    """
    if size not in _latest or _latest[size].hashes is not hashes:
        _latest.clear()
        _latest[size] = Thinning(hashes, size)
    return _latest[size].places(*always)


_latest: dict[int, Thinning] = {}
"""The column that was drawn last, by the size of its space: it stays the same from step to step."""
