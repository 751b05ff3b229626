"""One subscription under joins and leaves: each change gives the exact list of moves, and no topic is hashed again.

Twins of ``engine.failover.choose`` under change. Two kinds of topics, two classes with the same four changes: topics on
the ring (``LiveRing``) and topics under the modulo rule (``LiveModulo``). What they hold depends on who is connected,
and among namesakes on who came first, never on how it came about.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from engine.bulk_hashing import HASH_BITS
from engine.failover.bulk_ring import NOBODY
from engine.failover.live_points import LivePoints, Membership
from engine.failover.model import Consumer
from engine.failover.ring import POINTS_PER_CONSUMER


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
    """The moves of a change that concerns nobody who can be active."""
    return Moves(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32))


def moves_between(before: NDArray[np.int32], after: NDArray[np.int32]) -> Moves:
    """All topics whose owner differs; both (n,) int32. O(n).

    >>> made = moves_between(np.array([1, 2, 3], np.int32), np.array([1, 3, 3], np.int32))
    >>> made.topic.tolist(), made.old_owner.tolist(), made.new_owner.tolist()
    ([1], [2], [3])
    """
    topic = np.flatnonzero(before != after)
    return Moves(topic, before[topic], after[topic])


def after_each_other(first: Moves, second: Moves) -> Moves:
    """Two changes as one: a topic that came back did not move. O(m log m).

    >>> there, back = (moves_between(*np.array(pair, np.int32)) for pair in (([1, 1], [2, 2]), ([2, 2], [1, 3])))
    >>> both = after_each_other(there, back)
    >>> both.topic.tolist(), both.old_owner.tolist(), both.new_owner.tolist()
    ([1], [1], [3])
    """
    topic = np.union1d(first.topic, second.topic)
    old_owner, new_owner = np.empty((2, len(topic)), dtype=np.int32)
    in_first, in_second = np.searchsorted(topic, first.topic), np.searchsorted(topic, second.topic)
    old_owner[in_second], new_owner[in_first] = second.old_owner, first.new_owner
    old_owner[in_first], new_owner[in_second] = first.old_owner, second.new_owner
    moved = old_owner != new_owner
    return Moves(topic[moved], old_owner[moved], new_owner[moved])


class LiveAssignment(ABC):
    """The owners of one subscription's topics, kept under change.

    ``owner``: (n,) int32, consumer ids, ``NOBODY`` without consumers; read it, do not write it.
    """

    __slots__ = ("members", "owner")

    members: Membership
    owner: NDArray[np.int32]

    def join(self, consumer: Consumer) -> Moves:
        """Connect a consumer. One whose level is not in force takes nothing."""
        level, size = self.members.level, self.members.cohort_size
        self.members.add(consumer)
        if level is not None and consumer.priority_level > level:
            return no_moves()
        # The first of all, or the first of a higher level: everything changes hands.
        return self._added(consumer) if size and consumer.priority_level == level else self._rebuilt()

    def leave(self, consumer_id: int) -> Moves:
        """Disconnect a consumer; an unknown one is a KeyError."""
        level, size = self.members.level, self.members.cohort_size
        consumer = self.members.remove(consumer_id)
        if consumer.priority_level != level:
            return no_moves()
        return self._removed(consumer) if size > 1 else self._rebuilt()

    def rename(self, consumer_id: int, name: str) -> Moves:
        """Let a consumer connect again under another name, as the last one that arrived; its id stays."""
        return self._reconnect(replace(self.members.consumers[consumer_id], name=name))

    def re_prioritise(self, consumer_id: int, priority_level: int) -> Moves:
        """Let a consumer connect again with another priority level, as the last one that arrived; its id stays."""
        return self._reconnect(replace(self.members.consumers[consumer_id], priority_level=priority_level))

    def loads(self) -> dict[int, int]:
        """How many topics each connected consumer is active for, by id. O(n)."""
        ids, counts = np.unique(self.owner, return_counts=True)
        return dict.fromkeys(self.members.consumers, 0) | {
            owner: count for owner, count in zip(ids.tolist(), counts.tolist(), strict=True) if owner != NOBODY
        }

    def _reconnect(self, consumer: Consumer) -> Moves:
        left = self.leave(consumer.consumer_id)
        return after_each_other(left, self.join(consumer))

    def _rebuilt(self) -> Moves:
        """Owners made anew from who is connected, and what that moved."""
        before, self.owner = self.owner, self._owners_anew()
        return moves_between(before, self.owner)

    @abstractmethod
    def _owners_anew(self) -> NDArray[np.int32]: ...

    @abstractmethod
    def _added(self, consumer: Consumer) -> Moves: ...

    @abstractmethod
    def _removed(self, consumer: Consumer) -> Moves: ...


class LiveRing(LiveAssignment):
    """Topics on the ring, in hash order: 8 bytes a topic (hash and owner) and 8 bytes a point.

    A change inside the cohort costs O(p log n) look-ups for the p points of the consumer, one pass over the memory of
    the ring's points, and O(1) for each topic that moves; one that replaces the whole cohort is a new assignment.

    >>> live = LiveRing(np.arange(0, 2**31, 2**28, dtype=np.int32), [Consumer(1, "a")])
    >>> moves = live.join(Consumer(2, "b"))
    >>> set(moves.old_owner.tolist()), set(moves.new_owner.tolist()), len(moves) == live.loads()[2]
    ({1}, {2}, True)
    >>> len(live.leave(2)) == len(moves), live.loads()
    (True, {1: 8})
    """

    __slots__ = ("hash", "points")

    hash: NDArray[np.int32]
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
        self.owner = self._owners_anew()

    def _owners_anew(self) -> NDArray[np.int32]:
        self.points.rebuild()
        return self.points.assign(self.hash)

    def _added(self, consumer: Consumer) -> Moves:
        stretches = self.points.insert(consumer)
        return self._take_over(*stretches)

    def _removed(self, consumer: Consumer) -> Moves:
        stretches = self.points.remove(consumer)
        return self._take_over(*stretches)

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


class LiveModulo(LiveAssignment):
    """Partitions under the modulo rule: partition index mod cohort size, in the dispatcher's order. O(n) a change.

    Nearly every partition moves when the size changes, so there is nothing to save but the comparison.

    >>> live = LiveModulo(np.arange(4, dtype=np.int32), [Consumer(1, "b"), Consumer(2, "a")])
    >>> live.owner.tolist(), live.leave(2).topic.tolist()
    ([2, 1, 2, 1], [0, 2])
    """

    __slots__ = ("partition_index",)

    partition_index: NDArray[np.int32]

    def __init__(self, partition_index: NDArray[np.int32], consumers: Iterable[Consumer] = ()) -> None:
        """``partition_index``: (n,) int32, 0 or more; consumers in connect order."""
        self.members = Membership(consumers)
        self.partition_index = partition_index
        self.owner = self._owners_anew()

    def _owners_anew(self) -> NDArray[np.int32]:
        cohort = np.array(self.members.cohort() or [NOBODY], dtype=np.int32)
        return cohort.take(self.partition_index % np.int32(len(cohort)))

    def _added(self, consumer: Consumer) -> Moves:
        return self._rebuilt()

    def _removed(self, consumer: Consumer) -> Moves:
        return self._rebuilt()
