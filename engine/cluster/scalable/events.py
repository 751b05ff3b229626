"""What happens to one scalable topic. ``topic`` is its full name, ``topic://tenant/namespace/topic``."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from engine.scalable.model import Kind

LONGEST_MS: Final = 7 * 24 * 3_600_000
"""How far time goes in one step: each minute of it is evaluated."""
TIME_REFUSED: Final = "with a scalable topic time passes by up to 7 days at once"


class ScalableSeen(Struct, frozen=True):
    """A topic as brokers printed it: its layout and its statistics, both as JSON.

    Clocks are those of the last split, merge and rebucket. ``max_buckets`` is the broker's limit for a segment.
    """

    topic: str
    now_ms: int
    layout: str
    statistics: str
    last_split_ms: int | None = None
    last_merge_ms: int | None = None
    last_rebucket_ms: int | None = None
    max_buckets: int = 1024


class ScalableCreated(Struct, frozen=True):
    topic: str
    segments: int = 1


class ScalableRemoved(Struct, frozen=True):
    """The topic is deleted, also while clients are attached, as brokers do without being forced."""

    topic: str


class SegmentSplit(Struct, frozen=True):
    topic: str
    segment: int


class SegmentsMerged(Struct, frozen=True):
    topic: str
    first: int
    second: int


class SegmentRebucketed(Struct, frozen=True):
    topic: str
    segment: int
    buckets: int


class SegmentRateSet(Struct, frozen=True):
    """Traffic of one segment, or (None) of the topic, divided among its active segments by their ranges."""

    topic: str
    segment: int | None
    msgs_in_per_sec: float
    msgs_out_per_sec: float
    msg_bytes: int


class SegmentMessagesSent(Struct, frozen=True):
    """Messages of these keys, ``times`` over; an empty list sends messages without a key, round by round."""

    topic: str
    keys: tuple[str, ...]
    times: int = 1


class SegmentConsumerJoined(Struct, frozen=True):
    topic: str
    subscription: str
    name: str
    kind: Kind = "STREAM"


class SegmentConsumerLeft(Struct, frozen=True):
    """A consumer closes, or (not ``closes``) its connection is lost."""

    topic: str
    subscription: str
    name: str
    closes: bool = True


class SegmentMessagesAcknowledged(Struct, frozen=True):
    """One consumer, or (None) each, acknowledges ``count`` messages, 0 for all it has."""

    topic: str
    subscription: str
    name: str | None = None
    count: int = 0


class ScalableTimePassed(Struct, frozen=True):
    topic: str
    now_ms: int


ScalableTopicEvent = (
    ScalableSeen
    | ScalableCreated
    | ScalableRemoved
    | SegmentSplit
    | SegmentsMerged
    | SegmentRebucketed
    | SegmentRateSet
    | SegmentMessagesSent
    | SegmentConsumerJoined
    | SegmentConsumerLeft
    | SegmentMessagesAcknowledged
    | ScalableTimePassed
)
