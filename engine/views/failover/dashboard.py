"""The views of a timeline: the main screen with its notices, and details on demand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from engine.admin.facts import total
from engine.bundles.boundaries import BundleRange, parse_range
from engine.cluster.state import NO_STATISTICS, subscription_keys
from engine.cluster.timeline import Timeline
from engine.compare.verdict import Verdict, flag_change, preview
from engine.errors import Rejection
from engine.failover.ring import POINTS_PER_CONSUMER, colliding_names
from engine.memo import LazyRows
from engine.views.failover.model import BundleTopic, DashboardView, Notice, PartitionRow, StatusView
from engine.views.failover.ring import flag_known, ring_view, rule_text
from engine.views.failover.slice import Slice, changes_between, slice_by_key, slice_of, subscription_at
from engine.views.failover.table import busiest_partition, consumer_rows, partition_rows, table_foot
from engine.views.failover.tree import EMPTY, hashed_topics, namespace_nodes
from engine.views.timeline import colour_numbers, event_lines, state_before, timeline_view

if TYPE_CHECKING:
    from engine.views.failover.explanations import TopicExplanation

NAMES_COLLIDE: Final = "names-collide"
DUPLICATE_NAMES: Final = "duplicate-names"
FLAG_UNKNOWN: Final = "flag-unknown"
FLAG_IGNORED: Final = "flag-ignored"
STANDBY: Final = "standby"
PRIORITIES_INFERRED: Final = "priorities-inferred"
NAMED_AT_MOST: Final = 3
"""The most names in one sentence; the rest is counted."""


def notices_of(now: Slice, noted: Iterable[Notice] = ()) -> tuple[Notice, ...]:
    """All notices in a fixed order, then what the opening of the state noted."""
    notices = (_flag_unknown(now), _duplicates(now), _collisions(now), _flag_ignored(now), _standbys(now))
    return (*(notice for notice in notices if notice), *noted)


def _flag_unknown(now: Slice) -> Notice | None:
    flag = now.state.settings.activeConsumerFailoverConsistentHashing
    if not flag or now.behaviour.knows_failover_consistent_hashing:
        return None
    text = (
        f"activeConsumerFailoverConsistentHashing is true, but Pulsar {now.state.release} does not know it: "
        "partitions go by modulo"
    )
    return Notice(FLAG_UNKNOWN, text)


def _duplicates(now: Slice) -> Notice | None:
    """Bug pattern F10: equal names have equal points, and the consumer that connected last owns them all."""
    names = [consumer.name for consumer in now.order[: now.cohort_size]]
    doubled = [name for name, count in Counter(names).items() if count > 1]
    if not doubled:
        return None
    some = _listed([f"{name!r} ({names.count(name)} consumers)" for name in doubled])
    if not now.ring_decides:
        return Notice(DUPLICATE_NAMES, f"one name for several consumers: {some}; statistics cannot distinguish them")
    return Notice(
        DUPLICATE_NAMES,
        f"one name for several consumers: {some}; on the ring only the last connected of each can ever be active",
    )


def _collisions(now: Slice) -> Notice | None:
    """Bug pattern F09: name and number are concatenated, so ``c-1`` + ``10`` and ``c-11`` + ``0`` are one point."""
    ring = now.ring
    if ring is None:
        return None
    losers = colliding_names(ring.names)
    if not losers:
        return None
    counts, shares = ring.point_counts(), ring.shares()
    even = 1 / len(ring.names)
    place = {name: at for at, name in enumerate(ring.names)}
    losses = [
        f"{name} keeps {counts[place[name]]} of {POINTS_PER_CONSUMER} points"
        f" and {shares[place[name]]:.1%} of the ring (points lost to {_listed(winners, 2)})"
        for name, winners in sorted(losers.items(), key=lambda pair: counts[place[pair[0]]])
    ]
    effect = "" if now.ring_decides else "; it counts once the ring decides"
    return Notice(NAMES_COLLIDE, f"names collide on the ring, an even share is {even:.1%}: {_listed(losses)}{effect}")


def _flag_ignored(now: Slice) -> Notice | None:
    """Bug pattern F03: the flag says nothing about a topic without partitions."""
    alone = now.topics.without_index
    if not alone:
        return None
    noun = "topic without partitions goes" if alone == 1 else "topics without partitions go"
    if now.behaviour.nonpartitioned_failover == "ring":
        return Notice(FLAG_IGNORED, f"{alone} {noun} by the hash ring, whatever the flag says")
    return Notice(
        FLAG_IGNORED,
        f"{alone} {noun} to the consumer that connected first; before 3.0 names and priority levels play no part there",
    )


def _standbys(now: Slice) -> Notice | None:
    waiting = now.order[now.cohort_size :]
    if not waiting or not now.levels_count:
        return None
    level = now.order[0].priority_level
    noun = "consumer stands" if len(waiting) == 1 else "consumers stand"
    some = _listed([f"{consumer.name} (level {consumer.priority_level})" for consumer in waiting])
    return Notice(STANDBY, f"{len(waiting)} {noun} by while one of level {level} is connected: {some}")


def _listed(texts: Sequence[str], at_most: int = NAMED_AT_MOST) -> str:
    shown = ", ".join(texts[:at_most])
    return f"{shown} and {len(texts) - at_most} more" if len(texts) > at_most else shown


FAILOVER: Final = "Failover"


def dashboard_view(
    timeline: Timeline, *, subscription: int = 0, problems: int = 0, notes: Iterable[Notice] = ()
) -> DashboardView:
    """Everything the main screen shows at the cursor, for the subscription of that place (the last one past the end).

    Changes are those of the last step; there are none at the opening. ``problems`` and ``notes`` are what the opening
    of the state had. O(n log n + t log n) for n consumers and t partitions.
    """
    before, now = _slices(timeline, subscription)
    changes = changes_between(before, now)
    rows = consumer_rows(now, changes, colour_numbers(timeline, now.subscription.key))
    earlier = state_before(timeline)
    change = _flag_change(now)
    return DashboardView(
        status=status_view(timeline, now, problems, change),
        consumers=rows,
        foot=table_foot(now, rows),
        ring=ring_view(before, now, changes, rows),
        namespaces=namespace_nodes(earlier, now.state),
        events=event_lines(timeline, now.subscription.key, earlier),
        timeline=timeline_view(timeline),
        notices=notices_of(now, notes),
        flag_change=change,
    )


PREVIEWED: Final = 200_000
"""Up to this number of partitions the other rule is computed at every step; beyond, it costs more than the step."""


def _flag_change(now: Slice) -> Verdict | None:
    if not flag_known(now) or not now.order or not 0 < len(now.topics) <= PREVIEWED:
        return None
    verdict = preview(now.state, flag_change(now.state), now.subscription.key)
    return None if isinstance(verdict, Rejection) else verdict


def partitions_of(timeline: Timeline, subscription: int, consumer_id: int) -> Sequence[PartitionRow]:
    """The partitions a consumer is active for, busiest first; empty for an id that is not connected.

    Rows are built when they are read. O(t + k log k) for k of t partitions.
    """
    before, now = _slices(timeline, subscription)
    return partition_rows(now, changes_between(before, now), consumer_id)


def busiest_partition_of(timeline: Timeline, subscription: int, consumer_id: int) -> str:
    """The first of ``partitions_of``, "" for none. O(t)."""
    return busiest_partition(slice_of(timeline.state, subscription_at(timeline.state, subscription)), consumer_id)


def topics_of_bundle(timeline: Timeline, namespace: str, range_text: str) -> Sequence[BundleTopic]:
    """The partitions whose hash is in a range (a bundle, or one that was split), ascending by hash.

    Empty for a namespace that is not there or a text that is not a range. Rows are computed on demand.
    """
    state = timeline.state
    piece = parse_range(range_text)
    if not isinstance(piece, BundleRange):
        return ()
    topics = hashed_topics(state).get(namespace, EMPTY)
    start, end = topics.inside(piece.lower, piece.upper)

    def row(at: int) -> BundleTopic:
        name = topics.names[start + at]
        load = state.loads.get(name, NO_STATISTICS)
        return BundleTopic(name, int(topics.hashes[start + at]), total((load.msg_rate_in, load.msg_rate_out)))

    return LazyRows(end - start, row)


def topic_explanation(timeline: Timeline, subscription: int, topic_text: str) -> TopicExplanation | Rejection:
    """Why a topic has its active consumer, and its bundle; refused with the nearest names (see ``explain_topic``)."""
    from engine.views.failover.explanations import explain_topic

    earlier, now = _slices(timeline, subscription)
    return explain_topic(now, topic_text, earlier)


def _slices(timeline: Timeline, subscription: int) -> tuple[Slice | None, Slice]:
    now = slice_of(timeline.state, subscription_at(timeline.state, subscription))
    earlier = state_before(timeline)
    return (slice_by_key(earlier, now.subscription.key) if earlier else None), now


def status_view(timeline: Timeline, now: Slice, problems: int = 0, change: Verdict | None = None) -> StatusView:
    """The status of the shown subscription; ``problems`` is how many the opening of the state had.

    ``change`` is the verdict on turning consistent hashing on or off.
    """
    return StatusView(
        rule=now.rule,
        rule_text=rule_text(now),
        consistent_hashing=now.state.settings.activeConsumerFailoverConsistentHashing,
        flag_known=flag_known(now),
        release=now.state.release,
        subscription=now.subscription.key,
        namespace=now.subscription.namespace,
        subscription_type=FAILOVER,
        subscriptions=tuple(subscription_keys(now.state)),
        source=timeline.source,
        step=timeline.cursor,
        steps=timeline.length,
        seed=timeline.seed,
        problems=problems,
        flag_change=change.judgement if change is not None else None,
    )
