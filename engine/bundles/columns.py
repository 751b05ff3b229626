"""Topics and bundles in columns: loads in listing order, and the bundle of each topic of many namespaces.

The numpy form of ``engine.bundles.loads`` and ``engine.bundles.boundaries``. Sums are the same doubles as topic by
topic: ``numpy.cumsum`` adds in listing order. Bundles are numbered consecutively: those of namespace 0 in order, then
those of namespace 1, and so on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from engine.bundles.boundaries import FULL_UPPER_BOUND, BundleRange
from engine.bundles.loads import RATE_FIELDS, TopicLoad
from engine.errors import Rejection
from engine.memo import Computed

Rows = NDArray[np.int64]
"""Indices in the listing, ascending."""
FEW: Final = 4
"""From this number of bundles on, topics are assigned in one pass instead of bundle by bundle."""
MANY: Final = 8
"""If more than one in so many names is needed, building all is cheaper than one by one."""


class PickedNames(Computed[str]):
    """Names of some rows of a list, built on demand; rows beyond its end are rows of ``more``."""

    __slots__ = ("more", "rows", "source")

    def __init__(self, source: Sequence[str], rows: Rows, more: tuple[str, ...] = ()) -> None:
        self.source, self.rows, self.more = source, rows, more

    def __len__(self) -> int:
        return len(self.rows)

    def item(self, at: int) -> str:
        """The name at an index."""
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
class LoadColumns(Computed[TopicLoad]):
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
        """The load at an index."""
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
        """The loads ``low`` .. ``high`` - 1, without a copy."""
        names = PickedNames(self.names.source, self.names.rows[low:high], self.names.more)
        return LoadColumns(names, self.hashes[low:high], self.rates[:, low:high], self.has_stats[low:high])

    def inside(self, bundle: BundleRange) -> LoadColumns:
        """The loads whose hash is in a bundle. O(n)."""
        inside = includes(bundle, self.hashes)
        return self if inside.all() else self.take(np.flatnonzero(inside))

    @cached_property
    def equal_hashes(self) -> list[tuple[int, tuple[str, ...]]]:
        """The hashes that several topics share, ascending, with the names in listing order. O(n log n)."""
        return [(int(self.hashes[rows[0]]), tuple(self.names.take(rows))) for rows in equal_rows(self.hashes)]

    @cached_property
    def flow(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(n,) messages/s and (n,) bytes/s, in plus out."""
        return self.rates[0] + self.rates[1], self.rates[2] + self.rates[3]

    @property
    def with_stats(self) -> Rows | slice:
        """The rows that have statistics, to index the columns with: all of them without a copy, as is usual."""
        return slice(None) if bool(self.has_stats.all()) else np.flatnonzero(self.has_stats)


def in_columns(topics: Sequence[TopicLoad]) -> LoadColumns:
    """The loads in columns. O(n), and nothing where they are."""
    if isinstance(topics, LoadColumns):
        return topics
    rates = [[getattr(topic, name) for topic in topics] for name in RATE_FIELDS]
    return LoadColumns(
        PickedNames(tuple(topic.name for topic in topics), np.arange(len(topics))),
        np.array([topic.hash for topic in topics], dtype=np.int64),
        np.array(rates, dtype=np.float64),
        np.array([topic.has_stats for topic in topics], dtype=np.bool_),
    )


def topics_in(bundle: BundleRange, topics: Sequence[TopicLoad]) -> LoadColumns:
    """The topics whose hash lies in a bundle, in their order (``getOwnedTopicListForNamespaceBundle``)."""
    return in_columns(topics).inside(bundle)


def equal_hash_findings(topics: Sequence[TopicLoad]) -> tuple[Rejection, ...]:
    """One finding for each hash that several topics share: no split separates them.

    ``flow_or_qps_equally_divide`` uses the numbers of the last one for all of them.
    """
    return tuple(
        Rejection(
            "EqualHashes",
            f"{', '.join(names)} have the same CRC-32 {position:#010x}: no split parts them, and"
            " flow_or_qps_equally_divide takes the last one's traffic for each",
            field="topics",
        )
        for position, names in in_columns(topics).equal_hashes
    )


def includes(bundle: BundleRange, hashes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """``BundleRange.includes`` for many hashes."""
    inside: NDArray[np.bool_] = (hashes >= bundle.lower) & (hashes < bundle.upper)
    if bundle.upper_inclusive:
        inside |= hashes == FULL_UPPER_BOUND
    return inside


def dealt_rows(hashes: NDArray[np.int64], bundles: Sequence[BundleRange]) -> list[Rows]:
    """The rows of the topics in each of these bundles, which ascend. O(n log bundles).

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
    # numpy sorts small integers by counting.
    order = np.argsort(places.astype(np.int16) if len(bundles) < 2**15 else places, kind="stable")
    ends = np.cumsum(np.bincount(places, minlength=len(bundles) + 1)).tolist()
    dealt = (order[low:high] for low, high in pairwise(ends))
    return [rows[includes(bundle, hashes[rows])] for bundle, rows in zip(bundles, dealt, strict=True)]


def ascends(hashes: NDArray[np.int64]) -> bool:
    """Whether hashes are sorted; equal ones may follow each other. O(n)."""
    return bool((hashes[1:] >= hashes[:-1]).all())


def sum_in_order(values: NDArray[np.float64]) -> float:
    """The sum, added from first to last as in a loop; ``numpy.sum`` adds pairwise.

    >>> sum_in_order(np.array([1e16, 1.0, 1.0])), sum_in_order(np.array([]))
    (1e+16, 0.0)
    """
    return float(running_sums(values)[-1]) + 0.0 if len(values) else 0.0


def running_sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sums from the first value on. What floats cannot hold is infinite: Java does not warn either."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.cumsum(values)


def equal_rows(hashes: NDArray[np.int64]) -> list[Rows]:
    """The rows of every hash that several topics share, by ascending hash. O(n log n)."""
    ascending = hashes if ascends(hashes) else np.sort(hashes)  # much faster than argsort
    repeated = ascending[1:][ascending[1:] == ascending[:-1]]
    if not len(repeated):
        return []
    shared = np.unique(repeated)
    rows = np.flatnonzero(np.isin(hashes, shared))
    rows = rows[np.argsort(hashes[rows], kind="stable")]
    ends = np.searchsorted(hashes[rows], shared, side="right").tolist()
    return [rows[low:high] for low, high in pairwise((0, *ends))]


NOWHERE: Final = -1
"""The bundle of a hash below its namespace's first boundary."""
_HASH_BITS: Final = 32


class BundleMap(Struct, frozen=True):
    """The bundles of many namespaces, in 16 bytes per bundle.

    ``key``: (b,) int64, ``namespace number << 32 | lower bound``, ascending; ``upper``: (b,) int64, the upper bounds
    (exclusive, but 0xffffffff inclusive); ``start``: (namespaces + 1,) int64, the bundles of namespace i are
    ``start[i]`` .. ``start[i + 1]`` - 1.
    """

    key: NDArray[np.int64]
    upper: NDArray[np.int64]
    start: NDArray[np.int64]

    def __len__(self) -> int:
        """The number of bundles."""
        return len(self.key)

    @property
    def lower(self) -> NDArray[np.int64]:
        """(b,) int64: the lower bounds, inclusive."""
        return self.key & ((1 << _HASH_BITS) - 1)

    def look_up(self, namespace_no: NDArray[np.integer] | int, hashes: NDArray[np.integer]) -> NDArray[np.int64]:
        """The bundle that contains each hash: (n,) int64, ``NOWHERE`` below the first boundary or without bundles.

        ``namespace_no``: (n,) or one number for all; ``hashes``: (n,) in 0 .. 2^32 - 1, CRC-32. A hash on a boundary is
        in the bundle that starts there; 0xffffffff is in the last one, where Pulsar's look-up fails. O(n log b).

        >>> bundles = bundle_map([(0, 0x80000000, 0xFFFFFFFF), (0x10, 0xFFFFFFFF)])
        >>> bundles.look_up(np.array([0, 0, 1, 1]), np.array([0x80000000, 0xFFFFFFFF, 0xF, 0x10])).tolist()
        [1, 1, -1, 2]
        """
        number = np.asarray(namespace_no, dtype=np.int64)
        keys = (number << _HASH_BITS) + hashes.astype(np.int64, copy=False)
        at = np.searchsorted(self.key, keys, side="right") - 1
        return np.where(at < self.start[number], NOWHERE, at)


def bundle_map(boundaries: Sequence[Sequence[int]]) -> BundleMap:
    """The bundles of one boundary list per namespace; ``namespace_bundles`` must have checked them.

    An empty list is a namespace without bundles. O(b).
    """
    sizes = np.fromiter((max(len(bounds) - 1, 0) for bounds in boundaries), dtype=np.int64, count=len(boundaries))
    start = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes)))
    lower = np.fromiter((bound for bounds in boundaries for bound in bounds[:-1]), dtype=np.int64, count=int(start[-1]))
    upper = np.fromiter((bound for bounds in boundaries for bound in bounds[1:]), dtype=np.int64, count=int(start[-1]))
    number = np.repeat(np.arange(len(boundaries), dtype=np.int64), sizes)
    return BundleMap((number << _HASH_BITS) | lower, upper, start)


class TopicColumns(Struct, frozen=True):
    """Topics with their bundle and traffic, in listing order, as arrays of (n,).

    ``bundle``: int64, ``NOWHERE`` for none; ``hash``: int64, CRC-32; ``msgs_per_sec`` and ``bytes_per_sec``: float64,
    in plus out; ``has_stats``: bool, False for a topic that only the metadata knows (its rates do not count).
    """

    bundle: NDArray[np.int64]
    hash: NDArray[np.int64]
    msgs_per_sec: NDArray[np.float64]
    bytes_per_sec: NDArray[np.float64]
    has_stats: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.bundle)

    def __getitem__(self, rows: NDArray[np.bool_] | NDArray[np.integer] | slice) -> TopicColumns:
        """Some of the topics, by mask, positions or slice."""
        return TopicColumns(
            self.bundle[rows], self.hash[rows], self.msgs_per_sec[rows], self.bytes_per_sec[rows], self.has_stats[rows]
        )


def sum_by(numbers: NDArray[np.int64], weights: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """The sum of the weights of each number 0 .. ``size`` - 1: (size,) float64, added in their order. O(n + size)."""
    return np.bincount(numbers, weights=weights, minlength=size).astype(np.float64, copy=False)
