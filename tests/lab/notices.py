"""Notices (``CommandActiveConsumerChange``): which consumers a dispatcher notifies after each step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from engine.errors import Rejection
from engine.failover.handover import advance_to, connect, disconnect
from engine.failover.state import Connection, DispatcherState, Notified, Outcome, Terms
from engine.names import NON_PERSISTENT, partition_index
from engine.verify.report import Ledger, Rules
from tests.lab.consumers import of_steps
from tests.lab.facts import StepFact
from tests.lab.scenario import Recording, Step

_SETTLED_MS: Final = 10**9
"""Longer than any hand-over delay: steps were recorded when all had settled."""
_RULE: Final = (
    "a newcomer hears whether it is active; after a change all hear it, except on older non-persistent topics"
)


@dataclass(frozen=True, slots=True)
class StepNotices:
    """(id, topic) -> notices in order, and how many consumers came or went in the step."""

    notices: Mapping[tuple[str, str], list[bool]]
    changes: int


class Dispatchers:
    """The dispatchers of all topics of a scenario, taken from step to step."""

    def __init__(self, recording: Recording, rules: Rules, topics: Sequence[str]) -> None:
        self._recording = recording
        self._connected: tuple[str, ...] = ()
        self._now_ms = 0
        self._states = {topic: DispatcherState(_terms(topic, rules)) for topic in topics}

    def go_on(self, connected: Sequence[str]) -> StepNotices:
        """Let consumers come and go until ``connected`` are there; the notices of this step."""
        left = [who for who in self._connected if who not in connected]
        joined = [who for who in connected if who not in self._connected]
        now = dict(zip(connected, of_steps(self._recording, connected), strict=True))
        before = dict(zip(self._connected, of_steps(self._recording, self._connected), strict=True))
        names = {consumer.consumer_id: who for who, consumer in (before | now).items()}
        notices: dict[tuple[str, str], list[bool]] = {}
        self._now_ms += 2 * _SETTLED_MS
        for topic, state in self._states.items():
            outcomes: list[Outcome] = []
            for who in left:
                outcomes.append(_settled(disconnect(_last(state, outcomes), before[who].consumer_id, self._now_ms)))
            for who in joined:
                outcomes.append(_settled(connect(_last(state, outcomes), Connection(now[who]), self._now_ms)))
            outcomes.append(advance_to(_last(state, outcomes), self._now_ms + _SETTLED_MS))
            self._states[topic] = outcomes[-1].state
            for effect in (effect for outcome in outcomes for effect in outcome.effects):
                if isinstance(effect, Notified):
                    notices.setdefault((names[effect.consumer_id], topic), []).append(effect.is_active)
        self._connected = tuple(connected)
        return StepNotices(notices, len(left) + len(joined))


def _terms(topic: str, rules: Rules) -> Terms:
    return Terms(
        topic,
        partition_index(topic),
        persistent=not topic.startswith(NON_PERSISTENT),
        consistent_hashing=rules.consistent_hashing,
        delay_ms=rules.settings.activeConsumerFailoverDelayTimeMillis,
        behaviour=rules.behaviour,
    )


def _last(state: DispatcherState, outcomes: Sequence[Outcome]) -> DispatcherState:
    return outcomes[-1].state if outcomes else state


def _settled(outcome: Outcome | Rejection) -> Outcome:
    assert isinstance(outcome, Outcome), outcome
    return outcome


def compare_notices(
    recording: Recording, ledger: Ledger, step: Step, modelled: StepNotices, topics: Sequence[str]
) -> None:
    """Compare each notice, and the silence of consumers that get none.

    The order counts per consumer and topic only: connections and partitions are served side by side.
    """
    if step.notices is None:
        return
    labels = _labels(topics)
    recorded: dict[tuple[str, str], list[bool]] = {}
    for who, pairs in step.notices.items():
        for place, is_active in pairs:
            recorded.setdefault((who, labels.get(_topic(place, topics), place)), []).append(is_active)
    if modelled.changes > 1:
        ledger.skip("notices after several changes in one step", sum(map(len, recorded.values())))
        return
    expected: dict[tuple[str, str], list[bool]] = {}
    for (who, topic), notices in modelled.notices.items():
        expected.setdefault((who, labels[topic]), []).extend(notices)
    names = {who: recording.roster[who].name if who in recording.roster else who for who in step.notices}
    for who, label in sorted(recorded.keys() | expected.keys()):
        one, other = recorded.get((who, label), []), expected.get((who, label), [])
        if label not in topics:
            one, other = sorted(one), sorted(other)
        for nth in range(max(len(one), len(other))):
            subject = f"{label} to {who}:{names.get(who, who)}"
            ledger.compare(StepFact.NOTICE, subject, _word(one, nth), _word(other, nth), _RULE)
    notified = {who for who, _ in recorded.keys() | expected.keys()}
    for who in step.notices.keys() - notified:
        ledger.compare(StepFact.NO_NOTICE, f"{who}:{names[who]}", "no notice", "no notice", _RULE)


def _labels(topics: Sequence[str]) -> dict[str, str]:
    """Full name -> itself, or the local name where several topics share it: notices are recorded by local name."""
    counts = Counter(topic.rpartition("/")[2] for topic in topics)
    return {topic: topic if counts[local] == 1 else local for topic in topics if (local := topic.rpartition("/")[2])}


def _word(notices: Sequence[bool], nth: int) -> str:
    if nth >= len(notices):
        return "no notice"
    return "active" if notices[nth] else "inactive"


def _topic(place: str, topics: Sequence[str]) -> str:
    """Full name of the topic of a notice, which is recorded under its name, its local name or its partition number."""
    for topic in topics:
        if place in (topic, topic.rpartition("/")[2]):
            return topic
    if place.lstrip("-").isdecimal():
        for topic in topics:
            if str(partition_index(topic)) == place:
                return topic
    return place
