"""Key_Shared in bulk: the slots of many keys, their owners, and the load of each consumer in a trace.

Every selector of ``engine.keyshared`` has an array form here that is searched for many slots at once and agrees with
the scalar look-up slot by slot. Consumers are identified by id.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.bulk_hashing import point_hashes
from engine.hashing import utf8, utf16_order
from engine.keyshared.autosplit import AutoSplitSelector
from engine.keyshared.model import Consumer, SlotSpace
from engine.keyshared.ring import RingForm, RingMember, RingSelector, point_key
from engine.keyshared.sticky import LegacyStickySelector, StickySelector

NO_CONSUMER: Final = -1
"""The owner id of a slot without owner; consumer ids are 0 or more."""


@dataclass(frozen=True, slots=True)
class SlotOwners:
    """Stretches of slots in order, each with its claimants.

    Stretch i ends with slot ``end[i]`` and begins after the previous one. Slots after the last stretch belong to
    stretch 0 if ``wraps``, else they have no owner. ``claimant``: (m,) int64, consumer ids; stretch i has ``count[i]``
    of them from ``first[i]`` on. Without a claimant it has no owner; several share it by ``slot mod count``.

    ``end``, ``first``, ``count``: (s,) int64. ``consumer_ids``: in the order they joined.
    """

    space: SlotSpace
    consumer_ids: tuple[int, ...]
    end: NDArray[np.int64]
    first: NDArray[np.int64]
    count: NDArray[np.int64]
    claimant: NDArray[np.int64]
    wraps: bool

    def look_up(self, slots: NDArray[np.integer]) -> NDArray[np.int64]:
        """The consumer id of each slot: (n,) int64, ``NO_CONSUMER`` where nobody has it. O(n log s)."""
        slots = slots.astype(np.int64, copy=False)
        owner = np.full(len(slots), NO_CONSUMER, dtype=np.int64)
        if not len(self.end):
            return owner
        at = np.searchsorted(self.end, slots, side="left")
        beyond = at == len(self.end)
        at[beyond] = 0
        served = (self.count[at] > 0) & (self.wraps | ~beyond)
        at = at[served]
        owner[served] = self.claimant[self.first[at] + slots[served] % self.count[at]]
        return owner


@singledispatch
def slot_owners(selector: object) -> SlotOwners:
    """The array form of any selector of ``engine.keyshared``. O(p log p) for p points, O(r) for r ranges.

    >>> from engine.keyshared.autosplit import auto_split_selector
    >>> two = auto_split_selector().join_all([Consumer(7, "a"), Consumer(9, "b")])
    >>> slot_owners(two).look_up(np.array([1, 32_768, 32_769, 65_535])).tolist()
    [9, 9, 7, 7]
    """
    raise TypeError(f"{type(selector).__name__} is not a selector of engine.keyshared")


@slot_owners.register
def _(selector: RingSelector) -> SlotOwners:
    """A ring: a stretch ends at each point."""
    ranked = list(enumerate(selector.members))
    if selector.form.shares_points:
        ranked.sort(key=lambda ranked_member: utf16_order(ranked_member[1].consumer.name))
    ids = _ids(selector.consumers)
    point, rank = _claims(selector, [member for _, member in ranked])
    # One entry for a claimant and point, by point, then by rank.
    packed = np.unique(np.stack((point, rank)), axis=1)
    begins = np.flatnonzero(np.append(True, np.diff(packed[0]) != 0)[: packed.shape[1]])
    count = np.diff(begins, append=packed.shape[1])
    claimant = np.array([ids[at] for at, _ in ranked], dtype=np.int64)[packed[1]]
    count = count if selector.form.shares_points else np.ones_like(count)
    return SlotOwners(selector.slots, ids, packed[0][begins], begins, count, claimant, wraps=True)


@slot_owners.register
def _(selector: AutoSplitSelector) -> SlotOwners:
    """Intervals that end at their upper."""
    return _stretches(selector.slots, selector.consumers, selector.uppers, selector.owners)


@slot_owners.register
def _(selector: StickySelector) -> SlotOwners:
    """Ranges, with an ownerless stretch before each range that does not continue the previous one."""
    ends: list[int] = []
    owners: list[int | None] = []
    for piece, owner in zip(selector.pieces, selector.owners, strict=True):
        if not ends or piece.start > ends[-1] + 1:
            ends.append(piece.start - 1)
            owners.append(None)
        ends.append(piece.end)
        owners.append(owner)
    return _stretches(selector.slots, selector.consumers, ends, owners)


@slot_owners.register
def _(selector: LegacyStickySelector) -> SlotOwners:
    """End points: a slot on one has its consumer, a slot between two of one consumer has that consumer."""
    ends: list[int] = []
    owners: list[int | None] = []
    before: int | None = None
    for end, owner in zip(selector.ends, selector.owners, strict=True):
        ends += [end - 1, end]
        owners += [owner if owner == before else None, owner]
        before = owner
    return _stretches(selector.slots, selector.consumers, ends, owners)


def _claims(selector: RingSelector, ranked: Sequence[RingMember]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The points that members claim and have not lost, with the claimants' ranks: two (p,) int64."""
    names = [utf8(_point_prefix(selector.form, member)) for member in ranked]
    hashes = point_hashes(names, selector.points).astype(np.int64)
    space = selector.slots
    points = hashes % space.size + space.low
    if space.folds_zero:
        points[points == 0] = 1
    kept = np.ones(points.shape, dtype=bool)
    for at, member in enumerate(ranked):
        if member.lost:
            kept[at] = ~np.isin(points[at], list(member.lost))
    rank = np.repeat(np.arange(len(ranked), dtype=np.int64), selector.points).reshape(points.shape)
    return points[kept], rank[kept]


def _point_prefix(form: RingForm, member: RingMember) -> str:
    """A point key without the number at its end."""
    return point_key(form, member.consumer.name, member.name_index, 0)[:-1]


def _stretches(
    space: SlotSpace, consumers: tuple[Consumer, ...], ends: Sequence[int], owners: Sequence[int | None]
) -> SlotOwners:
    owned = np.array([owner is not None for owner in owners], dtype=np.int64)
    claimant = np.array([owner or 0 for owner in owners], dtype=np.int64)
    end = np.array(ends, dtype=np.int64)
    return SlotOwners(space, _ids(consumers), end, np.arange(len(end)), owned, claimant, wraps=False)


def _ids(consumers: Sequence[Consumer]) -> tuple[int, ...]:
    ids = tuple(consumer.consumer_id for consumer in consumers)
    assert all(number >= 0 for number in ids), f"consumer ids are 0 or more: {ids}"
    return ids


def slots_bulk(hashes: NDArray[np.integer], space: SlotSpace) -> NDArray[np.int64]:
    """``SlotSpace.slot`` of each hash: (n,) int64; ``hashes``: (n,) in 0 .. 2^31 - 1. O(n).

    >>> slots_bulk(np.array([65_535, 65_536]), SlotSpace(0, 65_535)).tolist()
    [65535, 1]
    """
    slots = hashes.astype(np.int64) % space.size
    slots += space.low
    if space.folds_zero:
        slots[slots == 0] = 1
    return slots


@dataclass(frozen=True, slots=True)
class ConsumerLoads:
    """The load of each consumer, in arrays of (c,) in join order, and the load without owner.

    ``consumer_id``: int64; ``slots``: int64, slots with an entry in the trace; ``weight``: float64.
    """

    consumer_id: NDArray[np.int64]
    slots: NDArray[np.int64]
    weight: NDArray[np.float64]
    unowned_weight: float

    @property
    def max_over_mean(self) -> float:
        """The largest weight over the mean of all consumers, idle ones included; 0 without weight or consumers."""
        total = float(self.weight.sum())
        return float(self.weight.max()) * len(self.weight) / total if total > 0 else 0.0


def consumer_loads(
    owners: SlotOwners, slots: NDArray[np.int64], weights: NDArray[np.float64] | None = None
) -> ConsumerLoads:
    """The load of each consumer of a selector. O(n log points).

    ``slots``: (n,) int64, of events, keys or folded slots (a slot may repeat); ``weights``: (n,) float64, 1 without.
    """
    ids = np.array(owners.consumer_ids, dtype=np.int64)
    by_id = np.argsort(ids, kind="stable")
    owner = owners.look_up(slots)
    # The last bin counts the load without owner.
    place = np.full(len(slots), len(ids), dtype=np.int64)
    owned = owner != NO_CONSUMER
    place[owned] = by_id[np.searchsorted(ids[by_id], owner[owned])]
    weight = np.bincount(place, weights=weights, minlength=len(ids) + 1).astype(np.float64, copy=False)
    _, first = np.unique(slots, return_index=True)
    distinct = np.bincount(place[first], minlength=len(ids) + 1)
    return ConsumerLoads(ids, distinct[:-1], weight[:-1], float(weight[-1]))
