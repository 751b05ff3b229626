"""What printed statistics of a scalable topic say without saying it: kinds, drained segments, settings, loads."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from engine.scalable.load_reports import LoadRecord, Rates
from engine.scalable.model import Kind, Layout, attached_name
from engine.scalable.settings import OVERRIDABLE, AutoScaleSettings, settings_in_force
from engine.scalable.statistics import (
    QUEUE,
    STREAM,
    ListedSegment,
    SubscribedSegment,
    TopicConsumer,
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
    blocks, the one with a backlog or a consumer does. O(segments + parents).
    """
    sealed = frozenset(one.segment_id for one in layout.segments.values() if not one.active)
    if not sealed:
        return sealed
    blocked = blocked_in(layout, reported)
    given = {one for consumer in reported.consumers for one in consumer.segmentIds}
    free = [one.segment_id for one in layout.segments.values() if one.active and one.segment_id not in blocked]
    possible = sealed - set(layout.ancestors(*free))
    undrained = {one for one in possible if one in blocked or one in given or seen_on(reported, one).msgBacklog > 0}
    children = layout.children()
    explained = _below(children, undrained, set())
    searched: set[int] = set()
    for one in sorted(blocked - explained):
        if one in explained:
            continue
        # What an earlier search met explains nothing, or all below it is explained.
        found = _above(layout, one, searched) & possible
        undrained |= found
        _below(children, found, explained)
    return sealed - undrained


def blocked_in(layout: Layout, reported: TopicSubscription) -> set[int]:
    """The listed segments that are printed as blocked."""
    return {one for one in layout.segments if (seen := reported.segments.get(str(one))) and seen.blocked}


def held_back_by(layout: Layout, drained: Collection[int]) -> dict[int, int]:
    """For each segment that waits, one that it descends from, is not drained, and does not wait itself.

    Of several the one with the smallest id. Segments that are each other's ancestors have none. O(n log n).
    """
    children = layout.children()
    undrained = sorted(one for one in layout.segments if one not in drained)
    waiting = _below(children, undrained, set())
    causes: dict[int, int] = {}
    for root in undrained:
        generation = [] if root in waiting else [root]
        while generation:
            below = dict.fromkeys(child for one in generation for child in children.get(one, ()))
            generation = [one for one in below if one not in causes]
            causes |= dict.fromkeys(generation, root)
    return {one: root for one, root in causes.items() if one in layout.segments and one not in drained}


def _below(children: Mapping[int, Sequence[int]], starts: Iterable[int], met: set[int]) -> set[int]:
    """Add the descendants of segments to those that were met before, below which nothing is new."""
    generation = list(starts)
    while generation:
        below = dict.fromkeys(child for one in generation for child in children.get(one, ()))
        generation = [one for one in below if one not in met]
        met.update(generation)
    return met


def _above(layout: Layout, segment_id: int, searched: set[int]) -> set[int]:
    """The ancestors of a segment that no search has met yet."""
    found: set[int] = set()
    generation = [segment_id]
    while generation:
        families = {layout.segments[one].parent_ids for one in generation}
        above = {one for parents in families for one in parents if one in layout.segments}
        generation = list(above - searched - {segment_id})
        searched.update(generation)
        found.update(generation)
    return found


def seen_on(reported: TopicSubscription, segment_id: int) -> SubscribedSegment:
    """What is printed of a subscription on one segment, zeros where nothing is."""
    return reported.segments.get(str(segment_id), SubscribedSegment())


def as_segment_statistics(statistics: TopicStatistics, segment_id: int) -> bytes:
    """What the statistics of a topic say of one segment, in the form in which a broker prints those of a segment.

    Permits and unacknowledged messages are printed as sums over segments, so they are known of consumers of one alone.
    """
    subscriptions: dict[str, object] = {}
    for name, reported in statistics.subscriptions.items():
        seen = reported.segments.get(str(segment_id))
        if seen is None or is_reader(name):
            continue
        here = [one for one in reported.consumers if one.connected and segment_id in one.segmentIds]
        type_ = "Key_Shared" if seen.consumerCount > 1 else "Exclusive"
        printed: dict[str, object] = {
            "type": "Shared" if reported.type == QUEUE else type_,
            "msgBacklog": seen.msgBacklog,
            "unackedMessages": seen.unackedMessages,
            "msgRateOut": seen.msgRateOut,
        }
        if len(here) == seen.consumerCount:  # else who of them is attached, and not only dealt it, is unknown
            printed["consumers"] = [_attached(one, segment_id) for one in here]
        subscriptions[name] = printed
    listed = statistics.layout.segments.get(str(segment_id))
    load = listed.load if listed is not None else None
    rates = {"msgRateIn": load.msgRateIn, "msgRateOut": load.msgRateOut} if load is not None else {}
    return msgspec.json.encode({**rates, "subscriptions": subscriptions})


def _attached(consumer: TopicConsumer, segment_id: int) -> dict[str, object]:
    printed: dict[str, object] = {
        "consumerName": attached_name(consumer.consumerName, segment_id),
        "address": consumer.address,
        "connectedSince": consumer.connectedSince,
        "clientVersion": consumer.clientVersion,
    }
    if consumer.segmentIds == (segment_id,):
        printed["availablePermits"] = consumer.availablePermits
        printed["unackedMessages"] = consumer.unackedMessages
    return printed


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
