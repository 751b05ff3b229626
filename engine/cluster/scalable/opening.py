"""A scalable topic from what brokers printed of it, and what they would print of one that runs here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Final

import msgspec

from engine.cluster.scalable.events import ScalableSeen
from engine.cluster.scalable.group import ANY_BUCKET, Attachment, Group, Holdings, checking
from engine.cluster.scalable.running import Happening, Running, begun
from engine.hashing import utf16_order
from engine.memo import Remembered, RememberedEach
from engine.scalable.coordinator import Coordinator
from engine.scalable.layout import Clocks, by_descent
from engine.scalable.load_reports import Rates
from engine.scalable.model import RING_SIZE, Layout, Segment, backing_topic
from engine.scalable.reported import is_reader, kind_of, known_drained, loads_of, rates_of, seen_on, settings_of
from engine.scalable.settings import OVERRIDABLE
from engine.scalable.statistics import (
    AutoScale,
    AutoScalePolicy,
    ListedLayout,
    ListedSegment,
    SegmentLoad,
    SubscribedSegment,
    TopicConsumer,
    TopicStatistics,
    TopicSubscription,
)

MAX_SEGMENTS: Final = RING_SIZE * 2
MAX_BUCKETS: Final = 1 << 22
MAX_PLACES: Final = 1 << 20
"""Segments times subscriptions."""


def seen_event(
    topic: str, layout: Layout, statistics: TopicStatistics, clocks: Clocks, *, now_ms: int, max_buckets: int
) -> ScalableSeen:
    """The event that a simulation of a printed topic begins with."""
    return ScalableSeen(
        topic,
        now_ms,
        msgspec.json.encode(layout).decode(),
        msgspec.json.encode(statistics).decode(),
        clocks.last_split_ms,
        clocks.last_merge_ms,
        clocks.last_rebucket_ms,
        max_buckets,
    )


def running_of(event: ScalableSeen) -> Running | str:
    """The topic of such an event, or what is wrong with it."""
    try:
        layout = msgspec.json.decode(event.layout, type=Layout)
        statistics = msgspec.json.decode(event.statistics, type=TopicStatistics)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeError, RecursionError, AssertionError) as fault:
        return f"the answers of {event.topic!r} cannot be read: {fault}"
    segments = layout.segments.values()
    if len(segments) > MAX_SEGMENTS or sum(one.buckets for one in segments) > MAX_BUCKETS:
        return f"{event.topic!r} has too many segments or buckets"
    if any(
        key != one.segment_id or key < 0 or not 0 <= one.hash_range.start <= one.hash_range.end < RING_SIZE
        for key, one in layout.segments.items()
    ):
        return f"{event.topic!r} has a segment beyond the ring, or under another id"
    if len(segments) * len(statistics.subscriptions) > MAX_PLACES:
        return f"{event.topic!r} has too many subscriptions for so many segments"
    if len(by_descent(layout)) < len(segments):
        return f"{event.topic!r} has segments that descend from themselves"
    loads = loads_of(statistics, event.now_ms)
    listed = {one: statistics.layout.segments.get(str(one), ListedSegment()) for one in layout.segments}
    subscriptions = {name: each for name, each in statistics.subscriptions.items() if not is_reader(name)}
    return begun(
        Running(
            event.topic,
            layout,
            event.now_ms,
            settings_of(statistics, event.max_buckets),
            Clocks(event.last_split_ms, event.last_merge_ms, event.last_rebucket_ms),
            rates={one: rates for one, each in listed.items() if (rates := rates_of(each)) is not None},
            loads=loads,
            owners={one: each.ownerBroker for one, each in listed.items() if each.ownerBroker is not None},
            groups={name: _group(each, layout, event.now_ms) for name, each in sorted(subscriptions.items())},
            controller=statistics.controllerBroker,
            blocked_reason=statistics.autoScale.blockedReason or "",
        )
    ).said(Happening(event.now_ms, "seen", tuple(layout.segments)))


def _group(reported: TopicSubscription, layout: Layout, now_ms: int) -> Group:
    """A subscription as it was printed: the deal that follows, and hand-overs that are under way."""
    kind = kind_of(reported)
    # A broker deals in the order of names, and names come in any.
    consumers = sorted(reported.consumers, key=lambda one: utf16_order(one.consumerName))
    sessions = {one.consumerName: one.connected for one in consumers}
    drained = known_drained(layout, reported)
    coordinator = Coordinator(layout, kind == "STREAM", kind == "CHECKPOINT", sessions, drained).with_layout(layout)
    gone = {name: now_ms for name, there in sessions.items() if not there}
    numbers = {name: at for at, name in enumerate(sessions)}
    group = Group(kind, coordinator, lost_ms=gone, numbers=numbers)
    group = checking(group, now_ms)
    wishes = group.wishes()
    printed: dict[int, list[str]] = {}
    for one in consumers:
        for segment_id in one.segmentIds if one.connected else ():
            printed.setdefault(segment_id, []).append(one.consumerName)
    attached: dict[int, Attachment] = {}
    for segment_id in layout.segments:
        names, shared = wishes.get(segment_id, ((), False))
        there = printed.get(segment_id, [])
        leaving = {name: now_ms for name in there if name not in names} if kind == "STREAM" else {}
        if leaving:
            attached[segment_id] = Attachment(tuple(leaving), len(leaving) > 1, leaving)
        elif there:
            attached[segment_id] = Attachment(tuple(name for name in names if sessions[name]), shared)
    return _with_backlog(group, reported, attached)


def _with_backlog(group: Group, reported: TopicSubscription, attached: Mapping[int, Attachment]) -> Group:
    """The subscription with its messages; whose the delivered ones are is not printed, so owners have equal parts.

    Of a segment that one consumer has whole brokers do not count what is delivered: all of it is taken to be.
    """
    waiting: dict[int, dict[int, int]] = {}
    held: dict[int, Holdings] = {}
    for segment_id in group.coordinator.layout.segments:
        seen = seen_on(reported, segment_id)
        names = attached[segment_id].names if segment_id in attached else ()
        whole = group.kind == "STREAM" and len(names) == 1
        delivered = seen.msgBacklog if whole else min(seen.unackedMessages, seen.msgBacklog)
        unacked = max(0, delivered) if names and group.kind != "CHECKPOINT" else 0
        rounds, rest = divmod(unacked, max(len(names), 1))
        parts = {(name, ANY_BUCKET): rounds + (at < rest) for at, name in enumerate(names) if rounds + (at < rest)}
        if parts:
            held[segment_id] = parts
        if group.kind != "CHECKPOINT" and seen.msgBacklog > unacked:
            waiting[segment_id] = {ANY_BUCKET: seen.msgBacklog - unacked}
    # Messages that wait although somebody is attached (no permits, say) stay so until something changes.
    return replace(group, attached=attached, waiting=waiting, held=held)


def statistics_of(running: Running) -> TopicStatistics:
    """What brokers would print of the topic now; rates of producers and consumers are left out."""
    settings = running.settings
    policy = AutoScalePolicy(**{name: getattr(settings, name) for name in OVERRIDABLE})
    parts = (running.layout, running.loads, running.owners)
    # Only the ages of load records pass with time.
    segments = _listed.get(parts, (running.topic, running.now_ms if running.loads else None), lambda: _list(running))
    return TopicStatistics(
        controllerBroker=running.controller,
        autoScale=AutoScale(
            policy,
            running.blocked_reason or None,
            instant(running.clocks.last_split_ms),
            instant(running.clocks.last_merge_ms),
            instant(running.clocks.last_rebucket_ms),
        ),
        layout=ListedLayout(running.layout.epoch, None, segments),
        subscriptions={
            name: _subscriptions.get((group,), (), partial(_printed, group)) for name, group in running.groups.items()
        },
    )


_listed: Remembered[dict[str, ListedSegment]] = Remembered()
"""Consumers come, go and acknowledge without changing them."""
_subscriptions: Remembered[TopicSubscription] = Remembered()
"""Time passes without changing them."""


_without_loads: RememberedEach[ListedSegment] = RememberedEach()


def _list(running: Running) -> dict[str, ListedSegment]:
    layout, owners = running.layout.segments, running.owners
    items = ((owners.get(one), (segment,)) for one, segment in layout.items())
    listed = _without_loads.get(running.topic, items, partial(_listed_segment, running.topic))
    segments = {str(one): each for one, each in zip(layout, listed, strict=True)}
    for one, record in running.loads.items():
        if one in layout:
            load = _load(record.rates, (running.now_ms - record.modified_ms) / 1000)
            segments[str(one)] = msgspec.structs.replace(segments[str(one)], load=load)
    return segments


def _listed_segment(topic: str, owner: str | None, segment: Segment) -> ListedSegment:
    return ListedSegment(
        name=backing_topic(topic, segment),
        state=segment.state.value,
        parentIds=segment.parent_ids or None,
        childIds=segment.child_ids or None,
        createdAt=instant(segment.created_at_ms),
        sealedAt=instant(segment.sealed_at_ms),
        terminated=not segment.active,
        entryBuckets=segment.buckets,
        ownerBroker=owner,
    )


def _load(rates: Rates, age_seconds: float) -> SegmentLoad:
    return SegmentLoad(rates.msg_rate_in, rates.byte_rate_in, rates.msg_rate_out, rates.byte_rate_out, age_seconds)


def _printed(group: Group) -> TopicSubscription:
    coordinator = group.coordinator
    blocked = set(coordinator.blocked) if group.kind == "STREAM" else set()
    unacked = group.unacked_by_name()
    present = coordinator.present
    grants = present.grants if present is not None and group.kind != "QUEUE" else {}
    ids = {name: dict.fromkeys(one.segment_id for one in grants.get(name, ())) for name in coordinator.sessions}
    for segment_id, attachment in group.attached.items():
        for name in attachment.names:
            ids[name][segment_id] = None
    segments = {}
    for segment_id in coordinator.layout.segments:
        there, held = group.attached.get(segment_id), group.unacked(segment_id)
        segments[str(segment_id)] = SubscribedSegment(
            held + group.undelivered(segment_id),
            unackedMessages=held,
            blocked=segment_id in blocked,
            consumerCount=len(there.names) if there is not None else 0,
        )
    return TopicSubscription(
        type="QUEUE" if group.kind == "QUEUE" else "STREAM",
        msgBacklog=sum(one.msgBacklog for one in segments.values()),
        unackedMessages=sum(unacked.values()),
        uncoveredSegmentIds=None if group.kind == "CHECKPOINT" else (),
        segments=segments,
        consumers=tuple(
            TopicConsumer(name, connected, tuple(ids[name]), unackedMessages=unacked.get(name, 0))
            for name, connected in coordinator.sessions.items()
        ),
    )


@lru_cache(maxsize=4096)
def instant(time_ms: int | None) -> str | None:
    """A time as brokers print it; None for none.

    >>> instant(1500), instant(-1)
    ('1970-01-01T00:00:01.500Z', None)
    """
    if time_ms is None or time_ms <= 0:
        return None
    text = datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
