"""Why every other consumer does not get a key: the slots that it owns instead, or whose turn it is at a point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from engine.keyshared.explain import KeyExplanation
from engine.keyshared.model import Consumer, Selector
from engine.keyshared.ownership import OwnedSlots, slots_by_consumer


class WhyNot(Enum):
    """What keeps a consumer from getting a key."""

    OTHER_SLOTS = "owns other slots"
    NO_SLOTS = "owns no slot"
    LOST_POINT = "another consumer comes first at the point that both claim"
    OTHER_TURN = "another consumer's turn at the point that both share"


@dataclass(frozen=True, slots=True)
class Rival:
    """A consumer that does not get the key.

    ``slots`` is how many it owns in ``pieces`` ranges. ``nearest`` is that of its ranges that is nearest to the key's
    slot, ``away`` how far, in slots; None without one. ``drains`` is set while the slot waits for this consumer: it had
    it before, and has not acknowledged.
    """

    consumer: Consumer
    why_not: WhyNot
    slots: int
    pieces: int
    nearest: OwnedSlots | None = None
    away: int | None = None
    drains: bool = False


def rivals_of(selector: Selector, why: KeyExplanation) -> tuple[Rival, ...]:
    """All but the owner, in the order of joining. O(n log n) for n ranges.

    >>> from engine.keyshared.autosplit import auto_split_selector
    >>> from engine.keyshared.explain import explain_key
    >>> two = auto_split_selector(64).join_all([Consumer(1, "a"), Consumer(2, "b")])
    >>> [(each.consumer.name, each.slots, each.away) for each in rivals_of(two, explain_key(two, b"NONE_KEY"))]
    [('b', 32, 3)]
    """
    owned = slots_by_consumer(selector)
    claimants = [each.consumer.consumer_id for each in why.point.claimants] if why.point is not None else []
    at_point = WhyNot.OTHER_TURN if why.point is not None and why.point.shared is not None else WhyNot.LOST_POINT
    found = []
    for consumer in selector.consumers:
        if why.owner is not None and consumer.consumer_id == why.owner.consumer_id:
            continue
        pieces = owned[consumer.consumer_id]
        claims = consumer.consumer_id in claimants
        nearest = _nearest(pieces, why.slot.slot)
        found.append(
            Rival(
                consumer,
                at_point if claims else WhyNot.OTHER_SLOTS if pieces else WhyNot.NO_SLOTS,
                slots=sum(piece.count for piece in pieces),
                pieces=len(pieces),
                nearest=nearest,
                away=None if nearest is None else _distance(nearest, why.slot.slot),
                drains=why.draining is not None and why.draining.consumer_id == consumer.consumer_id,
            )
        )
    return tuple(found)


def _nearest(pieces: Sequence[OwnedSlots], slot: int) -> OwnedSlots | None:
    return min(pieces, key=lambda piece: _distance(piece, slot), default=None)


def _distance(piece: OwnedSlots, slot: int) -> int:
    return max(piece.range.start - slot, slot - piece.range.end, 0)
