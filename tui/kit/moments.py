"""The moments that were seen of a cluster: what brokers reported in them, and what was wrong then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

from engine.admin.moments import Moment, combined
from engine.cluster.state import ClusterState, behaviour_in
from engine.cluster.timeline import Timeline
from engine.diagnosis.model import Cause, Diagnosis, Earlier, Verdict
from engine.diagnosis.seen import SubscriptionSeen
from engine.diagnosis.why import diagnose_all, with_earlier
from engine.errors import InputError
from engine.scenarios.opening import flag_shown, open_snapshot
from engine.views.reported.model import Agreement
from engine.views.reported.subscription import reported_only
from engine.views.reported.trends import Series
from engine.views.reported.view import Reported, Subject, subjects_of

if TYPE_CHECKING:
    from engine.views.listing import Listing

PREPARED: Final = 5_000
"""So many subscriptions of topics are diagnosed in a few tenths of a second."""
DIAGNOSED_AT_ONCE: Final = 200
"""So many at all moments, at each of which the ones before are looked at again, are diagnosed within a key press."""
_TROUBLE: Final = (Verdict.BLOCKS, Verdict.SLOWS)


def is_soon_diagnosed(seen: Sequence[Moment], left: int = PREPARED) -> bool:
    """Whether all of it can be diagnosed without a noticeable delay: it has no more than so many subscriptions."""
    for moment in seen:
        left -= sum([len(topic.subscriptions) for topic in moment.snapshot.topics.values()])
        if left < 0:
            return False
    return True


class Moments:
    """The moments of one cluster. The timeline begins at the last one; earlier ones can only be viewed.

    Moments are counted from 0; without any, the one that is shown is -1.
    """

    def __init__(self, reported: Reported, diagnoses: Sequence[Diagnosis] | None = None) -> None:
        """``diagnoses`` are those of the last moment, where they are known."""
        self.reported: Final = reported
        self.at = reported.last
        """The moment that is shown."""
        self._earlier: dict[int, Timeline] = {}
        self._flag: bool | None = None
        self._others: dict[int, tuple[Subject, ...]] = {}
        self._with_earlier: dict[int, list[Diagnosis]] = {}
        self._diagnoses: dict[int, list[Diagnosis]] = {} if diagnoses is None else {self.at: list(diagnoses)}

    @property
    def last(self) -> int:
        """The newest moment."""
        return self.reported.last

    @property
    def is_earlier(self) -> bool:
        """Whether what is shown was seen before the last moment."""
        return self.at < self.last

    @property
    def at_ms(self) -> int | None:
        """When the moment that is shown was seen, in epoch milliseconds; None where that is not known."""
        return self.reported.moments[self.at].at_ms if self.at >= 0 else None

    @property
    def older(self) -> Mapping[str, int]:
        """The topics whose statistics were read before the moment that is shown, and when."""
        return self.reported.moments[self.at].older if self.at >= 0 else {}

    @property
    def agreement(self) -> Agreement:
        """How the moment that is shown compares with the model; without facts where it was not compared."""
        behind = self.last - self.at
        agreements = self.reported.agreements
        return agreements[-1 - behind] if behind < len(agreements) else Agreement()

    def timeline(self, moment: int, later: Timeline) -> Timeline:
        """Return the state as it was seen up to an earlier moment.

        Its settings are those that brokers had then; those of a later timeline where they were asked for, or nothing
        shows others.
        """
        if moment not in self._earlier:
            snapshot, settings = combined(self.reported.moments[: moment + 1]), later.initial.settings
            release, flag = later.initial.release, settings.activeConsumerFailoverConsistentHashing
            asked = flag if flag != self._flag_shown(later.initial) else None
            try:
                state = open_snapshot(snapshot, release=release, consistent_hashing=asked, assumed_flag=flag).state
            except InputError:  # it has neither topics nor bundles yet
                state = ClusterState(release=release, settings=settings)
            self._earlier[moment] = Timeline.start(state, later.seed, later.source)
        return self._earlier[moment]

    def _flag_shown(self, initial: ClusterState) -> bool:
        """Return the flag that all moments together show; the last of them was opened as ``initial``."""
        if self._flag is None:
            self._flag = flag_shown(combined(self.reported.moments), behaviour_in(initial))
        return self._flag

    def reported_only(self, initial: ClusterState) -> tuple[Subject, ...]:
        """Return what brokers reported up to this moment and the model of it, ``initial``, does not have."""
        if self.at not in self._others:
            self._others[self.at] = reported_only(self.reported, self.at, initial)
        return self._others[self.at]

    def seen(self, subjects: Sequence[Subject]) -> tuple[SubscriptionSeen, ...]:
        """Return what brokers reported of subscriptions up to this moment."""
        known = self.reported.subscriptions(self.at) if subjects else {}
        return tuple(known[subject.namespace, subject.name] for subject in subjects)

    # what was wrong

    def diagnoses(self) -> list[Diagnosis]:
        """Return what was wrong with each subscription that brokers reported, the worst first; no step changes it."""
        moment = self.at
        if moment not in self._diagnoses:
            seen = self.reported.subscriptions(moment) if len(self.reported) else {}
            self._diagnoses[moment] = diagnose_all(seen.values())
        return self._diagnoses[moment]

    def diagnoses_with_earlier(self) -> list[Diagnosis]:
        """Return ``diagnoses`` with what did harm at a moment before and does no more."""
        if self.at not in self._with_earlier:
            known = self.reported
            self._with_earlier[self.at] = with_earlier(
                self.diagnoses(), known.moments[: self.at + 1], lambda at: known.subscriptions(at).values()
            )
        return self._with_earlier[self.at]

    def listing(self, timeline: Timeline) -> Listing:
        """List everything that can be shown of a timeline that begins at this moment, the worst first."""
        from engine.views.listing import listing

        others = self.reported_only(timeline.initial)
        seen = self.reported.subscriptions(self.at) if len(self.reported) else {}
        subjects = subjects_of(timeline) | {subject.key: subject for subject in others}

        def backlogs(key: str) -> Series:
            trends = self.reported.trends(self.at, subjects[key]) if self.at > 0 and key in subjects else None
            return () if trends is None else trends.backlog

        return listing(timeline, others, seen, self.diagnoses(), backlogs)

    def trouble(self, namespace: str, name: str) -> tuple[Cause, Earlier | None] | None:
        """Return what blocks or slows a subscription at the moment that is shown, as brokers reported, or the latest
        moment before it at which something did; None where nothing did, or where it is not computed yet.
        """
        diagnoses = self.diagnoses_with_earlier() if self._is_small else self._diagnoses.get(self.at, [])
        for diagnosis in diagnoses:
            if (diagnosis.namespace, diagnosis.subscription) == (namespace, name):
                cause = next((cause for cause in diagnosis.causes if cause.verdict in _TROUBLE), None)
                if cause is not None:
                    return cause, None
                earlier = diagnosis.earlier
                return (earlier.cause, earlier) if earlier is not None and earlier.cause.verdict in _TROUBLE else None
        return None

    @cached_property
    def _is_small(self) -> bool:
        return is_soon_diagnosed(self.reported.moments, DIAGNOSED_AT_ONCE)
