"""Key_Shared as a whole: takes the steps of a recording in order and hands each fact to its comparison."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from engine.admin.facts import SubscriptionFacts, TopicFacts
from engine.config import BrokerSettings
from engine.errors import Problem
from engine.names import NON_PERSISTENT
from engine.verify.report import Ledger, Rules
from tests.lab.consumers import STEPS_RULE, is_key_shared_of_scenario, is_topic_of_scenario
from tests.lab.facts import StepFact
from tests.lab.folder import SCENARIO
from tests.lab.key_shared.draining import Draining
from tests.lab.key_shared.joining import try_to_join
from tests.lab.key_shared.membership import Membership
from tests.lab.key_shared.receivers import Receivers
from tests.lab.key_shared.statistics import (
    compare_backlog,
    compare_connected,
    compare_form,
    compare_ranges,
    compare_terms,
)
from tests.lab.key_shared.steps import KeySharedScenario, KeySharedStep
from tests.lab.key_shared.subscription import ModelledSubscription
from tests.lab.scenario import KEY_SHARED_SETTINGS, Recording, Step

_NO_STEP: Final = KeySharedStep()
LOST: Final = "Key_Shared statistics where the steps do not say who came and went, or with which ranges"


def key_shared_comparison(
    recording: Recording, rules: Rules, ledger: Ledger, problems: list[Problem]
) -> KeySharedComparison | None:
    """The comparison of a Key_Shared recording; None for another type, and for settings that no broker accepts."""
    if recording.key_shared is None:
        return None
    comparison = KeySharedComparison(recording, recording.key_shared, rules, ledger)
    refused = next(
        (one for one in recording.refused_settings if one.field in KEY_SHARED_SETTINGS), comparison.subscription.refused
    )
    if refused is None:
        return comparison
    advice = "hash ranges and receivers are not compared"
    problems.append(Problem(SCENARIO, "$.broker_settings", refused.message, advice))
    return None


class KeySharedComparison:
    """The comparisons of one recording, all with the same modelled subscription."""

    def __init__(self, recording: Recording, scenario: KeySharedScenario, rules: Rules, ledger: Ledger) -> None:
        persistent = not recording.topic.startswith(f"{NON_PERSISTENT}:")
        self._recording = recording
        self._ledger = ledger
        self._settings = _settings_for(rules.settings, persistent=persistent)
        self._sends = any(step.key_shared is not None and step.key_shared.sends for step in recording.steps)
        self.subscription = ModelledSubscription(scenario.terms, rules, self._settings)
        self._membership = Membership(recording, scenario, self.subscription, ledger)
        self._receivers = Receivers(scenario, self.subscription, ledger, keeps=persistent)
        self._draining = Draining(recording, self.subscription, ledger)

    def go_on(self, step: Step, topics: Iterable[TopicFacts]) -> None:
        """Let consumers come and go, send and receive in one step; ``topics`` are those in its statistics."""
        keys = step.key_shared or _NO_STEP
        self._membership.end_visit()
        if keys.wire_result is not None or keys.client_result is not None:
            visitor = try_to_join(self.subscription, keys, self._recording, self._ledger)
            if visitor is not None:
                self._membership.visit(visitor)
        else:
            self._membership.go_on(step, keys, self._listed(topics))
        if not self._membership.lost:
            self._receivers.go_on(keys)
            self._draining.go_on(keys)

    def _listed(self, topics: Iterable[TopicFacts]) -> tuple[str, ...] | None:
        for topic in topics:
            for subscription in topic.subscriptions:
                if is_key_shared_of_scenario(self._recording, topic, subscription):
                    return tuple(consumer.name for consumer in subscription.consumers)
        return None

    def compare(self, topic: TopicFacts) -> None:
        """Compare the scenario's subscription in the statistics of one topic."""
        if not is_topic_of_scenario(self._recording, topic):
            return
        name = self._recording.subscription
        shown = next((subscription for subscription in topic.subscriptions if subscription.name == name), None)
        subject = f"{topic.name} / {name}"
        connected = self.subscription.connected
        if self._membership.lost:
            self._ledger.skip(LOST)
        elif shown is not None and shown.type == "Key_Shared" and (shown.consumers or not connected):
            self._compare_subscription(subject, topic, shown)
        elif connected:
            recorded = (
                "no such subscription" if shown is None else f"type {shown.type}, {len(shown.consumers)} connected"
            )
            names = tuple(sorted(self.subscription.name_of(who) for who in connected))
            self._ledger.compare(StepFact.CONNECTED, subject, recorded, names, STEPS_RULE)

    def _compare_subscription(self, subject: str, topic: TopicFacts, shown: SubscriptionFacts) -> None:
        modelled, ledger = self.subscription, self._ledger
        listed = compare_connected(modelled, ledger, subject, shown)
        if listed is None:
            return
        compare_ranges(modelled, ledger, subject, shown, listed)
        persistent = topic.domain != NON_PERSISTENT
        if persistent:
            compare_form(modelled, self._settings, ledger, subject, shown.consumers)
        if not listed:
            return
        compare_terms(modelled, ledger, subject, shown)
        if persistent:
            self._draining.compare(subject, shown, listed)
            # What waits in a partition is not all that waits.
            if self._sends and not self._recording.partitions:
                compare_backlog(modelled, ledger, subject, shown, len(self._receivers.outstanding))


def _settings_for(settings: BrokerSettings, *, persistent: bool) -> BrokerSettings:
    """The settings in force for a topic: only persistent ones have the classic implementation."""
    if persistent:
        return settings
    return replace(settings, subscriptionKeySharedUseClassicPersistentImplementation=False)
