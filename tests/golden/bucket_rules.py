"""What Pulsar says of the buckets of a segment, and the product never has to."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from engine.errors import Rejection
from engine.ranges import HashRange
from engine.scalable.model import RING_SIZE


def bucket_ranges(splits: Sequence[int]) -> tuple[HashRange, ...]:
    """The hashes of each bucket; they tile the ring.

    >>> [str(piece) for piece in bucket_ranges((32768,))]
    ['[0,32767]', '[32768,65535]']
    """
    borders = (0, *splits, RING_SIZE)
    return tuple(HashRange(low, high - 1) for low, high in pairwise(borders))


def shown_hash(splits: Sequence[int], bucket: int) -> int:
    """The hash under which a bucket is listed in ``drainingHashes``: its first, but 1 for bucket 0 as 0 means none."""
    return splits[bucket - 1] if bucket else 1


def refuse_boundaries(ranges: Sequence[tuple[int, int]]) -> Rejection | None:
    """None for buckets a consumer may declare: they tile the ring in order, and the first has more than hash 0."""
    if not ranges:
        return _refuse("Entry-bucket subscription must declare the segment's bucket boundaries")
    expected = 0
    for start, end in ranges:
        if start != expected or end < start:
            return _refuse(
                "Entry-bucket boundaries must be ascending, contiguous and start at 0:"
                f" found [{start},{end}] where start {expected} was expected"
            )
        expected = end + 1
    if expected != RING_SIZE:
        return _refuse(f"Entry-bucket boundaries must tile the 16-bit ring: last range ends at {expected - 1}")
    if ranges[0][1] < 1:
        return _refuse("Entry-bucket 0 must span at least [0,1] to hold the canonical hash")
    return None


def _refuse(message: str) -> Rejection:
    return Rejection("IllegalArgumentException", message, field="buckets")
