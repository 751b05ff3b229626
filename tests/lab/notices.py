"""Notices (``CommandActiveConsumerChange``): one dispatcher per topic says, step by step, who is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.errors import Rejection
from engine.failover.dispatcher import connect, disconnect
from engine.failover.handover import advance_to
from engine.failover.state import Connection, DispatcherState, Notified, Outcome, Terms
from engine.names import NON_PERSISTENT, partition_index
from tests.lab.judge import Judge, of_scenario
from tests.lab.recording import Recording, Step
from tests.lab.report import FactKind, Ledger

# Longer than any hand-over delay: a step was recorded when all had settled.
_SETTLED_MS = 10**9
_RULE = "a newcomer is told whether it is active; on a change everybody is told, except on older non-persistent topics"


@dataclass(frozen=True, slots=True)
class Told:
    """(id, topic) -> notices in order, and how many consumers came or went."""

    notices: Mapping[tuple[str, str], list[bool]]
    changes: int


class NoticeBook:
    """The dispatchers of all topics of a scenario, and what the last step made them say."""

    def __init__(self, recording: Recording, judge: Judge, topics: Sequence[str]) -> None:
        self._recording = recording
        self._connected: tuple[str, ...] = ()
        self._now_ms = 0
        self._states = {topic: DispatcherState(_terms(topic, judge)) for topic in topics}

    def go_on(self, connected: Sequence[str]) -> Told:
        """Take the dispatchers to the next step."""
        left = [who for who in self._connected if who not in connected]
        joined = [who for who in connected if who not in self._connected]
        told: dict[tuple[str, str], list[bool]] = {}
        by_id = dict(zip(connected, of_scenario(self._recording, connected), strict=True))
        before = dict(zip(self._connected, of_scenario(self._recording, self._connected), strict=True))
        names = {consumer.consumer_id: who for who, consumer in (before | by_id).items()}
        self._now_ms += 2 * _SETTLED_MS
        for topic, state in self._states.items():
            moves: list[Outcome] = []
            for who in left:
                moves.append(_settled(disconnect(_last(state, moves), before[who].consumer_id, self._now_ms)))
            for who in joined:
                moves.append(_settled(connect(_last(state, moves), Connection(by_id[who]), self._now_ms)))
            moves.append(advance_to(_last(state, moves), self._now_ms + _SETTLED_MS))
            self._states[topic] = moves[-1].state
            for effect in (effect for move in moves for effect in move.effects):
                if isinstance(effect, Notified):
                    told.setdefault((names[effect.consumer_id], topic), []).append(effect.is_active)
        self._connected = tuple(connected)
        return Told(told, len(left) + len(joined))


def _terms(topic: str, judge: Judge) -> Terms:
    return Terms(
        topic,
        partition_index(topic),
        persistent=not topic.startswith(NON_PERSISTENT),
        consistent_hashing=judge.consistent_hashing,
        delay_ms=judge.settings.activeConsumerFailoverDelayTimeMillis,
        behaviour=judge.behaviour,
    )


def _last(state: DispatcherState, moves: Sequence[Outcome]) -> DispatcherState:
    return moves[-1].state if moves else state


def _settled(outcome: Outcome | Rejection) -> Outcome:
    assert isinstance(outcome, Outcome), outcome
    return outcome


def compare_notices(
    recording: Recording,
    ledger: Ledger,
    step: Step,
    modelled: Told,
    topics: Sequence[str],
) -> None:
    """Each notice is a fact; so is the silence of a consumer that is told nothing.

    The order counts per consumer and topic: connections and partitions run beside each other.
    """
    if step.notices is None:
        return
    labels = _labels(topics)
    recorded: dict[tuple[str, str], list[bool]] = {}
    for who, told in step.notices.items():
        for place, is_active in told:
            recorded.setdefault((who, labels.get(_topic(place, topics), place)), []).append(is_active)
    if modelled.changes > 1:
        ledger.skip("notices after several changes in one step", sum(map(len, recorded.values())))
        return
    expected: dict[tuple[str, str], list[bool]] = {}
    for (who, topic), notices in modelled.notices.items():
        expected.setdefault((who, labels[topic]), []).extend(notices)
    people = {who: recording.roster[who].name if who in recording.roster else who for who in step.notices}
    for who, label in sorted(recorded.keys() | expected.keys()):
        seen, wanted = recorded.get((who, label), []), expected.get((who, label), [])
        if label not in topics:
            seen, wanted = sorted(seen), sorted(wanted)
        for nth in range(max(len(seen), len(wanted))):
            subject = f"{label} to {who}:{people.get(who, who)}"
            ledger.compare(FactKind.NOTICE, subject, _word(seen, nth), _word(wanted, nth), _RULE)
    speaking = {who for who, _ in recorded.keys() | expected.keys()}
    for who in step.notices.keys() - speaking:
        ledger.compare(FactKind.NO_NOTICE, f"{who}:{people[who]}", "no notice", "no notice", _RULE)


def _labels(topics: Sequence[str]) -> dict[str, str]:
    """Full name -> itself, or the local name where several topics have it: notices are recorded by local name."""
    counts = Counter(topic.rpartition("/")[2] for topic in topics)
    return {topic: topic if counts[local] == 1 else local for topic in topics if (local := topic.rpartition("/")[2])}


def _word(told: list[bool], nth: int) -> str:
    if nth >= len(told):
        return "no notice"
    return "active" if told[nth] else "inactive"


def _topic(place: str, topics: Sequence[str]) -> str:
    """Full name of the topic a notice is about: recorded by local name, or by partition number."""
    for topic in topics:
        if topic == place or topic.rpartition("/")[2] == place:
            return topic
    if place.lstrip("-").isdecimal():
        for topic in topics:
            if str(partition_index(topic)) == place:
                return topic
    return place
