"""What printed statistics of a scalable topic say without saying it: kinds, drained segments, settings, loads."""

from __future__ import annotations

from typing import Final

from engine.scalable.load_reports import LoadRecord, Rates
from engine.scalable.model import Kind, Layout
from engine.scalable.settings import OVERRIDABLE, AutoScaleSettings, settings_in_force
from engine.scalable.statistics import (
    QUEUE,
    STREAM,
    ListedSegment,
    SubscribedSegment,
    TopicStatistics,
    TopicSubscription,
)

CHECKPOINT: Final = "CHECKPOINT"
_READER: Final = "reader-"


def is_reader(name: str) -> bool:
    """Whether a subscription is that of a reader, which CHECKPOINT consumers have on each of their segments."""
    return name.startswith(_READER)


def kind_of(reported: TopicSubscription) -> Kind:
    """The kind of a subscription: a CHECKPOINT group is printed as STREAM, without a list of uncovered segments."""
    if reported.type == QUEUE:
        return "QUEUE"
    return "CHECKPOINT" if reported.type == STREAM and reported.uncoveredSegmentIds is None else "STREAM"


def known_drained(layout: Layout, reported: TopicSubscription) -> frozenset[int]:
    """The sealed segments that a controller must know as drained, for it prints these segments as blocked.

    An undrained segment blocks everything below it that is not drained itself. Where two ancestors could be what
    blocks, the one with a backlog or a consumer does.
    """
    if all(one.active for one in layout.segments.values()):
        return frozenset()
    blocked = {one for one in layout.segments if (seen := reported.segments.get(str(one))) and seen.blocked}
    given = {one for consumer in reported.consumers for one in consumer.segmentIds}
    free = [one.segment_id for one in layout.segments.values() if one.active and one.segment_id not in blocked]
    drained_above = {ancestor for one in free for ancestor in layout.ancestors(one)}
    possible = {one.segment_id for one in layout.segments.values() if not one.active} - drained_above
    undrained = {one for one in possible if one in blocked or one in given or seen_on(reported, one).msgBacklog > 0}
    for one in sorted(blocked):
        ancestors = set(layout.ancestors(one)) - {one}
        if not ancestors & undrained:
            undrained |= ancestors & possible
    sealed = (one.segment_id for one in layout.segments.values() if not one.active)
    return frozenset(one for one in sealed if one not in undrained)


def seen_on(reported: TopicSubscription, segment_id: int) -> SubscribedSegment:
    """What is printed of a subscription on one segment, zeros where nothing is."""
    return reported.segments.get(str(segment_id), SubscribedSegment())


def settings_of(statistics: TopicStatistics, max_buckets: int) -> AutoScaleSettings:
    """The settings in force by the printed policy, which lacks the broker's limit of buckets."""
    policy = statistics.autoScale.policy
    printed = {name: value for name in OVERRIDABLE if policy and (value := getattr(policy, name)) is not None}
    return settings_in_force(AutoScaleSettings(entryBucketMaxPerSegment=max_buckets), printed)


def rates_of(listed: ListedSegment) -> Rates | None:
    """The rates of the load record of a segment, None without one."""
    load = listed.load
    return Rates(load.msgRateIn, load.byteRateIn, load.msgRateOut, load.byteRateOut) if load is not None else None


def loads_of(statistics: TopicStatistics, now_ms: int) -> dict[int, LoadRecord]:
    """The load records by segment; ``now_ms`` is when they were printed."""
    loads: dict[int, LoadRecord] = {}
    for text, listed in statistics.layout.segments.items():
        rates = rates_of(listed)
        if rates is not None and listed.load is not None and text.isascii() and text.isdigit():
            loads[int(text)] = LoadRecord(rates, now_ms - int(listed.load.ageSeconds * 1000))
    return loads
