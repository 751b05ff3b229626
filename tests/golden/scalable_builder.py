"""The statistics of a scalable topic, put together from those of its segments (``ScalableTopicStatsBuilder``)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from engine.scalable.model import Layout, backing_topic
from engine.scalable.statistics import (
    QUEUE,
    STREAM,
    ListedLayout,
    ListedSegment,
    SegmentConsumer,
    SegmentProducer,
    SegmentStatistics,
    SegmentSubscription,
    SubscribedSegment,
    TopicConsumer,
    TopicProducer,
    TopicStatistics,
    TopicSubscription,
    bare_name,
)


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
