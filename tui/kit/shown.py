"""What a screen is about: one subscription or topic at one state, with its views and what can be asked about it.

Views are computed when they are first asked for, and imported then. Nothing here changes, so another thread may ask as
well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from msgspec.structs import replace

from engine.cluster.commands import Command, KillConsumer
from engine.cluster.state import ClusterState, Subscription, behaviour_in, shown_places
from engine.cluster.timeline import Timeline
from engine.compare.verdict import Verdict, carried_out, flag_change
from engine.errors import Rejection
from engine.views.failover.dashboard import (
    busiest_partition_of,
    dashboard_view,
    partitions_of,
    topic_explanation,
    topics_of_bundle,
)
from engine.views.failover.model import BundleTopic, DashboardView, Notice, PartitionRow
from engine.views.failover.table import letter_tag
from engine.views.reported.bundles import with_load_reports
from engine.views.reported.model import Comparison
from engine.views.reported.subscription import BUNDLES, SubscriptionView, all_places, subscription_view
from engine.views.reported.trends import Trends
from engine.views.reported.view import Reported, Subject, keys_with_reported, subject_of, with_reported
from tui.kit.wording import subject_title

if TYPE_CHECKING:
    from engine.cluster.keys.state import KeySubscription
    from engine.views.comparing.handovers import ChangeView
    from engine.views.comparing.heirs import HeirsView, LossesView
    from engine.views.failover.explanations import TopicExplanation
    from engine.views.failover.splits import SplitPreviewView
    from engine.views.keys.model import ConsumerKeysView, KeyAnswer, KeysView
    from engine.views.producers.answers import GrowthView
    from engine.views.producers.model import ProducersView, SendAnswer, StatisticsView
    from engine.views.scalable.dashboard import ScalableDashboard
    from engine.views.scalable.migration import MigrationView

Kind = Literal["failover", "keys", "producers", "scalable", "reported"]
"""Which screen shows it. ``failover`` also where there is no subscription, since its screen has the bundles."""
Side: TypeAlias = "DashboardView | KeysView | None"
Sides: TypeAlias = "tuple[Side, Side]"
"""A subscription in two states; None where one of them does not have it."""


class Places:
    """All that can be shown, in order.

    Failover subscriptions, Key_Shared ones, topics with producers, scalable topics, reported subscriptions.

    ``others`` are the subscriptions that brokers reported and for which nothing is computed. Where there are only
    those, the first place is that of the bundles, with the key "".
    """

    def __init__(self, state: ClusterState, others: tuple[Subject, ...]) -> None:
        self.others: Final = others
        self.keys: Final = all_places(shown_places(state), others)
        listed: tuple[Subscription | KeySubscription, ...] = (*state.subscriptions, *state.key_subscriptions)
        self._names = [(subscription.namespace, subscription.name) for subscription in listed]
        self._topics = [subscription.topics for subscription in listed]
        self._first_keys = len(state.subscriptions)
        self._first_producers = len(listed)
        self._first_scalable = len(listed) + len(state.producer_topics)
        self._first_other = len(self.keys) - len(others)

    def kind(self, place: int) -> Kind:
        """Return the kind of what is at a place."""
        if not self.key(place) or place < self._first_keys:
            return "failover"
        if place < self._first_producers:
            return "keys"
        if place < self._first_scalable:
            return "producers"
        return "scalable" if place < self._first_other else "reported"

    def key(self, place: int) -> str:
        """Return the key at a place, "" where there is none."""
        return self.keys[place] if 0 <= place < len(self.keys) else ""

    def subject(self, place: int) -> Subject | None:
        """Return the reported subscription at a place; None where the model has what is there."""
        return self.others[place - self._first_other] if self.kind(place) == "reported" else None

    def title(self, place: int) -> str:
        """Return the name at a place; where several have this name, with what it reads or its namespace."""
        key = self.key(place)
        if key == BUNDLES:
            return "the bundles"
        namespace, name = self.name(place)
        topics = self._topics[place] if place < len(self._topics) else ()
        return subject_title(key, self.keys, name, namespace, topics)

    def name(self, place: int) -> tuple[str, str]:
        """Return namespace and name of a subscription, or "" and the name of a topic with producers."""
        subject = self.subject(place)
        if subject is not None:
            return subject.namespace, subject.name
        return self._names[place] if 0 <= place < len(self._names) else ("", self.key(place))

    def place_of(self, namespace: str, name: str) -> int | None:
        """Return the place of the subscription of this namespace and name."""
        names = map(self.name, range(len(self.keys)))
        return next((place for place, known in enumerate(names) if namespace and known == (namespace, name)), None)


class Shown:
    """What is at one place of one state.

    ``failover`` is the place of the Failover subscription that is shown, or was before something else; ``moment`` the
    one of ``reported`` that is shown. Opening the state set aside ``problems`` parts of the input and left ``notes``.
    """

    def __init__(
        self,
        timeline: Timeline,
        places: Places,
        place: int,
        *,
        failover: int,
        reported: Reported,
        moment: int,
        problems: int,
        notes: tuple[Notice, ...],
    ) -> None:
        self.timeline: Final = timeline
        self.places: Final = places
        self.place: Final = place
        self.key: Final = places.key(place)
        self.kind: Final[Kind] = places.kind(place)
        self.failover: Final = place if self.kind == "failover" else failover
        self._reported = reported
        self._moment = moment
        self._problems = problems
        self._notes = notes
        self._keys_views: dict[int | None, KeysView] = {}
        self._scalable_views: dict[str, ScalableDashboard] = {}

    @cached_property
    def topics(self) -> frozenset[str]:
        """The topics, without partitions, that it is about."""
        state = self.timeline.state
        listed: tuple[Subscription | KeySubscription, ...] = (*state.subscriptions, *state.key_subscriptions)
        if self.place < len(listed):
            return frozenset(listed[self.place].topics)
        subject = self.places.subject(self.place)
        if subject is None:
            return frozenset((self.key,)) if self.kind in ("producers", "scalable") else frozenset()
        seen = self._reported.subscriptions(self._moment).get((subject.namespace, subject.name))
        return frozenset() if seen is None else frozenset(seen.topics)

    @property
    def title(self) -> str:
        """The name of what is shown, with its namespace where several have this name."""
        return self.places.title(self.place)

    @property
    def name(self) -> tuple[str, str]:
        """Namespace and name of what is shown; "" and the name of the topic where those are its producers."""
        return self.places.name(self.place)

    # views

    @cached_property
    def failover_view(self) -> DashboardView:
        """The view of the Failover subscription that is shown, or was before something else."""
        view = dashboard_view(self.timeline, subscription=self.failover, problems=self._problems, notes=self._notes)
        view = replace(view, status=replace(view.status, subscriptions=self.places.keys))
        subject = subject_of(self.timeline, view.status.subscription)
        if subject is not None:
            view = with_reported(view, self._reported, self._moment, subject)
        return with_load_reports(view, self._reported, self._moment)

    @property
    def keys_view(self) -> KeysView | None:
        """The view of the shown Key_Shared subscription; None where something else is shown."""
        return self.keys_view_of(None)

    def keys_view_of(self, partition: int | None) -> KeysView | None:
        """The same narrowed to a partition that the subscription has."""
        if self.kind != "keys":
            return None
        view = self._keys_views.get(partition)
        if view is None:
            view = self._keys_views[partition] = self._new_keys_view(partition)
        return view

    def _new_keys_view(self, partition: int | None) -> KeysView:
        from engine.views.keys.view import keys_view

        view = keys_view(self.timeline, self.key, partition=partition, notes=self._notes)
        view = replace(view, status=replace(view.status, subscriptions=self.places.keys))
        subject = None if partition is not None else subject_of(self.timeline, self.key)
        return view if subject is None else keys_with_reported(view, self._reported, self._moment, subject)

    @cached_property
    def producers_view(self) -> ProducersView | None:
        """The view of the shown topic's producers; None where something else is shown."""
        if self.kind != "producers":
            return None
        from engine.views.producers.view import producers_view

        return producers_view(self.timeline, self.key, notes=self._notes)

    def scalable_view_of(self, subscription: str) -> ScalableDashboard | None:
        """The view of the shown scalable topic with one of its subscriptions; None where something else is shown."""
        if self.kind != "scalable":
            return None
        view = self._scalable_views.get(subscription)
        if view is None:
            view = self._scalable_views[subscription] = self._new_scalable_view(subscription)
        return view

    def _new_scalable_view(self, subscription: str) -> ScalableDashboard:
        from engine.views.scalable.dashboard import scalable_dashboard

        moments = self._reported.moments[: self._moment + 1]
        with_topic = [moment for moment in moments if self.key in moment.snapshot.scalable]
        last = with_topic[-1] if with_topic else None
        before = with_topic[-2] if len(with_topic) > 1 else None
        return scalable_dashboard(
            self.timeline,
            self.key,
            subscription,
            places=self.places.keys,
            reported=None if last is None else (last, before),
            notes=self._notes,
        )

    @cached_property
    def reported_view(self) -> SubscriptionView | None:
        """The view of the shown subscription where nothing is computed for it; else None."""
        subject = self.places.subject(self.place)
        if subject is None:
            return None
        return subscription_view(
            self.timeline, self._reported, self._moment, subject, keys=self.places.keys, notes=self._notes
        )

    @property
    def trends(self) -> Trends | None:
        """How the shown subscription went over the moments; None where brokers reported nothing of it."""
        subject = self.places.subject(self.place) or subject_of(self.timeline, self.key)
        return None if subject is None else self._reported.trends(self._moment, subject)

    @property
    def comparison(self) -> Comparison | None:
        """What was reported of the shown subscription beside the model; None where that was not compared."""
        view = self.failover_view if self.kind == "failover" else self.keys_view
        return None if view is None or view.reported is None else view.reported.comparison

    def prepare(self) -> None:
        """Compute the view of what is shown."""
        _ = (
            self.keys_view
            or self.producers_view
            or self.scalable_view_of("")
            or self.reported_view
            or self.failover_view
        )

    # comparisons

    def preview(self, command: Command) -> Verdict | Rejection | None:
        """Return what a command would make of the shown subscription; None for producers."""
        from engine.views.comparing.handovers import preview_of

        return preview_of(self.timeline.state, command, self.key)

    def preview_of_line(self, text: str) -> Callable[[], Verdict | Rejection | None] | None:
        """Return a function that computes ``preview`` of a line being typed; None while that is not a command."""
        from engine.cluster.grammar.reading import parse_command

        command = parse_command(text, self.timeline.state, self.key or None)
        return partial(self.preview, command) if isinstance(command, Command) else None

    def heirs_of(self, consumer_id: int) -> HeirsView | Rejection:
        """Return who inherits what if a consumer of the shown subscription goes."""
        from engine.views.comparing.heirs import heirs_view

        return heirs_view(self.timeline.state, self.key, (consumer_id,))

    def losses(self) -> LossesView | Rejection:
        """Return every single failure of the shown subscription, the worst first."""
        from engine.views.comparing.heirs import losses_view

        return losses_view(self.timeline.state, self.key)

    def views_of_loss(self, consumer_id: int) -> Sides:
        """Return the views of the shown subscription now and without one of its consumers."""
        after, _ = self.timeline.submit(KillConsumer(self.key, consumer_id))
        return _sides(self.timeline, after, self.key)

    def change_since(self, step: int) -> ChangeView | None:
        """Return what became of the shown subscription from a step to the cursor; None for producers."""
        from engine.views.comparing.handovers import change_view

        timeline = self.timeline
        return change_view(timeline.state_at(min(step, timeline.cursor)), timeline.state, self.key)

    @property
    def has_other_rule(self) -> bool:
        """Whether consistent hashing of Failover can be turned on or off for what is shown."""
        return self.kind == "failover" and behaviour_in(self.timeline.state).knows_failover_consistent_hashing

    def change_of_rule(self) -> ChangeView | None:
        """Return what turning consistent hashing of Failover on or off would make of the shown subscription."""
        from engine.views.comparing.handovers import change_view

        state = self.timeline.state
        after = carried_out(state, flag_change(state))
        return None if isinstance(after, Rejection) else change_view(state, after, self.key)

    def views_since(self, step: int) -> Sides:
        """Return the views of the shown subscription at a step and at the cursor."""
        return _sides(self.timeline.go_to(min(step, self.timeline.cursor)), self.timeline, self.key)

    def views_of_rules(self) -> Sides:
        """Return the views of the shown subscription by this rule and by the other one."""
        after, _ = self.timeline.submit(flag_change(self.timeline.state))
        return _sides(self.timeline, after, self.key)

    def change_from(self, other: Timeline) -> ChangeView | None:
        """Return how the shown subscription differs from that in another dump, whose consumers are known by name."""
        from engine.views.comparing.difference import difference_of
        from engine.views.comparing.handovers import ChangeView

        found = difference_of(other.state, self.timeline.state, self.key)
        return None if found is None or found.verdict is None else ChangeView(found.noun, found.verdict, found.rows)

    def views_from(self, other: Timeline) -> Sides:
        """Return the views of the shown subscription in another dump and at the cursor."""
        from engine.compare.matching import counterpart

        before, after = other.state, self.timeline.state
        mine = counterpart(before.subscriptions, after.subscriptions, self.key) or counterpart(
            before.key_subscriptions, after.key_subscriptions, self.key
        )
        now = _view_of(self.timeline, self.key)
        return None if mine is None else _coloured_as(now, _view_of(other, mine.key)), now

    def migration(self, topic: str) -> MigrationView | Rejection:
        """Return what becomes of a classic topic once it is migrated to a scalable one."""
        from engine.views.scalable import migration

        state, moments = self.timeline.state, self._reported.moments
        before = None
        if self.timeline.cursor == 0 and moments:
            before = migration.classic_topic(moments[self._moment].snapshot, topic)
        before = before or migration.classic_topic_of(state, topic)
        if before is None:
            return Rejection("NotFound", f"there is no topic {topic!r} here", "topic")
        keys, routing = migration.known_keys_of(state, topic), migration.routing_of(state, topic)
        return migration.migration_view(before, keys, routing)

    # partitions, bundles

    def busiest_partition_of(self, consumer_id: int) -> str:
        """Return the partition of a consumer with the most messages per second, "" for none."""
        return busiest_partition_of(self.timeline, self.failover, consumer_id)

    def partitions_of(self, consumer_id: int) -> Sequence[PartitionRow]:
        """Return the partitions a consumer is active for, busiest first."""
        return partitions_of(self.timeline, self.failover, consumer_id)

    def topics_of(self, namespace: str, range_text: str) -> Sequence[BundleTopic]:
        """Return the topics of a bundle, by hash."""
        return topics_of_bundle(self.timeline, namespace, range_text)

    def explain(self, topic_text: str) -> TopicExplanation | Rejection:
        """Return where a topic goes, and why."""
        return topic_explanation(self.timeline, self.failover, topic_text)

    def previews(self, namespace: str, range_text: str) -> SplitPreviewView:
        """Return what every split algorithm would make of a bundle."""
        from engine.views.failover.splits import split_preview

        return split_preview(self.timeline.state, namespace, range_text)

    # Key_Shared

    def explain_key_text(self, key_text: str) -> KeyAnswer | Rejection:
        """Return where a key of the shown Key_Shared subscription goes, and why."""
        from engine.views.keys.answers import key_answer

        return key_answer(self.timeline, self.key, key_text)

    def keys_of_consumer(self, consumer_id: int, partition: int | None = None) -> ConsumerKeysView:
        """Return the slots and the known keys that a consumer of the shown Key_Shared subscription has."""
        from engine.views.keys.answers import keys_of_consumer

        return keys_of_consumer(self.timeline, self.key, consumer_id, partition=partition)

    # producers

    def explain_send(self, number: int, key: str | None) -> SendAnswer | Rejection:
        """Return what the next message of a producer of the shown topic would do, and why."""
        from engine.views.producers.answers import send_answer

        return send_answer(self.timeline, self.key, number, key)

    def known_keys(self) -> GrowthView | None:
        """Return where the busiest known keys of the shown topic go with each client; None where no key was sent."""
        from engine.views.producers.answers import known_keys_view

        return known_keys_view(self.timeline, self.key)

    def producer_statistics(self) -> StatisticsView:
        """Return the merged statistics of the shown topic's producers."""
        from engine.views.producers.answers import statistics_view

        return statistics_view(self.timeline, self.key)


def _sides(before: Timeline, after: Timeline, key: str) -> Sides:
    return _view_of(before, key), _view_of(after, key)


def _view_of(timeline: Timeline, key: str) -> Side:
    names = [subscription.key for subscription in timeline.state.subscriptions]
    if key in names:
        return dashboard_view(timeline, subscription=names.index(key))
    if all(subscription.key != key for subscription in timeline.state.key_subscriptions):
        return None
    from engine.views.keys.view import keys_view

    return keys_view(timeline, key)


def _coloured_as(now: Side, then: Side) -> Side:
    """A view of another dump, with the letters and colours that consumers of the same names have in the one shown."""
    if then is None or now is None:
        return then
    from engine.compare.matching import ids_by_name

    known = [(row.name, row.colour) for row in now.consumers]
    numbers = ids_by_name(known, [row.name for row in then.consumers])
    rows: Any = tuple(
        replace(row, colour=number, tag=letter_tag(number)) for row, number in zip(then.consumers, numbers, strict=True)
    )
    return replace(then, consumers=rows)
