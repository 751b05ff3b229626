"""Key → segment → bucket: the two halves of one hash, and the round without a key.

After ``SegmentRouter`` and ``ScalableTopicHashing`` of Pulsar 5.0.1, whose producers decide. Releases before 5.0.1 took
the low half for the segment.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from engine.errors import Rejection
from engine.hashing import murmur3_32_raw
from engine.scalable.buckets import bucket_of
from engine.scalable.model import Segment, by_place

_HALF: Final = 16
_LOW: Final = 2**16 - 1


@dataclass(frozen=True, slots=True)
class KeyHashes:
    """The 32-bit hash of a key, unsigned, and its halves: which segment, and which bucket inside it."""

    raw: int

    @property
    def segment_hash(self) -> int:
        return self.raw >> _HALF

    @property
    def bucket_hash(self) -> int:
        return self.raw & _LOW


def hashes_of_key(key: str | bytes) -> KeyHashes:
    """The hashes of a key; an empty one is a key.

    >>> hashes = hashes_of_key("1997496512")
    >>> hashes.segment_hash, hashes.bucket_hash
    (58691, 34882)
    """
    return KeyHashes(murmur3_32_raw(key) & 0xFFFF_FFFF)


@dataclass(frozen=True, slots=True)
class Router:
    """The active segments by place, as a producer knows them; ``router`` makes one.

    ``classic``: all are partitions of a topic that was not migrated, so the classic rule holds. ``tiled``: no two share
    a hash.
    """

    segments: tuple[Segment, ...]
    classic: bool
    tiled: bool

    def of_key(self, key: str) -> Segment | Rejection:
        """The segment of a key; refused where no segment has its hash. O(log n) over tiles."""
        hashes = hashes_of_key(key)
        if self.classic:
            count = len(self.segments)
            partition = (hashes.raw & 0x7FFF_FFFF) % count
            for segment in self.segments:
                if segment.segment_id == partition:
                    return segment
            missing = f"Synthetic layout missing segment_id={partition} (N={count})"
            return Rejection("IllegalStateException", missing, field="key")
        found = self.of_hash(hashes.segment_hash)
        if found is None:
            missing = f"No segment covers hash {hashes.segment_hash} for key: {key}"
            return Rejection("IllegalStateException", missing, field="key")
        return found

    def of_hash(self, segment_hash: int) -> Segment | None:
        """The first segment by place with this hash, None where a reported layout has a hole."""
        if not self.tiled:
            return next((one for one in self.segments if one.hash_range.contains(segment_hash)), None)
        at = bisect_right(self.segments, segment_hash, key=lambda segment: segment.hash_range.start) - 1
        return self.segments[at] if at >= 0 and self.segments[at].hash_range.contains(segment_hash) else None

    def of_turn(self, counter: int) -> Segment:
        """The segment of a message without a key at this count of a producer's, which starts at 0 and wraps at 2^31."""
        signed = (counter + 2**31) % 2**32 - 2**31
        return self.segments[abs(signed) % len(self.segments)]


def router(segments: Sequence[Segment]) -> Router:
    """The router over the active ones of these segments."""
    active = by_place(segment for segment in segments if segment.active)
    classic = bool(active) and all(segment.legacy_topic for segment in active)
    tiled = all(left.hash_range.end < right.hash_range.start for left, right in pairwise(active))
    return Router(active, classic, tiled)


def bucket_of_key(segment: Segment, key: str | None, ordering_key: str | None = None) -> int:
    """The bucket of a message inside its segment: by ordering key, else by key; 0 for one that has neither."""
    deciding = ordering_key if ordering_key is not None else key
    return 0 if deciding is None else bucket_of(segment.bucket_splits, hashes_of_key(deciding).bucket_hash)
