"""The projections of a timeline: one for the main screen, one for each detail that is opened on demand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from engine.bundles.boundaries import BundleRange, parse_range
from engine.cluster.state import NO_STATISTICS, subscription_keys
from engine.cluster.timeline import Timeline
from engine.compare.verdict import Verdict, flag_change, preview
from engine.errors import Rejection
from engine.memo import LazyRows
from engine.views.events import event_lines, timeline_view
from engine.views.failover.details import SplitPreviewView, TopicExplanation
from engine.views.failover.explanations import explain_topic
from engine.views.failover.model import BundleTopic, DashboardView, Notice, PartitionRow, StatusView
from engine.views.failover.notices import notices_of
from engine.views.failover.ring import flag_known, ring_view, rule_text
from engine.views.failover.slice import Slice, changes_between, slice_by_key, slice_of, subscription_at
from engine.views.failover.splits import split_preview
from engine.views.failover.table import busiest_partition, consumer_rows, partition_rows, table_foot
from engine.views.failover.tree import EMPTY, hashed_topics, namespace_nodes
from engine.views.history import colour_numbers, state_before

FAILOVER: Final = "Failover"


def dashboard_view(
    timeline: Timeline, *, subscription: int = 0, problems: int = 0, notes: Iterable[Notice] = ()
) -> DashboardView:
    """Everything the main screen tells at the cursor, for the subscription of that place (the last one past the end).

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
"""Partitions up to which the other rule is tried at every step: of more it would cost more than the step itself."""


def _flag_change(now: Slice) -> Verdict | None:
    if not flag_known(now) or not now.order or not 0 < len(now.topics) <= PREVIEWED:
        return None
    found = preview(now.state, flag_change(now.state), now.subscription.key)
    return None if isinstance(found, Rejection) else found


def partitions_of(timeline: Timeline, subscription: int, consumer_id: int) -> Sequence[PartitionRow]:
    """The partitions a consumer is active for, busiest first; empty for an id that is not connected.

    Rows are made when they are looked at. O(t + k log k) for k of t partitions.
    """
    before, now = _slices(timeline, subscription)
    return partition_rows(now, changes_between(before, now), consumer_id)


def busiest_partition_of(timeline: Timeline, subscription: int, consumer_id: int) -> str:
    """The first of ``partitions_of``, "" for none. O(t)."""
    return busiest_partition(slice_of(timeline.state, subscription_at(timeline.state, subscription)), consumer_id)


def topics_of_bundle(
    timeline: Timeline, namespace: str, range_text: str, subscription: int = 0
) -> Sequence[BundleTopic]:
    """The partitions whose hash lies in a range (a bundle, or one that was split), ascending by hash.

    ``active_consumer`` is that of the given subscription, "" where it does not have the topic. Empty for a namespace
    that is not there or a text that is no range. Rows are made when they are looked at.
    """
    state = timeline.state
    piece = parse_range(range_text)
    if not isinstance(piece, BundleRange):
        return ()
    topics = hashed_topics(state).get(namespace, EMPTY)
    now = slice_of(state, subscription_at(state, subscription))
    start, end = topics.inside(piece.lower, piece.upper)

    def row(at: int) -> BundleTopic:
        name = topics.names[start + at]
        load = state.loads.get(name, NO_STATISTICS)
        owner = now.owner_of(name)
        rate = load.msg_rate_in + load.msg_rate_out
        return BundleTopic(name, int(topics.hashes[start + at]), rate, owner.name if owner else "")

    return LazyRows(end - start, row)


def split_previews(timeline: Timeline, namespace: str, range_text: str) -> SplitPreviewView:
    """Every split algorithm's answer for one bundle of the state at the cursor (see ``split_preview``)."""
    return split_preview(timeline.state, namespace, range_text)


def topic_explanation(timeline: Timeline, subscription: int, topic_text: str) -> TopicExplanation | Rejection:
    """Why a topic has its active consumer, and its bundle; refused with the nearest names (see ``explain_topic``)."""
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
