"""The only owner of the timeline: takes commands, knows what is shown, and informs the screens when that changes.

Nothing else in the shell holds engine state, so there is one answer to the question what is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace
from textual.message import Message

from engine.admin.facts import Snapshot
from engine.cluster.commands import Command, End, Home, SubscribeKeyShared, TimelineCommand
from engine.cluster.effort import effort_of, own_effort, pieces_of
from engine.cluster.timeline import Timeline, navigate
from engine.diagnosis.model import Cause, Diagnosis, Earlier
from engine.errors import Rejection
from engine.views.reported.model import Agreement
from engine.views.reported.subscription import BUNDLES
from engine.views.reported.view import Reported
from tui.kit.background import Computing
from tui.kit.live_line import Freshness
from tui.kit.moments import Moments, is_soon_diagnosed
from tui.kit.session import Session
from tui.kit.shown import Places, Shown

if TYPE_CHECKING:
    from engine.views.listing import Listing
    from engine.views.search import SearchIndex

LONG: Final = 2_500
"""Steps of more effort are computed beside the screen, which would otherwise not answer keys for a while."""


def read_ms(session: Session) -> int:
    """Return when a session was read, in epoch milliseconds, 0 where that is unknown."""
    return session.seen[-1].at_ms or 0 if session.seen else 0


class Outcome(Struct, frozen=True):
    """What a command led to; ``wanted`` is the key of what is to be shown from now on, None for the same as before."""

    timeline: Timeline
    rejection: Rejection | None = None
    wanted: str | None = None


class Store:
    """One timeline and what of it is shown."""

    class Changed(Message):
        """Something else is shown. Bursts collapse: only the last one matters."""

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, Store.Changed)

    class Refused(Message):
        """A step that was computed beside the screen was refused."""

        def __init__(self, rejection: Rejection) -> None:
            super().__init__()
            self.rejection = rejection

    def __init__(self, session: Session) -> None:
        timeline, feed, self._journal = session.timeline, session.feed, session.journal
        self._main = timeline
        self._moments = Moments(Reported(session.seen, settled_only=feed is not None))
        self._problems, self._notes = len(session.problems), session.notes
        self.against: Final = session.against
        """Another dump that what is shown is compared with."""
        at_ms = read_ms(session)
        self._live = (
            Freshness(timeline.source, feed.every_s, at_ms, at_ms, stopped_at=session.stopped_at)
            if feed is not None
            else None
        )
        self._newest: Session | None = None
        self._kept = False
        self._listeners: list[Callable[[Message], object]] = []
        self._has_long_steps = any(own_effort(timeline.state, step.command) > LONG for step in timeline.log)
        self.computing: Final = Computing()
        """The step that is being computed, where that takes long."""
        self.saved = self._journal.record(timeline) if self._journal is not None else ""
        places = Places(timeline.state, self._moments.reported_only(timeline.initial))
        place = session.subscription
        if places.keys[:1] == (BUNDLES,) and not place:
            place = 1  # what was reported says more than the bundles
        self._shown = self._at(timeline, places, max(0, min(place, len(places.keys) - 1)), 0)
        self._wanted = self._shown.key
        """The key of what was chosen last. An earlier moment may not have it."""

    def listen(self, listener: Callable[[Message], object]) -> None:
        """Send every message there, such as to a screen's ``post_message``."""
        self._listeners.append(listener)

    # what is shown

    @property
    def shown(self) -> Shown:
        """What is shown, with its view and what can be asked about it."""
        return self._shown

    @property
    def timeline(self) -> Timeline:
        """The timeline of what is shown; a value, so it cannot be changed behind the store's back."""
        return self._shown.timeline

    @property
    def places(self) -> Places:
        """All that can be shown."""
        return self._shown.places

    def _picture(self, timeline: Timeline, wanted: str | None = None) -> Shown:
        """Return what is wanted in a timeline, else what is shown now; where that is gone, what is at its place."""
        before, places = self._shown, Places(timeline.state, self._moments.reported_only(timeline.initial))
        chosen = self._wanted if len(self._moments.reported) > 1 else None
        for key in (wanted, chosen, before.key):
            if key is not None and key in places.keys:
                return self._at(timeline, places, places.keys.index(key), before.failover)
        return self._at(timeline, places, max(0, min(before.place, len(places.keys) - 1)), before.failover)

    def _at(self, timeline: Timeline, places: Places, place: int, failover: int) -> Shown:
        reported, moment = self._moments.reported, self._moments.at
        return Shown(
            timeline,
            places,
            place,
            failover=failover,
            reported=reported,
            moment=moment,
            problems=self._problems,
            notes=self._notes,
        )

    def show_subscription(self, by: int) -> None:
        """Show what is ``by`` places further, round the end."""
        places = self.places
        if len(places.keys) > 1:
            place = (self._shown.place + by) % len(places.keys)
            outcome = Outcome(self.timeline, wanted=places.key(place))
            self._do(lambda: outcome, lambda: places.title(place), is_long=self._is_long())

    def show_named(self, namespace: str, name: str) -> bool:
        """Show the subscription of this namespace and name; False where there is none."""
        place = self.places.place_of(namespace, name)
        if place is not None and place != self._shown.place:
            self.show_subscription(place - self._shown.place)
        return place is not None

    def search_index(self) -> SearchIndex:
        """Return all that can be searched by a part of its name; another thread can search it."""
        from engine.views.search import SearchIndex

        places = self.places
        return SearchIndex(self.timeline.state, places.keys, self._moments.seen(places.others))

    def prepare(self) -> None:
        """Compute what is shown first, and the moment before it; all that was reported where that is quick.

        Called before anything is shown, so that no key has to wait for it.
        """
        moments = self._moments
        is_quick = is_soon_diagnosed(moments.reported.moments)
        if is_quick:
            moments.diagnoses()
        if len(moments.reported):
            place = moments.last + self._main.cursor
            for moment in range(0 if is_quick else max(0, moments.last - 1), moments.last):
                self._go_to(moment)
                self._shown.prepare()
            self._go_to(place)
        if len(moments.reported) or self._is_long():
            self._shown.prepare()

    # commands and time

    def submit(self, command: Command | TimelineCommand) -> Rejection | None:
        """Carry out a command, or move in time; what is refused changes nothing.

        What takes long is computed beside the screen: a refusal is posted to it then.
        """
        from engine.cluster.grammar.text import command_text

        if isinstance(command, Home | End) and len(self._moments.reported) > 1:
            self._go_to(0 if isinstance(command, Home) else self._moments.last + self._main.length)
            return None
        if self._moments.is_earlier:
            moment, moments = self.moment
            text = f"this is moment {moment} of {moments} as it was seen; steps go on from the last one (end)"
            return Rejection("EarlierMoment", text)
        if self.computing.what:
            return Rejection("Computing", f"still computing {self.computing.what}; escape cancels it")
        timeline = self.timeline
        if isinstance(command, Command):
            is_long = effort_of(timeline.state, command) > LONG
            self._has_long_steps |= is_long
            compute = partial(_submitted, timeline, command)
            return self._do(compute, lambda: command_text(command, timeline.state), is_long=is_long)
        return self._do(partial(_moved, timeline, command), lambda: "that step", is_long=self._is_long())

    def submit_line(self, text: str) -> Rejection | None:
        """Carry out one line of the grammar."""
        from engine.cluster.grammar.reading import parse_command

        command = parse_command(text, self.timeline.state, self._shown.key or None)
        return command if isinstance(command, Rejection) else self.submit(command)

    def step_by(self, count: int) -> None:
        """Move in time, forwards or backwards, as far as there are moments and steps."""
        self._go_to(max(0, self._moments.at) + self._main.cursor + count)

    def go_back_to(self, timeline: Timeline) -> None:
        """Show the step that a timeline of before was at; steps taken since stay in a branch of their own."""
        self.computing.cancel()
        self._take(Outcome(self._main.back_at(timeline.current)))

    @property
    def can_redo(self) -> bool:
        """Whether there is a step or a moment ahead."""
        return self._moments.is_earlier or self.timeline.can_redo

    def _go_to(self, place: int) -> None:
        """Show a place among the moments that were seen, from 0, and the steps behind the last of them."""
        moments, main = self._moments, self._main
        last = max(0, moments.last)
        if not moments.is_earlier:
            self._wanted = self._shown.key
        place = max(0, min(place, last + main.length))
        if place < last:
            self.computing.cancel()
            self._main, moments.at = main.home(), place
            timeline = moments.timeline(place, main)
            if timeline is not self.timeline:
                self._show(self._picture(timeline))
            return
        step = place - last
        is_long = self._is_long() and step != main.cursor and not moments.is_earlier
        moments.at = moments.last
        self._do(lambda: Outcome(main.go_to(step)), lambda: f"step {step}", is_long=is_long)

    @property
    def is_large(self) -> bool:
        """Whether what is shown has so many points or ranges that questions about it are better asked in a thread."""
        return pieces_of(self.timeline.state) > LONG

    def _is_long(self) -> bool:
        """Whether a step to any moment may take long: it is folded from earlier ones."""
        return self._has_long_steps or self.is_large

    def _do(self, compute: Callable[[], Outcome], words: Callable[[], str], *, is_long: bool) -> Rejection | None:
        """Take what ``compute`` leads to: now, or once it is there, where it takes long."""
        self.computing.cancel()
        if not is_long or self.computing.start is None:
            outcome = compute()
            self._take(outcome)
            return outcome.rejection
        before = self.timeline

        def prepared() -> tuple[Outcome, Shown]:
            outcome = compute()
            shown = self._picture(outcome.timeline, outcome.wanted)
            shown.prepare()
            return outcome, shown

        def take(done: tuple[Outcome, Shown]) -> None:
            outcome, shown = done
            if before is self.timeline:
                self._take(outcome, shown)
            self._post(self.Changed() if outcome.rejection is None else self.Refused(outcome.rejection))

        self.computing.begin(words(), prepared, take)
        self._post(self.Changed())
        return None

    def cancel(self) -> bool:
        """Forget the step that is being computed; whether there was one."""
        was_computing = bool(self.computing.what)
        self.computing.cancel()
        if was_computing:
            self._post(self.Changed())
        return was_computing

    def _take(self, outcome: Outcome, shown: Shown | None = None) -> None:
        """Go on with a timeline; ``shown`` is its picture where that was computed already."""
        timeline = outcome.timeline
        if timeline is not self.timeline:
            self._main = timeline
            if self._journal is not None:
                self.saved = self._journal.record(timeline)
        elif outcome.wanted in (None, self._shown.key):
            return
        if outcome.wanted is not None:
            self._wanted = outcome.wanted
        self._show(shown or self._picture(timeline, outcome.wanted))

    def _show(self, shown: Shown) -> None:
        self._shown = shown
        self._post(self.Changed())

    def announce(self) -> None:
        """Say that another part of what is shown is in view."""
        self._post(self.Changed())

    def _post(self, message: Message) -> None:
        for listener in self._listeners:
            listener(message)

    # a running cluster

    @property
    def live(self) -> Freshness | None:
        """How old the picture is; None where it is not that of a running cluster."""
        if self._live is None:
            return None
        at_ms = self._moments.at_ms
        older = self._moments.older
        return replace(
            self._live,
            view_ms=min((older[topic] for topic in self.topics_in_view if topic in older), default=0),
            rest_ms=min(older.values(), default=0),
            shown_ms=self._live.shown_ms if at_ms is None else at_ms,
            steps=self._main.length,
            stays=self._stays,
            moment=self.moment,
            compared=self.agreement.compared,
            disagree=len(self.agreement.disagreements),
        )

    @property
    def topics_in_view(self) -> frozenset[str]:
        """The topics, without partitions, that what is shown is about."""
        return self._shown.topics

    @property
    def _stays(self) -> bool:
        """Whether the user is working on the picture: steps of a what-if, or an earlier moment."""
        return self._kept or bool(self._main.length) or self._moments.is_earlier

    def keep_picture(self) -> None:
        """Let no newer reading replace the picture of a running cluster until the newest is asked for."""
        self._kept = True
        self._post(self.Changed())

    def arrive(self, session: Session) -> None:
        """Take a newer reading, and show it unless the user is working on the present picture."""
        if self._live is None:
            return
        self._live = replace(self._live, newest_ms=read_ms(session), trouble="", progress="")
        self._newest = session
        if self._stays or self.computing.what:
            self._post(self.Changed())
        else:
            self.show_newest()

    def miss(self, trouble: str) -> None:
        """Keep the picture, and say why there is no newer one."""
        if self._live is not None:
            self._live = replace(self._live, trouble=trouble, progress="")
            self._post(self.Changed())

    def progress(self, text: str) -> None:
        """Say how far the reading is that is under way."""
        if self._live is not None:
            self._live = replace(self._live, progress=text)
            self._post(self.Changed())

    def show_newest(self) -> None:
        """Leave the what-if or the earlier moment for the newest reading."""
        session, self._newest = self._newest, None
        self._kept = False
        if self._live is None:
            return
        if session is None:
            self.submit(End())
            return
        self.computing.cancel()
        self._live = replace(self._live, shown_ms=read_ms(session), stopped_at=None)
        self._moments = Moments(session.reported or Reported(session.seen), session.diagnoses)
        self._problems, self._notes = len(session.problems), session.notes
        self._main = session.timeline
        self._show(self._picture(session.timeline))

    # what brokers reported

    @property
    def snapshots(self) -> tuple[Snapshot, ...]:
        """What brokers answered, moment by moment; of a running cluster up to the reading that is shown."""
        return tuple(moment.snapshot for moment in self._moments.reported.moments)

    @property
    def moment(self) -> tuple[int, int]:
        """Which moment is shown, from 1, and of how many; (0, 0) where nothing was seen."""
        return self._moments.at + 1, len(self._moments.reported)

    @property
    def shows_earlier_moment(self) -> bool:
        """Whether what is shown was seen before the last moment."""
        return self._moments.is_earlier

    @property
    def agreement(self) -> Agreement:
        """How the moment that is shown compares with the model."""
        return self._moments.agreement

    @property
    def differences(self) -> Agreement:
        """What differs at the moment that is shown, in a dump of the shown subscription alone."""
        agreement, comparison = self.agreement, self._shown.comparison
        if comparison is None:
            return agreement
        if not agreement.compared:
            return Agreement(comparison.compared, comparison.disagreements)
        listed = {(fact.topic, fact.subscription) for fact in agreement.disagreements}
        more = tuple(fact for fact in comparison.disagreements if (fact.topic, fact.subscription) not in listed)
        return Agreement(agreement.compared + len(more), (*agreement.disagreements, *more))

    def diagnoses(self) -> list[Diagnosis]:
        """Return what was wrong at the moment shown with each subscription that brokers reported, the worst first."""
        return self._moments.diagnoses_with_earlier()

    def listing(self) -> Listing:
        """List everything that can be shown, the worst first. Takes a while for thousands: any thread may call it."""
        return self._moments.listing(self.timeline)

    def reported_trouble(self) -> tuple[Cause, Earlier | None] | None:
        """Return what blocks or slows the shown subscription, as brokers reported, and when if that is over."""
        return self._moments.trouble(*self.places.name(self._shown.place))


def _submitted(timeline: Timeline, command: Command) -> Outcome:
    after, rejection = timeline.submit(command)
    if rejection is not None:
        return Outcome(timeline, rejection)
    if isinstance(command, SubscribeKeyShared):
        return Outcome(after, wanted=after.state.key_subscriptions[-1].key)
    if len(after.state.producer_topics) > len(timeline.state.producer_topics):
        return Outcome(after, wanted=after.state.producer_topics[-1].topic)
    if len(after.state.scalable_topics) > len(timeline.state.scalable_topics):
        return Outcome(after, wanted=after.state.scalable_topics[-1].topic)
    return Outcome(after)


def _moved(timeline: Timeline, command: TimelineCommand) -> Outcome:
    moved = navigate(timeline, command)
    return Outcome(moved.timeline, moved.rejection)
