"""What a broker prints of a scalable topic and of one segment.

Members have Pulsar's exact names; None is one that is left out.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from engine.scalable.model import attached_name

Rate = Annotated[float, msgspec.Meta(ge=0, le=float(2**53))]
Number = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
STREAM: Final = "STREAM"
QUEUE: Final = "QUEUE"


class SegmentProducer(msgspec.Struct, frozen=True):
    producerName: str = ""
    msgRateIn: Rate = 0.0
    byteRateIn: Rate = 0.0
    address: str | None = None
    accessMode: str | None = None
    connectedSince: str | None = None
    clientVersion: str | None = None


class SegmentConsumer(msgspec.Struct, frozen=True):
    consumerName: str = ""
    msgRateOut: Rate = 0.0
    byteRateOut: Rate = 0.0
    availablePermits: Number = 0
    unackedMessages: Number = 0
    address: str | None = None
    connectedSince: str | None = None
    clientVersion: str | None = None


class SegmentSubscription(msgspec.Struct, frozen=True):
    """A subscription on one segment; ``type`` is the classic one, Exclusive where a consumer has the segment whole."""

    type: str | None = None
    msgRateOut: Rate = 0.0
    byteRateOut: Rate = 0.0
    msgRateRedeliver: Rate = 0.0
    messageAckRate: Rate = 0.0
    msgBacklog: Number = 0
    backlogSize: Number = 0
    unackedMessages: Number = 0
    drainingBuckets: Number = 0
    consumers: tuple[SegmentConsumer, ...] = ()


class SegmentStatistics(msgspec.Struct, frozen=True):
    """The answer for one segment."""

    ownerBroker: str | None = None
    terminated: bool = False
    msgRateIn: Rate = 0.0
    byteRateIn: Rate = 0.0
    msgRateOut: Rate = 0.0
    byteRateOut: Rate = 0.0
    storageSize: Number = 0
    backlogSize: Number = 0
    producers: tuple[SegmentProducer, ...] = ()
    subscriptions: dict[str, SegmentSubscription] = {}


class AutoScalePolicy(msgspec.Struct, frozen=True):
    enabled: bool | None = None
    maxSegments: Number | None = None
    minSegments: Number | None = None
    maxDagDepth: Number | None = None
    splitCooldownSeconds: Number | None = None
    mergeCooldownSeconds: Number | None = None
    rebucketCooldownSeconds: Number | None = None
    mergeWindowSeconds: Number | None = None
    splitVsRebucketMinMsgRateInThreshold: float | None = None
    splitMsgRateInThreshold: float | None = None
    splitBytesRateInThreshold: float | None = None
    splitMsgRateOutThreshold: float | None = None
    splitBytesRateOutThreshold: float | None = None
    mergeMsgRateInThreshold: float | None = None
    mergeBytesRateInThreshold: float | None = None
    mergeMsgRateOutThreshold: float | None = None
    mergeBytesRateOutThreshold: float | None = None


class AutoScale(msgspec.Struct, frozen=True):
    """``blockedReason`` is that of the last evaluation; cooldowns are no reason and follow from the clocks."""

    policy: AutoScalePolicy | None = None
    blockedReason: str | None = None
    lastSplitAt: str | None = None
    lastMergeAt: str | None = None
    lastRebucketAt: str | None = None


class LastOperation(msgspec.Struct, frozen=True):
    operation: str = ""
    trigger: str = ""
    segmentIds: tuple[Number, ...] = ()
    status: str = ""
    at: str | None = None
    error: str | None = None


class SegmentLoad(msgspec.Struct, frozen=True):
    """A load record and its age."""

    msgRateIn: Rate = 0.0
    byteRateIn: Rate = 0.0
    msgRateOut: Rate = 0.0
    byteRateOut: Rate = 0.0
    ageSeconds: float = 0.0


class ListedSegment(msgspec.Struct, frozen=True):
    """A segment of the layout as the statistics list it; ``name`` is the topic with its messages."""

    name: str = ""
    state: str = ""
    parentIds: tuple[Number, ...] | None = None
    childIds: tuple[Number, ...] | None = None
    createdAt: str | None = None
    sealedAt: str | None = None
    load: SegmentLoad | None = None
    terminated: bool | None = None
    entryBuckets: Number = 1
    ownerBroker: str | None = None


class ListedLayout(msgspec.Struct, frozen=True):
    epoch: Number = 0
    lastOperation: LastOperation | None = None
    segments: dict[str, ListedSegment] = {}


class TopicProducer(msgspec.Struct, frozen=True):
    """A producer of the topic: the sum of those it has on segments."""

    producerName: str = ""
    msgRateIn: Rate = 0.0
    byteRateIn: Rate = 0.0
    averageMsgSize: Rate = 0.0
    address: str | None = None
    accessMode: str | None = None
    connectedSince: str | None = None
    clientVersion: str | None = None


class SubscribedSegment(msgspec.Struct, frozen=True):
    msgBacklog: Number = 0
    backlogSize: Number = 0
    unackedMessages: Number = 0
    msgRateOut: Rate = 0.0
    byteRateOut: Rate = 0.0
    blocked: bool = False
    drainingBuckets: Number = 0
    consumerCount: Number = 0


class TopicConsumer(msgspec.Struct, frozen=True):
    """A consumer of the topic. ``segmentIds`` are those dealt to it and those it is attached to, both in one list."""

    consumerName: str = ""
    connected: bool = False
    segmentIds: tuple[Number, ...] = ()
    msgRateOut: Rate = 0.0
    byteRateOut: Rate = 0.0
    unackedMessages: Number = 0
    availablePermits: Number = 0
    address: str | None = None
    connectedSince: str | None = None
    clientVersion: str | None = None


class TopicSubscription(msgspec.Struct, frozen=True):
    type: str = ""
    msgBacklog: Number = 0
    backlogSize: Number = 0
    unackedMessages: Number = 0
    msgRateOut: Rate = 0.0
    byteRateOut: Rate = 0.0
    msgRateRedeliver: Rate = 0.0
    messageAckRate: Rate = 0.0
    uncoveredSegmentIds: tuple[Number, ...] | None = None
    segments: dict[str, SubscribedSegment] = {}
    consumers: tuple[TopicConsumer, ...] = ()


class TopicStatistics(msgspec.Struct, frozen=True):
    """The answer for a whole topic."""

    controllerBroker: str | None = None
    autoScale: AutoScale = AutoScale()
    layout: ListedLayout = ListedLayout()
    msgRateIn: Rate = 0.0
    byteRateIn: Rate = 0.0
    msgRateOut: Rate = 0.0
    byteRateOut: Rate = 0.0
    averageMsgSize: Rate = 0.0
    storageSize: Number = 0
    backlogSize: Number = 0
    producers: tuple[TopicProducer, ...] = ()
    subscriptions: dict[str, TopicSubscription] = {}


def bare_name(attached: str, segment_id: int) -> str:
    """The name of a client of the topic, from the one it has on a segment.

    >>> bare_name("worker-seg-3", 3), bare_name("worker-seg-3", 4)
    ('worker', 'worker-seg-3')
    """
    return attached.removesuffix(attached_name("", segment_id)) or attached
