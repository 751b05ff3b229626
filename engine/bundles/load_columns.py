"""The loads of topics in columns and in listing order: a sequence of :class:`TopicLoad` without the objects.

Sums are the same doubles as topic by topic: ``numpy.cumsum`` adds one after the other, in listing order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.bundles.boundaries import FULL_UPPER_BOUND, BundleRange
from engine.bundles.loads import ListedLoads, TopicLoad
from engine.memo import Computed

Rows = NDArray[np.int64]
"""Places in the listing, ascending."""
FEW: Final = 4
"""From so many bundles on topics are dealt out at once, and not bundle by bundle."""
MANY: Final = 8
"""From one name in so many on, all of a list are made: cheaper than one by one."""


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
        if len(self.rows) * MANY < len(self.source):
            return map(self._name, self.rows.tolist())
        listed = [*self.source, *self.more]
        return map(listed.__getitem__, self.rows.tolist())

    def take(self, rows: Rows) -> PickedNames:
        """Those at these places."""
        return PickedNames(self.source, self.rows[rows], self.more)

    def _name(self, row: int) -> str:
        return self.source[row] if row < len(self.source) else self.more[row - len(self.source)]


@dataclass(frozen=True, eq=False)
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

    def __iter__(self) -> Iterator[TopicLoad]:
        return map(TopicLoad, self.names, self.hashes.tolist(), *self.rates.tolist(), self.has_stats.tolist())

    def take(self, rows: Rows) -> LoadColumns:
        """Those at these places."""
        return LoadColumns(
            self.names.take(rows), self.hashes[rows], self.rates.take(rows, axis=1), self.has_stats[rows]
        )

    def between(self, low: int, high: int) -> LoadColumns:
        """Those from one place to before another, without a copy."""
        names = PickedNames(self.names.source, self.names.rows[low:high], self.names.more)
        return LoadColumns(names, self.hashes[low:high], self.rates[:, low:high], self.has_stats[low:high])

    def inside(self, bundle: BundleRange) -> LoadColumns:
        """Those whose hash lies in a bundle. O(n)."""
        inside = includes(bundle, self.hashes)
        return self if inside.all() else self.take(np.flatnonzero(inside))

    def equal_hashes(self) -> list[tuple[int, tuple[str, ...]]]:
        """The hashes that several share, ascending, each with the names in listing order. O(n log n) once."""
        return self._equal_hashes

    @cached_property
    def _equal_hashes(self) -> list[tuple[int, tuple[str, ...]]]:
        return [(int(self.hashes[rows[0]]), tuple(self.names.take(rows))) for rows in equal_rows(self.hashes)]

    @cached_property
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
    if ascends(hashes):
        bounds = [(bundle.lower, bundle.upper + bundle.upper_inclusive) for bundle in bundles]
        places = np.searchsorted(hashes, np.array(bounds, dtype=np.int64).reshape(-1, 2)).tolist()
        return [np.arange(low, high) for low, high in places]
    if len(bundles) < FEW:
        return [np.flatnonzero(includes(bundle, hashes)) for bundle in bundles]
    starts = np.array([bundle.lower for bundle in bundles], dtype=np.int64)
    places = np.searchsorted(starts, hashes, side="right")
    # Small numbers are sorted by counting them.
    order = np.argsort(places.astype(np.int16) if len(bundles) < 2**15 else places, kind="stable")
    ends = np.cumsum(np.bincount(places, minlength=len(bundles) + 1)).tolist()
    found = (order[low:high] for low, high in pairwise(ends))
    return [rows[includes(bundle, hashes[rows])] for bundle, rows in zip(bundles, found, strict=True)]


def ascends(hashes: NDArray[np.int64]) -> bool:
    """Whether they are in order already, equal ones side by side. O(n)."""
    return bool((hashes[1:] >= hashes[:-1]).all())


def sum_in_order(values: NDArray[np.float64]) -> float:
    """The sum, added one after the other as a loop does.

    >>> sum_in_order(np.array([1e16, 1.0, 1.0])), sum_in_order(np.array([]))
    (1e+16, 0.0)
    """
    return float(np.cumsum(values)[-1]) + 0.0 if len(values) else 0.0


def equal_rows(hashes: NDArray[np.int64]) -> list[Rows]:
    """The rows of each hash that several topics have, by ascending hash. O(n log n)."""
    ascending = hashes if ascends(hashes) else np.sort(hashes)  # much quicker than asking for the order of all of them
    shared = np.unique(ascending[1:][ascending[1:] == ascending[:-1]])
    rows = np.flatnonzero(np.isin(hashes, shared)) if len(shared) else shared
    rows = rows[np.argsort(hashes[rows], kind="stable")]
    ends = np.searchsorted(hashes[rows], shared, side="right").tolist()
    return [rows[low:high] for low, high in pairwise((0, *ends))]
