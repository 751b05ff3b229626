"""The owners of one subscription's topics under joins and leaves: each change gives its exact moves, hashing no topic.

The numpy form of ``engine.failover.ring.scalar_ring`` under a sequence of changes: a sorted array of points with all
claimants, 8 bytes a point. Its content depends only on the connected consumers and on the connect order of equal names.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.bulk_hashing import HASH_BITS, point_hashes, point_hashes_of_one
from engine.failover.bulk import cut_at_points
from engine.failover.bulk_ring import NOBODY
from engine.failover.model import Consumer
from engine.failover.ring import POINTS_PER_CONSUMER
from engine.hashing import utf8, utf16_order

Rank = tuple[int, bytes, int, int]
"""Priority level, name in UTF-16 order, arrival, consumer id: the dispatcher's order, no two alike."""


class Membership:
    """Connected consumers in the dispatcher's order. A change costs O(log n), apart from shifting a list.

    >>> members = Membership([Consumer(1, "b"), Consumer(2, "a", 1)])
    >>> members.cohort()
    [1]
    >>> members.remove(1).name, members.cohort()
    ('b', [2])
    """

    __slots__ = ("_arrivals", "_order", "_ranks", "consumers")

    consumers: dict[int, Consumer]
    """By id, in connect order."""

    def __init__(self, consumers: Iterable[Consumer] = ()) -> None:
        self.consumers = {}
        self._ranks: dict[int, Rank] = {}
        self._order: list[Rank] = []
        self._arrivals = 0
        for consumer in consumers:
            self.add(consumer)

    def __len__(self) -> int:
        return len(self._order)

    def add(self, consumer: Consumer) -> None:
        """Connect a consumer as the last one that arrived; its id must be free and fit into 31 bits."""
        number = consumer.consumer_id
        assert number not in self.consumers, f"consumer {number} is connected already"
        assert 0 <= number < 2**31, f"consumer id {number} is outside 0..2^31-1"
        rank = (consumer.priority_level, utf16_order(consumer.name), self._arrivals, number)
        self._arrivals += 1
        self.consumers[number] = consumer
        self._ranks[number] = rank
        insort(self._order, rank)

    def remove(self, consumer_id: int) -> Consumer:
        """Disconnect a consumer; an unknown one is a KeyError."""
        rank = self._ranks.pop(consumer_id)
        del self._order[bisect_left(self._order, rank)]
        return self.consumers.pop(consumer_id)

    def rank(self, consumer_id: int) -> Rank:
        """The rank of a consumer in the order; of two claimants of a point the one of greater rank owns it."""
        return self._ranks[consumer_id]

    @property
    def level(self) -> int | None:
        """The priority level in force: that of the first in order; None without consumers."""
        return self._order[0][0] if self._order else None

    @property
    def cohort_size(self) -> int:
        """How many consumers have the level in force."""
        return bisect_left(self._order, (self._order[0][0] + 1,)) if self._order else 0

    def cohort(self) -> list[int]:
        """The ids of those that can be active, in the dispatcher's order."""
        return [rank[3] for rank in self._order[: self.cohort_size]]


Stretches = tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]
"""Hashes that changed hands: ``above < hash <= upto`` and the new owner, disjoint and ascending, (s,) each."""

_ID_BITS = 32
_ID_MASK = (1 << _ID_BITS) - 1
_LAST_HASH = 2**31 - 1
_ROOM = 16
"""The buffer keeps 1/16 of its entries free, plus room for the points of one consumer."""


class LivePoints:
    """The points of a ``Membership``'s consumers. Change the membership **before** the points.

    ``packed`` describes the ring completely and does not depend on the order of the changes that led to it.
    """

    __slots__ = ("_bits", "_buffer", "_members", "_points", "_size")

    def __init__(self, members: Membership, points: int, bits: int) -> None:
        self._members = members
        self._bits = bits
        self._points = points
        self._hold(np.zeros(0, dtype=np.int64))

    @property
    def packed(self) -> NDArray[np.int64]:
        """(p,) int64, ``point << 32 | consumer id``, points ascending; the owner of a point is its first entry.

        Claimants of one point are sorted by falling rank; a consumer is listed once even if two of its points coincide.
        This is a view: the next change invalidates it.
        """
        return self._buffer[: self._size]

    @property
    def nbytes(self) -> int:
        """Bytes of the buffer, free entries included."""
        return self._buffer.nbytes

    def _hold(self, packed: NDArray[np.int64]) -> None:
        """Keep these entries in a buffer with free room, so that changes move entries in place."""
        self._size = len(packed)
        self._buffer = np.empty(len(packed) + len(packed) // _ROOM + self._points, dtype=np.int64)
        self._buffer[: self._size] = packed

    def rebuild(self) -> None:
        """Recompute all points of the cohort. O(p log p)."""
        cohort = self._members.cohort()[::-1]
        if not cohort:
            self._hold(np.zeros(0, dtype=np.int64))
            return
        names = [utf8(self._members.consumers[number].name) for number in cohort]
        hashes = point_hashes(names, self._points, bits=self._bits).astype(np.int64)
        # The place in falling rank decides the order of a run; the ids are put in afterwards.
        packed = np.sort(((hashes << _ID_BITS) + np.arange(len(cohort))[:, None]).reshape(-1))
        packed = packed[np.append(True, packed[1:] != packed[:-1])]  # a plain sort is faster than ``np.unique``
        ids = np.array(cohort, dtype=np.int64)
        self._hold((packed & ~_ID_MASK) | ids[packed & _ID_MASK])

    def assign(self, hashes: NDArray[np.int32]) -> NDArray[np.int32]:
        """The owner of each of the ascending hashes: (n,) int32. O(p log n + n)."""
        if not self._size:
            return np.full(len(hashes), NOBODY, dtype=np.int32)
        return cut_at_points(hashes, (self.packed >> _ID_BITS).astype(np.int32), self.packed.astype(np.int32))

    def insert(self, consumer: Consumer) -> Stretches:
        """Add the points of a consumer that has joined the cohort; the ring is not empty.

        O(k log p) for k points of one consumer and p in all, and once over the memory of the ring.
        """
        ring, number = self.packed, consumer.consumer_id
        points = self._points_of(consumer)
        at = np.searchsorted(ring, points << _ID_BITS)
        following = ring.take(at, mode="wrap")
        owned = np.ones(len(points), dtype=bool)
        place = at
        shared = np.flatnonzero(following >> _ID_BITS == points)
        if len(shared):
            place = at.copy()
            for at_point in shared.tolist():
                place[at_point] = self._place_in_run(int(at[at_point]), int(points[at_point]), number)
                owned[at_point] = place[at_point] == at[at_point]
        above = np.where(at > 0, ring[at - 1] >> _ID_BITS, -1)
        np.maximum(above[1:], points[:-1], out=above[1:])
        last = max(int(ring[-1] >> _ID_BITS), int(points[-1]))
        self._open(place, (points << _ID_BITS) | number)
        new_owner = np.full(len(points), number, dtype=np.int64)
        wraps = bool(owned[0] and at[0] == 0)
        return _stretches(above[owned], points[owned], new_owner[owned], last if wraps else None)

    def remove(self, consumer: Consumer) -> Stretches:
        """Drop the points of a consumer that has left the cohort; others are left. As ``insert``."""
        ring, number = self.packed, consumer.consumer_id
        points = self._points_of(consumer)
        at = np.searchsorted(ring, points << _ID_BITS)
        owned = ring[at] & _ID_MASK == number
        place = at
        if not owned.all():
            place = at.copy()
            for at_point in np.flatnonzero(~owned).tolist():
                while ring[place[at_point]] & _ID_MASK != number:
                    place[at_point] += 1
        before = np.where(at > 0, ring[at - 1] >> _ID_BITS, -1)
        last = int(ring[-1] >> _ID_BITS)
        self._close(place)
        # The entry that followed has moved up by those dropped before it; other dropped ones between are skipped too.
        heirs = self.packed.take(place - np.arange(len(place)), mode="wrap") & _ID_MASK
        wraps = bool(owned[0] and at[0] == 0)
        return _stretches(before[owned], points[owned], heirs[owned], last if wraps else None)

    def _open(self, place: NDArray[np.int64], entries: NDArray[np.int64]) -> None:
        """Insert entries before these ascending positions, moving blocks from the end so that none is overwritten."""
        if self._size + len(place) > len(self._buffer):
            self._hold(self.packed)
        # A memoryview slice is created in half the time of a numpy slice.
        ring, end = self._buffer.data, self._size
        for shift, at in zip(range(len(place), 0, -1), place[::-1].tolist(), strict=True):
            ring[at + shift : end + shift] = ring[at:end]
            end = at
        self._buffer[place + np.arange(len(place))] = entries
        self._size += len(place)

    def _close(self, place: NDArray[np.int64]) -> None:
        """Remove the entries at these ascending positions."""
        ring = self._buffer.data
        ends = [*place[1:].tolist(), self._size]
        for shift, (at, end) in enumerate(zip(place.tolist(), ends, strict=True), start=1):
            ring[at + 1 - shift : end - shift] = ring[at + 1 : end]
        self._size -= len(place)

    def _points_of(self, consumer: Consumer) -> NDArray[np.int64]:
        """The consumer's distinct points, ascending."""
        points = point_hashes_of_one(utf8(consumer.name), self._points).astype(np.int64)
        points &= (1 << self._bits) - 1
        points.sort()
        first = np.ones(len(points), dtype=bool)
        np.not_equal(points[1:], points[:-1], out=first[1:])
        distinct: NDArray[np.int64] = points[first]
        return distinct

    def _place_in_run(self, at: int, point: int, number: int) -> int:
        """The position of a new claimant of a point: behind the claimants of greater rank."""
        rank, ring = self._members.rank(number), self.packed
        while at < len(ring) and ring[at] >> _ID_BITS == point and self._members.rank(int(ring[at] & _ID_MASK)) > rank:
            at += 1
        return at


def _stretches(
    above: NDArray[np.int64], upto: NDArray[np.int64], new_owner: NDArray[np.int64], last: int | None
) -> Stretches:
    """The stretches as int32 columns. Hashes above ``last`` go to the first new owner; None: they stay."""
    if last is not None:
        above, upto = np.append(above, last), np.append(upto, _LAST_HASH)
        new_owner = np.append(new_owner, new_owner[0])
    return above.astype(np.int32), upto.astype(np.int32), new_owner.astype(np.int32)


@dataclass(frozen=True, slots=True)
class Moves:
    """The topics whose owner a change replaced, one array each of (m,).

    ``topic``: int64, positions in the assignment's topics, ascending; ``old_owner`` and ``new_owner``: int32, consumer
    ids, -1 for nobody, never equal.
    """

    topic: NDArray[np.int64]
    old_owner: NDArray[np.int32]
    new_owner: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.topic)


def no_moves() -> Moves:
    """The moves of a change outside the cohort: none."""
    return Moves(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32))


def moves_between(before: NDArray[np.int32], after: NDArray[np.int32]) -> Moves:
    """All topics whose owner differs; both (n,) int32. O(n).

    >>> moves = moves_between(np.array([1, 2, 3], np.int32), np.array([1, 3, 3], np.int32))
    >>> moves.topic.tolist(), moves.old_owner.tolist(), moves.new_owner.tolist()
    ([1], [2], [3])
    """
    topic = np.flatnonzero(before != after)
    return Moves(topic, before[topic], after[topic])


class LiveRing:
    """Topics on the ring, in hash order: 8 bytes a topic (hash and owner) and 8 bytes a point.

    A change inside the cohort costs O(p log n) look-ups for the p points of the consumer, one pass over the memory of
    the ring's points, and O(1) for each topic that moves; one that replaces the whole cohort is a new assignment.

    ``owner``: (n,) int32, consumer ids, ``NOBODY`` without consumers; read it, do not write it.

    >>> live = LiveRing(np.arange(0, 2**31, 2**28, dtype=np.int32), [Consumer(1, "a")])
    >>> moves = live.join(Consumer(2, "b"))
    >>> set(moves.old_owner.tolist()), set(moves.new_owner.tolist()), len(moves) == live.owner.tolist().count(2)
    ({1}, {2}, True)
    >>> len(live.leave(2)) == len(moves), set(live.owner.tolist())
    (True, {1})
    """

    __slots__ = ("hash", "members", "owner", "points")

    hash: NDArray[np.int32]
    members: Membership
    owner: NDArray[np.int32]
    points: LivePoints

    def __init__(
        self,
        hashes: NDArray[np.int32],
        consumers: Iterable[Consumer] = (),
        *,
        points: int = POINTS_PER_CONSUMER,
        bits: int = HASH_BITS,
    ) -> None:
        """``hashes``: (n,) int32, ascending (``engine.failover.bulk.sort_topics``); consumers in connect order.

        ``points``: of each consumer, 100 in Pulsar; ``bits`` narrows the hashes of points (topics come narrowed).
        """
        assert hashes.dtype == np.int32, f"topic hashes are int32, not {hashes.dtype}"
        self.members = Membership(consumers)
        self.hash = hashes
        self.points = LivePoints(self.members, points, bits)
        self.owner = self._assigned_anew()

    def join(self, consumer: Consumer) -> Moves:
        """Connect a consumer. One whose level is not in force takes nothing."""
        level, size = self.members.level, self.members.cohort_size
        self.members.add(consumer)
        if level is not None and consumer.priority_level > level:
            return no_moves()
        if size and consumer.priority_level == level:
            return self._take_over(*self.points.insert(consumer))
        # The first of all, or the first of a higher level: everything changes hands.
        return self._rebuild()

    def leave(self, consumer_id: int) -> Moves:
        """Disconnect a consumer; an unknown one is a KeyError."""
        level, size = self.members.level, self.members.cohort_size
        consumer = self.members.remove(consumer_id)
        if consumer.priority_level != level:
            return no_moves()
        return self._take_over(*self.points.remove(consumer)) if size > 1 else self._rebuild()

    def _assigned_anew(self) -> NDArray[np.int32]:
        self.points.rebuild()
        return self.points.assign(self.hash)

    def _rebuild(self) -> Moves:
        before, self.owner = self.owner, self._assigned_anew()
        return moves_between(before, self.owner)

    def _take_over(self, above: NDArray[np.int32], upto: NDArray[np.int32], new_owner: NDArray[np.int32]) -> Moves:
        """Give the topics with ``above < hash <= upto`` to a new owner, for disjoint ascending stretches, (s,) each."""
        ends = np.searchsorted(self.hash, np.concatenate((above, upto)), side="right")
        low, high = ends[: len(above)], ends[len(above) :]
        counts = high - low
        before = np.cumsum(counts) - counts
        topic = np.repeat(low - before, counts) + np.arange(int(counts.sum()))
        moves = Moves(topic, self.owner[topic], np.repeat(new_owner, counts))
        self.owner[topic] = moves.new_owner
        return moves
