"""Key_Shared as a whole: takes a recording's steps in order and sends each fact to the comparison it is for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from engine.admin.facts import SubscriptionFacts, TopicFacts
from engine.admin.keyshared import KeySharedFacts
from engine.config import BrokerSettings
from engine.errors import Problem
from engine.names import NON_PERSISTENT
from tests.lab.judge import Judge, is_key_shared_of_scenario, is_topic_of_scenario
from tests.lab.key_shared.draining import KeySharedDraining
from tests.lab.key_shared.joining import try_to_join
from tests.lab.key_shared.members import KeySharedMembers
from tests.lab.key_shared.receivers import KeySharedReceivers
from tests.lab.key_shared.statistics import (
    compare_backlog,
    compare_connected,
    compare_form,
    compare_ranges,
    compare_terms,
)
from tests.lab.key_shared.steps import KeySharedScenario, KeySharedTold
from tests.lab.key_shared.subscription import KeySharedBook
from tests.lab.recording import Recording, Step
from tests.lab.report import FactKind, Ledger
from tests.lab.settings import KEY_SHARED_SETTINGS
from tests.lab.statistics import Statistics

_NOTHING_TOLD = KeySharedTold()
_LOST = "Key_Shared statistics where the steps do not tell who came and went, or with which ranges"


class KeySharedWalk:
    """One pass over the Key_Shared side of a recording; does nothing for one of another type."""

    def __init__(self, recording: Recording, judge: Judge, ledger: Ledger, problems: list[Problem]) -> None:
        self._recording = recording
        self._ledger = ledger
        self._parts: _Parts | None = None
        if recording.key_shared is not None:
            parts = _Parts(recording, recording.key_shared, judge, ledger)
            told = (each for each in recording.refused_settings if each.field in KEY_SHARED_SETTINGS)
            refused = next(told, parts.book.refused)
            if refused is not None:
                problem = refused.message
                advice = "hash ranges and receivers are not compared"
                problems.append(Problem(recording.path, "$.broker_settings", problem, advice))
            else:
                self._parts = parts

    def go_on(self, step: Step, statistics: Sequence[Statistics]) -> None:
        """Let consumers come and go, send and receive, as one step tells it; ``statistics`` are those of the step."""
        parts = self._parts
        if parts is None:
            return
        told = step.key_shared or _NOTHING_TOLD
        parts.members.end_visit()
        if told.wire_result is not None or told.client_result is not None:
            visitor = try_to_join(parts.book, told, self._recording, self._ledger)
            if visitor is not None:
                parts.members.visit(visitor)
        else:
            parts.members.go_on(step, told, self._listed(statistics))
        if parts.members.lost:
            return
        parts.receivers.go_on(told)
        parts.draining.go_on(told)

    def _listed(self, statistics: Sequence[Statistics]) -> tuple[str, ...] | None:
        for each in statistics:
            for topic in each.topics.values():
                for subscription in topic.subscriptions:
                    if is_key_shared_of_scenario(self._recording, topic, subscription):
                        return tuple(consumer.name for consumer in subscription.consumers)
        return None

    def see(self, topic: TopicFacts, facts: Mapping[str, KeySharedFacts]) -> None:
        """Compare the scenario's subscription in the statistics of one topic."""
        parts = self._parts
        if parts is None or not is_topic_of_scenario(self._recording, topic):
            return
        name = self._recording.subscription
        found = next((each for each in topic.subscriptions if each.name == name), None)
        subject = f"{topic.name} / {name}"
        if parts.members.lost:
            self._ledger.skip(_LOST)
        elif found is not None and found.type == "Key_Shared" and (found.consumers or not parts.book.connected):
            parts.compare(subject, topic, found, facts.get(name), whole=not self._recording.partitions)
        elif parts.book.connected:
            recorded = (
                "no such subscription" if found is None else f"type {found.type}, {len(found.consumers)} connected"
            )
            names = tuple(sorted(parts.book.name_of(who) for who in parts.book.connected))
            self._ledger.compare(FactKind.CONNECTED, subject, recorded, names, "the scenario's steps")


class _Parts:
    """The comparisons of one recording, all of them with the same book."""

    def __init__(self, recording: Recording, scenario: KeySharedScenario, judge: Judge, ledger: Ledger) -> None:
        self._ledger = ledger
        self._settings = _settings_for(recording, judge.settings)
        self._sends = any(step.key_shared is not None and step.key_shared.sends for step in recording.steps)
        self.book = KeySharedBook(scenario.terms, judge, self._settings)
        self.members = KeySharedMembers(recording, scenario, self.book, ledger)
        persistent = not recording.topic.startswith(f"{NON_PERSISTENT}:")
        self.receivers = KeySharedReceivers(scenario, self.book, ledger, keeps=persistent)
        self.draining = KeySharedDraining(recording, self.book, ledger)

    def compare(
        self,
        subject: str,
        topic: TopicFacts,
        subscription: SubscriptionFacts,
        facts: KeySharedFacts | None,
        *,
        whole: bool,
    ) -> None:
        """``whole``: the topic is the whole topic, so that what waits in it is all that waits."""
        book, ledger = self.book, self._ledger
        listed = compare_connected(book, ledger, subject, subscription)
        if listed is None:
            return
        compare_ranges(book, ledger, subject, subscription, listed)
        persistent = topic.domain != NON_PERSISTENT
        if persistent:
            compare_form(book, self._settings, ledger, subject, subscription.consumers)
        if facts is None or not listed:
            return
        compare_terms(book, ledger, subject, facts)
        if persistent:
            self.draining.see(subject, facts, listed)
            if whole and self._sends:
                compare_backlog(book, ledger, subject, facts, len(self.receivers.outstanding))


def _settings_for(recording: Recording, settings: BrokerSettings) -> BrokerSettings:
    """The classic implementation is one of persistent topics only."""
    if recording.topic.startswith(f"{NON_PERSISTENT}:"):
        return replace(settings, subscriptionKeySharedUseClassicPersistentImplementation=False)
    return settings
