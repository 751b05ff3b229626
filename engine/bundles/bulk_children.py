"""What the cuts of a split algorithm would do to many bundles at once: refused, or children with their loads.

The numpy form of ``engine.bundles.split.plan_split`` and ``engine.bundles.plan.shares_of``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.bundles.bulk_splits import Answer, Cuts
from engine.bundles.columns import BundleMap, TopicColumns, sum_by

REFUSALS: Final = ("nothing-to-split", "too-narrow", "boundary-not-inside", "equal-boundaries")
"""Why a bundle stays whole. A broker answers ``nothing-to-split`` with 204, and ``equal-boundaries`` with 412 or, in
older releases, never."""
CARRIED_OUT: Final = -1


@dataclass(frozen=True, eq=False)
class Children:
    """The children that the cuts of one algorithm would make of each bundle, by bundle and lower bound.

    ``refusal`` (bundles,) is an index into ``REFUSALS``, or ``CARRIED_OUT``; a bundle that is refused is its only
    child. ``start`` (bundles + 1,) is where the children of each bundle begin; the others are (children,) each.
    ``topics`` counts all, ``loaded`` those with statistics, which the sums are of; ``sessions`` are producers and
    consumers.
    """

    cuts: Cuts
    refusal: NDArray[np.int64]
    start: NDArray[np.int64]
    parent: NDArray[np.int64]
    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    topics: NDArray[np.int64]
    loaded: NDArray[np.int64]
    sessions: NDArray[np.float64]
    msgs_per_sec: NDArray[np.float64]
    bytes_per_sec: NDArray[np.float64]

    def largest_share(self, values: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.float64]:
        """(bundles,) the share of the largest child in the sum of its bundle, 1 where that sum is 0."""
        begins = self.start[:-1]
        if not len(begins):
            return np.zeros(0)
        sums, largest = (reduce.reduceat(values, begins).astype(np.float64) for reduce in (np.add, np.maximum))
        return np.divide(largest, sums, out=np.ones(len(begins)), where=sums > 0)

    def count(self, which: NDArray[np.bool_]) -> NDArray[np.int64]:
        """(bundles,) how many children of each bundle ``which`` (children,) marks."""
        return np.bincount(self.parent[which], minlength=len(self.refusal))


def children_of(bundles: BundleMap, cuts: Cuts, topics: TopicColumns, sessions: NDArray[np.float64]) -> Children:
    """``sessions``: (topics,) producers and consumers of each topic. O((topics + children) log children).

    >>> from engine.bundles.bulk_splits import range_cuts
    >>> from engine.bundles.columns import bundle_map
    >>> bundles, one = bundle_map([(0, 0xFFFFFFFF)]), np.ones(3)
    >>> topics = TopicColumns(np.zeros(3, dtype=int), np.array([1, 2, 0x80000000]), one, one, one > 0)
    >>> children_of(bundles, range_cuts(bundles), topics, one).topics
    array([2, 1])
    """
    count = len(bundles)
    owner = np.repeat(np.arange(count), np.diff(cuts.start))
    refusal = _refusals(bundles, cuts, owner)
    kept = refusal[owner] == CARRIED_OUT
    parents = np.concatenate((np.arange(count), owner[kept]))
    bounds = np.concatenate((bundles.lower, cuts.positions[kept]))
    order = np.lexsort((bounds, parents))
    parent, lower = parents[order], bounds[order]
    start = np.searchsorted(parent, np.arange(count + 1))
    upper = np.append(lower[1:], 0)
    upper[start[1:] - 1] = bundles.upper
    placed = topics.bundle >= 0
    key = (parent << 32) | lower
    child = np.searchsorted(key, (topics.bundle[placed] << 32) | topics.hash[placed], side="right") - 1
    loaded, size = placed & topics.has_stats, len(key)
    of_loaded = child[loaded[placed]]
    return Children(
        cuts, refusal, start, parent, lower, upper,
        topics=np.bincount(child, minlength=size),
        loaded=np.bincount(of_loaded, minlength=size),
        sessions=sum_by(of_loaded, sessions[loaded], size),
        msgs_per_sec=sum_by(of_loaded, topics.msgs_per_sec[loaded], size),
        bytes_per_sec=sum_by(of_loaded, topics.bytes_per_sec[loaded], size),
    )  # fmt: skip


def _refusals(bundles: BundleMap, cuts: Cuts, owner: NDArray[np.int64]) -> NDArray[np.int64]:
    """(bundles,) the refusal of each; ``owner``: the bundle of each cut."""
    count = len(bundles)
    inside = (bundles.lower[owner] < cuts.positions) & (cuts.positions < bundles.upper[owner])
    outside = np.bincount(owner[~inside], minlength=count) > 0
    again = np.append(False, (np.diff(cuts.positions) == 0) & (np.diff(owner) == 0))[: len(owner)]
    repeated = np.bincount(owner[again], minlength=count) > 0
    nothing = (cuts.answer != Answer.CUTS) | (np.diff(cuts.start) == 0)
    narrow = bundles.upper - bundles.lower <= 1
    return np.select([nothing, narrow, outside, repeated], range(len(REFUSALS)), CARRIED_OUT)
