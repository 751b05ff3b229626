"""A scalable topic over time: its layout, its traffic, its subscriptions, and what its controller does by itself.

Every broker acts at its own moments; here all periods begin when the topic is opened, and statistics show a rate at
once. Of steps that the order of a map decides, the first one is taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from engine.cluster.scalable.group import (
    JOINING_MS,
    Counts,
    Group,
    acknowledged,
    checked,
    joined,
    left,
    lost,
    with_layout,
    with_published,
)
from engine.errors import Rejection
from engine.scalable.buckets import bucket_of
from engine.scalable.coordinator import GRACE_PERIOD_SECONDS, Coordinator
from engine.scalable.layout import Clocks, first_layout, merge, prunable, prune, rebucket, rebucket_by_hand, split
from engine.scalable.load_reports import INTERVAL_SECONDS, LoadRecord, Rates, is_written
from engine.scalable.model import Kind, Layout
from engine.scalable.routing import hashes_of_key, router
from engine.scalable.scaling import INVALID_POLICY, Action, ScalingState, Step, next_steps
from engine.scalable.settings import AutoScaleSettings, refuse_settings

TICK_MS: Final = 60_000
"""Between two evaluations, and between two rounds of pruning."""
REPORT_MS: Final = INTERVAL_SECONDS * 1000
RETENTION_MS: Final = 0
"""``defaultRetentionTimeInMinutes``; the policies of a namespace or topic are not read."""
KEPT: Final = 200
"""Happenings that are kept, the latest."""


@dataclass(frozen=True, slots=True)
class Happening:
    """One thing that happened, and whom it concerns. ``by_itself``: the controller or a client did it unasked."""

    at_ms: int
    what: str
    segments: tuple[int, ...] = ()
    subscription: str = ""
    names: tuple[str, ...] = ()
    count: int = 0
    reason: str = ""
    by_itself: bool = False


@dataclass(frozen=True, slots=True)
class Running:
    """``rates`` are the traffic of each segment now, ``loads`` the records of it, of which the scaling knows.

    ``evaluations_ms`` are those ahead beside the regular ones; ``turn`` counts messages without a key.
    """

    topic: str
    layout: Layout
    now_ms: int
    settings: AutoScaleSettings = field(default_factory=AutoScaleSettings)
    clocks: Clocks = field(default_factory=Clocks)
    rates: Mapping[int, Rates] = field(default_factory=dict)
    loads: Mapping[int, LoadRecord] = field(default_factory=dict)
    owners: Mapping[int, str] = field(default_factory=dict)
    groups: Mapping[str, Group] = field(default_factory=dict)
    controller: str | None = None
    blocked_reason: str = ""
    opened_ms: int = 0
    next_report_ms: int | None = None
    next_tick_ms: int = 0
    evaluations_ms: tuple[int, ...] = ()
    turn: int = 0
    log: tuple[Happening, ...] = ()

    def said(self, *happenings: Happening) -> Running:
        return replace(self, log=(*self.log, *happenings)[-KEPT:])

    def due_ms(self) -> int:
        """When time changes something next."""
        groups = (group.due_ms() for group in self.groups.values())
        times = (self.next_report_ms, self.next_tick_ms, *self.evaluations_ms, *groups)
        return min(time for time in times if time is not None)

    def reporting(self) -> Running:
        """The topic with a look at its rates ahead; owner brokers look every ten seconds, and write changes only."""
        rounds = (self.now_ms - self.opened_ms) // REPORT_MS + 1
        return replace(self, next_report_ms=self.opened_ms + rounds * REPORT_MS)


def created(topic: str, segments: int, now_ms: int = TICK_MS) -> Running | Rejection:
    """A new topic; not at time 0, which means never in a layout."""
    layout = first_layout(segments, now_ms=now_ms)
    if isinstance(layout, Rejection):
        return layout
    return begun(Running(topic, layout, now_ms)).said(Happening(now_ms, "created", tuple(layout.segments)))


def begun(running: Running) -> Running:
    """The topic with its periods ahead."""
    now_ms = running.now_ms
    return replace(running, opened_ms=now_ms, next_tick_ms=now_ms + TICK_MS).reporting()


# the layout


def split_segment(running: Running, segment_id: int, step: Step | None = None) -> Running | Rejection:
    layout = split(running.layout, segment_id, running.now_ms)
    if isinstance(layout, Rejection):
        return layout
    clocks = replace(running.clocks, last_split_ms=running.now_ms)
    return _changed(replace(running, clocks=clocks), layout, (segment_id,), Made("split", step))


def merge_segments(running: Running, pair: tuple[int, int], step: Step | None = None) -> Running | Rejection:
    most = running.settings.entryBucketMaxPerSegment
    layout = merge(running.layout, *pair, now_ms=running.now_ms, max_buckets=most)
    if isinstance(layout, Rejection):
        return layout
    clocks = replace(running.clocks, last_merge_ms=running.now_ms)
    return _changed(replace(running, clocks=clocks), layout, pair, Made("merged", step))


def rebucket_segments(
    running: Running, segment_ids: tuple[int, ...], buckets: int, step: Step | None = None
) -> Running | Rejection:
    """Successors of these segments, one after another; everybody is dealt anew once."""
    change = rebucket_by_hand if step is None else rebucket
    layout: Layout | Rejection = running.layout
    for segment_id in segment_ids:
        layout = layout if isinstance(layout, Rejection) else change(layout, segment_id, buckets, running.now_ms)
    if isinstance(layout, Rejection):
        return layout
    clocks = replace(running.clocks, last_rebucket_ms=running.now_ms)
    return _changed(replace(running, clocks=clocks), layout, segment_ids, Made("rebucketed", step, buckets))


@dataclass(frozen=True, slots=True)
class Made:
    """How a layout changed, and by which automatic step; None for one by hand."""

    what: str
    step: Step | None
    buckets: int = 0


def _changed(running: Running, layout: Layout, parents: tuple[int, ...], made: Made) -> Running:
    """The topic with its parents sealed: children take their traffic by their ranges, and everybody is dealt anew."""
    now_ms, sealed = running.now_ms, set(parents)
    children = tuple(one for one in layout.segments if one not in running.layout.segments)
    rates = {one: each for one, each in running.rates.items() if one not in sealed}
    for one in children:
        parts = [_share(running, layout, parent, one) for parent in layout.segments[one].parent_ids]
        rates[one] = Rates(*(sum(column) for column in zip(*(part.values() for part in parts), strict=True)))
    changed = replace(
        running,
        layout=layout,
        rates=rates,
        groups={name: with_layout(group, layout, now_ms) for name, group in running.groups.items()},
    )
    happening = Happening(
        now_ms,
        made.what,
        (*parents, *children),
        count=made.buckets,
        reason=made.step.reason if made.step is not None else "",
        by_itself=made.step is not None,
    )
    return changed.reporting().said(happening)


def _share(running: Running, layout: Layout, parent: int, child: int) -> Rates:
    """What a child takes of its parent's traffic."""
    segments = layout.segments
    width = sum(segments[one].hash_range.size for one in segments[parent].child_ids)
    return _part(running.rates.get(parent, Rates()), segments[child].hash_range.size / width)


def _part(rates: Rates, share: float) -> Rates:
    return Rates(*(value * share for value in rates.values()))


# traffic and messages


def with_rates(
    running: Running, segment_id: int | None, msgs_in: float, msgs_out: float, msg_bytes: int
) -> Running | Rejection:
    """Traffic of one active segment, or of the topic by the ranges of its segments."""
    active = running.layout.active()
    chosen = [one for one in active if segment_id in (None, one.segment_id)]
    if not chosen:
        return Rejection("IllegalArgumentException", f"{segment_id} is not an active segment", "segment")
    width = sum(one.hash_range.size for one in chosen)
    total = Rates(msgs_in, msgs_in * msg_bytes, msgs_out, msgs_out * msg_bytes)
    rates = {one.segment_id: _part(total, one.hash_range.size / width) for one in chosen}
    said = Happening(running.now_ms, "traffic", () if segment_id is None else (segment_id,), count=round(msgs_in))
    return replace(running, rates={**running.rates, **rates}).reporting().said(said)


def with_messages(running: Running, keys: tuple[str, ...], times: int) -> Running | Rejection:
    """Messages of these keys, or one without a key, so many times over."""
    routes = router(running.layout.active())
    counts: dict[int, dict[int, int]] = {}
    turn = running.turn
    for key in keys:
        segment = routes.of_key(key)
        if isinstance(segment, Rejection):
            return segment
        bucket = bucket_of(segment.bucket_splits, hashes_of_key(key).bucket_hash)
        there = counts.setdefault(segment.segment_id, {})
        there[bucket] = there.get(bucket, 0) + times
    if not keys:
        if not routes.segments:
            return Rejection("IllegalStateException", "no segment is active", "segment")
        rounds, rest = divmod(times, len(routes.segments))
        for at in range(len(routes.segments)):
            count = rounds + (at < rest)
            if count:
                counts[routes.of_turn(turn + at).segment_id] = {0: count}
        turn += times
    sent = max(1, len(keys)) * times
    said = Happening(running.now_ms, "sent", tuple(counts), names=keys[:3], count=sent)
    return _with_groups(replace(running, turn=turn), _given(running, counts)).said(said)


def _given(running: Running, counts: Mapping[int, Counts]) -> dict[str, Group]:
    return {name: with_published(group, counts, running.now_ms) for name, group in running.groups.items()}


# consumers


def join(running: Running, subscription: str, name: str, kind: Kind) -> Running | Rejection:
    """A consumer joins; the scaling is evaluated at once."""
    group = running.groups.get(subscription)
    if group is None or (not group.names and group.kind != kind):
        # Nothing stores the kind of a subscription, which is that of its consumers.
        coordinator = Coordinator(running.layout, kind == "STREAM", kind == "CHECKPOINT")
        group = Group(kind, coordinator) if group is None else replace(group, kind=kind, coordinator=coordinator)
    elif group.kind != kind:
        message = f"{subscription} is a {group.kind} subscription"
        return Rejection("IllegalArgumentException", message, "subscription", 409)
    if group.coordinator.sessions.get(name):
        return Rejection("ConsumerBusyException", f"{name} is registered already", "name", 409)
    groups = {**running.groups, subscription: joined(group, name, running.now_ms)}
    said = Happening(running.now_ms, "joined", (), subscription, (name,))
    after = _with_groups(running, groups).said(said)
    return after if kind == "QUEUE" else evaluated(after)


def leave(running: Running, subscription: str, name: str, *, closes: bool) -> Running | Rejection:
    group = running.groups.get(subscription)
    if group is None:
        return Rejection("SubscriptionNotFound", f"there is no subscription {subscription!r}", "subscription", 404)
    if name not in group.coordinator.sessions:
        return Rejection("ConsumerNotFound", f"{subscription} has no consumer {name!r}", "name", 404)
    if not closes and not group.coordinator.sessions[name]:
        return Rejection("ConsumerNotFound", f"the connection of {name!r} is lost already", "name", 409)
    gone = left(group, name, running.now_ms) if closes else lost(group, name, running.now_ms)
    said = Happening(running.now_ms, "closed" if closes else "lost", (), subscription, (name,))
    return _with_groups(running, {**running.groups, subscription: gone}).said(said)


def acknowledge(running: Running, subscription: str, name: str | None, count: int) -> Running | Rejection:
    group = running.groups.get(subscription)
    if group is None:
        return Rejection("SubscriptionNotFound", f"there is no subscription {subscription!r}", "subscription", 404)
    if name is not None and name not in group.coordinator.sessions:
        return Rejection("ConsumerNotFound", f"{subscription} has no consumer {name!r}", "name", 404)
    after = acknowledged(group, name, count, running.now_ms)
    unacked = group.unacked_by_name()
    had = [unacked.get(one, 0) for one in (group.names if name is None else (name,))]
    done = sum(min(each, count) if count else each for each in had)
    names = (name,) if name is not None else ()
    said = Happening(running.now_ms, "acknowledged", (), subscription, names, done)
    return _with_groups(running, {**running.groups, subscription: after}).said(said)


def _with_groups(running: Running, groups: Mapping[str, Group]) -> Running:
    """The topic with these subscriptions, and what became of hand-overs."""
    said: list[Happening] = []
    for name, group in groups.items():
        before = running.groups.get(name)
        if before is not None and before is not group and before.kind == "STREAM":
            said += _handed_over(running.now_ms, name, before, group)
    return replace(running, groups=groups).said(*said)


def _handed_over(now_ms: int, name: str, before: Group, after: Group) -> list[Happening]:
    said: list[Happening] = []
    drained = after.coordinator.drained - before.coordinator.drained
    if drained:
        said.append(Happening(now_ms, "drained", tuple(sorted(drained)), name, by_itself=True))
    for segment_id, now in after.attached.items():
        then = before.attached.get(segment_id)
        stuck = now.stuck - (then.stuck if then is not None else frozenset())
        if stuck:
            said.append(Happening(now_ms, "stuck", (segment_id,), name, tuple(sorted(stuck)), by_itself=True))
    return said


# time


def passed(running: Running, until_ms: int) -> Running:
    """The topic at a later time, with all that happens until then. O(segments) for every ten seconds."""
    while (due_ms := running.due_ms()) <= until_ms:
        running = _at(replace(running, now_ms=due_ms))
    return replace(running, now_ms=until_ms)


def _at(running: Running) -> Running:
    now_ms = running.now_ms
    if running.next_report_ms is not None and running.next_report_ms <= now_ms:
        running = _reported(running)
    for name in list(running.groups):
        running = _group_at(running, name)
    evaluates = running.next_tick_ms <= now_ms or any(time <= now_ms for time in running.evaluations_ms)
    if running.next_tick_ms <= now_ms:
        running = _pruned(replace(running, next_tick_ms=now_ms + TICK_MS))
    if evaluates:
        later = tuple(time for time in running.evaluations_ms if time > now_ms)
        running = evaluated(replace(running, evaluations_ms=later))
    return running


def _reported(running: Running) -> Running:
    """The owner brokers write the load records that are due."""
    loads = {one: record for one, record in running.loads.items() if one in running.layout.segments}
    for one, segment in running.layout.segments.items():
        rates = running.rates.get(one, Rates())
        last = loads.get(one)
        if segment.active and is_written(last.rates if last is not None else None, rates):
            loads[one] = LoadRecord(rates, running.now_ms)
    return replace(running, loads=loads, next_report_ms=None)


def _group_at(running: Running, subscription: str) -> Running:
    now_ms, group = running.now_ms, running.groups[subscription]
    due = group.due_ms()
    if due is None or due > now_ms:
        return running
    said: list[Happening] = []
    for name, since in group.lost_ms.items():
        if now_ms - since >= GRACE_PERIOD_SECONDS * 1000:
            group = left(group, name, now_ms, closed=False)
            said.append(Happening(now_ms, "expired", (), subscription, (name,), by_itself=True))
    if group.next_check_ms is not None and group.next_check_ms <= now_ms:
        group = checked(group, now_ms)
    for name in [one for one, since in group.joining_ms.items() if now_ms - since >= JOINING_MS]:
        # One leaving changes what the others are dealt, so each is looked at anew.
        if name in group.joining_ms:
            group = left(group, name, now_ms)
            said.append(Happening(now_ms, "refused", (), subscription, (name,), by_itself=True))
    return _with_groups(running, {**running.groups, subscription: group}).said(*said)


def _pruned(running: Running) -> Running:
    """One round of pruning: sealed segments without listed parents that no subscription needs any more."""
    gone = tuple(
        one.segment_id
        for one in prunable(running.layout, running.now_ms, RETENTION_MS)
        if all(group.backlog(one.segment_id) == 0 for group in running.groups.values())
    )
    if not gone:
        return running
    layout = prune(running.layout, *gone)
    assert isinstance(layout, Layout), layout
    groups = {name: with_layout(group, layout, running.now_ms) for name, group in running.groups.items()}
    said = Happening(running.now_ms, "pruned", gone, by_itself=True)
    return _with_groups(replace(running, layout=layout), groups).said(said)


def evaluated(running: Running) -> Running:
    """The topic after the controller has looked whether to split, merge or rebucket."""
    if refuse_settings(running.settings) is not None:
        return replace(running, blocked_reason=INVALID_POLICY)
    step = next_steps(scaling_state(running), running.now_ms)[0]
    running = replace(running, blocked_reason=step.shown)
    after: Running | Rejection = running
    match step.action:
        case Action.SPLIT:
            after = split_segment(running, step.segment_ids[0], step)
        case Action.MERGE:
            first, second = step.segment_ids
            after = merge_segments(running, (first, second), step)
        case Action.REBUCKET:
            after = rebucket_segments(running, step.segment_ids, step.buckets, step)
        case _:
            return running
    if isinstance(after, Rejection):
        return running
    cooldown = {
        Action.SPLIT: running.settings.splitCooldownSeconds,
        Action.REBUCKET: running.settings.rebucketCooldownSeconds,
    }.get(step.action)
    if cooldown is None:
        return after
    return replace(after, evaluations_ms=(*after.evaluations_ms, running.now_ms + cooldown * 1000 + 1))


def scaling_state(running: Running) -> ScalingState:
    """What the scaling knows. QUEUE consumers do not count, lost ones in their grace period do."""
    counts = {name: len(group.names) for name, group in running.groups.items() if group.kind != "QUEUE"}
    sharing = [name for name, group in running.groups.items() if group.kind == "STREAM"]
    return ScalingState(running.layout, running.loads, counts, sharing, running.clocks, running.settings)
