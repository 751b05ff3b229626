"""Entry buckets: how one segment is shared by several consumers without splitting it (PIP-486).

After ``EntryBucketSplits`` and ``EntryBucketConsumerSelector`` of Pulsar 5.0.1.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from msgspec import Struct

from engine.hashing import utf16_order
from engine.scalable.model import RING_SIZE


def equal_splits(buckets: int) -> tuple[int, ...]:
    """The inner borders of that many equal buckets, one less than buckets; none for fewer than two.

    >>> equal_splits(4), equal_splits(3), equal_splits(1)
    ((16384, 32768, 49152), (21845, 43690), ())
    """
    count = min(buckets, RING_SIZE)
    return tuple(index * RING_SIZE // count for index in range(1, count))


def buckets_within_budget(budget: int, segments: int) -> int:
    """How many buckets each of that many first segments gets of a topic's budget.

    >>> [buckets_within_budget(4, segments) for segments in (1, 2, 3, 8)]
    [4, 2, 1, 1]
    """
    return min(max(1, budget // segments), RING_SIZE)


def bucket_of(splits: Sequence[int], bucket_hash: int) -> int:
    """The index of the bucket with this hash: how many borders are at or below it. O(log n)."""
    return bisect_right(splits, bucket_hash)


class Attached(Struct, frozen=True):
    """A consumer attached to a shared segment, by the name it has there (``NAME-seg-ID``)."""

    name: str
    consumer_id: int


def bucket_owners(consumers: Sequence[Attached], buckets: int) -> tuple[Attached | None, ...]:
    """The owner of each bucket, None for all without consumers. O(k log k + buckets).

    Consumer j of k in order of name and id has the buckets from j·N div k up to (j+1)·N div k, so with more consumers
    than buckets some have none.

    >>> owners = bucket_owners([Attached("b-seg-0", 1), Attached("a-seg-0", 2)], 3)
    >>> [owner.name for owner in owners]
    ['a-seg-0', 'b-seg-0', 'b-seg-0']
    """
    order = sorted(consumers, key=lambda consumer: (utf16_order(consumer.name), consumer.consumer_id))
    k = len(order)
    owners: list[Attached | None] = [None] * buckets
    for at, consumer in enumerate(order):
        low, high = at * buckets // k, (at + 1) * buckets // k
        owners[low:high] = [consumer] * (high - low)
    return tuple(owners)
