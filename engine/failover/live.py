"""The owners of one subscription's topics under joins and leaves: each change gives its exact moves, hashing no topic.

The numpy form of ``engine.failover.ring.scalar_ring`` under one change after another. What it holds depends on who is
connected, and among consumers of one name on who came first, never on how it came about.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.bulk_hashing import HASH_BITS
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
