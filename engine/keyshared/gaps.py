"""Slots that nobody serves: how many, where, and who declared ranges in vain."""

from __future__ import annotations

from dataclasses import dataclass

from engine.keyshared.model import Consumer, RangesById, SlotSpace
from engine.ranges import HashRange, uncovered


@dataclass(frozen=True, slots=True)
class Gaps:
    """The slots nobody serves: messages of their keys wait on the replay queue. ``slot_count`` is their number.

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
        each.consumer_id
        for each in consumers
        if not any(piece.end >= first and piece.start <= slots.high for piece in served.get(each.consumer_id, ()))
    )
    return Gaps(free, sum(piece.size for piece in free), idle)
