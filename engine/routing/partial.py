"""Round robin over part of the partitions (PIP-79), so that a producer needs fewer connections.

Source: ``PartialRoundRobinMessageRouterImpl`` of the Java client.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine.errors import Rejection
from engine.hashing import murmur3_32, sign_safe_mod
from engine.routing.turns import next_turn


@dataclass(frozen=True, slots=True)
class PartialRoundRobinRouter:
    """Goes round over at most ``limit`` partitions, and **ignores keys**: one key is met in several partitions.

    ``chosen`` is the list it goes round, empty before the first message; it only grows, at its end. ``counter`` is a
    signed 32-bit number. Java draws the partitions at random; here ``seed`` and the place in the list decide. The
    state belongs to the router object: producers that share one share list and counter.
    """

    limit: int
    seed: int = 0
    chosen: tuple[int, ...] = ()
    counter: int = 0

    def extended(self, partitions: int) -> PartialRoundRobinRouter:
        """The router with as many chosen partitions as it may have, ``min(limit, partitions)``; none leaves the list.

        So a router that first saw few partitions is filled up when some are added. It costs something only when
        one is missing.

        >>> router = PartialRoundRobinRouter(limit=3, seed=1)
        >>> sorted(router.extended(2).chosen), len(router.extended(2).extended(9).chosen)
        ([0, 1], 3)
        """
        missing = min(self.limit, partitions) - len(self.chosen)
        if missing <= 0:
            return self
        taken = frozenset(self.chosen)
        free = [partition for partition in range(partitions) if partition not in taken]
        places = range(len(self.chosen), len(self.chosen) + missing)
        drawn = [free.pop(murmur3_32(f"{self.seed}/{place}") % len(free)) for place in places]
        return replace(self, chosen=(*self.chosen, *drawn))

    def turn(self) -> tuple[PartialRoundRobinRouter, int]:
        """The router after one more message, and that message's partition; the list must not be empty.

        >>> PartialRoundRobinRouter(limit=2, chosen=(4, 1), counter=-1).turn()[1]
        1
        """
        partition = self.chosen[sign_safe_mod(self.counter, len(self.chosen))]
        return replace(self, counter=next_turn(self.counter)), partition


def partial_round_robin(limit: int, seed: int = 0) -> PartialRoundRobinRouter | Rejection:
    """A new router over at most ``limit`` partitions; a limit below 1 is refused with Pulsar's words."""
    if limit < 1:
        message = "numPartitionsLimit should be greater than or equal to 1"
        return Rejection("IllegalArgumentException", message, field="numPartitionsLimit")
    return PartialRoundRobinRouter(limit, seed)
