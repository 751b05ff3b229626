"""Why a key goes to a consumer, and why not to every other one, as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Annotated

from engine.answer import about
from engine.hashing import Division, murmur3_32, murmur3_32_raw
from engine.keyshared.draining import DrainingHash, DrainingHashes
from engine.keyshared.model import Consumer, Selector, SlotSpace, owner_of_key
from engine.keyshared.ownership import OwnedSlots, owned_ranges, slots_by_consumer
from engine.keyshared.ring import RingSelector, point_key, point_slots
from engine.ranges import HashRange

HEIRS_SHOWN = 3


@dataclass(frozen=True, slots=True)
class SlotStep:
    """The way from a key to its slot: ``division.remainder + low``, and 1 instead of 0 where ``folded``."""

    key: Annotated[bytes, about("The bytes, in hexadecimal.")]
    raw_hash: Annotated[int, about("Murmur3, signed.")]
    hash_value: Annotated[int, about("With its top bit cleared.")]
    division: Annotated[Division, about("The division.")]
    low: Annotated[int, about("The first slot of the space.")]
    folded: Annotated[bool, about("Whether slot 0 became 1.")]
    slot: Annotated[int, about("The slot.")]


@dataclass(frozen=True, slots=True)
class Claimant:
    """A consumer that claims a point."""

    consumer: Annotated[Consumer, about("The consumer.")]
    name_index: Annotated[int, about("Which one of its name.")]
    replicas: Annotated[tuple[int, ...], about("Its points there.")]
    point_keys: Annotated[tuple[str, ...], about("What hashes to it.")]


@dataclass(frozen=True, slots=True)
class PointStep:
    """The point a slot falls on. The first claimant owns it; if ``shared``, the one at ``slot mod len(claimants)``."""

    point: Annotated[int, about("The point.")]
    wrapped: Annotated[bool, about("Whether the search went round the end.")]
    distance: Annotated[int, about("Slots forward to it.")]
    claimants: Annotated[tuple[Claimant, ...], about("In the order that counts.")]
    shared: Annotated[Division | None, about("Whose turn it is, where claimants share the point.")]


@dataclass(frozen=True, slots=True)
class KeyExplanation:
    """The way from a key to its consumer; ``range`` is None where the owner is not decided by ranges."""

    slot: Annotated[SlotStep, about("The slot.")]
    owner: Annotated[Consumer | None, about("Who gets it.")]
    range: Annotated[HashRange | None, about("The owner's range round the slot.")]
    point: Annotated[PointStep | None, about("The point.")]
    heirs: Annotated[tuple[Consumer, ...], about("Who follows, then who after that.")]
    draining: Annotated[DrainingHash | None, about("Set while the slot waits for another consumer.")]


def explain_key(
    selector: Selector, key: bytes, *, draining: DrainingHashes | None = None, heirs: int = HEIRS_SHOWN
) -> KeyExplanation:
    """Look a sticky key up and keep every step; the owner is that of ``owner_of_key``.

    >>> from engine.keyshared.autosplit import auto_split_selector
    >>> why = explain_key(auto_split_selector(64).join_all([Consumer(1, "a"), Consumer(2, "b")]), b"NONE_KEY")
    >>> why.slot.slot, why.owner.name, str(why.range), [heir.name for heir in why.heirs]
    (35, 'a', '[33,64]', ['b'])
    """
    step = slot_step(selector.slots, key)
    owner_id = owner_of_key(selector, key)
    entry = draining.entries.get(step.slot) if draining is not None else None
    return KeyExplanation(
        slot=step,
        owner=_consumer(selector, owner_id),
        range=_range_round(selector, owner_id, step.slot),
        point=_point_step(selector, step.slot) if isinstance(selector, RingSelector) else None,
        heirs=heirs_of(selector, step.slot, heirs),
        draining=entry if entry is not None and entry.consumer_id != owner_id else None,
    )


def slot_step(slots: SlotSpace, key: bytes) -> SlotStep:
    """The steps from a key to its slot.

    >>> step = slot_step(SlotSpace(0, 65_535), b"")
    >>> step.hash_value, step.division, step.folded, step.slot
    (0, Division(dividend=0, divisor=65536, remainder=0), True, 1)
    """
    value = murmur3_32(key)
    remainder = value % slots.size
    slot = slots.slot(value)
    folded = slot != remainder + slots.low
    return SlotStep(key, murmur3_32_raw(key), value, Division(value, slots.size, remainder), slots.low, folded, slot)


def heirs_of(selector: Selector, slot: int, count: int) -> tuple[Consumer, ...]:
    """The consumers that inherit a slot one after another: by walking the ring, else by removing owners."""
    if isinstance(selector, RingSelector):
        return selector.heirs(slot, count + 1)[1:]
    heirs: list[Consumer] = []
    owner = selector.owner(slot)
    while owner is not None and len(heirs) < count:
        selector = selector.leave(owner)
        owner = selector.owner(slot)
        heir = _consumer(selector, owner)
        if heir is not None:
            heirs.append(heir)
    return tuple(heirs)


def _consumer(selector: Selector, consumer_id: int | None) -> Consumer | None:
    return next((consumer for consumer in selector.consumers if consumer.consumer_id == consumer_id), None)


def _range_round(selector: Selector, owner_id: int | None, slot: int) -> HashRange | None:
    pieces = owned_ranges(selector).get(owner_id, ()) if owner_id is not None else ()
    return next((piece for piece in pieces if piece.contains(slot)), None)


def _point_step(selector: RingSelector, slot: int) -> PointStep | None:
    point = selector.point_of(slot)
    if point is None:
        return None
    claimants: list[Claimant] = []
    for member in selector.claimants(point):
        name = member.consumer.name
        standing = point_slots(selector.form, name, member.name_index, selector.points, selector.slots)
        replicas = tuple(replica for replica, claimed in enumerate(standing) if claimed == point)
        keys = tuple(point_key(selector.form, name, member.name_index, replica) for replica in replicas)
        claimants.append(Claimant(member.consumer, member.name_index, replicas, keys))
    count = len(claimants)
    return PointStep(
        point=point,
        wrapped=point < slot,
        distance=(point - slot) % selector.slots.size,
        claimants=tuple(claimants),
        shared=Division(slot, count, slot % count) if selector.form.shares_points else None,
    )


class WhyNot(Enum):
    """What keeps a consumer from getting a key."""

    OTHER_SLOTS = "owns other slots"
    NO_SLOTS = "owns no slot"
    LOST_POINT = "another consumer comes first at the point that both claim"
    OTHER_TURN = "another consumer's turn at the point that both share"


@dataclass(frozen=True, slots=True)
class Rival:
    """A consumer that does not get the key."""

    consumer: Annotated[Consumer, about("The consumer.")]
    why_not: Annotated[WhyNot, about("What keeps it from getting the key.")]
    slots: Annotated[int, about("How many slots it owns.", 0)]
    pieces: Annotated[int, about("In how many ranges.", 0)]
    nearest: Annotated[OwnedSlots | None, about("Its range that is nearest to the slot.")] = None
    away: Annotated[int | None, about("How far, in slots.")] = None
    drains: Annotated[bool, about("Whether the slot waits for it.")] = False


def rivals_of(selector: Selector, why: KeyExplanation) -> tuple[Rival, ...]:
    """All but the owner, in the order of joining. O(n log n) for n ranges.

    >>> from engine.keyshared.autosplit import auto_split_selector
    >>> from engine.keyshared.explain import explain_key
    >>> two = auto_split_selector(64).join_all([Consumer(1, "a"), Consumer(2, "b")])
    >>> [(rival.consumer.name, rival.slots, rival.away) for rival in rivals_of(two, explain_key(two, b"NONE_KEY"))]
    [('b', 32, 3)]
    """
    owned = slots_by_consumer(selector)
    claimants = [claimant.consumer.consumer_id for claimant in why.point.claimants] if why.point is not None else []
    at_point = WhyNot.OTHER_TURN if why.point is not None and why.point.shared is not None else WhyNot.LOST_POINT
    rivals = []
    for consumer in selector.consumers:
        if why.owner is not None and consumer.consumer_id == why.owner.consumer_id:
            continue
        pieces = owned[consumer.consumer_id]
        claims = consumer.consumer_id in claimants
        nearest = _nearest(pieces, why.slot.slot)
        rivals.append(
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
    return tuple(rivals)


def _nearest(pieces: Sequence[OwnedSlots], slot: int) -> OwnedSlots | None:
    return min(pieces, key=lambda piece: _distance(piece, slot), default=None)


def _distance(piece: OwnedSlots, slot: int) -> int:
    return max(piece.range.start - slot, slot - piece.range.end, 0)
