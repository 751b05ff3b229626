"""What a broker prints of a scalable topic and of one segment, and how the first is put together from the second.

After ``ScalableTopicStatsBuilder`` of Pulsar 5.0.1. Members have Pulsar's exact names; None is one that is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Final

import msgspec

from engine.scalable.model import Layout, attached_name, backing_topic

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


@dataclass(frozen=True, slots=True)
class Session:
    """A consumer that is registered at the controller, and the segments that were dealt to it."""

    name: str
    connected: bool
    segment_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Registered:
    """What a controller knows of its subscriptions: stored types, sessions, segments that wait, CHECKPOINT groups."""

    types: Mapping[str, str] = field(default_factory=dict)
    sessions: Mapping[str, Sequence[Session]] = field(default_factory=dict)
    blocked: Mapping[str, Collection[int]] = field(default_factory=dict)
    checkpoint_groups: Collection[str] = ()


def topic_statistics(
    topic: str, layout: Layout, segments: Mapping[int, SegmentStatistics], registered: Registered
) -> TopicStatistics:
    """The statistics of a topic from those of its segments, where known, and from what its controller knows.

    Sums of doubles are added in the order of the segments and rounded to three digits, as Pulsar does it.
    """
    listed = [(one, segments[one]) for one in layout.segments if one in segments]
    statistics = [each for _, each in listed]
    names = dict.fromkeys(
        (*registered.types, *registered.sessions, *(n for each in statistics for n in each.subscriptions))
    )
    msg_rate, byte_rate = _sum(each.msgRateIn for each in statistics), _sum(each.byteRateIn for each in statistics)
    return TopicStatistics(
        layout=ListedLayout(layout.epoch, None, _listed(topic, layout, segments)),
        msgRateIn=_rounded(msg_rate),
        byteRateIn=_rounded(byte_rate),
        msgRateOut=_rounded(_sum(each.msgRateOut for each in statistics)),
        byteRateOut=_rounded(_sum(each.byteRateOut for each in statistics)),
        averageMsgSize=_average(byte_rate, msg_rate),
        storageSize=sum(each.storageSize for each in statistics),
        backlogSize=sum(each.backlogSize for each in statistics),
        producers=_producers(listed),
        subscriptions={name: _subscription(name, layout, listed, registered) for name in names},
    )


def _listed(topic: str, layout: Layout, segments: Mapping[int, SegmentStatistics]) -> dict[str, ListedSegment]:
    shown: dict[str, ListedSegment] = {}
    for segment in layout.segments.values():
        known = segments.get(segment.segment_id)
        shown[str(segment.segment_id)] = ListedSegment(
            name=backing_topic(topic, segment),
            state=segment.state.value,
            parentIds=segment.parent_ids or None,
            childIds=segment.child_ids or None,
            terminated=known.terminated if known is not None else None,
            entryBuckets=segment.buckets,
            ownerBroker=known.ownerBroker if known is not None else None,
        )
    return shown


_Listed = Sequence[tuple[int, SegmentStatistics]]


def _producers(listed: _Listed) -> tuple[TopicProducer, ...]:
    by_name: dict[str, list[SegmentProducer]] = {}
    for segment_id, statistics in listed:
        for producer in statistics.producers:
            by_name.setdefault(bare_name(producer.producerName, segment_id), []).append(producer)
    producers: list[TopicProducer] = []
    for name, parts in by_name.items():
        msg_rate, byte_rate = _sum(part.msgRateIn for part in parts), _sum(part.byteRateIn for part in parts)
        first = parts[0]
        producers.append(
            TopicProducer(
                name,
                _rounded(msg_rate),
                _rounded(byte_rate),
                _average(byte_rate, msg_rate),
                first.address,
                first.accessMode,
                first.connectedSince,
                first.clientVersion,
            )
        )
    return tuple(producers)


def _subscription(name: str, layout: Layout, listed: _Listed, registered: Registered) -> TopicSubscription:
    sessions = registered.sessions.get(name, ())
    kind = registered.types.get(name) or (STREAM if sessions else QUEUE)
    ordered = kind == STREAM and name not in registered.checkpoint_groups
    blocked = registered.blocked.get(name, ()) if ordered else ()
    parts = {one: each.subscriptions[name] for one, each in listed if name in each.subscriptions}
    uncovered = tuple(one for one, each in listed if layout.segments[one].active and name not in each.subscriptions)
    segments = {one: parts.get(one, SegmentSubscription()) for one in layout.segments if one in parts or one in blocked}
    return TopicSubscription(
        type=kind,
        msgBacklog=sum(part.msgBacklog for part in parts.values()),
        backlogSize=sum(part.backlogSize for part in parts.values()),
        unackedMessages=sum(part.unackedMessages for part in parts.values()),
        msgRateOut=_rounded(_sum(part.msgRateOut for part in parts.values())),
        byteRateOut=_rounded(_sum(part.byteRateOut for part in parts.values())),
        msgRateRedeliver=_rounded(_sum(part.msgRateRedeliver for part in parts.values())),
        messageAckRate=_rounded(_sum(part.messageAckRate for part in parts.values())),
        uncoveredSegmentIds=None if name in registered.checkpoint_groups else uncovered,
        segments={
            str(one): SubscribedSegment(
                part.msgBacklog,
                part.backlogSize,
                part.unackedMessages,
                _rounded(part.msgRateOut),
                _rounded(part.byteRateOut),
                one in blocked,
                part.drainingBuckets,
                len(part.consumers),
            )
            for one, part in segments.items()
        },
        consumers=_consumers(sessions, parts),
    )


def _consumers(sessions: Sequence[Session], parts: Mapping[int, SegmentSubscription]) -> tuple[TopicConsumer, ...]:
    attached: dict[str, list[tuple[int, SegmentConsumer]]] = {session.name: [] for session in sessions}
    for segment_id, part in parts.items():
        for consumer in part.consumers:
            attached.setdefault(bare_name(consumer.consumerName, segment_id), []).append((segment_id, consumer))
    by_name = {session.name: session for session in sessions}
    consumers: list[TopicConsumer] = []
    for name, rows in attached.items():
        session = by_name.get(name)
        ids = (*(session.segment_ids if session is not None else ()), *(one for one, _ in rows))
        ones = [consumer for _, consumer in rows]
        first = ones[0] if ones else SegmentConsumer()
        consumers.append(
            TopicConsumer(
                name,
                bool(rows) or (session is not None and session.connected),
                tuple(dict.fromkeys(ids)),
                _rounded(_sum(one.msgRateOut for one in ones)),
                _rounded(_sum(one.byteRateOut for one in ones)),
                sum(one.unackedMessages for one in ones),
                sum(one.availablePermits for one in ones),
                first.address,
                first.connectedSince,
                first.clientVersion,
            )
        )
    return tuple(consumers)


def bare_name(attached: str, segment_id: int) -> str:
    """The name of a client of the topic, from the one it has on a segment.

    >>> bare_name("worker-seg-3", 3), bare_name("worker-seg-3", 4)
    ('worker', 'worker-seg-3')
    """
    return attached.removesuffix(attached_name("", segment_id)) or attached


def _sum(values: Iterable[float]) -> float:
    """Added one after another, as Java does it; Python's own sum compensates for rounding from 3.12 on."""
    total = 0.0
    for value in values:
        total += value
    return total


def _average(byte_rate: float, msg_rate: float) -> float:
    return _rounded(byte_rate / msg_rate) if msg_rate > 0 else 0.0


def _rounded(value: float) -> float:
    """Three digits, a half up."""
    return int(value * 1000 + 0.5) / 1000
