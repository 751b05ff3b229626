"""What a scalable topic consists of: segments over a ring of hashes, and the layout that lists them.

After ``SegmentInfo``, ``SegmentLayout`` and ``SegmentTopicName`` of Pulsar 5.0.1 (PIP-460). A segment is an ordinary
persistent topic below, with a bundle, an owner and statistics of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Final, Literal

from msgspec import Struct

from engine.ranges import HashRange

RING_SIZE: Final = 2**16
"""Values of either ring: the one of segments, and the one of buckets inside every segment."""
TOPIC_SCHEME: Final = "topic://"
SEGMENT_SCHEME: Final = "segment://"
NOT_SEALED: Final = -1
Kind = Literal["STREAM", "CHECKPOINT", "QUEUE"]
"""How a subscription is consumed."""


class SegmentState(Enum):
    ACTIVE = "ACTIVE"
    SEALED = "SEALED"


class Segment(Struct, frozen=True):
    """One segment. A sealed one takes no more messages; it is listed until it is pruned.

    ``bucket_splits`` are the inner borders of its buckets, one less than buckets. ``legacy_topic`` is the classic topic
    that a migrated segment still is. Times are 0 and ``NOT_SEALED`` where there is none.
    """

    segment_id: int
    hash_range: HashRange
    state: SegmentState = SegmentState.ACTIVE
    parent_ids: tuple[int, ...] = ()
    child_ids: tuple[int, ...] = ()
    created_at_epoch: int = 0
    sealed_at_epoch: int = NOT_SEALED
    created_at_ms: int = 0
    sealed_at_ms: int = NOT_SEALED
    legacy_topic: str = ""
    bucket_splits: tuple[int, ...] = ()

    @property
    def active(self) -> bool:
        return self.state is SegmentState.ACTIVE

    @property
    def buckets(self) -> int:
        return len(self.bucket_splits) + 1

    @property
    def place(self) -> tuple[int, int, int]:
        """What segments are sorted by: start, end, id."""
        return self.hash_range.start, self.hash_range.end, self.segment_id


class Layout(Struct, frozen=True):
    """The listed segments of a topic by id. ``epoch`` counts the changes; ``next_segment_id`` never goes back."""

    segments: Mapping[int, Segment]
    epoch: int = 0
    next_segment_id: int = 0

    def active(self) -> tuple[Segment, ...]:
        """The active segments by place; in a sound layout they tile the ring."""
        return by_place(segment for segment in self.segments.values() if segment.active)

    def parents(self, segment: Segment) -> tuple[Segment, ...]:
        """The parents that are still listed."""
        return tuple(self.segments[parent] for parent in segment.parent_ids if parent in self.segments)

    def children(self) -> dict[int, list[int]]:
        """The children of the segments that have some, by the parents that they list."""
        children: dict[int, list[int]] = {}
        for segment in self.segments.values():
            for parent in segment.parent_ids:
                if parent in self.segments:
                    children.setdefault(parent, []).append(segment.segment_id)
        return children

    def ancestors(self, *segment_ids: int) -> tuple[int, ...]:
        """The listed segments that these descend from, themselves first, generation by generation; unknown: none.

        Reported layouts can be wrong: a segment that is its own ancestor is met once.
        """
        return self._reached(segment_ids, lambda segment: segment.parent_ids)

    def lineage(self, segment_id: int) -> tuple[int, ...]:
        """A listed segment with all its ancestors and descendants, sorted; unknown: none."""
        descendants = self._reached((segment_id,), lambda segment: segment.child_ids)
        return tuple(sorted({*self.ancestors(segment_id), *descendants}))

    def _reached(self, segment_ids: Iterable[int], neighbours: Callable[[Segment], tuple[int, ...]]) -> tuple[int, ...]:
        met: dict[int, None] = {}
        generation = list(segment_ids)
        while generation:
            generation = [one for one in generation if one in self.segments and one not in met]
            met.update(dict.fromkeys(generation))
            generation = [near for one in generation for near in neighbours(self.segments[one])]
        return tuple(met)


def by_place(segments: Iterable[Segment]) -> tuple[Segment, ...]:
    """Segments in the order in which they are dealt and shown: by start, end and id."""
    return tuple(sorted(segments, key=lambda segment: segment.place))


def segment_name(topic: str, segment: Segment) -> str:
    """The name of a segment of ``topic://tenant/namespace/topic``.

    >>> segment_name("topic://t/n/x", Segment(7, HashRange(0, 0x7FFF)))
    'segment://t/n/x/0000-7fff-7'
    """
    piece = segment.hash_range
    return f"{SEGMENT_SCHEME}{topic.partition('://')[2]}/{piece.start:04x}-{piece.end:04x}-{segment.segment_id}"


def backing_topic(topic: str, segment: Segment) -> str:
    """The topic with the messages of a segment: the classic one of a migrated segment, else the segment's own name."""
    return segment.legacy_topic or segment_name(topic, segment)


def attached_name(consumer: str, segment_id: int) -> str:
    """The name under which a consumer or producer of a topic is attached to one of its segments.

    >>> attached_name("worker", 3)
    'worker-seg-3'
    """
    return f"{consumer}-seg-{segment_id}"
