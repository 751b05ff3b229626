"""The only owner of the timeline: takes commands, gives views, and tells the screen when there is another one.

Nothing else in the shell holds engine state, so there is one answer to the question what is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, Protocol

from textual.message import Message

from engine.admin.facts import Snapshot
from engine.admin.moments import Moment, combined
from engine.cluster.commands import Command, End, Home, SubscribeKeyShared, TimelineCommand
from engine.cluster.grammar.reading import parse_command
from engine.cluster.state import ClusterState, shown_places
from engine.cluster.timeline import Timeline, navigate
from engine.compare.verdict import Verdict, carried_out, flag_change
from engine.diagnosis.model import Cause, Diagnosis
from engine.diagnosis.why import diagnose_all
from engine.errors import InputError, Rejection
from engine.scenarios.opening import open_snapshot
from engine.views.comparing.handovers import ChangeView, change_view, preview_of
from engine.views.comparing.heirs import HeirsView, LossesView, heirs_view, losses_view
from engine.views.failover.dashboard import (
    busiest_partition_of,
    dashboard_view,
    partitions_of,
    split_previews,
    topic_explanation,
    topics_of_bundle,
)
from engine.views.failover.explanations import TopicExplanation
from engine.views.failover.model import BundleTopic, DashboardView, Notice, PartitionRow
from engine.views.failover.splits import SplitPreviewView
from engine.views.finding import Findable
from engine.views.keys.answers import key_answer, keys_of_consumer
from engine.views.keys.model import ConsumerKeysView, KeyAnswer, KeysView
from engine.views.keys.view import keys_view
from engine.views.producers.answers import GrowthView, known_keys_view, send_answer, statistics_view
from engine.views.producers.model import ProducersView, SendAnswer, StatisticsView
from engine.views.producers.view import producers_view
from engine.views.reported.bundles import with_load_reports
from engine.views.reported.model import Agreement, Comparison
from engine.views.reported.subscription import BUNDLES, SubscriptionView, all_places, reported_only, subscription_view
from engine.views.reported.view import Reported, Subject, keys_with_reported, subject_of, with_reported
from tui.kit.live_line import Freshness
from tui.kit.wording import namespace_suffix, safe_name

PREPARED: Final = 5_000
"""Subscriptions of topics that are diagnosed in a few tenths of a second."""


class Scene(Protocol):
    """What a reading of a running cluster is, as far as the store is concerned."""

    @property
    def timeline(self) -> Timeline: ...
    @property
    def problems(self) -> int: ...
    @property
    def notes(self) -> tuple[Notice, ...]: ...
    @property
    def seen(self) -> tuple[Moment, ...]: ...
    @property
    def reported(self) -> Reported | None: ...
    @property
    def diagnoses(self) -> tuple[Diagnosis, ...] | None: ...


def is_soon_diagnosed(seen: Sequence[Moment]) -> bool:
    """Whether diagnosing all of it takes no time that anybody notices."""
    return sum(len(topic.subscriptions) for moment in seen for topic in moment.snapshot.topics.values()) <= PREPARED


def read_ms(scene: Scene) -> int:
    """When a scene was read, in epoch milliseconds, 0 where it does not say it."""
    return scene.seen[-1].at_ms or 0 if scene.seen else 0


class Journal(Protocol):
    """What keeps the steps on disk. Called before the screen shows a step, so what was seen is never lost."""

    def record(self, timeline: Timeline) -> str:
        """Write what is new. The answer says where the steps are kept, or what went wrong, for the status line."""


Side = DashboardView | KeysView | None
Sides = tuple[Side, Side]
"""A subscription in two states; None where one of them does not have it."""


def _sides(before: Timeline, after: Timeline, key: str) -> Sides:
    return _view_of(before, key), _view_of(after, key)


def _view_of(timeline: Timeline, key: str) -> Side:
    names = [subscription.key for subscription in timeline.state.subscriptions]
    if key in names:
        return dashboard_view(timeline, subscription=names.index(key))
    shared = any(subscription.key == key for subscription in timeline.state.key_subscriptions)
    return keys_view(timeline, key) if shared else None


class Store:
    """One timeline, the subscription or topic that is shown, and the present view of both.

    Places are counted through: Failover subscriptions first, then Key_Shared ones, then topics with producers, then
    subscriptions that brokers reported and for which nothing is computed. Where there are only those, the first place
    is that of the bundles, with the key "".

    Of several moments that were seen the last one is where the timeline begins; the ones before are looked at only.
    """

    class Changed(Message):
        """There is another view. Bursts collapse: only the last one matters."""

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, Store.Changed)

    def __init__(
        self,
        timeline: Timeline,
        *,
        subscription: int = 0,
        problems: int = 0,
        notes: tuple[Notice, ...] = (),
        journal: Journal | None = None,
        seen: tuple[Moment, ...] = (),
        live: Freshness | None = None,
    ) -> None:
        self._timeline = self._main = timeline
        self._reported = Reported(seen, settled_only=live is not None)
        self._moment = self._reported.last
        self._earlier: dict[int, Timeline] = {}
        self._others: dict[int, tuple[Subject, ...]] = {}
        self._live = live
        self._newest: Scene | None = None
        self._kept = False
        self._keys: tuple[str, ...] | None = None
        self._diagnoses: dict[int, list[Diagnosis]] = {}
        """What was found, by moment."""
        self._problems = problems
        self._notes = notes
        self._journal = journal
        self._listeners: list[Callable[[Message], object]] = []
        self._place = subscription
        self._failover = 0
        self._view: DashboardView | None = None
        self._keys_view: KeysView | None = None
        self._producers_view: ProducersView | None = None
        self._reported_view: SubscriptionView | None = None
        self.saved = journal.record(timeline) if journal is not None else ""
        keys = self.subscriptions
        self._place = max(0, min(subscription, len(keys) - 1))
        if keys[:1] == (BUNDLES,) and not self._place:
            self._place = 1  # what was reported says more than the bundles
        self._key = self._wanted = keys[self._place] if keys else ""
        self._find_place()

    def tell(self, listener: Callable[[Message], object]) -> None:
        """Send every ``Changed`` there, such as to a screen's ``post_message``."""
        self._listeners.append(listener)

    @property
    def snapshots(self) -> tuple[Snapshot, ...]:
        """What brokers answered, moment by moment; of a running cluster up to the reading that is shown."""
        return tuple(moment.snapshot for moment in self._reported.moments)

    @property
    def timeline(self) -> Timeline:
        """The timeline as it stands; a value, so it cannot be changed behind the store's back."""
        return self._timeline

    @property
    def can_redo(self) -> bool:
        """Whether there is a step or a moment ahead."""
        return self.shows_earlier_moment or self._timeline.can_redo

    @property
    def moment(self) -> tuple[int, int]:
        """Which moment is shown, from 1, and of how many; (0, 0) where nothing was seen."""
        return self._moment + 1, len(self._reported)

    @property
    def subscription(self) -> int:
        """The place of the shown subscription."""
        return self._place

    @property
    def subscriptions(self) -> tuple[str, ...]:
        """The keys of all subscriptions, and the names of topics with producers, in the order of their places."""
        if self._keys is None:
            self._keys = all_places(shown_places(self._timeline.state), self._reported_only())
        return self._keys

    def _reported_only(self) -> tuple[Subject, ...]:
        """What brokers reported up to this moment and the model does not have."""
        if self._moment not in self._others:
            start = Timeline.start(self._timeline.initial)
            found = reported_only(self._reported, self._moment, start, shown_places(start.state))
            self._others[self._moment] = found
        return self._others[self._moment]

    def _subject(self) -> Subject | None:
        """The shown subscription among those for which nothing is computed."""
        at = self._place - (len(self.subscriptions) - len(self._reported_only()))
        return self._reported_only()[at] if at >= 0 and self._key else None

    @property
    def subscription_key(self) -> str:
        """The key of the shown subscription, "" where there is none."""
        return self._key

    def subscription_title(self, place: int | None = None) -> str:
        """The subscription at a place, else the shown one; its namespace too where its name stands in several."""
        state, keys = self._timeline.state, self.subscriptions
        at = self._place if place is None else place
        spaces = [shown.namespace for shown in state.subscriptions] + [
            shown.namespace for shown in state.key_subscriptions
        ]
        if keys[at] == BUNDLES:
            return "the bundles"
        others = self._reported_only()
        behind = at - (len(keys) - len(others))
        if behind >= 0:
            return safe_name(keys[at]) + namespace_suffix(keys[at], others[behind].namespace, keys)
        return safe_name(keys[at]) + (namespace_suffix(keys[at], spaces[at], keys) if at < len(spaces) else "")

    @property
    def shows_keys(self) -> bool:
        """Whether the shown subscription is a Key_Shared one."""
        state = self._timeline.state
        return 0 <= self._place - len(state.subscriptions) < len(state.key_subscriptions) and bool(self._key)

    @property
    def shows_producers(self) -> bool:
        """Whether the producers of a topic are shown."""
        state = self._timeline.state
        before = len(state.subscriptions) + len(state.key_subscriptions)
        return before <= self._place < before + len(state.producer_topics) and bool(self._key)

    @property
    def shows_reported(self) -> bool:
        """Whether a subscription is shown for which nothing is computed."""
        return self._subject() is not None

    @property
    def view(self) -> DashboardView:
        """The view of the Failover subscription that is shown, or was before a Key_Shared one; made when asked for."""
        if self._view is None:
            view = dashboard_view(
                self._timeline, subscription=self._failover, problems=self._problems, notes=self._notes
            )
            view = replace(view, status=replace(view.status, subscriptions=self.subscriptions))
            subject = subject_of(self._timeline, view.status.subscription)
            if subject is not None:
                view = with_reported(view, self._reported, self._moment, subject)
            self._view = with_load_reports(view, self._reported, self._moment)
        return self._view

    @property
    def keys_view(self) -> KeysView | None:
        """The view of the shown Key_Shared subscription; None while a Failover one is shown. Made when asked for."""
        if self._keys_view is None and self.shows_keys:
            view = keys_view(self._timeline, self._key, notes=self._notes)
            view = replace(view, status=replace(view.status, subscriptions=self.subscriptions))
            subject = subject_of(self._timeline, self._key)
            if subject is not None:
                view = keys_with_reported(view, self._reported, self._moment, subject)
            self._keys_view = view
        return self._keys_view

    @property
    def producers_view(self) -> ProducersView | None:
        """The view of the shown topic's producers; None while a subscription is shown. Made when asked for."""
        if self._producers_view is None and self.shows_producers:
            self._producers_view = producers_view(self._timeline, self._key, notes=self._notes)
        return self._producers_view

    @property
    def reported_view(self) -> SubscriptionView | None:
        """The view of the shown subscription where nothing is computed for it; else None. Made when asked for."""
        subject = self._subject()
        if self._reported_view is None and subject is not None:
            self._reported_view = subscription_view(
                self._timeline, self._reported, self._moment, subject, keys=self.subscriptions, notes=self._notes
            )
        return self._reported_view

    def submit(self, command: Command | TimelineCommand) -> Rejection | None:
        """Carry out a command, or move in time; what is refused changes nothing."""
        if isinstance(command, Home | End) and len(self._reported) > 1:
            self._go_to(0 if isinstance(command, Home) else self._reported.last + self._main.length)
            return None
        if self.shows_earlier_moment:
            moment, moments = self.moment
            text = f"this is moment {moment} of {moments} as it was seen; steps go on from the last one (end)"
            return Rejection("EarlierMoment", text)
        if isinstance(command, Command):
            timeline, rejection = self._timeline.submit(command)
            if rejection is None and isinstance(command, SubscribeKeyShared):
                # What was just made is what one wants to see.
                self._key = self._wanted = timeline.state.key_subscriptions[-1].key
            elif len(timeline.state.producer_topics) > len(self._timeline.state.producer_topics):
                self._key = self._wanted = timeline.state.producer_topics[-1].topic
        else:
            moved = navigate(self._timeline, command)
            timeline, rejection = moved.timeline, moved.rejection
        self._take(timeline)
        return rejection

    def submit_line(self, text: str) -> Rejection | None:
        """Carry out one line of the grammar."""
        command = parse_command(text, self._timeline.state, self.subscription_key or None)
        return command if isinstance(command, Rejection) else self.submit(command)

    def preview(self, command: Command) -> Verdict | Rejection | None:
        """What a command would make of the shown subscription; None for producers."""
        return preview_of(self._timeline.state, command, self._key)

    def preview_of_line(self, text: str) -> Callable[[], Verdict | Rejection | None] | None:
        """What computes the same for a line that is being typed; None while it is no command.

        It knows all it needs, so it can run in another thread.
        """
        state = self._timeline.state
        command = parse_command(text, state, self.subscription_key or None)
        return partial(preview_of, state, command, self._key) if isinstance(command, Command) else None

    def heirs_of(self, consumer_id: int) -> HeirsView | Rejection:
        """Who inherits what if a consumer of the shown subscription goes."""
        return heirs_view(self._timeline.state, self._key, (consumer_id,))

    def losses(self) -> LossesView | Rejection:
        """Every single failure of the shown subscription, the worst first."""
        return losses_view(self._timeline.state, self._key)

    def change_since(self, step: int) -> ChangeView | None:
        """What became of the shown subscription from a step to the cursor; None for producers."""
        timeline = self._timeline
        return change_view(timeline.state_at(min(step, timeline.cursor)), timeline.state, self._key)

    def change_of_rule(self) -> ChangeView | None:
        """What turning consistent hashing of Failover on or off would make of the shown subscription."""
        state = self._timeline.state
        after = carried_out(state, flag_change(state))
        return None if isinstance(after, Rejection) else change_view(state, after, self._key)

    def views_since(self, step: int) -> Callable[[], Sides]:
        """What computes the views of the shown subscription at a step and at the cursor; it can run in a thread."""
        return partial(_sides, self._timeline.go_to(min(step, self._timeline.cursor)), self._timeline, self._key)

    def views_of_rules(self) -> Callable[[], Sides]:
        """What computes the views of the shown subscription by the rule in force and by the other one."""
        after, _ = self._timeline.submit(flag_change(self._timeline.state))
        return partial(_sides, self._timeline, after, self._key)

    def step_by(self, count: int) -> None:
        """Move in time, forwards or backwards, as far as there are moments and steps."""
        self._go_to(max(0, self._moment) + self._main.cursor + count)

    def _go_to(self, place: int) -> None:
        """Show a place among the moments that were seen, from 0, and the steps behind the last of them."""
        last = max(0, self._reported.last)
        if self._moment == self._reported.last:
            self._wanted = self._key  # an earlier moment may not have it
        place = max(0, min(place, last + self._main.length))
        if place < last:
            self._main = self._main.home()
            self._moment = place
            self._show(self._at_moment(place))
        else:
            self._moment = self._reported.last
            self._take(self._main.go_to(place - last))

    def _at_moment(self, moment: int) -> Timeline:
        """The state as it was seen up to an earlier moment; opened once."""
        if moment not in self._earlier:
            main, snapshot = self._main, combined(self._reported.moments[: moment + 1])
            settings = main.initial.settings
            flag = settings.activeConsumerFailoverConsistentHashing
            try:
                state = open_snapshot(snapshot, release=main.initial.release, consistent_hashing=flag).state
            except InputError:  # it has neither topics nor bundles yet
                state = ClusterState(release=main.initial.release, settings=settings)
            self._earlier[moment] = Timeline.start(state, main.seed, main.source)
        return self._earlier[moment]

    def show_subscription(self, by: int) -> None:
        """Show the subscription that stands ``by`` places further, round the end."""
        keys = self.subscriptions
        if len(keys) > 1:
            self._place = (self._place + by) % len(keys)
            self._key = self._wanted = keys[self._place]
            self._publish()

    def findable(self) -> Findable:
        """What can be found by a part of its name; it knows all it needs, so it can be asked in another thread."""
        seen = self._reported.subscriptions(self._moment) if self._reported_only() else {}
        others = tuple(seen[each.namespace, each.name] for each in self._reported_only())
        return Findable(self._timeline.state, self.subscriptions, others)

    def busiest_partition_of(self, consumer_id: int) -> str:
        """The one of a consumer's partitions with most messages a second, "" for none."""
        return busiest_partition_of(self._timeline, self._failover, consumer_id)

    def partitions_of(self, consumer_id: int) -> Sequence[PartitionRow]:
        """The partitions a consumer is active for, busiest first."""
        return partitions_of(self._timeline, self._failover, consumer_id)

    def topics_of(self, namespace: str, range_text: str) -> Sequence[BundleTopic]:
        """The topics of a bundle, by hash."""
        return topics_of_bundle(self._timeline, namespace, range_text, self._failover)

    def explain(self, topic_text: str) -> TopicExplanation | Rejection:
        """Where a topic goes, and why."""
        return topic_explanation(self._timeline, self._failover, topic_text)

    def previews(self, namespace: str, range_text: str) -> SplitPreviewView:
        """What every split algorithm would make of a bundle."""
        return split_previews(self._timeline, namespace, range_text)

    # a running cluster

    @property
    def live(self) -> Freshness | None:
        """How old the picture is; None where it is not that of a running cluster."""
        if self._live is None:
            return None
        at_ms = self._reported.moments[self._moment].at_ms if self._moment >= 0 else None
        shown_ms = self._live.shown_ms if at_ms is None else at_ms
        agreement = self.agreement
        return replace(
            self._live,
            shown_ms=shown_ms,
            steps=self._main.length,
            moment=self.moment,
            compared=agreement.compared,
            disagree=len(agreement.disagreements),
        )

    @property
    def agreement(self) -> Agreement:
        """How the moment that is shown compares with the model; of no facts where nobody compared it."""
        behind = self._reported.last - self._moment
        agreements = self._reported.agreements
        return agreements[-1 - behind] if behind < len(agreements) else Agreement()

    @property
    def differences(self) -> Agreement:
        """What differs at the moment that is shown, in a dump of the shown subscription alone."""
        agreement, comparison = self.agreement, self._comparison
        if comparison is None:
            return agreement
        if not agreement.compared:
            return Agreement(comparison.compared, comparison.disagreements)
        listed = {(each.topic, each.subscription) for each in agreement.disagreements}
        more = tuple(each for each in comparison.disagreements if (each.topic, each.subscription) not in listed)
        return Agreement(agreement.compared + len(more), (*agreement.disagreements, *more))

    @property
    def _comparison(self) -> Comparison | None:
        """What was reported of the shown subscription beside the model."""
        if self.shows_producers or self.shows_reported:
            return None
        view = self.keys_view if self.shows_keys else self.view
        return None if view is None or view.reported is None else view.reported.comparison

    @property
    def _stays(self) -> bool:
        """Whether the picture is one that somebody works on: steps of a what-if, or an earlier moment."""
        return self._kept or bool(self._main.length) or self.shows_earlier_moment

    def keep_picture(self) -> None:
        """Let no newer reading replace the picture of a running cluster until the newest is asked for."""
        self._kept = True

    def arrive(self, scene: Scene) -> None:
        """Take a newer reading: it is the picture now, unless somebody works on the one before."""
        if self._live is None:
            return
        self._live = replace(self._live, newest_ms=read_ms(scene), trouble="", progress="")
        self._newest = scene
        if self._stays:
            self._publish()
        else:
            self.show_newest()

    def miss(self, trouble: str) -> None:
        """Keep the picture, and say why there is no newer one."""
        if self._live is not None:
            self._live = replace(self._live, trouble=trouble, progress="")
            self._publish()

    def progress(self, text: str) -> None:
        """Say how far the reading is that is under way."""
        if self._live is not None:
            self._live = replace(self._live, progress=text)
            self._tell()  # the views are the same

    def show_newest(self) -> None:
        """Leave the what-if or the earlier moment for the newest reading."""
        scene, self._newest = self._newest, None
        self._kept = False
        if self._live is None:
            return
        if scene is None:
            self.submit(End())
            return
        self._live = replace(self._live, shown_ms=read_ms(scene), stopped_at=None)
        self._reported = scene.reported or Reported(scene.seen)
        self._moment = self._reported.last
        self._earlier, self._others = {}, {}
        self._diagnoses = {} if scene.diagnoses is None else {self._moment: list(scene.diagnoses)}
        self._timeline = self._main = scene.timeline
        self._problems, self._notes = scene.problems, scene.notes
        self._publish()

    # what brokers reported

    def diagnoses(self) -> list[Diagnosis]:
        """What was wrong at the moment shown with each subscription that brokers reported, the worst first.

        Steps change nothing of it.
        """
        moment = self._moment
        if moment not in self._diagnoses:
            seen = self._reported.subscriptions(moment) if len(self._reported) else {}
            self._diagnoses[moment] = diagnose_all(seen.values())
        return self._diagnoses[moment]

    def prepare(self) -> None:
        """Diagnose what was reported before anything is shown, unless that takes noticeable time.

        What is shown first is made too, and the moment before, or all moments where that is quick: no key waits then.
        """
        is_quick = is_soon_diagnosed(self._reported.moments)
        if is_quick:
            self.diagnoses()
        if len(self._reported):
            place = self._reported.last + self._main.cursor
            for moment in range(0 if is_quick else max(0, self._reported.last - 1), self._reported.last):
                self._go_to(moment)
                self._make_view()
            self._go_to(place)
            self._make_view()

    def _make_view(self) -> None:
        """Make the view of what is shown."""
        if self.keys_view is None and self.producers_view is None and self.reported_view is None:
            assert self.view is not None

    @property
    def shows_earlier_moment(self) -> bool:
        """Whether what is shown was seen before the last moment."""
        return self._moment < self._reported.last

    def reported_trouble(self) -> Cause | None:
        """What blocks the shown subscription by what brokers reported, as far as that was looked at."""
        name = self.shown_name()
        for each in self._diagnoses.get(self._moment, ()):
            if (each.namespace, each.subscription) == name and each.blocks:
                return each.first
        return None

    def shown_name(self) -> tuple[str, str]:
        """Namespace and name of the shown subscription, or "" and the name of the topic whose producers are shown."""
        state, at = self._timeline.state, self._place
        subject = self._subject()
        if subject is not None:
            return subject.namespace, subject.name
        names = [(subscription.namespace, subscription.name) for subscription in state.subscriptions]
        names += [(key_subscription.namespace, key_subscription.name) for key_subscription in state.key_subscriptions]
        return names[at] if 0 <= at < len(names) else ("", self._key)

    def show_named(self, namespace: str, name: str) -> bool:
        """Show the subscription of this namespace and name; False where the model has none."""
        state = self._timeline.state
        names = [(subscription.namespace, subscription.name) for subscription in state.subscriptions]
        names += [(key_subscription.namespace, key_subscription.name) for key_subscription in state.key_subscriptions]
        names += [("", "")] * (len(self.subscriptions) - len(names) - len(self._reported_only()))
        names += [(each.namespace, each.name) for each in self._reported_only()]
        for place, each in enumerate(names):
            if each == (namespace, name):
                if place != self._place:
                    self.show_subscription(place - self._place)
                return True
        return False

    # Key_Shared

    def explain_key_text(self, key_text: str) -> KeyAnswer | Rejection:
        """Where a key of the shown Key_Shared subscription goes, and why."""
        return key_answer(self._timeline, self._key, key_text)

    def keys_of_consumer(self, consumer_id: int) -> ConsumerKeysView:
        """The slots and the known keys that a consumer of the shown Key_Shared subscription has."""
        return keys_of_consumer(self._timeline, self._key, consumer_id)

    # producers

    def explain_send(self, number: int, key: str | None) -> SendAnswer | Rejection:
        """What the next message of a producer of the shown topic would do, and why."""
        return send_answer(self._timeline, self._key, number, key)

    def known_keys(self) -> GrowthView | None:
        """Where the busiest known keys of the shown topic go with each client; None where no key was sent."""
        return known_keys_view(self._timeline, self._key)

    def producer_statistics(self) -> StatisticsView:
        """The merged statistics of the shown topic's producers; remembered until something changes."""
        return statistics_view(self._timeline, self._key)

    def _take(self, timeline: Timeline) -> None:
        if timeline is self._timeline:
            return
        self._main = timeline
        if self._journal is not None:
            self.saved = self._journal.record(timeline)
        self._show(timeline)

    def _show(self, timeline: Timeline) -> None:
        if timeline is not self._timeline:
            self._timeline = timeline
            self._publish()

    def _find_place(self) -> None:
        """Where the shown subscription stands now; where it is gone, another one takes its place."""
        keys = self.subscriptions
        if len(self._reported) > 1 and self._wanted in keys:
            self._key = self._wanted
        self._place = keys.index(self._key) if self._key in keys else max(0, min(self._place, len(keys) - 1))
        self._key = keys[self._place] if keys else ""
        if not self.shows_keys and not self.shows_producers and not self.shows_reported:
            self._failover = self._place

    def _publish(self) -> None:
        self._keys = None
        self._find_place()
        self._view = self._keys_view = self._producers_view = self._reported_view = None
        self._tell()

    def _tell(self) -> None:
        for listener in self._listeners:
            listener(self.Changed())
