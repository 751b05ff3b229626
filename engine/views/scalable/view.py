"""A scalable topic as brokers printed it, and beside that what the rules say of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, partial
from typing import Final

from msgspec.structs import replace

from engine.admin.moments import Moment
from engine.admin.scalable import ScalableFacts
from engine.errors import Rejection
from engine.hashing import utf16_order
from engine.memo import Remembered, RememberedEach
from engine.scalable.buckets import Attached, bucket_of, bucket_owners
from engine.scalable.dealing import Deal, deal
from engine.scalable.layout import Clocks, split
from engine.scalable.load_reports import Rates
from engine.scalable.model import RING_SIZE, Kind, Layout, Segment, attached_name, backing_topic, by_place
from engine.scalable.reported import (
    CHECKPOINT,
    held_back_by,
    is_reader,
    kind_of,
    known_drained,
    loads_of,
    rates_of,
    seen_on,
    settings_of,
)
from engine.scalable.routing import Router, hashes_of_key, router
from engine.scalable.scaling import INVALID_POLICY, ScalingState, Step, next_steps
from engine.scalable.settings import MAX_BUCKETS, METRICS, AutoScaleSettings, max_buckets, refuse_settings
from engine.scalable.statistics import QUEUE, STREAM, ListedSegment, TopicStatistics, TopicSubscription
from engine.views.scalable.model import (
    Action,
    ConsumerRow,
    Cooldowns,
    KeyOwner,
    KeyRow,
    NextStep,
    ScalableView,
    SegmentRow,
    Share,
    StepRow,
    SubscriptionRow,
    Wait,
    WaitReason,
)

_UNLISTED: Final = ListedSegment()
MOST_ANCESTORS: Final = 64
"""A segment with more of them shows ``SHOWN_ANCESTORS``: a migrated topic has a parent for every partition."""
SHOWN_ANCESTORS: Final = 8


@dataclass(frozen=True, slots=True)
class Dealt:
    """One subscription as it was printed, with the deal that its consumers should have; None for a QUEUE one."""

    name: str
    kind: Kind
    reported: TopicSubscription
    deal: Deal | None
    drained: frozenset[int]
    owners: Mapping[int, tuple[str | None, ...]]
    """By segment that is dealt, who has each of its buckets."""


def last_views(
    moments: Sequence[Moment], topics: Collection[str] | None = None, keys: Sequence[str] = ()
) -> dict[str, ScalableView | Rejection]:
    """The view of each scalable topic of the answers, or of these, at its last moment."""
    printed = (moment.snapshot.configuration.get(MAX_BUCKETS) for moment in reversed(moments))
    most = max_buckets(next((one for one in printed if one is not None), None))
    seen: dict[str, list[Moment]] = {}
    for moment in moments:
        for topic in moment.snapshot.scalable:
            if topics is None or topic in topics:
                seen.setdefault(topic, []).append(moment)
    return {
        topic: scalable_view(
            of_topic[-1].snapshot.scalable[topic],
            of_topic[-1].at_ms,
            keys,
            before=of_topic[-2].snapshot.scalable[topic] if len(of_topic) > 1 else None,
            changes_ms={at for each in of_topic[:-1] for at in _changes_ms(each.snapshot.scalable[topic].layout())},
            max_buckets=most,
        )
        for topic, of_topic in sorted(seen.items())
    }


def scalable_view(
    facts: ScalableFacts,
    now_ms: int | None = None,
    keys: Sequence[str] = (),
    *,
    before: ScalableFacts | None = None,
    changes_ms: Set[int] = frozenset(),
    max_buckets: int = AutoScaleSettings().entryBucketMaxPerSegment,
) -> ScalableView | Rejection:
    """What is known and computed of one topic; refused without its record or statistics.

    ``now_ms`` is when it was read; cooldowns are unknown without it. ``before``: what was printed at the moment before,
    without which no hand-over is known to be stuck. ``changes_ms``: changes that earlier moments show. ``max_buckets``
    is the broker's setting of the buckets a segment may have, which statistics do not print.
    """
    layout = facts.layout()
    if layout is None:
        return Rejection("NotFound", f"{facts.topic}: neither its record nor its statistics are there", field="topic")
    statistics = facts.statistics or TopicStatistics()
    settings = settings_of(statistics, max_buckets)
    subscriptions = dealt_subscriptions(statistics, layout)
    active = by_place(segment for segment in layout.segments.values() if segment.active)
    sealed = sorted((one for one in layout.segments.values() if not one.active), key=lambda one: one.segment_id)
    routes = router(active) if keys else None
    earlier = before.layout() if before is not None and before.statistics is not None else None
    lost: set[tuple[str, str, int]] = set()
    if earlier is not None and before is not None and before.statistics is not None:
        lost = _lost(dealt_subscriptions(before.statistics, earlier))
    return ScalableView(
        topic=facts.topic,
        time_ms=now_ms,
        epoch=layout.epoch,
        changes_ms=tuple(sorted(changes_ms | _changes_ms(layout))),
        controller=statistics.controllerBroker,
        segments=_segment_rows(facts.topic, (*active, *sealed), statistics, settings),
        subscriptions=tuple(
            _subscription_rows.get((one,), (frozenset(lost),), partial(_subscription_row, one, layout, lost))
            for one in subscriptions
        ),
        readers=sum(1 for name in statistics.subscriptions if is_reader(name)),
        keys=tuple(_key_row(key, routes, layout, subscriptions) for key in keys) if routes is not None else (),
        next=_next_step(facts, layout, subscriptions, settings, now_ms),
    )


def _changes_ms(layout: Layout | None) -> set[int]:
    """When the listed segments were made that come of a change."""
    segments = layout.segments.values() if layout is not None else ()
    return {one.created_at_ms for one in segments if one.created_at_ms > 0 and (one.parent_ids or one.created_at_epoch)}


def dealt_subscriptions(statistics: TopicStatistics, layout: Layout) -> tuple[Dealt, ...]:
    """The subscriptions by name, without those of readers, each with its deal."""
    return tuple(
        _dealt.get((reported, layout), (name,), partial(_deal_again, name, reported, layout))
        for name, reported in sorted(statistics.subscriptions.items())
        if not is_reader(name)
    )


def _deal_again(name: str, reported: TopicSubscription, layout: Layout) -> Dealt:
    kind = kind_of(reported)
    drained = known_drained(layout, reported)
    dealt = None
    if kind != QUEUE:
        names = [consumer.consumerName for consumer in reported.consumers]
        group = kind == CHECKPOINT
        dealt = deal(layout, names, drained, drain_rule=not group, checkpoint=group)
    owners = _owners(dealt, layout) if dealt is not None else {}
    return Dealt(name, kind, reported, dealt, drained, owners)


_dealt: Remembered[Dealt] = Remembered()
_subscription_rows: Remembered[SubscriptionRow] = Remembered()
_rows: RememberedEach[SegmentRow] = RememberedEach()


def _segment_rows(
    topic: str, segments: Sequence[Segment], statistics: TopicStatistics, settings: AutoScaleSettings
) -> tuple[SegmentRow, ...]:
    listed = statistics.layout.segments
    subscriptions = [one.segments for one in statistics.subscriptions.values()]
    items: list[tuple[_Changing, tuple[Segment]]] = []
    ages: list[float | None] = []
    for segment in segments:
        name = str(segment.segment_id)
        seen = [one[name].msgBacklog for one in subscriptions if name in one]
        here = listed.get(name, _UNLISTED)
        items.append(((sum(seen) if seen else None, here.name, here.ownerBroker, rates_of(here)), (segment,)))
        ages.append(here.load.ageSeconds if here.load is not None else None)
    rows = _rows.get((topic, settings), items, partial(_segment_row, topic, settings))
    # Time passes for the ages alone.
    return (
        tuple(row if age is None else replace(row, load_age_seconds=age) for row, age in zip(rows, ages, strict=True))
        if any(age is not None for age in ages)
        else rows
    )


_Changing = tuple[int | None, str | None, str | None, Rates | None]
"""What of a segment's row is not part of the layout: backlog, name, owner, rates."""


def _segment_row(topic: str, settings: AutoScaleSettings, changing: _Changing, segment: Segment) -> SegmentRow:
    backlog, name, owner, rates = changing
    limits = settings.split_limits()
    scores: list[float] = []
    if rates is not None and min(limits) > 0:
        scores = [rate / limit for rate, limit in zip(rates.values(), limits, strict=True)]
    best = max(scores, default=None)
    msg_in, byte_in, msg_out, byte_out = rates.values() if rates is not None else (None,) * 4
    return SegmentRow(
        id=segment.segment_id,
        start=segment.hash_range.start,
        end=segment.hash_range.end,
        share=segment.hash_range.size / RING_SIZE,
        state=segment.state.value,
        buckets=segment.buckets,
        parents=segment.parent_ids,
        children=segment.child_ids,
        topic=name or backing_topic(topic, segment),
        owner=owner,
        created_ms=segment.created_at_ms if segment.created_at_ms > 0 else None,
        msg_rate_in=msg_in,
        byte_rate_in=byte_in,
        msg_rate_out=msg_out,
        byte_rate_out=byte_out,
        load_age_seconds=None,
        score=best,
        score_metric=METRICS[scores.index(best)] if best else None,
        backlog=backlog,
    )


def _lost(subscriptions: Sequence[Dealt]) -> set[tuple[str, str, int]]:
    """What consumers still have that is dealt to others: subscription, consumer, segment."""
    return {
        (one.name, consumer.consumerName, segment_id)
        for one in subscriptions
        if one.deal is not None
        for consumer in one.reported.consumers
        for segment_id in consumer.segmentIds
        if segment_id not in {grant.segment_id for grant in one.deal.grants[consumer.consumerName]}
    }


def _subscription_row(subscription: Dealt, layout: Layout, lost: set[tuple[str, str, int]]) -> SubscriptionRow:
    reported = subscription.reported
    consumers = sorted(reported.consumers, key=lambda one: utf16_order(one.consumerName))
    rows: list[ConsumerRow] = []
    for consumer in consumers:
        shares = _shares(subscription, subscription.deal, consumer.consumerName) if subscription.deal else None
        dealt_ids = tuple(share.segment for share in shares) if shares is not None else consumer.segmentIds
        losing: tuple[int, ...] = ()
        gaining: tuple[int, ...] = ()
        if dealt_ids != consumer.segmentIds:
            computed, printed = set(dealt_ids), set(consumer.segmentIds)
            losing, gaining = tuple(sorted(printed - computed)), tuple(sorted(computed - printed))
        rows.append(
            ConsumerRow(
                name=consumer.consumerName,
                connected=consumer.connected,
                computed=shares,
                reported=consumer.segmentIds,
                gaining=gaining,
                losing=losing,
                stuck=tuple(
                    one
                    for one in losing
                    if (subscription.name, consumer.consumerName, one) in lost and not seen_on(reported, one).msgRateOut
                ),
                idle=not dealt_ids,
                unacked=consumer.unackedMessages,
            )
        )
    dealt = subscription.deal.dealt if subscription.deal is not None else ()
    return SubscriptionRow(
        name=subscription.name,
        type=subscription.kind,
        backlog=reported.msgBacklog,
        unacked=reported.unackedMessages,
        consumers=tuple(rows),
        unassigned=tuple(one for one in dealt if seen_on(reported, one).consumerCount == 0)
        if subscription.kind == STREAM
        else (),
        uncovered=reported.uncoveredSegmentIds or (),
        waits=_waits(subscription, layout),
    )


def _shares(subscription: Dealt, dealt: Deal, name: str) -> tuple[Share, ...]:
    shares: list[Share] = []
    for grant in dealt.grants.get(name, ()):
        owners = subscription.owners[grant.segment_id]
        if grant.buckets and name in owners:
            first = owners.index(name)
            shares.append(Share(grant.segment_id, grant.buckets, first, first + owners.count(name) - 1))
        else:
            shares.append(Share(grant.segment_id, grant.buckets, None, None))
    return tuple(shares)


def _owners(dealt: Deal, layout: Layout) -> dict[int, tuple[str | None, ...]]:
    """The owner of each bucket of each dealt segment, by the name of the consumer of the topic."""
    names: dict[int, list[str]] = {segment_id: [] for segment_id in dealt.dealt}
    for name, grants in dealt.grants.items():
        for grant in grants:
            names[grant.segment_id].append(name)
    owners: dict[int, tuple[str | None, ...]] = {}
    for segment_id, sharing in names.items():
        if len(sharing) == 1:
            owners[segment_id] = (sharing[0],) * layout.segments[segment_id].buckets
            continue
        attached = {Attached(attached_name(name, segment_id), at): name for at, name in enumerate(sharing)}
        of_buckets = bucket_owners(list(attached), layout.segments[segment_id].buckets)
        owners[segment_id] = tuple(attached[owner] if owner is not None else None for owner in of_buckets)
    return owners


def _blocking(layout: Layout, segment_id: int, drained: Collection[int]) -> tuple[int, ...]:
    """The listed ancestors of a segment that are not drained, oldest first."""
    return tuple(one for one in sorted(layout.ancestors(segment_id)) if one != segment_id and one not in drained)


def _blocking_some(
    layout: Layout, segment_id: int, drained: Collection[int], roots: Callable[[], Mapping[int, int]]
) -> tuple[int, ...]:
    """The ancestors that are not drained, oldest first; of many the root and some of the nearest."""
    found: dict[int, None] = {}
    generation = [segment_id]
    while generation and len(found) < MOST_ANCESTORS:
        above = dict.fromkeys(parent for one in generation for parent in layout.segments[one].parent_ids)
        generation = [one for one in above if one in layout.segments and one not in found][:MOST_ANCESTORS]
        found.update(dict.fromkeys(generation))
    nearest = [one for one in found if one not in drained and one != segment_id]
    if generation and (root := roots().get(segment_id)) is not None:
        nearest = [root, *(one for one in nearest if one != root)][:SHOWN_ANCESTORS]
    return tuple(sorted(nearest))


def _waits(subscription: Dealt, layout: Layout) -> tuple[Wait, ...]:
    if subscription.deal is None or subscription.kind != STREAM or not subscription.deal.waiting:
        return ()
    reported = subscription.reported
    roots = cache(partial(held_back_by, layout, subscription.drained))
    holders: dict[int, list[str]] = {}
    for consumer in reported.consumers:
        for segment_id in consumer.segmentIds:
            holders.setdefault(segment_id, []).append(consumer.consumerName)
    waits: list[Wait] = []
    for segment_id in subscription.deal.waiting:
        for ancestor in _blocking_some(layout, segment_id, subscription.drained, roots):
            seen = seen_on(reported, ancestor)
            who = tuple(holders.get(ancestor, ()))
            reason: WaitReason = "backlog"
            if seen.msgBacklog <= 0:
                reason = "drain_check"
            elif not seen.consumerCount:
                reason = "no_consumer"
            waits.append(Wait(segment_id, ancestor, seen.msgBacklog, seen.unackedMessages, who, reason))
    return tuple(waits)


def _key_row(key: str, routes: Router, layout: Layout, subscriptions: Sequence[Dealt]) -> KeyRow:
    hashes = hashes_of_key(key)
    segment = routes.of_key(key)
    known = None if isinstance(segment, Rejection) else segment
    bucket = bucket_of(known.bucket_splits, hashes.bucket_hash) if known is not None else None
    owners: list[KeyOwner] = []
    for subscription in subscriptions:
        if subscription.deal is None or known is None or bucket is None:
            continue
        waits = _blocking(layout, known.segment_id, subscription.drained) if subscription.kind == STREAM else ()
        of_segment = subscription.owners.get(known.segment_id)
        consumer = of_segment[bucket] if of_segment is not None else None
        owners.append(KeyOwner(subscription.name, consumer, waits))
    halves = split(layout, known.segment_id) if known is not None else None
    after = router(list(halves.segments.values())).of_key(key) if isinstance(halves, Layout) else None
    return KeyRow(
        key=key,
        hash=hashes.raw,
        segment_hash=hashes.segment_hash,
        bucket_hash=hashes.bucket_hash,
        segment=known.segment_id if known is not None else None,
        bucket=bucket,
        after_split=after.segment_id if isinstance(after, Segment) else None,
        owners=tuple(owners),
    )


_steps: Remembered[tuple[Step, ...]] = Remembered()


def _next_step(
    facts: ScalableFacts,
    layout: Layout,
    subscriptions: Sequence[Dealt],
    settings: AutoScaleSettings,
    now_ms: int | None,
) -> NextStep:
    statistics, clocks = facts.statistics or TopicStatistics(), facts.clocks()
    counts = {one.name: len(one.reported.consumers) for one in subscriptions if one.deal is not None}
    sharing = [one.name for one in subscriptions if one.kind == STREAM]
    # Without the time, ages of load records count from 0, and a cooldown is taken to be over.
    time = now_ms if now_ms is not None else 0
    last = clocks if now_ms is not None else Clocks()
    refused = refuse_settings(settings)

    def evaluated() -> tuple[Step, ...]:
        loads = loads_of(statistics, time)
        return next_steps(ScalingState(layout, loads, counts, sharing, last, settings), time)

    small = (tuple(counts.items()), tuple(sharing), last, settings, time)
    steps = _steps.get((layout, statistics.layout.segments), small, evaluated) if refused is None else ()
    shown = INVALID_POLICY if refused is not None else next((one.shown for one in steps if one.shown), "")
    active = layout.active()
    return NextStep(
        enabled=settings.enabled,
        steps=tuple(StepRow(_ACTIONS[one.action.name], one.segment_ids, one.buckets, one.reason) for one in steps),
        blocked_reason=shown or None,
        reported_reason=statistics.autoScale.blockedReason,
        invalid=refused.message if refused is not None else None,
        consumers=max(counts.values(), default=0),
        active=len(active),
        capacity=sum(one.buckets for one in active),
        cooldowns=Cooldowns(
            _left(clocks.last_split_ms, settings.splitCooldownSeconds, now_ms),
            _left(clocks.last_merge_ms, settings.mergeCooldownSeconds, now_ms),
            _left(clocks.last_rebucket_ms, settings.rebucketCooldownSeconds, now_ms),
        ),
    )


_ACTIONS: Final[Mapping[str, Action]] = {
    "NONE": "none",
    "SPLIT": "split",
    "MERGE": "merge",
    "REBUCKET": "rebucket",
    "BLOCKED": "blocked",
}


def _left(last_ms: int | None, cooldown_seconds: int, now_ms: int | None) -> float | None:
    """The seconds of a cooldown that are left."""
    if last_ms is None:
        return 0.0
    return None if now_ms is None else max(0.0, (last_ms - now_ms) / 1000 + cooldown_seconds)
