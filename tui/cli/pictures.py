"""Readings of a running cluster as what is shown, with the moments before."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from msgspec import structs

from engine.admin.earlier import EarlierAnswers
from engine.admin.folders import FilesRead
from engine.cluster.timeline import Timeline
from engine.diagnosis.seen import parent_of
from engine.diagnosis.why import diagnose_all
from engine.scenarios.opening import Opened, open_moments
from engine.verify.answers import answers_of
from engine.verify.compare import verify_answers
from engine.verify.report import Difference, FactKind, VerifyReport
from engine.views.failover.dashboard import dashboard_view
from engine.views.failover.model import Notice
from engine.views.keys.view import keys_view
from engine.views.reported.model import Agreement, Disagreement, Fact
from engine.views.reported.view import Reported, Subject, keys_with_reported, subject_of, with_reported
from tui.cli.cluster import SETTINGS_ASSUMED
from tui.cli.options import DEFAULT_MAX_INPUT, WhatIf
from tui.cli.session import begin
from tui.kit.moments import is_soon_diagnosed
from tui.kit.session import Session
from tui.sources.cluster import paths
from tui.sources.cluster.outcomes import Fault
from tui.sources.cluster.reading import ClusterReading, moment_of, moments_read

if TYPE_CHECKING:
    from engine.admin.moments import Moment

MOST_COMPARED: Final = 10_000
"""Topics up to which every reading is compared with the model; ``verify`` compares any number."""
LARGE: Final = 500
"""Partitions of a subscription from which on its view takes a noticeable time."""
MOST_MOMENTS: Final = 60
MOST_TOPICS: Final = 10_000
ASSUMED: Final = "settings-assumed"
GAPS: Final = "not-all-read"
NOT_LOADED: Final = "not-loaded"
STOPPED: Final = "reading-stopped"
_NOTHING_FIRST: Final = WhatIf((), None, (), None)


class Pictures:
    """Turns readings into what is shown, with the moments before: they show what has stopped, and one can go back to
    them.

    So many moments are kept that they hold ``MOST_TOPICS`` topics together, two at least and ``MOST_MOMENTS`` at most.
    Where only the load of brokers is another one than before, nothing else is decoded or opened again.
    """

    def __init__(self) -> None:
        self._seen: tuple[Moment, ...] = ()
        self._reported: Reported | None = None
        self._earlier = EarlierAnswers()
        self._answers: dict[tuple[str, str], bytes] = {}
        """Those of the last reading, without load reports."""
        self._opened: Opened | None = None
        self._timeline: Timeline | None = None
        self._compared = Agreement()
        self._suspected: frozenset[Fact] = frozenset()
        """Facts that differed at the last reading."""
        self._confirmed: frozenset[Fact] = frozenset()
        """Those that differed at the reading before as well."""
        self._agreements: tuple[Agreement, ...] = ()
        """Those of the moments that are kept."""
        self._was_stopped = False
        """Whether the last reading lacks what nobody waited for."""

    def session(self, reading: ClusterReading, subscription: str | None = None) -> Session:
        """A reading as a session. Raises ``InputError`` where nothing in it can be shown."""
        opened, _ = self._take(reading)
        return begin(opened, structs.replace(_NOTHING_FIRST, subscription=subscription))

    def newer(self, reading: ClusterReading) -> Session:
        """A later reading, for the screen that is open already."""
        opened, timeline = self._take(reading)
        self._reported = reported = Reported(opened.seen, self._reported, self._agreements)
        # In this thread, for the screen would wait for it.
        last = reported.subscriptions(reported.last)
        reported.prepare()
        _prepare_large(timeline, reported)
        return Session(
            timeline,
            problems=opened.problems,
            notes=opened.notes,
            seen=opened.seen,
            reported=reported,
            diagnoses=tuple(diagnose_all(last.values())) if is_soon_diagnosed(opened.seen) else None,
        )

    def verified(self, reading: ClusterReading) -> VerifyReport:
        """The model against all that a reading brought, the one that was taken last or another one."""
        return verified(reading, self._earlier)

    def _take(self, reading: ClusterReading) -> tuple[Opened, Timeline]:
        """A reading as a state, the moments with it, and a timeline that begins there."""
        if self._was_stopped:
            # What a stopped reading lacks did not come into being since.
            self._seen, self._agreements, self._opened = (), (), None
        self._was_stopped = reading.was_stopped
        answers = {
            (answer.path, answer.broker): answer.data for answer in reading.answers if answer.path != paths.LOAD_REPORT
        }
        opened, timeline = self._opened, self._timeline
        if opened is None or timeline is None or answers != self._answers or not self._seen[-1].snapshot.topics:
            self._earlier.begin()
            moments = (moment_of(reading, self._earlier, limit_bytes=DEFAULT_MAX_INPUT),)
            opened = open_moments(moments)
            timeline = Timeline.start(opened.state, opened.seed, opened.source)
            is_compared = len(moments[-1].snapshot.topics) <= MOST_COMPARED
            self._compared = agreement_of(reading, self._earlier, self._suspected) if is_compared else Agreement()
        else:
            moments = (_loads_changed(self._seen[-1], reading),)
        self._answers, self._opened, self._timeline = answers, opened, timeline
        kept = min(MOST_MOMENTS, max(2, MOST_TOPICS // max(1, len(moments[-1].snapshot.topics))))
        self._seen = (*self._seen, *moments)[-kept:]
        comparable = of_one_age(self._compared, moments[-1])
        agreement = confirmed(comparable, self._suspected, self._confirmed, reading.older)
        self._confirmed = frozenset(disagreement.fact for disagreement in agreement.disagreements)
        self._suspected = frozenset(disagreement.fact for disagreement in comparable.disagreements)
        self._agreements = (*self._agreements, agreement)[-kept:]
        return structs.replace(opened, notes=(*opened.notes, *_notices(reading)), seen=self._seen), timeline


def verified(
    reading: ClusterReading,
    earlier: EarlierAnswers | None = None,
    is_explained: Callable[[Difference], bool] = lambda _: True,
) -> VerifyReport:
    """Hold the model against all that a reading brought; what is the same in ``earlier`` is not compared again.

    Reasons are looked for where a difference ``is_explained``.
    """
    files = FilesRead(reading.files_of_moment(), (), ())
    return verify_answers(answers_of(files, reading.origin, earlier), None, earlier, is_explained)


def agreement_of(
    reading: ClusterReading, earlier: EarlierAnswers | None = None, suspected: Collection[Fact] | None = None
) -> Agreement:
    """The same as what screens show of it. ``suspected``: reasons are looked for where one of these facts differs."""
    report = verified(
        reading, earlier, lambda difference: suspected is None or _disagreement(difference).fact in suspected
    )
    return Agreement(report.compared, tuple(_disagreement(difference) for difference in report.differences))


def of_one_age(now: Agreement, moment: Moment) -> Agreement:
    """Without differences that compare statistics of different times with each other, which count as not compared.

    Priority levels are inferred from all topics of a subscription: they may have changed between two of them.
    """
    if not moment.older:
        return now
    ages: dict[str, set[int]] = {}
    for topic in moment.snapshot.topics.values():
        for subscription in topic.subscriptions:
            ages.setdefault(subscription.name, set()).add(moment.older.get(parent_of(topic.name), -1))
    kept = tuple(
        disagreement
        for disagreement in now.disagreements
        if disagreement.kind != FactKind.ACTIVE_INFERRED_LEVELS.value
        or len(ages.get(disagreement.subscription, ())) <= 1
    )
    return Agreement(now.compared - (len(now.disagreements) - len(kept)), kept)


def confirmed(
    now: Agreement, before: Collection[Fact], known: Collection[Fact] = (), older: Collection[str] = ()
) -> Agreement:
    """What differs at two readings in a row; what differs at one alone counts as not compared.

    A broker writes an answer while consumers come and go: parts of it may be of different moments. ``older`` topics
    were not read again, so that of them only what was ``known`` to differ does.
    """
    again = tuple(
        disagreement
        for disagreement in now.disagreements
        if disagreement.fact in (known if parent_of(disagreement.topic) in older else before)
    )
    return Agreement(now.compared - (len(now.disagreements) - len(again)), again)


def _disagreement(difference: Difference) -> Disagreement:
    topic, _, subscription = difference.subject.partition(" / ")
    kind = str(difference.kind.value)
    likely = "" if difference.likely is None else difference.likely.text
    return Disagreement(kind, topic, subscription, difference.recorded, difference.modelled, difference.rule, likely)


def _prepare_large(timeline: Timeline, reported: Reported) -> None:
    """Make what is shown of subscriptions with many partitions, so that no key waits for it."""
    state = timeline.state
    for place, shown in enumerate(state.subscriptions):
        if (subject := _large(timeline, reported, shown.key)) is not None:
            with_reported(dashboard_view(timeline, subscription=place), reported, reported.last, subject)
    for sharing in state.key_subscriptions:
        if (subject := _large(timeline, reported, sharing.key)) is not None:
            keys_with_reported(keys_view(timeline, sharing.key), reported, reported.last, subject)


def _large(timeline: Timeline, reported: Reported, key: str) -> Subject | None:
    """A subscription with many partitions; its trends are computed here."""
    subject = subject_of(timeline, key)
    seen = None if subject is None else reported.subscriptions(reported.last).get((subject.namespace, subject.name))
    if subject is None or seen is None or len(seen.dispatchers) <= LARGE:
        return None
    reported.trends(reported.last, subject)
    return subject


def _loads_changed(before: Moment, reading: ClusterReading) -> Moment:
    """The moment before with the load reports of a later reading."""
    reports = tuple(answer for answer in reading.answers if answer.path == paths.LOAD_REPORT)
    if not reports:
        return structs.replace(before, at_ms=reading.at_ms, older=reading.older)
    (moment,) = moments_read([replace(reading, answers=reports)], limit_bytes=DEFAULT_MAX_INPUT)
    loads = {**before.snapshot.broker_loads, **moment.snapshot.broker_loads}
    owners = {**before.snapshot.owners, **moment.snapshot.owners}
    both = (*before.snapshot.written_loads, *moment.snapshot.written_loads)
    files = {written.load.broker: file for file, written in both}
    written = tuple((files.get(broker, ""), load) for broker, load in loads.items())
    snapshot = structs.replace(before.snapshot, broker_loads=loads, owners=owners, written_loads=written)
    return structs.replace(moment, snapshot=snapshot, older=reading.older)


def _notices(reading: ClusterReading) -> list[Notice]:
    """What a reading lacks."""
    notices = []
    if "settings" in reading.assumed:
        notices.append(Notice(ASSUMED, SETTINGS_ASSUMED))
    if reading.was_stopped:
        read = f"{reading.topics_read:,} of {reading.topics:,} topics were read"
        notices.append(Notice(STOPPED, f"the reading was stopped: {read}; the next refresh reads the rest"))
    gaps = [gap for gap in reading.gaps if gap.fault is not Fault.STOPPED]
    if gaps:
        first = gaps[0]
        text = f"{len(gaps):,} requests had no answer, first {first.origin}{first.path}: {first.fault.value}"
        notices.append(Notice(GAPS, text))
    if reading.not_loaded:
        text = f"{reading.not_loaded:,} topics are shown without statistics: asking would load them"
        notices.append(Notice(NOT_LOADED, text))
    return notices
