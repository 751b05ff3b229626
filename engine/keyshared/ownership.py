"""Which slots and which known keys a consumer owns, slots without owner, and what moved between two assignments.

``Impact`` follows ``ConsumerHashAssignmentsSnapshot.resolveImpactedConsumers`` (PIP-379), with the added ranges of
#24736.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from engine.answer import about
from engine.keyshared.model import Consumer, RangesById, Selector, SlotSpace, owner_of_key
from engine.keyshared.ring import RingSelector
from engine.keyshared.sticky import LegacyStickySelector
from engine.ranges import HashRange, join_neighbours, uncovered


@dataclass(frozen=True, slots=True)
class OwnedSlots:
    """The slots of ``range`` that a consumer has: all, or those with ``slot mod divisor == remainder``.

    The second occurs where consumers share a point, in the two oldest forms of the ring.
    """

    range: Annotated[HashRange, about("The range.")]
    divisor: Annotated[int, about("1, or among how many consumers turns are taken.")] = 1
    remainder: Annotated[int, about("Which turn.")] = 0

    @property
    def count(self) -> int:
        first = self.range.start + (self.remainder - self.range.start) % self.divisor
        return max(0, (self.range.end - first) // self.divisor + 1)

    def contains(self, slot: int) -> bool:
        return self.range.contains(slot) and slot % self.divisor == self.remainder


def slots_by_consumer(selector: Selector) -> dict[int, tuple[OwnedSlots, ...]]:
    """Exactly the slots each consumer gets, ascending, limited to slots that occur. O(n log n).

    It differs from the statistics (``ranges``) where Pulsar's differ from its look-up: the end of auto-split beyond the
    last slot, points shared or past the last one in the oldest rings, gaps in the earlier sticky form.
    """
    owned: dict[int, tuple[OwnedSlots, ...]] = {consumer.consumer_id: () for consumer in selector.consumers}
    if isinstance(selector, RingSelector) and selector.form.shares_points:
        return owned | _shared_slots(selector)
    low = selector.slots.lowest
    high = max(selector.slots.high, low)
    return owned | {
        owner: tuple(
            OwnedSlots(HashRange(max(piece.start, low), min(piece.end, high)))
            for piece in pieces
            if piece.end >= low and piece.start <= high
        )
        for owner, pieces in owned_ranges(selector).items()
    }


def owned_ranges(selector: Selector) -> RangesById:
    """The ranges a look-up gives each consumer; empty if points are shared, since then no range has a single owner."""
    if isinstance(selector, LegacyStickySelector):
        return selector.served_ranges()
    if isinstance(selector, RingSelector):
        return {} if selector.form.shares_points else selector.owned_ranges()
    return selector.ranges()


def keys_of(selector: Selector, consumer_id: int, keys: Iterable[bytes]) -> tuple[bytes, ...]:
    """The known keys that a consumer gets, in their order."""
    return tuple(key for key in keys if owner_of_key(selector, key) == consumer_id)


def _shared_slots(selector: RingSelector) -> dict[int, tuple[OwnedSlots, ...]]:
    shared: dict[int, list[OwnedSlots]] = {}
    for piece, claimants in selector.ring.stretches(selector.slots.low, selector.slots.high):
        for remainder, at in enumerate(claimants):
            owned = OwnedSlots(piece, len(claimants), remainder)
            if owned.count:
                shared.setdefault(selector.members[at].consumer.consumer_id, []).append(owned)
    return {owner: tuple(pieces) for owner, pieces in shared.items()}


@dataclass(frozen=True, slots=True)
class Gaps:
    """The slots without owner: messages of their keys wait on the replay queue. ``slot_count`` is their number.

    ``idle_ids`` are consumers whose ranges hold no slot that occurs.
    """

    ranges: tuple[HashRange, ...]
    slot_count: int
    idle_ids: tuple[int, ...]


def gaps_of(consumers: tuple[Consumer, ...], served: RangesById, slots: SlotSpace) -> Gaps:
    """Where and how many slots have no owner; slot 0 counts only where it occurs. O(n log n).

    >>> from engine.keyshared.sticky import sticky_selector
    >>> selector = sticky_selector(10).join(Consumer(1, "c", ((0, 2), (5, 20))))
    >>> gaps = gaps_of(selector.consumers, selector.ranges(), selector.slots)
    >>> [str(piece) for piece in gaps.ranges], gaps.slot_count
    (['[3,4]'], 2)
    """
    first = slots.lowest
    free: tuple[HashRange, ...] = ()
    if first <= slots.high:
        free = uncovered((piece for pieces in served.values() for piece in pieces), HashRange(first, slots.high))
    idle = tuple(
        consumer.consumer_id
        for consumer in consumers
        if not any(piece.end >= first and piece.start <= slots.high for piece in served.get(consumer.consumer_id, ()))
    )
    return Gaps(free, sum(piece.size for piece in free), idle)


@dataclass(frozen=True, slots=True)
class Impact:
    """By consumer id, the slots it owned only before (``removed``) and only after (``added``).

    The consumer that left is in ``removed`` with all it had, the one that joined in ``added``.
    """

    removed: RangesById
    added: RangesById


def impact_of(before: RangesById, after: RangesById) -> Impact:
    """Compare the ranges before and after a change; O(n log n).

    >>> was = {1: (HashRange(1, 9),)}
    >>> now = {1: (HashRange(5, 9),), 2: (HashRange(1, 4),)}
    >>> impact_of(was, now) == Impact(removed={1: (HashRange(1, 4),)}, added={2: (HashRange(1, 4),)})
    True
    """
    return Impact(removed=_only_in(before, after), added=_only_in(after, before))


def _only_in(these: RangesById, those: RangesById) -> RangesById:
    rest = {owner: subtract(pieces, those.get(owner, ())) for owner, pieces in these.items()}
    return {owner: pieces for owner, pieces in rest.items() if pieces}


def subtract(pieces: Sequence[HashRange], others: Sequence[HashRange]) -> tuple[HashRange, ...]:
    """The values of ``pieces`` that are not in ``others``, as few ranges as possible; O(n log n).

    >>> [str(piece) for piece in subtract([HashRange(0, 9)], [HashRange(3, 4), HashRange(9, 12)])]
    ['[0,2]', '[5,8]']
    """
    cuts = join_neighbours(others)
    left: list[HashRange] = []
    at = 0
    for piece in join_neighbours(pieces):
        start = piece.start
        while at < len(cuts) and cuts[at].end < start:
            at += 1
        ahead = at
        while ahead < len(cuts) and cuts[ahead].start <= piece.end:
            if cuts[ahead].start > start:
                left.append(HashRange(start, cuts[ahead].start - 1))
            start = cuts[ahead].end + 1
            ahead += 1
        if start <= piece.end:
            left.append(HashRange(start, piece.end))
    return tuple(left)


_NOBODY = -1


@dataclass(frozen=True, slots=True)
class Placement:
    """What each consumer has, in parallel tuples in join order; ``shares`` add up to 1 unless nothing is served.

    ``ownerless`` keys have no consumer; ``misplaced`` keys are served by a consumer that does not own their slot.
    """

    ids: tuple[int, ...]
    shares: tuple[float, ...]
    keys: tuple[int, ...]
    messages: tuple[float, ...]
    ownerless: int
    misplaced: tuple[bytes, ...]


def place(selector: Selector, counts: Mapping[bytes, float], received: Mapping[bytes, int]) -> Placement:
    """Place each key with its messages at the consumer that ``received`` it, else at the selector's owner.

    The look-up of single slots is compared with the slots each consumer has in all. Every slot is
    looked up once, however many keys it has. O(k + s log n) for k keys on s slots.
    """
    owned = slots_by_consumer(selector)
    ids = tuple(consumer.consumer_id for consumer in selector.consumers)
    position = {number: at for at, number in enumerate(ids)}
    keys = list(counts)
    every_slot = np.fromiter(map(selector.slots.slot_of_key, keys), np.int64, len(keys))
    slots, where = np.unique(every_slot, return_inverse=True)
    looked_up = np.array([position.get(_or_nobody(selector.owner(slot)), _NOBODY) for slot in slots.tolist()], np.int64)
    receivers, rightful = looked_up[where], _holders(owned, position, slots)[where]
    strangers = np.zeros(len(keys), dtype=np.bool_)
    if received:
        for at, key in enumerate(keys):
            if key in received:
                receivers[at] = position.get(received[key], _NOBODY)
                strangers[at] = received[key] not in position
    # A key received by an unknown consumer counts for none of them, but it is not ownerless.
    wrong = strangers | (receivers != rightful)
    served = receivers != _NOBODY
    messages = np.fromiter(counts.values(), np.float64, len(keys))
    return Placement(
        ids=ids,
        shares=_shares(owned),
        keys=tuple(np.bincount(receivers[served], minlength=len(ids)).tolist()),
        messages=tuple(np.bincount(receivers[served], messages[served], len(ids)).tolist()),
        ownerless=int((~served & ~strangers).sum()),
        misplaced=tuple(keys[at] for at in np.flatnonzero(wrong).tolist()),
    )


def placement_of_sums(
    selector: Selector, keys: NDArray[np.float64], messages: NDArray[np.float64], ownerless: int
) -> Placement:
    """A placement whose keys and messages were summed by consumer, (c,) in join order, where the selector puts them."""
    owned = slots_by_consumer(selector)
    return Placement(
        ids=tuple(owned),
        shares=_shares(owned),
        keys=tuple(keys.astype(np.int64).tolist()),
        messages=tuple(messages.tolist()),
        ownerless=ownerless,
        misplaced=(),
    )


def _shares(owned: Mapping[int, tuple[OwnedSlots, ...]]) -> tuple[float, ...]:
    sizes = [sum(piece.count for piece in pieces) for pieces in owned.values()]
    whole = sum(sizes)
    return tuple(size / whole if whole else 0.0 for size in sizes)


def _or_nobody(owner: int | None) -> int:
    return _NOBODY if owner is None else owner


def _holders(
    owned: Mapping[int, tuple[OwnedSlots, ...]], position: Mapping[int, int], slots: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The position of the consumer that has each slot, ``_NOBODY`` where none has."""
    ends: dict[tuple[int, int], int] = {}
    holders: dict[tuple[int, int], int] = {}
    for number, pieces in owned.items():
        for held in pieces:
            ends[held.range.start, held.divisor] = held.range.end
            holders[held.range.start, held.remainder] = position[number]
    if not ends:
        return np.full(len(slots), _NOBODY, dtype=np.int64)
    order = sorted(ends)
    starts = np.array([start for start, _ in order], dtype=np.int64)
    lasts = np.array([ends[piece] for piece in order], dtype=np.int64)
    divisors = np.array([divisor for _, divisor in order], dtype=np.int64)
    # The pieces one after another, each with as many places as consumers share it.
    first = np.cumsum(divisors) - divisors
    table = np.full(int(divisors.sum()), _NOBODY, dtype=np.int64)
    for offset, (start, divisor) in zip(first.tolist(), order, strict=True):
        for remainder in range(divisor):
            table[offset + remainder] = holders.get((start, remainder), _NOBODY)
    at = np.searchsorted(starts, slots, side="right") - 1
    places: NDArray[np.int64] = table[first[at] + slots % divisors[at]]
    places[(at < 0) | (slots > lasts[at])] = _NOBODY
    return places
