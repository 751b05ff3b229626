"""How a layout comes about and changes: first and migrated ones, split, merge, rebucket, prune; what its past says.

After ``SegmentLayout`` and ``ScalableTopicController`` of Pulsar 5.0.1. Refusals are in Pulsar's words; an operation
that is refused changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Final

from msgspec.structs import replace

from engine.errors import Rejection
from engine.names import partition_name
from engine.ranges import HashRange
from engine.scalable.buckets import buckets_within_budget, equal_splits
from engine.scalable.model import NOT_SEALED, RING_SIZE, Layout, Segment, SegmentState

MAX_BUCKETS_BY_HAND: Final = 1024
DEFAULT_BUDGET: Final = 4
DEFAULT_MAX_BUCKETS: Final = 1024


def first_layout(
    segments: int, *, budget: int = DEFAULT_BUDGET, max_buckets: int = DEFAULT_MAX_BUCKETS, now_ms: int = 0
) -> Layout | Rejection:
    """The layout of a new topic: equal tiles, of which the last takes the remainder of the ring.

    >>> [(s.hash_range.start, s.buckets) for s in first_layout(3).segments.values()]
    [(0, 1), (21845, 1), (43690, 1)]
    """
    if segments < 1:
        return _refuse("Must have at least 1 segment", "segments")
    if segments > RING_SIZE:
        return _refuse("end must be in [0x0000, 0xFFFF], got: -1", "segments")
    splits = equal_splits(min(buckets_within_budget(budget, segments), max_buckets))
    tiles = _tiles(segments)
    return _listed(
        (Segment(at, tile, created_at_ms=now_ms, bucket_splits=splits) for at, tile in enumerate(tiles)), segments
    )


def migrated_layout(
    topic: str,
    partitions: int,
    *,
    budget: int = DEFAULT_BUDGET,
    max_buckets: int = DEFAULT_MAX_BUCKETS,
    now_ms: int = 0,
) -> Layout | Rejection:
    """The layout a classic topic has once migrated; ``partitions`` is 0 for one that is not partitioned.

    Every partition becomes a sealed segment over the whole ring, and parent of every active one.
    """
    count = max(partitions, 1)
    first = first_layout(count, budget=budget, max_buckets=max_buckets, now_ms=now_ms)
    if isinstance(first, Rejection):
        return first
    old_ids, new_ids = tuple(range(count)), tuple(range(count, 2 * count))
    old = (
        Segment(
            at,
            HashRange(0, RING_SIZE - 1),
            SegmentState.SEALED,
            child_ids=new_ids,
            created_at_ms=now_ms,
            sealed_at_epoch=0,
            sealed_at_ms=now_ms,
            legacy_topic=partition_name(topic, at) if partitions > 0 else topic,
        )
        for at in old_ids
    )
    new = (
        replace(segment, segment_id=count + at, parent_ids=old_ids)
        for at, segment in enumerate(first.segments.values())
    )
    return _listed((*old, *new), 2 * count)


def split(layout: Layout, segment_id: int, now_ms: int = 0) -> Layout | Rejection:
    """Seal a segment and list its two halves, each with half of its buckets.

    >>> halves = split(first_layout(1), 0)
    >>> [(s.segment_id, str(s.hash_range), s.buckets) for s in halves.active()]
    [(1, '[0,32767]', 2), (2, '[32768,65535]', 2)]
    """
    segment = layout.segments.get(segment_id)
    if segment is None:
        return _refuse(f"Segment not found: {segment_id}", "segment")
    if not segment.active:
        return _refuse(f"Cannot split non-active segment: {segment_id}", "segment")
    piece = segment.hash_range
    if piece.size == 1:
        return Rejection("IllegalStateException", "Cannot split range of size 1", field="segment")
    middle = piece.start + (piece.end - piece.start) // 2
    halves = (HashRange(piece.start, middle), HashRange(middle + 1, piece.end))
    return _succeeded(layout, (segment,), halves, max(1, segment.buckets // 2), now_ms)


def merge(
    layout: Layout, one_id: int, other_id: int, now_ms: int = 0, *, max_buckets: int = DEFAULT_MAX_BUCKETS
) -> Layout | Rejection:
    """Seal two active segments that touch and list their union, with the buckets of both up to ``max_buckets``."""
    one, other = layout.segments.get(one_id), layout.segments.get(other_id)
    if one is None or other is None:
        return _refuse("Segment not found", "segment")
    if not (one.active and other.active):
        return _refuse("Both segments must be active", "segment")
    left, right = one.hash_range, other.hash_range
    if left.end + 1 != right.start and right.end + 1 != left.start:
        named = " and ".join(f"[{piece.start:04x}, {piece.end:04x}]" for piece in (left, right))
        return _refuse(f"Segments are not adjacent: {named}", "segment")
    union = HashRange(min(left.start, right.start), max(left.end, right.end))
    return _succeeded(layout, (one, other), (union,), min(one.buckets + other.buckets, max_buckets), now_ms)


def rebucket(layout: Layout, segment_id: int, buckets: int, now_ms: int = 0) -> Layout | Rejection:
    """Seal a segment and list a successor with the same range and another number of buckets."""
    segment = layout.segments.get(segment_id)
    if segment is None:
        return _refuse(f"Segment not found: {segment_id}", "segment")
    if not segment.active:
        return _refuse(f"Cannot rebucket non-active segment: {segment_id}", "segment")
    if segment.bucket_splits == equal_splits(buckets):
        return _refuse(f"Segment {segment_id} already has the requested entry-bucket splits", "buckets")
    return _succeeded(layout, (segment,), (segment.hash_range,), buckets, now_ms)


def rebucket_by_hand(layout: Layout, segment_id: int, buckets: int, now_ms: int = 0) -> Layout | Rejection:
    """``rebucket`` as the admin API takes it: the number is checked before anything else."""
    if not 1 <= buckets <= MAX_BUCKETS_BY_HAND:
        return _refuse(f"bucketCount must be in [1, {MAX_BUCKETS_BY_HAND}]: {buckets}", "buckets")
    return rebucket(layout, segment_id, buckets, now_ms)


def prune(layout: Layout, *segment_ids: int) -> Layout | Rejection:
    """Take sealed segments off the list, one after another, and their ids out of their parents and children."""
    for segment_id in segment_ids:
        segment = layout.segments.get(segment_id)
        if segment is None:
            return _refuse(f"Segment not found: {segment_id}", "segment")
        if segment.active:
            return _refuse(f"Cannot prune an active segment: {segment_id}", "segment")
    gone = frozenset(segment_ids)
    without = cache(lambda ids: tuple(one for one in ids if one not in gone))
    kept: dict[int, Segment] = {}
    for one in layout.segments.values():
        if one.segment_id not in gone:
            parents, children = without(one.parent_ids), without(one.child_ids)
            is_same = (parents, children) == (one.parent_ids, one.child_ids)  # what is remembered of it stays
            kept[one.segment_id] = one if is_same else replace(one, parent_ids=parents, child_ids=children)
    return Layout(kept, layout.epoch + len(gone), layout.next_segment_id)


def prunable(layout: Layout, now_ms: int, retention_ms: int) -> tuple[Segment, ...]:
    """The sealed segments that one round of pruning takes once no subscription has a backlog on them.

    Those whose time has passed and of whose parents none is listed: the oldest generation first. Negative retention
    keeps all.
    """
    if retention_ms < 0:
        return ()
    return tuple(
        segment
        for segment in layout.segments.values()
        if not segment.active
        and segment.sealed_at_ms > 0
        and now_ms - segment.sealed_at_ms >= retention_ms
        and not layout.parents(segment)
    )


def by_descent(layout: Layout) -> list[int]:
    """The segments, each after those it descends from; without those that descend from themselves, and what is below.

    O(segments + parents).
    """
    children = layout.children()
    missing = Counter(child for below in children.values() for child in below)
    order = [one for one in layout.segments if one not in missing]
    for one in order:  # grows on the way
        for child in children.get(one, ()):
            missing[child] -= 1
            if not missing[child]:
                order.append(child)
    return [one for one in order if one in layout.segments]


MERGES_TOGETHER: Final = 4096
"""Merges that are counted at once, as bits of one number."""


def merge_depths(layout: Layout) -> dict[int, int]:
    """For each listed segment the number of merges among it and its ancestors, each counted once.

    A merge is a segment with two listed parents or more. Nothing counts above a segment that descends from itself.
    O(segments + parents), and that again for every ``MERGES_TOGETHER`` merges.
    """
    nearest: dict[int, int | None] = {}
    above: dict[int, list[int]] = {}

    @cache
    def merges_of(parent_ids: tuple[int, ...]) -> tuple[bool, list[int]]:
        """Whether these are several listed parents, and the merges nearest to them."""
        parents = [one for one in parent_ids if one in layout.segments]
        return len(parents) > 1, list(dict.fromkeys(near for one in parents if (near := nearest[one]) is not None))

    for one in by_descent(layout):
        several, merges = merges_of(layout.segments[one].parent_ids)
        if several:
            above[one], nearest[one] = merges, one
        else:
            nearest[one] = next(iter(merges), None)
    depths = dict.fromkeys(above, 0)
    numbers = {merge: at for at, merge in enumerate(above)}
    for first in range(0, len(above), MERGES_TOGETHER):
        bits: dict[int, int] = {}
        for merge, nears in above.items():
            own = 1 << numbers[merge] - first if first <= numbers[merge] < first + MERGES_TOGETHER else 0
            for near in nears:
                own |= bits[near]
            bits[merge] = own
            depths[merge] += own.bit_count()
    merged = {one: depths[near] for one, near in nearest.items() if near is not None}
    return {one: merged.get(one, 0) for one in layout.segments}


@dataclass(frozen=True, slots=True)
class Clocks:
    """When a topic was last split, merged and rebucketed, by anybody; None for never."""

    last_split_ms: int | None = None
    last_merge_ms: int | None = None
    last_rebucket_ms: int | None = None


def clocks_of(layout: Layout) -> Clocks:
    """The clocks that a new controller takes from a layout: it has to guess from the parents what made a segment."""
    splits: list[int] = []
    merges: list[int] = []
    rebuckets: list[int] = []
    for segment in layout.segments.values():
        if not segment.parent_ids:
            continue
        if len(segment.parent_ids) > 1:
            made = merges
        else:
            parent = layout.segments.get(segment.parent_ids[0])
            made = rebuckets if parent is not None and parent.hash_range == segment.hash_range else splits
        made.append(segment.created_at_ms)
    return Clocks(*(max(times, default=None) for times in (splits, merges, rebuckets)))


def _tiles(count: int) -> tuple[HashRange, ...]:
    size = RING_SIZE // count
    last = count - 1
    return tuple(HashRange(at * size, RING_SIZE - 1 if at == last else (at + 1) * size - 1) for at in range(count))


def _listed(segments: Iterable[Segment], next_segment_id: int) -> Layout:
    return Layout({segment.segment_id: segment for segment in segments}, 0, next_segment_id)


def _succeeded(
    layout: Layout, parents: tuple[Segment, ...], ranges: tuple[HashRange, ...], buckets: int, now_ms: int
) -> Layout:
    """The layout with the parents sealed and a child with each of the ranges."""
    epoch = layout.epoch + 1
    ids = tuple(range(layout.next_segment_id, layout.next_segment_id + len(ranges)))
    parent_ids = tuple(parent.segment_id for parent in parents)
    sealed = {
        parent.segment_id: replace(
            parent,
            state=SegmentState.SEALED,
            child_ids=(*parent.child_ids, *ids),
            sealed_at_epoch=epoch,
            sealed_at_ms=now_ms,
        )
        for parent in parents
    }
    children = {
        child: Segment(
            child,
            piece,
            parent_ids=parent_ids,
            created_at_epoch=epoch,
            sealed_at_epoch=NOT_SEALED,
            created_at_ms=now_ms,
            bucket_splits=equal_splits(buckets),
        )
        for child, piece in zip(ids, ranges, strict=True)
    }
    return Layout({**layout.segments, **sealed, **children}, epoch, ids[-1] + 1)


def _refuse(message: str, field: str) -> Rejection:
    return Rejection("IllegalArgumentException", message, field=field)
