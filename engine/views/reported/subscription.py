"""Subscriptions for which nothing is computed (Shared, Exclusive, without consumers): only reports are shown."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated, ClassVar, Final

from msgspec import Struct

from engine.admin.facts import NotReported, unacked_of
from engine.answer import about
from engine.cluster.state import ClusterState, shown_places
from engine.cluster.timeline import Timeline
from engine.diagnosis.seen import Dispatcher
from engine.views.failover.model import EventLine, Notice, TimelineView
from engine.views.failover.table import letter_tag
from engine.views.reported.model import (
    Backlog,
    Delayed,
    InReplay,
    MsgsOut,
    ReportedConsumer,
    ReportedView,
    Unacked,
)
from engine.views.reported.view import Reported, Subject
from engine.views.timeline import timeline_view

BUNDLES: Final = ""
"""The key of the place where bundles are shown without a subscription."""


class SubscriptionRow(Struct, frozen=True):
    """One consumer; ``consumer_id`` is its place among them, which ``tag`` and ``colour`` follow."""

    consumer_id: int
    name: str
    tag: str
    colour: int
    reported: ReportedConsumer


class TopicRow(Struct, frozen=True):
    """One topic or partition; ``active`` is -1 for nobody, or where all are."""

    name: Annotated[str, about("Full name.")]
    backlog: Backlog
    unacked: Unacked
    in_replay: InReplay
    delayed: Delayed
    msgs_per_sec: MsgsOut
    consumers: Annotated[int | None, about("Consumers that are connected; null where the answers lack it.", 0)]
    active: Annotated[
        int, about("The active consumer; null where none is named.", 0, key="active_consumer_id", place=True)
    ]
    blocked: Annotated[bool, about("Whether nobody can be served.")]


class SubscriptionStatus(Struct, frozen=True):
    """The status line."""

    subscription: Annotated[str, about("Its key: the name, numbered where several have it.")]
    namespace: Annotated[str, about("tenant/namespace.")]
    type: Annotated[str, about("Pulsar's word; None where nobody has connected since the topic was loaded.")]
    subscriptions: Annotated[tuple[str, ...], about("All that can be shown.")]
    release: Annotated[str, about("Pulsar version.")]
    source: Annotated[str, about("Where it was read.")]
    step: Annotated[int, about("Step of the simulation; it changes nothing here.", 0)]
    steps: Annotated[int, about("Steps there are.", 0)]


class SubscriptionView(Struct, frozen=True, eq=False):
    """A subscription for which nothing is computed: what brokers reported of it. ``events`` is the opening alone."""

    FORMAT: ClassVar[str] = "ringside.subscription/1"
    status: Annotated[SubscriptionStatus, about("The status line.")]
    consumers: tuple[SubscriptionRow, ...]
    topics: Annotated[tuple[TopicRow, ...], about("Topics and partitions, the largest backlog first.")]
    reported: Annotated[ReportedView, about("What brokers reported of the subscription.")]
    events: tuple[EventLine, ...]
    timeline: TimelineView
    notices: Annotated[tuple[Notice, ...], about("What to know about the numbers.")]


def reported_only(reported: Reported, moment: int, state: ClusterState) -> tuple[Subject, ...]:
    """The subscriptions that brokers reported up to a moment and ``state``, the model of it, does not have. O(n)."""
    if not len(reported):
        return ()
    modelled = {(subscription.namespace, subscription.name) for subscription in state.subscriptions}
    modelled |= {(subscription.namespace, subscription.name) for subscription in state.key_subscriptions}
    used = set(shown_places(state))
    subjects = []
    for namespace, name in reported.subscriptions(moment):
        if (namespace, name) in modelled:
            continue
        key, number = name, 2
        while key in used:
            key, number = f"{name}#{number}", number + 1
        used.add(key)
        subjects.append(Subject(key, namespace, name))
    return tuple(subjects)


def all_places(own: tuple[str, ...], others: Sequence[Subject]) -> tuple[str, ...]:
    """All that can be shown: what the model has, then the others; where it has nothing, the bundles come first."""
    keys = tuple(subject.key for subject in others)
    return (*own, *keys) if own or not keys else (BUNDLES, *keys)


def subscription_view(
    timeline: Timeline,
    reported: Reported,
    moment: int,
    subject: Subject,
    *,
    keys: tuple[str, ...],
    notes: Sequence[Notice] = (),
) -> SubscriptionView | None:
    """What was reported of a subscription up to a moment; None where the answers do not show it (any more).

    ``keys`` are those of all places, ``notes`` what was noted when the state was opened.
    """
    view = reported.view(moment, subject)
    if view is None:
        return None
    dispatchers = reported.subscriptions(moment)[subject.namespace, subject.name].dispatchers
    positions = {consumer.name: at for at, consumer in reversed(list(enumerate(view.consumers)))}
    blocked = frozenset(view.blocked_topics.names)
    rows = [
        _topic(dispatcher, positions.get(dispatcher.sub.active_consumer_name or "", -1), blocked)
        for dispatcher in dispatchers
    ]
    return SubscriptionView(
        status=SubscriptionStatus(
            subscription=subject.key,
            namespace=subject.namespace,
            type=view.type,
            subscriptions=keys,
            release=timeline.state.release,
            source=timeline.source,
            step=timeline.cursor,
            steps=timeline.length,
        ),
        consumers=tuple(
            SubscriptionRow(at, consumer.name, letter_tag(at), at, consumer)
            for at, consumer in enumerate(view.consumers)
        ),
        topics=tuple(sorted(rows, key=lambda row: (-(row.backlog or 0), row.name))),
        reported=view,
        events=(EventLine(0, "open", f"open {timeline.source}".rstrip(), 0, 0, 0),),
        timeline=timeline_view(timeline),
        notices=tuple(notes),
    )


def _topic(dispatcher: Dispatcher, active: int, blocked: Collection[str]) -> TopicRow:
    return TopicRow(
        name=dispatcher.topic,
        backlog=dispatcher.sub.msg_backlog_entries,
        unacked=unacked_of(dispatcher.sub),
        in_replay=dispatcher.sub.msg_in_replay,
        delayed=dispatcher.sub.msg_delayed,
        msgs_per_sec=dispatcher.sub.msg_rate_out_msgs_per_sec,
        consumers=None if isinstance(dispatcher.sub.consumers, NotReported) else len(dispatcher.consumers),
        active=active,
        blocked=dispatcher.topic in blocked,
    )
