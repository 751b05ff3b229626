"""The rules a recording is held against: one release and one set of settings, and the levels of its consumers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from engine.admin.facts import SubscriptionFacts, TopicFacts
from engine.config import BrokerSettings, ReleaseBehaviour
from engine.failover.choose import rule_in_force
from engine.failover.model import Consumer
from tests.lab.recording import Person, Recording


@dataclass(frozen=True, slots=True)
class Judge:
    """What is taken as given while facts are compared."""

    behaviour: ReleaseBehaviour
    settings: BrokerSettings

    @property
    def consistent_hashing(self) -> bool:
        return self.settings.activeConsumerFailoverConsistentHashing

    def rule(self, partition_index: int) -> str:
        """The rule in force, in words for a difference."""
        rule = rule_in_force(partition_index, consistent_hashing=self.consistent_hashing, behaviour=self.behaviour)
        flag = "true" if self.consistent_hashing else "false"
        if partition_index < 0:
            return f"{rule.value} (no partition, Pulsar {self.behaviour.label})"
        known = "" if self.behaviour.knows_failover_consistent_hashing else ", which this release does not know"
        return f"{rule.value} (activeConsumerFailoverConsistentHashing={flag}{known}, Pulsar {self.behaviour.label})"

    def with_flag(self, flag: bool) -> Judge:
        return replace(self, settings=replace(self.settings, activeConsumerFailoverConsistentHashing=flag))


def of_scenario(recording: Recording, connected: Sequence[str]) -> tuple[Consumer, ...]:
    """The consumers a step says are connected, in connect order; the ids are places in the scenario's roster."""
    places = {who: place for place, who in enumerate(recording.roster)} | dict(recording.strangers)
    consumers: list[Consumer] = []
    for who in connected:
        person = recording.roster.get(who, Person(who))
        consumers.append(Consumer(places[who], person.name, person.priority_level))
    return tuple(consumers)


def of_statistics(recording: Recording, subscription: SubscriptionFacts) -> tuple[Consumer, ...]:
    """The consumers as a dispatcher lists them, with the levels the scenario gives their names.

    Of namesakes with different levels the one listed first has the smallest: the list is sorted by level.
    """
    levels: dict[str, list[int]] = {}
    for person in recording.roster.values():
        levels.setdefault(person.name, []).append(person.priority_level)
    for known in levels.values():
        known.sort()
    seen: dict[str, int] = {}
    found: list[Consumer] = []
    for place, consumer in enumerate(subscription.consumers):
        known = levels.get(consumer.name, [0])
        nth = seen.get(consumer.name, 0)
        seen[consumer.name] = nth + 1
        found.append(Consumer(place, consumer.name, known[min(nth, len(known) - 1)]))
    return tuple(found)


def is_told_by_steps(recording: Recording, topic: TopicFacts, subscription: SubscriptionFacts) -> bool:
    """Whether the steps' ``connected`` lists are about this subscription."""
    if subscription.type != "Failover":
        return False
    if recording.topic and not is_topic_of_scenario(recording, topic):
        return False
    if recording.subscription:
        return subscription.name == recording.subscription
    return [each.type for each in topic.subscriptions].count("Failover") == 1


def is_key_shared_of_scenario(recording: Recording, topic: TopicFacts, subscription: SubscriptionFacts) -> bool:
    """Whether this is the Key_Shared subscription that the scenario's steps are about."""
    return (
        recording.key_shared is not None
        and subscription.type == "Key_Shared"
        and subscription.name == recording.subscription
        and is_topic_of_scenario(recording, topic)
    )


def is_topic_of_scenario(recording: Recording, topic: TopicFacts) -> bool:
    """Whether this is the topic that the scenario names, or a partition of it."""
    return topic.name == recording.topic or topic.name.startswith(f"{recording.topic}-partition-")
