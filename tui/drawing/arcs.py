"""Arcs of a hash space, and who has most of each piece of it."""

from __future__ import annotations

from collections import deque
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
HASH_SPACE: Final = 2**31
"""Pulsar's ring hashes have 31 bits."""
ARCS_KEPT: Final = 4
DECIMAL_UP_TO: Final = 2**16
"""Slots of Key_Shared are written in decimal, like declared ranges."""


class Arcs(Struct, frozen=True, eq=False):
    """The points of a ring and who owns the arc that ends at each of them.

    A hash belongs to the first point at or after it; past the last point it wraps to the first one.
    Compared by identity: what is derived from one value is kept while that value is shown.
    """

    points: npt.NDArray[np.uint32]
    """Sorted ascending, each below ``size``."""
    owners: npt.NDArray[np.int32]
    """Index of the consumer per point, 0-based and stable: colour and letter follow from it; -1 for nobody."""
    consumers: int
    """One more than the highest index in use."""
    size: int = HASH_SPACE
    """Number of hashes in the space."""

    def __post_init__(self) -> None:
        assert self.points.shape == self.owners.shape, "one owner per point"
        assert self.points.ndim == 1, "points are a flat array"
        assert self.size > 0, "a hash space has at least one hash"
        if len(self.points):
            assert bool(np.all(self.points[1:] >= self.points[:-1])), "points are sorted"
            assert int(self.points[-1]) < self.size, "points lie inside the space"
            assert -1 <= int(self.owners.min()) <= int(self.owners.max()) < self.consumers, "owners are known"


_latest: deque[Arcs] = deque(maxlen=ARCS_KEPT)


def arcs_of(points: npt.ArrayLike, owners: npt.ArrayLike, consumers: int, size: int = HASH_SPACE) -> Arcs:
    """Arcs from plain sequences; equal ones that were made lately are the same object again.

    So going back and forth in time finds what was derived from them, such as who has most of each cell.
    """
    arcs = Arcs(np.asarray(points, dtype=np.uint32), np.asarray(owners, dtype=np.int32), consumers, size)
    for known in _latest:
        same = (known.consumers, known.size) == (consumers, size) and np.array_equal(known.points, arcs.points)
        if same and np.array_equal(known.owners, arcs.owners):
            return known
    arcs = Arcs(arcs.points.copy(), arcs.owners.copy(), consumers, size)
    _latest.append(arcs)
    return arcs


def hash_label(value: int, size: int) -> str:
    """A hash as people write it, as wide as every other of its space: slots decimal, 31-bit hashes hexadecimal.

    >>> hash_label(255, HASH_SPACE), hash_label(255, 65_536)
    ('0x000000ff', '  255')
    """
    return f"0x{value:08x}" if size > DECIMAL_UP_TO else f"{value:>{len(str(size - 1))}}"


class Pieces(Struct, frozen=True, eq=False):
    """A hash space cut at all arc ends and all bin edges: every piece lies in one arc and in one bin."""

    bins: IntArray
    owners: IntArray
    lengths: IntArray


@lru_cache(maxsize=16)
def hash_counts(arcs: Arcs) -> IntArray:
    """How many hashes each consumer owns, shape (consumers,). O(points).

    >>> hash_counts(arcs_of([1, 5, 6], [0, 1, 0], 2, size=10)).tolist()
    [6, 4]

    (A has 0..1, 6 and 7..9; B has 2..5.)
    """
    counts = np.zeros(arcs.consumers, dtype=np.int64)
    if len(arcs.points):
        ends = arcs.points.astype(np.int64)
        lengths = np.diff(ends, prepend=ends[-1] - arcs.size)
        owned = arcs.owners >= 0
        np.add.at(counts, arcs.owners[owned], lengths[owned])
    return counts


def pieces_of(arcs: Arcs, edges: IntArray) -> Pieces:
    """Cut a space at arc ends and bin edges. O((points + bins) log(points + bins)).

    Args:
        arcs: at least one point.
        edges: ascending, from 0 to ``arcs.size``; bin j holds the hashes edges[j] <= h < edges[j + 1].
    """
    # Why +1: an arc's end point belongs to the arc, so the next arc begins one hash later.
    begins = arcs.points.astype(np.int64) + 1
    bins = edges[:-1]
    # Both ascend, so they are merged by their places; of equal cuts the last one counts, and it has seen all of them.
    places = np.searchsorted(begins, bins, side="left")
    cuts = np.insert(begins, places, bins)
    lengths = np.diff(cuts, append=arcs.size)
    starts = places + np.arange(len(bins))
    bin_of = np.repeat(np.arange(len(bins)), np.diff(starts, append=len(cuts)))
    # The first bin begins at 0, where no point's arc has ended yet, so every cut has a bin.
    following = np.arange(1, len(cuts) + 1) - (bin_of + 1)
    following[following == len(arcs.points)] = 0
    owners = arcs.owners.take(following).astype(np.int64)
    kept = lengths > 0
    if kept.all():
        return Pieces(bin_of, owners, lengths)
    return Pieces(bin_of[kept], owners[kept], lengths[kept])


def dominant_owners(arcs: Arcs, edges: IntArray) -> IntArray:
    """Which consumer owns most hashes of each bin; -1 for an empty ring, a bin without hashes, and one mostly unowned.

    On a tie the lowest index wins, so that a picture never flickers, and anybody before nobody.
    O((points + bins) log(points + bins)).

    >>> dominant_owners(arcs_of([1, 5, 6], [0, 1, 0], 2, size=10), np.array([0, 5, 10])).tolist()
    [1, 0]

    (In 0..4 A has 2 hashes and B has 3; in 5..9 B has 1 and A has 4.)
    """
    bins = len(edges) - 1
    result = np.full(bins, -1, dtype=np.int64)
    if len(arcs.points) == 0 or bins == 0:
        return result
    pieces = pieces_of(arcs, edges)
    # Nobody takes the last number, so that it loses every tie.
    numbers = np.where(pieces.owners < 0, arcs.consumers, pieces.owners)
    keys = pieces.bins * (arcs.consumers + 1) + numbers
    # Key and place in one word: a plain sort of numbers is faster than any other.
    place_bits = len(keys).bit_length()
    assert int(keys[-1] + arcs.consumers).bit_length() + place_bits < 63, "keys and places fit into one word"
    packed = np.sort((keys << place_bits) | np.arange(len(keys)))
    keys = packed >> place_bits
    firsts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    totals = np.add.reduceat(pieces.lengths[packed & ((1 << place_bits) - 1)], firsts)
    bin_of, owner_of = pieces.bins[firsts], keys[firsts] - pieces.bins[firsts] * (arcs.consumers + 1)
    # Per bin the highest total, of equals the lowest owner.
    ranks = totals * (arcs.consumers + 1) + (arcs.consumers - owner_of)
    heads = np.flatnonzero(np.concatenate(([True], bin_of[1:] != bin_of[:-1])))
    best = np.maximum.reduceat(ranks, heads)
    result[bin_of[heads]] = arcs.consumers - best % (arcs.consumers + 1)
    result[result == arcs.consumers] = -1
    return result


def shares_of_bins(arcs: Arcs, edges: IntArray, owner: int) -> FloatArray:
    """How much of each bin one consumer owns, 0..1, shape (bins,)."""
    bins = len(edges) - 1
    if len(arcs.points) == 0 or bins == 0:
        return np.zeros(bins)
    pieces = pieces_of(arcs, edges)
    mine = pieces.owners == owner
    owned = np.bincount(pieces.bins[mine], weights=pieces.lengths[mine].astype(np.float64), minlength=bins)
    sizes = np.maximum(np.diff(edges), 1)
    return np.asarray(owned / sizes, dtype=np.float64)


def contiguous(weights: npt.NDArray[np.float64] | IntArray, size: int = HASH_SPACE) -> Arcs:
    """One arc per consumer, in the order of their indices from 0 on, as long as its weight.

    Consumers without weight get none. The lengths add up to ``size`` exactly.

    >>> contiguous(np.array([1.0, 0.0, 3.0]), size=8).points.tolist()
    [1, 7]
    """
    values = np.asarray(weights, dtype=np.float64)
    total = values.sum()
    if total <= 0:
        return arcs_of([], [], len(values), size)
    ends = np.rint(np.cumsum(values) / total * size).astype(np.int64)
    lengths = np.diff(ends, prepend=0)
    present = np.flatnonzero(lengths > 0)
    return Arcs((ends[present] - 1).astype(np.uint32), present.astype(np.int32), len(values), size)


def merged(arcs: Arcs) -> tuple[IntArray, IntArray, IntArray]:
    """Starts, lengths and owners of the arcs after neighbours of one owner are joined, also across the wrap.

    Returns:
        Three arrays; an arc starts at ``starts`` (inclusive) and may run past ``size``. O(points).
    """
    if len(arcs.points) == 0:
        empty = np.zeros(0, dtype=np.int64)
        return empty, empty, empty
    # Why: of several claims on one point only the first has an arc; the others have no hash at all.
    ends, firsts = np.unique(arcs.points.astype(np.int64), return_index=True)
    owners = arcs.owners[firsts].astype(np.int64)
    lasts = np.flatnonzero(owners != np.roll(owners, -1))
    if len(lasts) == 0:
        return np.array([(int(ends[-1]) + 1) % arcs.size]), np.array([arcs.size]), owners[:1]
    last_ends = ends[lasts]
    starts = np.roll(last_ends, 1) + 1
    lengths = (last_ends - starts + 1) % arcs.size
    return starts % arcs.size, lengths, owners[lasts]
