"""The loads of very many topics in columns and in listing order: a sequence of :class:`TopicLoad` without the objects.

Sums are the same doubles as topic by topic: ``numpy.cumsum`` adds one after the other, in listing order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.bundles.boundaries import FULL_UPPER_BOUND, BundleRange
from engine.bundles.loads import ListedLoads, TopicLoad
from engine.computed import Computed

Rows = NDArray[np.int64]
"""Places in the listing, ascending."""
FEW: Final = 4
"""From so many bundles on topics are dealt out at once, and not bundle by bundle."""


class PickedNames(Computed[str]):
    """Names of some rows of a list, made when they are asked for; rows behind its end are of ``more``."""

    __slots__ = ("more", "rows", "source")

    def __init__(self, source: Sequence[str], rows: Rows, more: tuple[str, ...] = ()) -> None:
        self.source, self.rows, self.more = source, rows, more

    def __len__(self) -> int:
        return len(self.rows)

    def item(self, at: int) -> str:
        """The name at a place."""
        return self._name(int(self.rows[at]))

    def __iter__(self) -> Iterator[str]:
        return map(self._name, self.rows.tolist())

    def take(self, rows: Rows) -> PickedNames:
        """Those at these places."""
        return PickedNames(self.source, self.rows[rows], self.more)

    def _name(self, row: int) -> str:
        return self.source[row] if row < len(self.source) else self.more[row - len(self.source)]


@dataclass(frozen=True, eq=False, slots=True)
class LoadColumns(ListedLoads):
    """Loads in listing order: ``hashes`` (n,) int64, ``rates`` (4, n) in the order of ``TopicLoad``.

    ``has_stats``: (n,) bool.
    """

    names: PickedNames
    hashes: NDArray[np.int64]
    rates: NDArray[np.float64]
    has_stats: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.hashes)

    def item(self, at: int) -> TopicLoad:
        """The load at a place."""
        first, second, third, fourth = self.rates[:, at].tolist()
        known = bool(self.has_stats[at])
        return TopicLoad(self.names[at], int(self.hashes[at]), first, second, third, fourth, known)

    def take(self, rows: Rows) -> LoadColumns:
        """Those at these places."""
        return LoadColumns(
            self.names.take(rows), self.hashes[rows], self.rates.take(rows, axis=1), self.has_stats[rows]
        )

    def inside(self, bundle: BundleRange) -> LoadColumns:
        """Those whose hash lies in a bundle. O(n)."""
        inside = includes(bundle, self.hashes)
        return self if inside.all() else self.take(np.flatnonzero(inside))

    def equal_hashes(self) -> list[tuple[int, tuple[str, ...]]]:
        """The hashes that several share, ascending, each with the names in listing order. O(n log n)."""
        return [(int(self.hashes[rows[0]]), tuple(self.names.take(rows))) for rows in equal_rows(self.hashes)]

    @property
    def flow(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Messages and bytes a second of each, in plus out."""
        return self.rates[0] + self.rates[1], self.rates[2] + self.rates[3]


def includes(bundle: BundleRange, hashes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """``BundleRange.includes`` for many hashes."""
    found: NDArray[np.bool_] = (hashes >= bundle.lower) & (hashes < bundle.upper)
    if bundle.upper_inclusive:
        found |= hashes == FULL_UPPER_BOUND
    return found


def dealt_rows(hashes: NDArray[np.int64], bundles: Sequence[BundleRange]) -> list[Rows]:
    """The rows of each of these bundles, which ascend. O(n), and a search for each topic among many bundles.

    >>> [rows.tolist() for rows in dealt_rows(np.array([9, 2, 5]), [BundleRange(0, 5), BundleRange(5, 9)])]
    [[1], [2]]
    """
    if len(bundles) < FEW:
        return [np.flatnonzero(includes(bundle, hashes)) for bundle in bundles]
    starts = np.array([bundle.lower for bundle in bundles], dtype=np.int64)
    places = np.searchsorted(starts, hashes, side="right")
    # Small numbers are sorted by counting them.
    order = np.argsort(places.astype(np.int16) if len(bundles) < 2**15 else places, kind="stable")
    ends = np.cumsum(np.bincount(places, minlength=len(bundles) + 1)).tolist()
    found = (order[low:high] for low, high in pairwise(ends))
    return [rows[includes(bundle, hashes[rows])] for bundle, rows in zip(bundles, found, strict=True)]


def sum_in_order(values: NDArray[np.float64]) -> float:
    """The sum, added one after the other as a loop does.

    >>> sum_in_order(np.array([1e16, 1.0, 1.0])), sum_in_order(np.array([]))
    (1e+16, 0.0)
    """
    return float(np.cumsum(values)[-1]) + 0.0 if len(values) else 0.0


def equal_rows(hashes: NDArray[np.int64]) -> list[Rows]:
    """The rows of each hash that several topics have, by ascending hash. O(n log n)."""
    ascending = np.sort(hashes)  # much quicker than asking for the order of all of them
    shared = np.unique(ascending[1:][ascending[1:] == ascending[:-1]])
    rows = np.flatnonzero(np.isin(hashes, shared)) if len(shared) else shared
    rows = rows[np.argsort(hashes[rows], kind="stable")]
    ends = np.searchsorted(hashes[rows], shared, side="right").tolist()
    return [rows[low:high] for low, high in pairwise((0, *ends))]
