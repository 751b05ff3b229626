"""Sticky before #24730 (up to 4.0.6, 3.3.8, 3.0.13): only end points are kept, so gaps of one consumer are served.

Source: ``HashRangeExclusiveStickyKeyConsumerSelector`` of those releases.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import accumulate

from engine.errors import Rejection
from engine.keyshared.model import (
    RANGE_SIZE,
    Consumer,
    DeclaredRanges,
    RangesById,
    SlotSpace,
    is_connected,
    without,
)
from engine.keyshared.sticky import conflict_with, declared_problem, range_size_problem
from engine.ranges import HashRange, join_neighbours


@dataclass(frozen=True, slots=True)
class LegacyStickySelector:
    """End points, ascending, each with the consumer it belongs to; make one with ``legacy_sticky_selector``.

    A slot is served when the nearest end points on both sides (itself included) belong to one consumer: so a gap
    between two ranges of one consumer is served by it, unless another consumer's end point lies between.
    """

    slots: SlotSpace
    consumers: tuple[Consumer, ...] = ()
    ends: tuple[int, ...] = ()
    owners: tuple[int, ...] = ()

    def owner(self, slot: int) -> int | None:
        """O(log n)."""
        below, above = bisect_right(self.ends, slot) - 1, bisect_left(self.ends, slot)
        if below < 0 or above >= len(self.ends):
            return None
        return self.owners[above] if self.owners[below] == self.owners[above] else None

    def ranges(self) -> RangesById:
        """What the statistics show: end points taken two by two, a pair of one consumer being a range.

        A range of one slot is a single end point, so the pairs after it are out of step and **the statistics differ
        from what is served** (``served_ranges``) from there on.
        """
        found: dict[int, list[HashRange]] = {}
        for at in range(0, len(self.ends) - 1, 2):
            if self.owners[at] == self.owners[at + 1]:
                found.setdefault(self.owners[at], []).append(HashRange(self.ends[at], self.ends[at + 1]))
        return {owner: tuple(pieces) for owner, pieces in found.items()}

    def served_ranges(self) -> RangesById:
        """The slots each consumer really gets, neighbours joined."""
        found: dict[int, list[HashRange]] = {}
        for at, (end, owner) in enumerate(zip(self.ends, self.owners, strict=True)):
            joins_next = at + 1 < len(self.ends) and self.owners[at + 1] == owner
            last = self.ends[at + 1] if joins_next else end
            found.setdefault(owner, []).append(HashRange(end, last))
        return {owner: join_neighbours(pieces) for owner, pieces in found.items()}

    def join(self, consumer: Consumer) -> LegacyStickySelector | Rejection:
        """Take the end points of a consumer's ranges, all or none.

        Refusals as in the current form, with two differences: the order error names no range, and **own ranges that
        overlap are accepted**. O((r + n) log(r + n)) for r of them.
        """
        assert not is_connected(self.consumers, consumer.consumer_id), f"{consumer} has joined already"
        refusal = declared_problem(consumer.declared)
        if refusal is not None:
            return refusal
        assert consumer.declared is not None
        declared = {each.consumer_id: each.declared or () for each in self.consumers}
        spans: dict[int, _Spans] = {}
        for start, end in consumer.declared:
            if start > end:
                return Rejection("ConsumerAssign", "Fixed hash range start > end", field="ranges")
            holder = self._holder(start, end)
            if holder is None:
                surrounding = self._surrounding(start, end)
                if surrounding is not None:
                    if surrounding not in spans:
                        spans[surrounding] = _Spans(declared[surrounding])
                    holder = surrounding if spans[surrounding].overlap(start, end) else None
            if holder is not None:
                return conflict_with(self.consumers, holder)
        points = dict(zip(self.ends, self.owners, strict=True))
        points.update((end, consumer.consumer_id) for pair in consumer.declared for end in pair)
        return self._with((*self.consumers, consumer), points)

    def leave(self, consumer_id: int) -> LegacyStickySelector:
        """Drop all end points of a consumer."""
        if not is_connected(self.consumers, consumer_id):
            return self
        points = {end: each for end, each in zip(self.ends, self.owners, strict=True) if each != consumer_id}
        return self._with(without(self.consumers, consumer_id), points)

    def _holder(self, start: int, end: int) -> int | None:
        """Who has an end point inside a range: it stands in the way."""
        below = bisect_right(self.ends, end) - 1
        return self.owners[below] if below >= 0 and self.ends[below] >= start else None

    def _surrounding(self, start: int, end: int) -> int | None:
        """Whose end points are the nearest on both sides of a range that has none inside."""
        below, above = bisect_right(self.ends, end) - 1, bisect_left(self.ends, start)
        if below < 0 or above >= len(self.ends) or self.owners[below] != self.owners[above]:
            return None
        return self.owners[above]

    def _with(self, consumers: tuple[Consumer, ...], points: dict[int, int]) -> LegacyStickySelector:
        ends = tuple(sorted(points))
        return LegacyStickySelector(self.slots, consumers, ends, tuple(points[end] for end in ends))


class _Spans:
    """Ranges that may overlap each other, asked whether any overlaps another: O(log n) each time."""

    def __init__(self, declared: DeclaredRanges) -> None:
        ordered = sorted(declared)
        self._starts = [start for start, _ in ordered]
        self._furthest = list(accumulate((end for _, end in ordered), max))

    def overlap(self, start: int, end: int) -> bool:
        at = bisect_right(self._starts, end) - 1
        return at >= 0 and self._furthest[at] >= start


def legacy_sticky_selector(
    range_size: int = RANGE_SIZE, *, folds_zero: bool = True
) -> LegacyStickySelector | Rejection:
    """An empty selector of the earlier form; ``folds_zero`` is true for 4.0.0 .. 4.0.6 and false before."""
    return range_size_problem(range_size) or LegacyStickySelector(SlotSpace(0, range_size - 1, folds_zero))
