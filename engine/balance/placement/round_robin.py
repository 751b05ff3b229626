"""``RoundRobinBrokerSelector``: brokers in turn, by a list that is renewed later than one might think."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.balance.placement.model import Placement

_HIGHEST_INT = 2**31 - 1


@dataclass(frozen=True, slots=True)
class RoundRobinMemory:
    """How many were placed, and the list of brokers gone through."""

    count: int = 0
    brokers: tuple[str, ...] = ()


def place_round_robin(memory: RoundRobinMemory, candidates: Sequence[str]) -> tuple[RoundRobinMemory, Placement]:
    """The next broker. ``candidates`` in the order of their set, which decides the turns.

    The list is renewed when its length differs from the number of candidates, or the broker whose turn it is is no
    candidate any more; so another set of the same size is noticed late.

    >>> memory = RoundRobinMemory()
    >>> for _ in range(3):
    ...     memory, placement = place_round_robin(memory, ("b:1", "b:2"))
    ...     print(placement.answers)
    ('b:1',)
    ('b:2',)
    ('b:1',)
    """
    if not candidates:
        return memory, Placement((), "no-candidates")
    place = memory.count % len(candidates)
    brokers = memory.brokers
    if len(brokers) != len(candidates) or brokers[place] not in candidates:
        brokers = tuple(candidates)
    following = 0 if memory.count == _HIGHEST_INT else memory.count + 1
    return RoundRobinMemory(following, brokers), Placement((brokers[place],), "in-turn")
