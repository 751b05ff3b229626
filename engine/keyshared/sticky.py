"""STICKY: every consumer declares its own ranges, in the current form and in the one before #24730.

Today a gap is served to no consumer. Up to 4.0.6, 3.3.8 and 3.0.13 (``LegacyStickySelector``) only end points are kept,
so gaps inside one consumer's ranges are served.

Sources: ``HashRangeExclusiveStickyKeyConsumerSelector``, and for what a client refuses of its own ranges before it
sends them ``Range`` and ``KeySharedPolicy.KeySharedPolicySticky`` of the Java client.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate, zip_longest
from typing import Final

from msgspec import Struct

from engine.errors import Rejection
from engine.keyshared.model import RANGE_SIZE, Consumer, DeclaredRanges, RangesById, SlotSpace, is_connected, without
from engine.ranges import HashRange, join_neighbours

_INT_32: Final = range(-(2**31), 2**31)


class RangeConflict(Rejection, frozen=True, kw_only=True):
    """A range that another consumer has already, in whole or in part; ``other`` is that consumer."""

    other: Consumer


class StickySelector(Struct, frozen=True):
    """Disjoint ranges, ascending by start, with the consumer each belongs to; make one with ``sticky_selector``.

    Ranges are not clipped: an end above the last slot is accepted and never matched. Slot 0 does not occur while zero
    is folded, so a consumer that has only [0,0] gets nothing.
    """

    slots: SlotSpace
    consumers: tuple[Consumer, ...] = ()
    pieces: tuple[HashRange, ...] = ()
    owners: tuple[int, ...] = ()

    def owner(self, slot: int) -> int | None:
        """The owner of the range with the greatest start <= slot, if it reaches that far; O(log n)."""
        at = bisect_right(self.pieces, slot, key=_start) - 1
        return self.owners[at] if at >= 0 and self.pieces[at].contains(slot) else None

    def ranges(self) -> RangesById:
        """Each consumer's ranges by start, neighbouring ones joined."""
        by_id: dict[int, list[HashRange]] = {}
        for piece, owner in zip(self.pieces, self.owners, strict=True):
            by_id.setdefault(owner, []).append(piece)
        return {owner: join_neighbours(pieces) for owner, pieces in by_id.items()}

    def join(self, consumer: Consumer) -> StickySelector | Rejection:
        """Take the ranges a consumer declares, all or none; O(n + r log(n + r)) for r of them.

        Refusals, as ``ConsumerAssign`` in Pulsar's order and words: no key-shared data, no range, a start behind its
        end, two of its own that overlap, one that overlaps another consumer's (a ``RangeConflict``, which names it).
        Before the last one Pulsar pings that consumer's connection: if it is dead, let it leave first and join again.
        """
        assert not is_connected(self.consumers, consumer.consumer_id), f"{consumer} has joined already"
        declared = consumer.declared
        refusal = declared_problem(declared)
        if refusal is not None:
            return refusal
        assert declared is not None
        refusal = _own_problem(declared)
        if refusal is not None:
            return refusal
        for start, end in declared:
            # Stored ranges are disjoint, so the nearest on each side by start are enough.
            at = bisect_left(self.pieces, start, key=_start)
            same_start = at < len(self.pieces) and self.pieces[at].start == start
            for near in (at if same_start else at - 1, at):
                if 0 <= near < len(self.pieces) and self.pieces[near].overlaps(HashRange(start, end)):
                    return conflict_with(self.consumers, self.owners[near])
        pieces: list[HashRange] = []
        owners: list[int] = []
        taken = 0
        for start, end in sorted(declared):
            at = bisect_left(self.pieces, start, key=_start)
            pieces += (*self.pieces[taken:at], HashRange(start, end))
            owners += (*self.owners[taken:at], consumer.consumer_id)
            taken = at
        pieces += self.pieces[taken:]
        owners += self.owners[taken:]
        return StickySelector(self.slots, (*self.consumers, consumer), tuple(pieces), tuple(owners))

    def leave(self, consumer_id: int) -> StickySelector:
        """Drop all ranges of a consumer; nobody inherits them."""
        if not is_connected(self.consumers, consumer_id):
            return self
        left = [pair for pair in zip(self.pieces, self.owners, strict=True) if pair[1] != consumer_id]
        return StickySelector(
            self.slots,
            without(self.consumers, consumer_id),
            tuple(piece for piece, _ in left),
            tuple(owner for _, owner in left),
        )


def sticky_selector(range_size: int = RANGE_SIZE) -> StickySelector | Rejection:
    """An empty sticky selector over slots 0 .. ``range_size`` - 1; a size below 1 is an illegal argument."""
    return range_size_problem(range_size) or StickySelector(SlotSpace(0, range_size - 1))


def range_size_problem(range_size: int) -> Rejection | None:
    """Pulsar's refusal of a size below 1."""
    if range_size >= 1:
        return None
    return Rejection("IllegalArgumentException", "range size must greater than 0", field="range_size")


def declared_problem(declared: DeclaredRanges | None) -> Rejection | None:
    """The refusal of a consumer that declares no ranges, or ranges that no client can send."""
    if declared is None:
        return Rejection("ConsumerAssign", "Must specify key shared meta for consumer.", field="ranges")
    if not declared:
        return Rejection("ConsumerAssign", "Ranges for KeyShared policy must not be empty.", field="ranges")
    for start, end in declared:
        if start not in _INT_32 or end not in _INT_32:
            message = f"range [{start},{end}] does not fit the 32-bit numbers that clients send"
            return Rejection("InvalidRange", message, field="ranges")
    return None


def conflict_with(consumers: tuple[Consumer, ...], consumer_id: int) -> RangeConflict:
    """The refusal that names the conflicting consumer, with the known parts of Pulsar's text form."""
    other = next(consumer for consumer in consumers if consumer.consumer_id == consumer_id)
    text = f"Consumer{{consumerId={other.consumer_id}, consumerName={other.name}}}"
    return RangeConflict("ConsumerAssign", f"Range conflict with consumer {text}", field="ranges", other=other)


def _own_problem(declared: DeclaredRanges) -> Rejection | None:
    ordered = sorted(declared, key=lambda piece: piece[0])
    for (start, end), following in zip_longest(ordered, ordered[1:]):
        if start > end:
            message = f"Fixed hash range start > end for range: [{start},{end}]"
            return Rejection("ConsumerAssign", message, field="ranges")
        # An inverted neighbour overlaps nothing; it is refused when its turn comes.
        if following is not None and following[0] <= min(end, following[1]):
            message = f"Consumer's own ranges conflict: [{start},{end}] overlaps with [{following[0]},{following[1]}]"
            return Rejection("ConsumerAssign", message, field="ranges")
    return None


def _start(piece: HashRange) -> int:
    return piece.start


def policy_problem(declared: DeclaredRanges) -> Rejection | None:
    """The Java client's refusal of a STICKY policy before sending it; None if it is valid.

    Checks in order: a range that ends before it starts cannot be built; no range; one outside 0 .. 65535; the first
    that overlaps another. All are illegal arguments. O(n log n), and O(n) more for the pair to name.
    """
    for start, end in declared:
        if end < start:
            return Rejection("IllegalArgumentException", "Range end must >= range start.", field="ranges")
    if not declared:
        return Rejection("IllegalArgumentException", "Ranges for KeyShared policy must not be empty.", field="ranges")
    clashing = _clashing(declared)
    for at, (start, end) in enumerate(declared):
        if start < 0 or end >= RANGE_SIZE:
            message = f"Ranges must be [0, 65535] but provided range is [{start}, {end}]"
            return Rejection("IllegalArgumentException", message, field="ranges")
        if at in clashing:
            other = next(piece for j, piece in enumerate(declared) if j != at and piece[0] <= end and start <= piece[1])
            message = f"Ranges for KeyShared policy with overlap between [{start}, {end}] and [{other[0]}, {other[1]}]"
            return Rejection("IllegalArgumentException", message, field="ranges")
    return None


def _clashing(declared: DeclaredRanges) -> frozenset[int]:
    """The positions of ranges that overlap any other one; O(n log n)."""
    order = sorted(range(len(declared)), key=lambda at: declared[at])
    ids: set[int] = set()
    furthest: int | None = None
    for at in order:
        if furthest is not None and declared[at][0] <= declared[furthest][1]:
            ids.update((at, furthest))
        if furthest is None or declared[at][1] > declared[furthest][1]:
            furthest = at
    return frozenset(ids)


class LegacyStickySelector(Struct, frozen=True):
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
        """The ranges in the statistics: end points in pairs; a pair of one consumer is a range.

        A range of one slot is a single end point, which shifts the pairs after it, so from there on **the statistics
        differ from what is served** (``served_ranges``) from there on.
        """
        ranges: dict[int, list[HashRange]] = {}
        for at in range(0, len(self.ends) - 1, 2):
            if self.owners[at] == self.owners[at + 1]:
                ranges.setdefault(self.owners[at], []).append(HashRange(self.ends[at], self.ends[at + 1]))
        return {owner: tuple(pieces) for owner, pieces in ranges.items()}

    def served_ranges(self) -> RangesById:
        """The slots each consumer really gets, neighbours joined."""
        ranges: dict[int, list[HashRange]] = {}
        for at, (end, owner) in enumerate(zip(self.ends, self.owners, strict=True)):
            joins_next = at + 1 < len(self.ends) and self.owners[at + 1] == owner
            last = self.ends[at + 1] if joins_next else end
            ranges.setdefault(owner, []).append(HashRange(end, last))
        return {owner: join_neighbours(pieces) for owner, pieces in ranges.items()}

    def join(self, consumer: Consumer) -> LegacyStickySelector | Rejection:
        """Take the end points of a consumer's ranges, all or none.

        Refusals as in the current form, with two differences: the order error names no range, and **own ranges that
        overlap are accepted**. If one range ends before it starts and another conflicts, the refusal is about the one
        listed first; in releases 3.0 to 4.0.6 it is always about the former. O((r + n) log(r + n)) for r of them.
        """
        assert not is_connected(self.consumers, consumer.consumer_id), f"{consumer} has joined already"
        refusal = declared_problem(consumer.declared)
        if refusal is not None:
            return refusal
        assert consumer.declared is not None
        declared = {known.consumer_id: known.declared or () for known in self.consumers}
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
        points = {end: owner for end, owner in zip(self.ends, self.owners, strict=True) if owner != consumer_id}
        return self._with(without(self.consumers, consumer_id), points)

    def _holder(self, start: int, end: int) -> int | None:
        """The consumer with an end point inside a range, which conflicts with it."""
        below = bisect_right(self.ends, end) - 1
        return self.owners[below] if below >= 0 and self.ends[below] >= start else None

    def _surrounding(self, start: int, end: int) -> int | None:
        """The consumer whose end points are the nearest on both sides of a range without end points inside."""
        below, above = bisect_right(self.ends, end) - 1, bisect_left(self.ends, start)
        if below < 0 or above >= len(self.ends) or self.owners[below] != self.owners[above]:
            return None
        return self.owners[above]

    def _with(self, consumers: tuple[Consumer, ...], points: dict[int, int]) -> LegacyStickySelector:
        ends = tuple(sorted(points))
        return LegacyStickySelector(self.slots, consumers, ends, tuple(points[end] for end in ends))


class _Spans:
    """Ranges that may overlap each other; finds in O(log n) whether any overlaps a given one."""

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
