"""The other way round: exactly which slots, and which of the known keys, a consumer has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from engine.keyshared.model import RangesById, Selector, owner_of_key
from engine.keyshared.ring import RingSelector
from engine.keyshared.sticky_legacy import LegacyStickySelector
from engine.ranges import HashRange


@dataclass(frozen=True, slots=True)
class OwnedSlots:
    """The slots of ``range`` that a consumer has: all, or those with ``slot mod divisor == remainder``.

    The second occurs where consumers share a point, in the two oldest forms of the ring.
    """

    range: HashRange
    divisor: int = 1
    remainder: int = 0

    @property
    def count(self) -> int:
        first = self.range.start + (self.remainder - self.range.start) % self.divisor
        return max(0, (self.range.end - first) // self.divisor + 1)

    def contains(self, slot: int) -> bool:
        return self.range.contains(slot) and slot % self.divisor == self.remainder


def slots_by_consumer(selector: Selector) -> dict[int, tuple[OwnedSlots, ...]]:
    """Exactly the slots each consumer gets, ascending, only such as occur; empty for one that has none. O(n log n).

    It differs from the statistics (``ranges``) where Pulsar's differ from its look-up: the end of auto-split beyond the
    last slot, points shared or past the last one in the oldest rings, gaps in the earlier sticky form.
    """
    found: dict[int, tuple[OwnedSlots, ...]] = {each.consumer_id: () for each in selector.consumers}
    if isinstance(selector, RingSelector) and selector.form.shares_points:
        return found | _shared_slots(selector)
    low = selector.slots.lowest
    high = max(selector.slots.high, low)
    return found | {
        owner: tuple(
            OwnedSlots(HashRange(max(piece.start, low), min(piece.end, high)))
            for piece in pieces
            if piece.end >= low and piece.start <= high
        )
        for owner, pieces in owned_ranges(selector).items()
    }


def owned_ranges(selector: Selector) -> RangesById:
    """The ranges a look-up gives each consumer; empty where points are shared, since no range is one consumer's."""
    if isinstance(selector, LegacyStickySelector):
        return selector.served_ranges()
    if isinstance(selector, RingSelector):
        return {} if selector.form.shares_points else selector.owned_ranges()
    return selector.ranges()


def keys_of(selector: Selector, consumer_id: int, keys: Iterable[bytes]) -> tuple[bytes, ...]:
    """Those of the known keys that a consumer gets, in their order."""
    return tuple(key for key in keys if owner_of_key(selector, key) == consumer_id)


def _shared_slots(selector: RingSelector) -> dict[int, tuple[OwnedSlots, ...]]:
    found: dict[int, list[OwnedSlots]] = {}
    for piece, claimants in selector.ring.stretches(selector.slots.low, selector.slots.high):
        for remainder, at in enumerate(claimants):
            owned = OwnedSlots(piece, len(claimants), remainder)
            if owned.count:
                found.setdefault(selector.members[at].consumer.consumer_id, []).append(owned)
    return {owner: tuple(pieces) for owner, pieces in found.items()}
