"""Topics to bundles in bulk: many namespaces in one sorted array, and topics with their bundle and traffic.

The numpy form of ``engine.bundles.boundaries`` and ``engine.bundles.loads``. Bundles are numbered through: those of
namespace 0 in order, then those of namespace 1, and so on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

NOWHERE: Final = -1
"""The bundle of a hash below its namespace's first boundary."""
_HASH_BITS: Final = 32


@dataclass(frozen=True, slots=True)
class BundleMap:
    """The bundles of many namespaces: 16 bytes a bundle.

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
        """The bundle each hash lies in: (n,) int64, ``NOWHERE`` below the first boundary and in an empty namespace.

        ``namespace_no``: (n,) or one number for all; ``hashes``: (n,) in 0 .. 2^32 - 1, CRC-32. A hash on a boundary is
        in the bundle that starts there; 0xffffffff is in the last one, where Pulsar's look-up fails. O(log b) each.

        >>> bundles = bundle_map([(0, 0x80000000, 0xFFFFFFFF), (0x10, 0xFFFFFFFF)])
        >>> bundles.look_up(np.array([0, 0, 1, 1]), np.array([0x80000000, 0xFFFFFFFF, 0xF, 0x10])).tolist()
        [1, 1, -1, 2]
        """
        number = np.asarray(namespace_no, dtype=np.int64)
        keys = (number << _HASH_BITS) + hashes.astype(np.int64, copy=False)
        at = np.searchsorted(self.key, keys, side="right") - 1
        return np.where(at < self.start[number], NOWHERE, at)


def bundle_map(boundaries: Sequence[Sequence[int]]) -> BundleMap:
    """The bundles of one boundary list for each namespace (checked by ``namespace_bundles`` before).

    An empty list is a namespace without bundles. O(b).
    """
    sizes = np.fromiter((max(len(bounds) - 1, 0) for bounds in boundaries), dtype=np.int64, count=len(boundaries))
    start = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes)))
    lower = np.fromiter((bound for bounds in boundaries for bound in bounds[:-1]), dtype=np.int64, count=int(start[-1]))
    upper = np.fromiter((bound for bounds in boundaries for bound in bounds[1:]), dtype=np.int64, count=int(start[-1]))
    number = np.repeat(np.arange(len(boundaries), dtype=np.int64), sizes)
    return BundleMap((number << _HASH_BITS) | lower, upper, start)


@dataclass(frozen=True, slots=True)
class TopicColumns:
    """Topics with their bundle and traffic, in listing order, one array each of (n,).

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
