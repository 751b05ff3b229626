"""The consumers of one subscription under change: who is connected, in which order, and who of them can be active."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable

from engine.failover.model import Consumer
from engine.hashing import utf16_order

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
        """Its place in the order, comparable with others': of two claimants of a point the greater one owns it."""
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
