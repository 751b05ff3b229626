"""Add what brokers reported to computed views: read once from the moments of a dump, then looked up."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from operator import is_
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from engine.admin.facts import ConsumerFacts, Snapshot, total, unacked_of
from engine.admin.moments import Moment, combined
from engine.cluster.keys.state import KeySubscription
from engine.cluster.state import Subscription
from engine.cluster.timeline import Timeline
from engine.diagnosis.seen import (
    EXCLUSIVE,
    FAILOVER,
    Dispatcher,
    MomentReadings,
    SubscriptionSeen,
    parent_of,
    readings_of,
    subscriptions_seen,
)
from engine.keyshared.model import Selector
from engine.views.failover.model import DashboardView
from engine.views.reported.comparison import compare_actives, compare_ranges, is_settled
from engine.views.reported.model import (
    CONSUMER_LIMIT,
    DRAINING,
    NO_PERMITS,
    SUBSCRIPTION_LIMIT,
    Agreement,
    BlockedTopics,
    Comparison,
    ReportedConsumer,
    ReportedView,
    ReportedWait,
    SeenEvent,
    SeenTime,
    WaitingPair,
)
from engine.views.reported.trends import Trends, trends_of

if TYPE_CHECKING:
    from engine.admin.between import Change
    from engine.views.keys.model import KeysView

OBSTACLES: Final = (SUBSCRIPTION_LIMIT, CONSUMER_LIMIT, NO_PERMITS, DRAINING)
"""The worst first."""
Name = tuple[str, int]
"""The name of a consumer, and which one of those with this name it is, from 0."""


class Subject(Struct, frozen=True):
    """A subscription that a screen shows: on which topics, without partitions, and its rows by id and name.

    ``key`` is the model's for it. ``topics`` None takes all that brokers reported, and ``rows`` None a row for each
    consumer they reported. ``selector`` is that of a Key_Shared subscription when the model was opened.
    """

    key: str
    namespace: str
    name: str
    topics: Sequence[str] | None = None
    rows: Sequence[tuple[int, str]] | None = None
    selector: Selector | None = None


def subject_of(timeline: Timeline, key: str) -> Subject | None:
    """The subscription of that key as a subject; None for one that a step of the simulation made."""
    return next((_subject(each) for each in _subscriptions(timeline) if each.key == key), None)


def subjects_of(timeline: Timeline) -> dict[str, Subject]:
    """The subscriptions that the timeline begins with, by key."""
    return {each.key: _subject(each) for each in _subscriptions(timeline)}


def _subscriptions(timeline: Timeline) -> tuple[Subscription | KeySubscription, ...]:
    return (*timeline.initial.subscriptions, *timeline.initial.key_subscriptions)


def _subject(of: Subscription | KeySubscription) -> Subject:
    selector = of.delivery.selector if isinstance(of, KeySubscription) else None
    return Subject(of.key, of.namespace, of.name, of.topics, selector=selector)


V = TypeVar("V")


class _Latest(Generic[V]):
    """A cache of the latest answer about each subscription, valid while its inputs are the same objects.

    ``before`` has those of an earlier refresh. An answer that one refresh does not use is dropped at the next.
    """

    def __init__(self, before: _Latest[V] | None) -> None:
        self._answers: Final[dict[str, tuple[Sequence[object], object, V]]] = {}
        self._earlier: Final = {} if before is None else before._answers

    def get(self, key: str, parts: Sequence[object], small: object, compute: Callable[[], V]) -> V:
        """The known answer where all ``parts`` are the same objects and ``small`` is equal, else a new one."""
        known = self._answers.get(key) or self._earlier.get(key)
        if known is not None and known[1] == small and _are_same(known[0], parts):
            self._answers[key] = known
        else:
            self._answers[key] = parts, small, compute()
        return self._answers[key][2]


def _are_same(one: Sequence[object], other: Sequence[object]) -> bool:
    return len(one) == len(other) and all(map(is_, one, other))


class Reported:
    """What brokers reported in moments in the order of time. A view of one subscription is made once.

    ``before`` is the one of an earlier refresh: the changes that it computed are taken over.
    """

    def __init__(
        self,
        moments: Sequence[Moment],
        before: Reported | None = None,
        agreements: Sequence[Agreement] = (),
        *,
        settled_only: bool = False,
    ) -> None:
        """``agreements`` are those of the last moments, one each.

        ``settled_only``: compare with the model only what is equal at two moments in a row.
        """
        self.moments: Final = tuple(moments)
        self.agreements: Final = tuple(agreements)
        self._between: Final[dict[tuple[int, int], tuple[Change, ...]]] = {}
        self._readings: Final[dict[int, MomentReadings]] = {}
        self._newest_views: Final[_Latest[ReportedView]] = _Latest(None if before is None else before._newest_views)
        self._newest_comparisons: Final[_Latest[Comparison]] = _Latest(
            None if before is None else before._newest_comparisons
        )
        if before is not None:
            here = {id(moment) for moment in self.moments}
            self._readings.update((key, known) for key, known in before._readings.items() if key in here)
            for (one, other), changes in zip(pairwise(before.moments), before._changes, strict=True):
                if id(one) in here and id(other) in here:
                    self._between[id(one), id(other)] = changes
        self._seen: dict[int, Mapping[tuple[str, str], SubscriptionSeen]] = {}
        self._known: dict[int, Snapshot] = {}
        self._views: dict[tuple[int, str, bool], ReportedView] = {}
        self._comparisons: dict[tuple[int, str], Comparison] = {}
        self._trends: dict[tuple[int, str], Trends] = {}
        self._settled_only = settled_only or bool(agreements)

    def __len__(self) -> int:
        return len(self.moments)

    @cached_property
    def last(self) -> int:
        """The place of the newest moment; -1 for none."""
        return len(self.moments) - 1

    def subscriptions(self, moment: int) -> Mapping[tuple[str, str], SubscriptionSeen]:
        """All subscriptions up to a moment, by namespace and name. O(dispatchers x moments) once."""
        if moment not in self._seen:
            seen = subscriptions_seen(self.moments[: moment + 1], self._readings_of)
            self._seen[moment] = {(subscription.namespace, subscription.name): subscription for subscription in seen}
        return self._seen[moment]

    def _readings_of(self, moment: Moment) -> MomentReadings:
        """The dispatchers of one of the moments, found once."""
        if id(moment) not in self._readings:
            self._readings[id(moment)] = readings_of(moment)
        return self._readings[id(moment)]

    def prepare(self) -> None:
        """Compute the changes between the moments now, so that a screen need not wait for them."""
        _ = self._changes

    def known(self, moment: int) -> Snapshot:
        """All that is known up to a moment."""
        if moment not in self._known:
            self._known[moment] = combined(self.moments[: moment + 1])
        return self._known[moment]

    def view(self, moment: int, subject: Subject, step: int = 0) -> ReportedView | None:
        """What was reported of a subscription up to a moment; None for one that no answer shows.

        ``step`` is where the simulation is: from its first step on there are no consumers in it, only sums.
        """
        if not self.moments:
            return None
        seen = self.subscriptions(moment).get((subject.namespace, subject.name))
        if seen is None:
            return None
        key = (moment, subject.key, bool(step))
        if key not in self._views:
            shown = replace(subject, rows=() if step else subject.rows)
            is_newest = moment == self.last and not step
            computed = self._newest_view(seen, shown) if is_newest else _view(seen, shown)
            time, events = self._time(moment, seen), self._events(moment, seen)
            self._views[key] = replace(computed, time=time, events=events, computed_from=1 if step else 0)
        return self._views[key]

    def trends(self, moment: int, subject: Subject) -> Trends | None:
        """How a subscription went up to a moment; None for one that no answer shows."""
        key = (moment, subject.key)
        if key not in self._trends:
            seen = self.subscriptions(moment).get((subject.namespace, subject.name)) if self.moments else None
            if seen is None:
                return None
            topics = [dispatcher.topic for dispatcher in _dispatchers_of(seen, subject)]
            moments = [(each, self._readings_of(each)) for each in self.moments[: moment + 1]]
            self._trends[key] = trends_of(moments, seen.namespace, seen.name, topics)
        return self._trends[key]

    def _newest_view(self, seen: SubscriptionSeen, subject: Subject) -> ReportedView:
        """The view of the newest moment: that of the one before, where brokers reported just the same."""
        parts = [subject.topics, *(dispatcher.last.topic for dispatcher in seen.dispatchers)]
        rows = None if subject.rows is None else tuple(subject.rows)
        return self._newest_views.get(subject.key, parts, rows, lambda: _view(seen, subject))

    def comparison(self, moment: int, subject: Subject, view: DashboardView | KeysView) -> Comparison:
        """What was reported of a subscription beside the view of it, before any step of the simulation."""
        key = (moment, subject.key)
        if key not in self._comparisons:
            seen = self.subscriptions(moment)[subject.namespace, subject.name]
            older = frozenset(topic for topic in seen.topics if topic in self.moments[moment].older)
            parts: list[object] = [subject.selector, view.ring.topic_names, view.ring.topic_owners]
            for dispatcher in seen.dispatchers:
                before = dispatcher.before
                parts += (dispatcher.last.topic, None if before is None else before.topic)
            self._comparisons[key] = self._newest_comparisons.get(
                subject.key, parts, older, lambda: self._compared(seen, subject, view, older)
            )
        return self._comparisons[key]

    def _compared(
        self, seen: SubscriptionSeen, subject: Subject, view: DashboardView | KeysView, older: Collection[str]
    ) -> Comparison:
        dispatchers = _dispatchers_of(seen, subject)
        if self._settled_only:
            # What was not read at this moment is the same as before for that alone.
            dispatchers = tuple(
                dispatcher
                for dispatcher in dispatchers
                if parent_of(dispatcher.topic) not in older and is_settled(dispatcher)
            )
        if isinstance(view, DashboardView):
            names = [row.name for row in view.consumers]
            return compare_actives(dispatchers, view.ring, names, subject.name, view.status.rule_text)
        ranges = {} if subject.selector is None else subject.selector.ranges()
        given = [
            (row.name, tuple((piece.start, piece.end) for piece in ranges.get(row.consumer_id, ())))
            for row in view.consumers
        ]
        return compare_ranges(dispatchers, given, view.ring.space_size, subject.name, view.status.rule_text)

    def _time(self, moment: int, seen: SubscriptionSeen) -> SeenTime:
        at_ms = self.moments[moment].at_ms
        not_before = -1 if at_ms is not None else max(map(_latest_ms, seen.dispatchers), default=0) or -1
        return SeenTime(-1 if at_ms is None else at_ms, not_before, moment + 1, len(self.moments))

    def _events(self, moment: int, seen: SubscriptionSeen) -> tuple[SeenEvent, ...]:
        """What happened up to a moment as far as it concerns a subscription."""
        if not moment and not self.agreements:
            return ()
        from engine.views.reported.changes import concerning, disagreement_events, seen_events

        topics = frozenset((*seen.topics, *(dispatcher.topic for dispatcher in seen.dispatchers)))
        events: list[SeenEvent] = []
        unknown = len(self.moments) - len(self.agreements)
        for later in range(moment + 1):
            if later >= unknown:
                facts = self.agreements[later - unknown].disagreements
                events += disagreement_events(facts, (seen.name, topics), later + 1, self.moments[later].at_ms)
            if not later:
                continue
            near = concerning(self._changes[later - 1], seen.namespace, seen.name, topics)
            events += seen_events(near, later + 1, self.moments[later].at_ms)
        return tuple(events)

    @cached_property
    def _changes(self) -> tuple[tuple[Change, ...], ...]:
        """What happened between each moment and the next one. O(dispatchers x consumers x moments) once."""
        return tuple(self._change_to(later) for later in range(1, len(self.moments)))

    def _change_to(self, later: int) -> tuple[Change, ...]:
        one, other = self.moments[later - 1], self.moments[later]
        known = self._between.get((id(one), id(other)))
        if known is not None:
            return known
        if one.snapshot.topics is other.snapshot.topics and one.snapshot.owners == other.snapshot.owners:
            return ()
        from engine.admin.between import changes_between

        return changes_between(self.known(later - 1), other.snapshot)


def _latest_ms(dispatcher: Dispatcher) -> int:
    """The latest time that the answers about a dispatcher name: they are not older."""
    return max(dispatcher.last.topic.last_publish_ms, dispatcher.sub.latest_ms)


class _Sum(Struct):
    """One consumer over many dispatchers."""

    first: ConsumerFacts | None = None
    permits: int | None = 0
    unacked: int | None = 0
    waiting: int | None = 0
    active: int = 0
    draining: int = 0
    msgs_per_sec: float | None = 0.0
    last_acked_ms: int = 0
    last_consumed_ms: int = 0
    obstacles: set[str] = field(default_factory=set)
    waiting_slots: int = 0
    blocked_attempts: int = 0
    holders: Counter[int] = field(default_factory=Counter)

    def add(self, facts: ConsumerFacts) -> None:
        self.first = self.first or facts
        self.permits = total((self.permits, facts.available_permits))
        self.unacked = total((self.unacked, facts.unacked_messages))
        self.draining += len(facts.draining)
        self.msgs_per_sec = total((self.msgs_per_sec, facts.msg_rate_out_msgs_per_sec))
        self.last_acked_ms = max(self.last_acked_ms, facts.last_acked_ms or 0)
        self.last_consumed_ms = max(self.last_consumed_ms, facts.last_consumed_ms or 0)

    def done(self, position: int, name: str) -> ReportedConsumer:
        return ReportedConsumer(
            position=position,
            name=name,
            permits=self.permits,
            unacked=self.unacked,
            waiting=self.waiting,
            active=self.active,
            waiting_slots=self.waiting_slots,
            blocked_attempts=self.blocked_attempts,
            holders=tuple(holder for holder, _ in self.holders.most_common()),
            draining=self.draining,
            obstacles=tuple(code for code in OBSTACLES if code in self.obstacles),
            msgs_per_sec=self.msgs_per_sec,
            last_acked_ms=self.last_acked_ms,
            last_consumed_ms=self.last_consumed_ms,
            connected_since=self.first.connected_since if self.first else "",
            address=self.first.address if self.first else "",
            client_version=self.first.client_version if self.first else "",
        )


def _dispatchers_of(seen: SubscriptionSeen, subject: Subject) -> tuple[Dispatcher, ...]:
    if subject.topics is None:
        return seen.dispatchers
    topics = frozenset(subject.topics)
    return tuple(dispatcher for dispatcher in seen.dispatchers if parent_of(dispatcher.topic) in topics)


_NO_TIME: Final = SeenTime(-1, -1, 0, 0)


def _blocked(dispatchers: Sequence[Dispatcher]) -> int | None:
    """On how many it is blocked; those that say so count although others do not say."""
    flags = [dispatcher.sub.blocked_on_unacked for dispatcher in dispatchers]
    blocked = flags.count(True)
    return blocked if blocked or None not in flags else None


def _view(seen: SubscriptionSeen, subject: Subject) -> ReportedView:
    """What was reported, without its time and its events."""
    dispatchers = _dispatchers_of(seen, subject)
    named = [_named(dispatcher.sub.consumers) for dispatcher in dispatchers]
    rows = (
        _names_of(subject.rows)
        if subject.rows is not None
        else list(dict.fromkeys(name for one in named for name in one))
    )
    positions = {name: at for at, name in enumerate(rows)}
    sums = [_Sum() for _ in rows]
    waits: list[ReportedWait] = []
    blocked_topics: list[str] = []
    for dispatcher, consumers in zip(dispatchers, named, strict=True):
        for name, facts in consumers.items():
            if name in positions:
                sums[positions[name]].add(facts)
        if _obstacles(dispatcher, consumers, positions, sums):
            blocked_topics.append(dispatcher.topic)
        waits += _waits(dispatcher, consumers, positions)
    for wait in waits:
        if wait.blocked_attempts and wait.owner >= 0:
            owner = sums[wait.owner]
            owner.waiting_slots += 1
            owner.blocked_attempts += wait.blocked_attempts
            owner.holders[wait.holder] += 1
            owner.obstacles.add(DRAINING)
    waits.sort(key=lambda wait: (-wait.blocked_attempts, wait.topic, wait.slot))
    return ReportedView(
        time=_NO_TIME,
        computed_from=0,
        type=seen.type,
        dispatchers=len(dispatchers),
        backlog=total(dispatcher.sub.msg_backlog_entries for dispatcher in dispatchers),
        unacked=total(unacked_of(dispatcher.sub) for dispatcher in dispatchers),
        in_replay=total(dispatcher.sub.msg_in_replay for dispatcher in dispatchers),
        delayed=total(dispatcher.sub.msg_delayed for dispatcher in dispatchers),
        msgs_per_sec=total(dispatcher.sub.msg_rate_out_msgs_per_sec for dispatcher in dispatchers),
        blocked_dispatchers=_blocked(dispatchers),
        draining_slots=len(waits),
        consumers=tuple(row.done(at, name) for at, (row, (name, _)) in enumerate(zip(sums, rows, strict=True))),
        waits=tuple(waits),
        pairs=_pairs(waits),
        blocked_topics=BlockedTopics(tuple(blocked_topics)),
    )


def _named(consumers: Sequence[ConsumerFacts]) -> dict[Name, ConsumerFacts]:
    """The consumers of a dispatcher by name; namesakes in the order of connecting."""
    if len({consumer.name for consumer in consumers}) == len(consumers):
        return {(consumer.name, 0): consumer for consumer in consumers}
    used: Counter[str] = Counter()
    by_name: dict[Name, ConsumerFacts] = {}
    for consumer in sorted(consumers, key=lambda consumer: consumer.connected_since.rstrip("Z")):
        by_name[consumer.name, used[consumer.name]] = consumer
        used[consumer.name] += 1
    return by_name


def _names_of(rows: Sequence[tuple[int, str]]) -> list[Name]:
    """Rows by name; ids count in the order of connecting, so they distinguish namesakes."""
    used: Counter[str] = Counter()
    numbers: dict[int, int] = {}
    for consumer_id, name in sorted(rows):
        numbers[consumer_id] = used[name]
        used[name] += 1
    return [(name, numbers[consumer_id]) for consumer_id, name in rows]


def _obstacles(
    dispatcher: Dispatcher,
    consumers: Mapping[Name, ConsumerFacts],
    positions: Mapping[Name, int],
    sums: Sequence[_Sum],
) -> bool:
    """Note the obstacles of a dispatcher's consumers; return whether none that it serves can be served."""
    sub = dispatcher.sub
    of_one = sub.type in (FAILOVER, EXCLUSIVE)
    served = consumers
    if sub.type == FAILOVER or (of_one and sub.active_consumer_name):
        served = {name: facts for name, facts in consumers.items() if facts.name == sub.active_consumer_name}
    sendable = dispatcher.backlog > dispatcher.unacked
    blocked = 0
    for name, facts in served.items():
        codes = set()
        if sub.blocked_on_unacked:
            codes.add(SUBSCRIPTION_LIMIT)
        if facts.blocked_on_unacked:
            codes.add(CONSUMER_LIMIT)
        if facts.available_permits is not None and facts.available_permits <= 0 and sendable:
            codes.add(NO_PERMITS)
        blocked += bool(codes)
        if name in positions:
            row = sums[positions[name]]
            row.obstacles |= codes
            row.active += of_one
            if of_one:
                row.waiting = total((row.waiting, sub.msg_backlog_entries))
    return bool(served) and blocked == len(served)


def _waits(
    dispatcher: Dispatcher, consumers: Mapping[Name, ConsumerFacts], positions: Mapping[Name, int]
) -> list[ReportedWait]:
    if not any(facts.draining for facts in consumers.values()):
        return []
    pieces = sorted(
        (start, end, positions.get(name, -1))
        for name, facts in consumers.items()
        for start, end in facts.key_hash_ranges
    )
    starts = [start for start, _, _ in pieces]

    def owner_of(slot: int) -> int:
        at = bisect_right(starts, slot) - 1
        return pieces[at][2] if at >= 0 and slot <= pieces[at][1] else -1

    return [
        ReportedWait(
            dispatcher.topic,
            drained.hash,
            owner_of(drained.hash),
            positions.get(name, -1),
            drained.unacked,
            drained.blocked_attempts,
        )
        for name, facts in consumers.items()
        for drained in facts.draining
    ]


def _pairs(waits: Sequence[ReportedWait]) -> tuple[WaitingPair, ...]:
    """Pairs of waiting owner and holder, those with most slots first."""
    slots: Counter[tuple[int, int]] = Counter()
    attempts: defaultdict[tuple[int, int], int] = defaultdict(int)
    for wait in waits:
        if wait.blocked_attempts and wait.owner != wait.holder:
            slots[wait.owner, wait.holder] += 1
            attempts[wait.owner, wait.holder] += wait.blocked_attempts
    return tuple(WaitingPair(*pair, count, attempts[pair]) for pair, count in slots.most_common())


def with_reported(view: DashboardView, reported: Reported, moment: int, subject: Subject) -> DashboardView:
    """The view with what was reported of its subscription, and at step 0 a part of it beside each row."""
    rows = [(row.consumer_id, row.name) for row in view.consumers]
    reported_view = reported.view(moment, replace(subject, rows=rows), view.status.step)
    if reported_view is None or reported_view.computed_from:
        return replace(view, reported=reported_view)
    if reported_view.blocked_topics.names:
        blocked = frozenset(reported_view.blocked_topics.names)
        ring = view.ring
        places = [at for at, name in enumerate(ring.topic_names) if name in blocked]
        reported_view = replace(reported_view, marks=tuple(ring.topic_hashes[places].tolist()))
    reported_view = replace(reported_view, comparison=reported.comparison(moment, subject, view))
    consumers = tuple(
        replace(row, reported=consumer) for row, consumer in zip(view.consumers, reported_view.consumers, strict=True)
    )
    return replace(view, consumers=consumers, reported=reported_view)


def keys_with_reported(view: KeysView, reported: Reported, moment: int, subject: Subject) -> KeysView:
    """As ``with_reported``, for a Key_Shared subscription: slots where messages were held back are marked."""
    rows = [(row.consumer_id, row.name) for row in view.consumers]
    reported_view = reported.view(moment, replace(subject, rows=rows), view.status.step)
    if reported_view is None or reported_view.computed_from:
        return replace(view, reported=reported_view)
    marks = tuple(dict.fromkeys(wait.slot for wait in reported_view.waits if wait.blocked_attempts))
    consumers = tuple(
        replace(row, reported=consumer) for row, consumer in zip(view.consumers, reported_view.consumers, strict=True)
    )
    comparison = reported.comparison(moment, subject, view)
    return replace(view, consumers=consumers, reported=replace(reported_view, marks=marks, comparison=comparison))
