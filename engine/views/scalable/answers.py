"""What can be asked about a scalable topic: why something waits, what comes next, what a change or a loss moves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from engine.cluster.scalable.group import Group
from engine.cluster.scalable.running import Happening, Running
from engine.errors import Rejection
from engine.scalable.coordinator import GRACE_PERIOD_SECONDS
from engine.scalable.dealing import Deal, deal
from engine.scalable.layout import merge, rebucket_by_hand, split
from engine.scalable.model import Layout, Segment, segment_name
from engine.text import counted, joined
from engine.views.scalable.dashboard import ScalableDashboard, keys_answered, steps_ahead
from engine.views.scalable.model import ConsumerRow, ScalableView, SegmentRow, SubscriptionRow
from engine.views.scalable.words import (
    coverage_lines,
    ids_text,
    key_text,
    next_step_lines,
    owner_text,
    reason_text,
    wait_lines,
)

HOTTEST: Final = 3
_MOVES_SHOWN: Final = 12
_AHEAD: Final = 8
"""Happenings ahead that are listed."""


@dataclass(frozen=True, slots=True)
class Point:
    """One labelled sentence of an answer; the one with ``main`` set is the answer. ``bad``: somebody has to act."""

    label: str
    text: str
    main: bool = False
    bad: bool = False


def key_points(dashboard: ScalableDashboard, key: str) -> tuple[Point, ...]:
    """Where a key goes: hash, segment, bucket, consumer, and where after a split of its segment."""
    row = keys_answered(dashboard, (key,)).keys[0]
    points = [Point("key", repr(key)), Point("goes", key_text(row), main=True)]
    points += [Point("gets it", owner_text(owner)) for owner in row.owners]
    return tuple(points)


# why


def why_points(dashboard: ScalableDashboard) -> tuple[Point, ...]:
    """What is wrong with the shown subscription, the worst first, and what helps."""
    row = dashboard.subscription
    points = [Point("layout", line, main=True, bad=True) for line in coverage_lines(dashboard.view)]
    if row is None:
        return tuple(points) or (Point("fine", "no consumer has subscribed, so nothing is late", main=True),)
    points += [*_stuck(row), *_waiting(row), *_attachment(dashboard, row), *_hints(dashboard, row)]
    if not any(point.main for point in points):
        first = f"nothing of {row.name} waits for another segment, and every segment has a consumer"
        points = [Point("fine", first, main=True), *points]
    return tuple(points)


def _stuck(row: SubscriptionRow) -> list[Point]:
    points: list[Point] = []
    for one in row.consumers:
        if one.stuck:
            text = (
                f"{one.name} still holds {ids_text(one.stuck)} that others should have, and delivers nothing of it:"
                f" a hand-over that waits for about a minute never ends; close {one.name}"
            )
            points.append(Point("stuck", text, main=True, bad=True))
        elif one.losing:
            text = f"{one.name} keeps {ids_text(one.losing)} until all it holds is acknowledged: {one.unacked:,}"
            points.append(Point("moving", f"{text}; within 55 s, or the hand-over may never end", main=True))
        elif not one.connected:
            text = f"{one.name}: nobody reads its segments until it is back, at most {GRACE_PERIOD_SECONDS} s"
            points.append(Point("lost", text, main=True, bad=True))
    return points


def _waiting(row: SubscriptionRow) -> list[Point]:
    if not row.waits:
        return []
    why = {
        "backlog": "its consumers have to acknowledge that; what keeps any consumer slow holds here too:"
        " permits, unacked limits, a slow application",
        "no_consumer": "nobody is attached to it: a hand-over, a lost consumer, or no consumer at all",
        "drain_check": "the controller looks after 2 s, then after 4, 8 and so on up to 15 min; a join or a change of"
        " the layout makes it look again in 2 s",
    }
    reasons = dict.fromkeys(wait.reason for wait in row.waits)
    points = [Point("waits", line, main=True, bad=True) for line in wait_lines(row)]
    return [*points, *(Point("because", why[reason]) for reason in reasons)]


def _attachment(dashboard: ScalableDashboard, row: SubscriptionRow) -> list[Point]:
    points: list[Point] = []
    if not row.waits:
        points += [Point("missing", line, main=True, bad=True) for line in wait_lines(row)]
    idle = [one.name for one in row.consumers if one.idle and one.connected]
    if idle:
        step = dashboard.view.next
        text = f"{joined(idle)} {'has' if len(idle) == 1 else 'have'} no segment and no bucket:"
        text += f" {counted(step.consumers, 'consumer')}, {counted(step.active, 'segment')}, {step.capacity:,} buckets"
        points.append(Point("idle", text, main=True))
    group = dashboard.running.groups.get(row.name)
    for name in group.joining_ms if group is not None and not dashboard.status.as_reported else ():
        text = f"{name} is refused while others hold messages of what it is dealt; after 30 s it gives up and leaves"
        points.append(Point("joining", text, main=True, bad=True))
    return points


def _hints(dashboard: ScalableDashboard, row: SubscriptionRow) -> list[Point]:
    shared = [piece.segment for piece in dashboard.pieces if len(set(piece.dealt)) > 1]
    points: list[Point] = []
    if shared and row.type == "STREAM":
        text = (
            f"messages without a key go to bucket 0 where producers batch: of {ids_text(shared)} one consumer gets all"
        )
        points.append(Point("keys", text))
    reason = dashboard.view.next.blocked_reason
    if reason is not None:
        points.append(Point("scaling", f"blocked by {reason}: {reason_text(reason)}"))
    return points


# what comes next


def next_points(dashboard: ScalableDashboard) -> tuple[Point, ...]:
    """The next automatic step, its numbers and clocks, and what follows within half an hour."""
    view = dashboard.view
    step, settings = view.next, dashboard.running.settings
    lines = next_step_lines(step)
    points = [Point("next", lines[0], main=True), *(Point("", line) for line in lines[1:])]
    text = f"{counted(step.consumers, 'consumer')} of one subscription, {counted(step.active, 'segment')}"
    text += f" of {settings.minSegments:,} to {settings.maxSegments:,}, {step.capacity:,} buckets"
    points.append(Point("consumers", text))
    active = [one for one in view.segments if one.state == "ACTIVE"]
    scored = sorted((one for one in active if one.score is not None), key=lambda one: -(one.score or 0.0))
    points += [Point("traffic", _score_text(one)) for one in scored[:HOTTEST]]
    if len(scored) < len(active):
        points.append(Point("traffic", f"{counted(len(active) - len(scored), 'segment')} without a load record"))
    ahead = steps_ahead(dashboard.running)
    points += [Point("then", happening_text(one, dashboard.running.now_ms)) for one in ahead[:_AHEAD]]
    if not ahead:
        points.append(Point("then", "nothing happens by itself within half an hour at this traffic"))
    return tuple(points)


def _score_text(one: SegmentRow) -> str:
    metric = f" by {one.score_metric}" if one.score_metric else ""
    age = f"; its record is {one.load_age_seconds:,.0f} s old" if one.load_age_seconds is not None else ""
    return f"segment {one.id} has {one.score or 0.0:.2f} of its split limit{metric}{age}"


# what a change would move


def change_points(dashboard: ScalableDashboard, segment_id: int) -> tuple[Point, ...]:
    """What a split, a merge with the next segment, or more buckets would do to a segment, with the admin requests."""
    running = dashboard.running
    segment = running.layout.segments.get(segment_id)
    if segment is None or not segment.active:
        return (Point("sealed", f"segment {segment_id} is sealed: nothing more happens to it", main=True),)
    points = _split_points(running, segment)
    active = running.layout.active()
    following = next((one for one in active if one.hash_range.start == segment.hash_range.end + 1), None)
    if following is not None:
        most = running.settings.entryBucketMaxPerSegment
        pair = (segment_id, following.segment_id)
        layout = merge(running.layout, *pair, running.now_ms, max_buckets=most)
        points += _change(running, f"merge with {following.segment_id}", layout, pair)
        points.append(Point("request", f"{_path(running)}/merge/{segment_id}/{following.segment_id}"))
    buckets = min(2 * segment.buckets, running.settings.entryBucketMaxPerSegment)
    if buckets > segment.buckets:
        layout = rebucket_by_hand(running.layout, segment_id, buckets, running.now_ms)
        points += _change(running, f"{buckets:,} buckets", layout, (segment_id,))
        points.append(Point("request", f"{_path(running)}/rebucket/{segment_id}?bucketCount={buckets}"))
    return tuple(points)


def _path(running: Running) -> str:
    return f"POST /admin/v2/scalable/{running.topic.partition('://')[2]}"


def _split_points(running: Running, segment: Segment) -> list[Point]:
    layout = split(running.layout, segment.segment_id, running.now_ms)
    points = _change(running, "split", layout, (segment.segment_id,))
    if isinstance(layout, Layout):
        for child in layout.segments[segment.segment_id].child_ids:
            one = layout.segments[child]
            name = segment_name(running.topic, one)
            points.append(Point("new topic", f"{name} with {counted(one.buckets, 'bucket')} and half of the keys"))
    points.append(Point("request", f"{_path(running)}/split/{segment.segment_id}"))
    return points


def _change(running: Running, what: str, layout: Layout | Rejection, parents: tuple[int, ...]) -> list[Point]:
    """What a change of the layout moves, once its parents are read to their end."""
    if isinstance(layout, Rejection):
        return [Point(what, layout.message, main=True)]
    children = layout.segments[parents[0]].child_ids
    points = [Point(what, f"{ids_text(parents)} → {ids_text(children)}", main=True)]
    for name, group in running.groups.items():
        if group.kind == "QUEUE":
            continue
        drained = {*group.coordinator.drained, *parents}
        points.append(Point(name, _moves_text(group, _deal(group, layout, group.names, drained), parents, children)))
    return points


def _moves_text(group: Group, after: Deal, parents: tuple[int, ...], children: tuple[int, ...]) -> str:
    before = group.coordinator.present
    was = _owners(before) if before is not None else {}
    moved = [one for one, names in _owners(after).items() if one in was and was[one] != names]
    idle = [name for name, grants in after.grants.items() if not grants]
    backlog = sum(group.backlog(one) for one in parents)
    owners = {one: names for one, names in _owners(after).items() if one not in was}
    parts = [f"{one}: {joined(list(names), 4)}" for one, names in owners.items()]
    parts.append(
        f"{ids_text(moved)} change{'s' if len(moved) == 1 else ''} hands" if moved else "no other changes hands"
    )
    if group.kind == "STREAM":
        wait = f"until {counted(backlog, 'message')} are acknowledged" if backlog else "2 s or more"
        older = ", and until older segments are drained" if after.grants and not owners else ""
        parts.append(f"{ids_text(children)} wait{'s' if len(children) == 1 else ''} {wait}{older}")
    if idle:
        parts.append(f"{joined(idle)} idle")
    return "; ".join(parts)


def _deal(group: Group, layout: Layout, names: Iterable[str], drained: set[int]) -> Deal:
    rule, checkpoint = group.coordinator.drain_rule, group.coordinator.checkpoint
    return deal(layout, names, drained, drain_rule=rule, checkpoint=checkpoint)


def _owners(dealt: Deal) -> dict[int, tuple[str, ...]]:
    owners: dict[int, list[str]] = {}
    for name, grants in dealt.grants.items():
        for grant in grants:
            owners.setdefault(grant.segment_id, []).append(name)
    return {one: tuple(names) for one, names in owners.items()}


# before and after


def step_points(before: ScalableView, after: ScalableView) -> tuple[Point, ...]:
    """What became of a topic: its segments, who is dealt them, what waits, and its next automatic step."""
    points = _layout_changes(before, after)
    earlier = {row.name: row for row in before.subscriptions}
    for row in after.subscriptions:
        points += _dealt_changes(earlier.get(row.name), row)
    was, now = next_step_lines(before.next)[0], next_step_lines(after.next)[0]
    if was != now:
        points.append(Point("next", f"{now}; before: {was}"))
    if not points:
        return (Point("same", "the step changed nothing of segments and consumers", main=True),)
    return (replace(points[0], main=True), *points[1:])


def _layout_changes(before: ScalableView, after: ScalableView) -> list[Point]:
    was, now = ({one.id: one for one in view.segments} for view in (before, after))
    changes = {
        "new": [one for one in now if one not in was],
        "sealed": [one for one in now if one in was and was[one].state != now[one].state],
        "pruned": [one for one in was if one not in now],
        "loads": [one for one in now if one in was and was[one].msg_rate_in != now[one].msg_rate_in],
    }
    return [Point(label, ids_text(ids)) for label, ids in changes.items() if ids]


def _dealt_changes(before: SubscriptionRow | None, after: SubscriptionRow) -> list[Point]:
    if before is None:
        return [Point(after.name, f"is new, with {counted(len(after.consumers), 'consumer')}")]
    was, now = dealt_to(before), dealt_to(after)
    moved = [one for one in sorted(was.keys() | now.keys()) if was.get(one, ()) != now.get(one, ())]
    texts = [f"{one}: {_names(was.get(one, ()))} → {_names(now.get(one, ()))}" for one in moved[:_MOVES_SHOWN]]
    if len(moved) > _MOVES_SHOWN:
        texts.append(f"{len(moved) - _MOVES_SHOWN:,} more segments")
    for what, earlier, later in (
        ("backlog", before.backlog, after.backlog),
        ("unacked", before.unacked, after.unacked),
        ("waiting", len({wait.segment for wait in before.waits}), len({wait.segment for wait in after.waits})),
        ("idle", sum(one.idle for one in before.consumers), sum(one.idle for one in after.consumers)),
    ):
        if earlier != later:
            texts.append(f"{what} {earlier:,} → {later:,}")
    return [Point(after.name, "; ".join(texts))] if texts else []


def dealt_to(row: SubscriptionRow) -> dict[int, tuple[str, ...]]:
    """By segment the consumers that it is dealt to, several where they share it by buckets."""
    dealt: dict[int, list[str]] = {}
    for consumer in row.consumers:
        for share in consumer.computed or ():
            dealt.setdefault(share.segment, []).append(consumer.name)
    return {one: tuple(names) for one, names in dealt.items()}


def _names(names: tuple[str, ...]) -> str:
    return joined(list(names), 4) or "nobody"


# heirs


def heir_points(dashboard: ScalableDashboard, name: str) -> tuple[Point, ...]:
    """Who gets the segments of a consumer that closes or is lost."""
    row = dashboard.subscription
    group = dashboard.running.groups.get(row.name) if row is not None else None
    consumer = next((one for one in row.consumers if one.name == name), None) if row is not None else None
    if row is None or group is None or consumer is None:
        return (Point("unknown", f"{name} is not a consumer of this subscription", main=True),)
    if group.kind == "QUEUE":
        return (Point("closes", "the other consumers go on with every segment", main=True),)
    mine = [share.segment for share in consumer.computed or ()]
    rest = [one for one in group.names if one != name]
    before = _owners(group.coordinator.present) if group.coordinator.present is not None else {}
    after = _deal(group, dashboard.running.layout, rest, set(group.coordinator.drained))
    return tuple(_heirs(consumer, mine, before, _owners(after)))


def _heirs(
    consumer: ConsumerRow, mine: list[int], before: dict[int, tuple[str, ...]], after: dict[int, tuple[str, ...]]
) -> list[Point]:
    name = consumer.name
    inherits = [f"{one}: {joined(list(after[one]), 4)}" for one in mine if one in after]
    text = "; ".join(inherits[:12]) + (f"; {len(inherits) - 12:,} more" if len(inherits) > 12 else "")
    nobody = f"nobody takes over {ids_text(mine)}" if mine else f"{name} has no segment, so nobody inherits"
    points = [Point("closes", text or nobody, main=True)]
    others = [one for one in after if one not in mine and before.get(one) != after[one]]
    if others:
        verb = "changes" if len(others) == 1 else "change"
        points.append(Point("also", f"{ids_text(others)} {verb} hands although {name} has nothing to do with them"))
    if mine and not after:
        points.append(Point("nobody", "no consumer is left, so nothing is read", bad=True))
    if mine:
        text = f"without closing: nobody reads {ids_text(mine)} for {GRACE_PERIOD_SECONDS} s, then the same"
        points.append(Point("is lost", text))
    if consumer.unacked:
        whom = "to the heirs" if after else "to the next consumer"
        points.append(Point("again", f"{whom}: {counted(consumer.unacked, 'message')} that it did not acknowledge"))
    return points


# what happened


def happening_text(one: Happening, now_ms: int | None = None) -> str:
    """One thing that happened; with ``now_ms`` in how many seconds it will."""
    segments, names = list(one.segments), joined(list(one.names))
    of = f" of {one.subscription}" if one.subscription else ""
    parents, children = ids_text(segments[:1]), ids_text(segments[1:])
    text = {
        "seen": f"as printed: {counted(len(segments), 'segment')}",
        "created": f"created with {counted(len(segments), 'segment')}",
        "split": f"{parents} split into {children}",
        "merged": f"{ids_text(segments[:2])} merged into {ids_text(segments[2:])}",
        "rebucketed": f"{ids_text(segments[: len(segments) // 2])} given {one.count:,} buckets:"
        f" {ids_text(segments[len(segments) // 2 :])}",
        "pruned": f"{ids_text(segments)} pruned",
        "drained": f"{ids_text(segments)} drained{of}",
        "stuck": f"the hand-over of {ids_text(segments)} by {names}{of} is stuck; close {names}",
        "joined": f"{names} joined {one.subscription}",
        "refused": f"{names}{of} was refused for 30 s and left",
        "closed": f"{names}{of} closed",
        "lost": f"the connection of {names}{of} was lost",
        "expired": f"the grace period of {names}{of} ended",
        "acknowledged": f"{names or 'everybody'}{of} acknowledged {counted(one.count, 'message')}",
        "sent": f"{counted(one.count, 'message')} sent to {ids_text(sorted(segments))}",
        "traffic": f"{one.count:,} msg/s in on {ids_text(segments) if segments else 'the topic'}",
    }[one.what]
    if one.reason:
        text += f" ({one.reason})"
    if now_ms is not None:
        return f"in {(one.at_ms - now_ms) / 1000:,.0f} s {text}"
    return f"{text}, by itself" if one.by_itself and one.what in ("split", "merged", "rebucketed") else text
