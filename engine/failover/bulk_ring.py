"""Failover in bulk: who is in the cohort, many rings in one sorted array, and the owners of many topics at once.

The numpy form of ``engine.failover.choose`` and ``engine.failover.ring``. A consumer is named by its position in the
list it was given in (connect order), so lists need no order. Source: ``AbstractDispatcherSingleActiveConsumer``
(PIP-392).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from engine.bulk_hashing import HASH_BITS, point_hashes
from engine.failover.choose import cohort, sort_consumers
from engine.failover.model import Consumer
from engine.failover.ring import POINTS_PER_CONSUMER
from engine.hashing import utf8, utf16_order

NOBODY: Final = -1
"""The owner of what has no consumer."""
BATCH_POINTS: Final = 1 << 21
"""Points sorted in one batch; a build needs about 24 bytes of working memory for each."""


class Cohorts(Struct, frozen=True):
    """The cohorts of many consumer lists (the consumers that can be active), in the dispatcher's order.

    ``members``: (m,) int32, positions in each given list, list after list; ``start``: (lists + 1,) int64, the cohort of
    list i is ``members[start[i]:start[i + 1]]``; empty for an empty list.
    """

    members: NDArray[np.int32]
    start: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """(lists,) int64."""
        return np.diff(self.start)


class Rings(Struct, frozen=True):
    """Many rings as one sorted array that keeps **every** claimant of a point: 12 bytes a point.

    ``key``: (p,) int64, ``ring number << 31 | point``, ascending. ``owner``: (p,) int32, the claimant as a position in
    the ring's given list. Of several claimants the **later one in sorted order** comes first and owns the point.
    ``start``: (rings + 1,) int64, the points of ring i are ``start[i]`` .. ``start[i + 1]`` - 1.
    """

    key: NDArray[np.int64]
    owner: NDArray[np.int32]
    start: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.start) - 1

    def look_up(self, ring_no: NDArray[np.integer] | int, hashes: NDArray[np.integer]) -> NDArray[np.int32]:
        """The owner of each hash on its ring: (n,) int32, ``NOBODY`` for a ring without points.

        ``ring_no``: (n,) or one number for all; ``hashes``: (n,) in 0 .. 2^31 - 1. O(log p) each,
        O(1) for very many (``search_many``).

        >>> rings = build_rings([["a", "b"], [], ["c"]])
        >>> rings.look_up(np.array([0, 1, 2]), np.array([5, 5, 5])).tolist()
        [0, -1, 0]
        """
        number = np.broadcast_to(np.asarray(ring_no, dtype=np.int64), np.shape(hashes))
        if not len(self.key):
            return np.full(len(hashes), NOBODY, dtype=np.int32)
        keys = (number << HASH_BITS) + hashes.astype(np.int64, copy=False)
        at = search_many(self.key, keys, HASH_BITS + len(self).bit_length())
        first, end = self.start[number], self.start[number + 1]
        at = np.where(at == end, first, at)
        # An empty last ring has no point to read.
        owner = self.owner.take(at, mode="clip")
        owner[first == end] = NOBODY
        return owner

    def points_of(self, ring_no: int) -> NDArray[np.int64]:
        """Every claimed point of one ring, ascending: int64; a point claimed twice is listed twice."""
        return self.key[self.start[ring_no] : self.start[ring_no + 1]] & ((1 << HASH_BITS) - 1)

    def owners_of(self, ring_no: int) -> NDArray[np.int32]:
        """The claimants, parallel to ``points_of``."""
        return self.owner[self.start[ring_no] : self.start[ring_no + 1]]


def cohorts(names: Sequence[Sequence[str]], priorities: Sequence[Sequence[int]] | None = None) -> Cohorts:
    """The dispatcher's sort and cut of many consumer lists; without ``priorities`` all have one level.

    By level, lower first, then name by UTF-16 code unit, then as given (connect order); of each list the consumers of
    the first one's level. O(c log c) for c consumers in all.

    >>> leading = cohorts([["b", "a", "c"], ["x", "y"]], [[0, 0, 1], [3, 3]])
    >>> leading.members.tolist(), leading.start.tolist()
    ([1, 0, 0, 1], [0, 2, 4])
    """
    sizes = np.fromiter(map(len, names), dtype=np.int64, count=len(names))
    start = np.concatenate(([0], np.cumsum(sizes)))
    flat = [name for row in names for name in row]
    # Java sees a character and its two surrogate halves as the same name, so both get one rank.
    units = {name: utf16_order(name) for name in set(flat)}
    places = {unit: rank for rank, unit in enumerate(sorted(set(units.values())))}
    ranks = {name: places[unit] for name, unit in units.items()}
    rank = np.fromiter((ranks[name] for name in flat), dtype=np.int64, count=len(flat))
    number = np.repeat(np.arange(len(names)), sizes)
    level = np.zeros(len(flat), dtype=np.int64)
    if priorities is not None:
        assert [len(row) for row in priorities] == sizes.tolist(), "each consumer has one priority level"
        level = np.fromiter((priority for row in priorities for priority in row), dtype=np.int64, count=len(flat))
    order = np.lexsort((rank, level, number))
    number, level = number[order], level[order]
    if priorities is not None and flat and int(level.max()) - int(level.min()) >= 2**31:
        return _with_overflow(names, priorities)
    leading = level == level[start[number]] if flat else np.zeros(0, dtype=bool)
    members = (order - start[number])[leading].astype(np.int32)
    kept = np.bincount(number[leading], minlength=len(names))
    return Cohorts(members, np.concatenate(([0], np.cumsum(kept))))


def _with_overflow(names: Sequence[Sequence[str]], priorities: Sequence[Sequence[int]]) -> Cohorts:
    """``cohorts`` by the scalar sort, list by list, for levels so far apart that Pulsar's comparison overflows."""
    members: list[int] = []
    sizes = []
    for row, levels in zip(names, priorities, strict=True):
        consumers = [Consumer(at, name, level) for at, (name, level) in enumerate(zip(row, levels, strict=True))]
        leading = cohort(sort_consumers(consumers))
        members += [consumer.consumer_id for consumer in leading]
        sizes.append(len(leading))
    return Cohorts(np.array(members, dtype=np.int32), np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))))


def build_rings(
    names: Sequence[Sequence[str]],
    priorities: Sequence[Sequence[int]] | None = None,
    *,
    points: int = POINTS_PER_CONSUMER,
    bits: int = HASH_BITS,
) -> Rings:
    """One ring for each list of consumer names (the cohort of it); an owner is a position in the given list.

    ``points``: of each consumer, 100 in Pulsar; ``bits`` narrows the hashes. O(p log p) for p points in all; a name
    in many lists is hashed once.

    >>> rings = build_rings([["c1", "c11"]])
    >>> len(rings.key), rings.start.tolist()
    (200, [0, 200])
    """
    return rings_of(cohorts(names, priorities), names, points=points, bits=bits)


def rings_of(
    leading: Cohorts,
    names: Sequence[Sequence[str]],
    *,
    points: int = POINTS_PER_CONSUMER,
    bits: int = HASH_BITS,
    batch_points: int = BATCH_POINTS,
) -> Rings:
    """``build_rings`` for cohorts that are known already; sorts ``batch_points`` at a time."""
    sizes = leading.sizes
    unique: dict[str, int] = {}
    bounds = np.repeat(np.arange(len(leading)), sizes).tolist()
    row = np.fromiter(
        (
            unique.setdefault(names[number][member], len(unique))
            for number, member in zip(bounds, leading.members.tolist(), strict=True)
        ),
        dtype=np.int64,
        count=len(leading.members),
    )
    hashes = point_hashes([utf8(name) for name in unique], points, bits=bits)
    start = leading.start * points
    key = np.empty(int(start[-1]), dtype=np.int64)
    owner = np.empty(int(start[-1]), dtype=np.int32)
    low = 0
    while low < len(leading):
        # As many rings at a time as are sorted well together; one ring at least.
        high = max(low + 1, int(np.searchsorted(start, start[low] + batch_points, side="right")) - 1)
        target = slice(int(start[low]), int(start[high]))
        members = row[int(leading.start[low]) : int(leading.start[high])]
        _sort_batch(leading, hashes[members], low, high, key=key[target], owner=owner[target])
        low = high
    return Rings(key, owner, start)


def assign_modulo(
    leading: Cohorts, list_no: NDArray[np.integer] | int, partition_index: NDArray[np.integer]
) -> NDArray[np.int32]:
    """``partition index mod cohort size`` in the dispatcher's order: (n,) int32, ``NOBODY`` where a list is empty.

    ``list_no``: (n,) or one number for all; ``partition_index``: (n,), 0 or more.

    >>> assign_modulo(cohorts([["c", "a", "b"]]), 0, np.arange(5)).tolist()
    [1, 2, 0, 1, 2]
    """
    number = np.asarray(list_no, dtype=np.int64)
    sizes = leading.sizes[number]
    if not len(leading.members):
        return np.full(np.shape(partition_index), NOBODY, dtype=np.int32)
    at = leading.start[number] + partition_index % np.maximum(sizes, 1)
    return np.where(sizes == 0, np.int32(NOBODY), leading.members.take(at, mode="clip"))


def _sort_batch(
    leading: Cohorts,
    hashes: NDArray[np.int32],
    low: int,
    high: int,
    *,
    key: NDArray[np.int64],
    owner: NDArray[np.int32],
) -> None:
    """Put the rings ``low`` .. ``high`` - 1 into ``key`` and ``owner``; ``hashes``: (members, points) of theirs.

    Ring, point and place in the cohort are packed into one number, the last place first, so that a plain sort of
    numbers leaves the owner at the head of a run of equal points.
    """
    begin, end = int(leading.start[low]), int(leading.start[high])
    if begin == end:
        return
    sizes, last = leading.sizes[low:high], leading.start[low + 1 : high + 1] - 1
    ring_no = np.repeat(np.arange(high - low), sizes)
    backwards = np.repeat(last, sizes) - np.arange(begin, end)
    bits = int(backwards.max()).bit_length()
    assert (high - low).bit_length() + HASH_BITS + bits <= 63, f"{high - low} rings with 2^{bits} consumers: too many"
    packed = key.reshape(hashes.shape)
    np.left_shift(hashes, bits, out=packed, dtype=np.int64)
    packed += ((ring_no << (HASH_BITS + bits)) + backwards)[:, None]
    key.sort()
    # A batch holds whole rings one after another, so the numbers of members repeat in ring order.
    place = np.repeat(last, sizes * hashes.shape[1])
    place -= key & ((1 << bits) - 1)
    leading.members.take(place, out=owner, mode="clip")  # all places are members; clip only spares numpy a copy
    key >>= bits
    key += low << HASH_BITS


FEW: Final = 1_000
"""Queries below which a table costs more than it saves."""
MOST_KEYS: Final = 1 << 19
"""Keys beyond which the table is no longer in the cache."""
CHUNK: Final = 1 << 15
"""Queries searched together: what is known of them stays in the cache."""
STEPS: Final = 8
"""Keys that are tried from where a search begins; hashes hardly ever have more in one slice."""


def search_many(keys: NDArray[np.int64], queries: NDArray[np.integer], bits: int) -> NDArray[np.int64]:
    """How many keys are below each query: (n,) int64, as ``np.searchsorted(keys, queries)``.

    ``keys``: (p,) ascending; both in 0 .. 2^``bits`` - 1. That space is cut into two to four slices a key; the search
    begins at the slice's first key. O(1) each for keys that are spread evenly, O(log p) at worst; 8 bytes a slice.

    >>> search_many(np.array([3, 3, 7]), np.array([2, 3, 4, 8]), 4).tolist()
    [0, 0, 2, 3]
    """
    if len(queries) < max(FEW, len(keys) // 4) or not 0 < len(keys) <= MOST_KEYS:
        return np.searchsorted(keys, queries.astype(np.int64, copy=False))
    shift = max(bits - len(keys).bit_length() - 1, 0)
    counts = np.bincount(keys >> shift, minlength=1 << (bits - shift))
    # Where a slice's keys begin, or the complement of it (negative) where there is one.
    entries = (np.cumsum(counts) - counts).astype(np.int32)
    np.invert(entries, out=entries, where=counts > 0)
    # A key that is never below a query stops every search.
    stopped = np.append(keys, np.int64(1 << bits))
    places = np.empty(len(queries), dtype=np.int64)
    for low in range(0, len(queries), CHUNK):
        chunk = queries[low : low + CHUNK].astype(np.int64, copy=False)
        at = entries.take(chunk >> shift)
        rows = np.flatnonzero(at < 0)
        at[rows] = _from(stopped, ~at[rows], chunk[rows])
        places[low : low + CHUNK] = at
    return places


def _from(keys: NDArray[np.int64], at: NDArray[np.int32], queries: NDArray[np.int64]) -> NDArray[np.int32]:
    """Advance ``at`` to the first key that is not below its query."""
    for _ in range(STEPS):
        below = keys.take(at) < queries
        if not below.any():
            return at
        at += below
    rest = np.flatnonzero(keys.take(at) < queries)
    at[rest] = np.searchsorted(keys, queries[rest])
    return at
