"""Failover and Exclusive subscriptions in the steps of a recording: who is connected, in which order, who is active."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from engine.admin.facts import SubscriptionFacts, TopicFacts
from engine.admin.inference import InferredLevels
from engine.failover.choose import Rule, choose, sort_consumers
from engine.failover.model import Consumer
from engine.names import partition_index
from engine.verify.consumers import ORDER_RULE, Group, as_listed, compare_disjoint, compare_order, compare_subscription
from engine.verify.report import Ledger, Rules
from tests.lab.facts import StepFact
from tests.lab.scenario import KnownConsumer, Recording, Step

STEPS_RULE: Final = "the scenario's steps"
OVERFLOW: Final = "consumers whose levels are more than 2^31 - 1 apart: the broker's subtraction overflows"
_WIDEST: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Context:
    """What every comparison of consumers needs.

    ``levels`` are inferred, for recordings that introduce no consumers. ``subscribed`` are the topics on which some
    statistics show the scenario's subscription; a durable one does not go away.
    """

    recording: Recording
    rules: Rules
    ledger: Ledger
    levels: Mapping[Group, InferredLevels]
    subscribed: frozenset[str] = frozenset()


def of_steps(recording: Recording, connected: Sequence[str]) -> tuple[Consumer, ...]:
    """The consumers a step says are connected, in connect order; ids are their places in the roster."""
    places = {who: place for place, who in enumerate(recording.roster)} | dict(recording.newcomers)
    known = ((who, recording.roster.get(who, KnownConsumer(who))) for who in connected)
    return tuple(Consumer(places[who], consumer.name, consumer.priority_level) for who, consumer in known)


def of_statistics(recording: Recording, subscription: SubscriptionFacts) -> tuple[Consumer, ...]:
    """The consumers as a dispatcher lists them, with the levels that the roster gives their names.

    Of namesakes with different levels the one listed first has the smallest: the list is sorted by level.
    """
    levels: dict[str, list[int]] = {}
    for consumer in recording.roster.values():
        levels.setdefault(consumer.name, []).append(consumer.priority_level)
    for known in levels.values():
        known.sort()
    count: Counter[str] = Counter()
    consumers: list[Consumer] = []
    for place, listed in enumerate(subscription.consumers):
        known = levels.get(listed.name, [0])
        consumers.append(Consumer(place, listed.name, known[min(count[listed.name], len(known) - 1)]))
        count[listed.name] += 1
    return tuple(consumers)


def overflows(levels: Sequence[int]) -> bool:
    """Whether levels are so far apart that a broker compares them wrongly, which is not copied here."""
    return bool(levels) and max(levels) - min(levels) > _WIDEST


def is_topic_of_scenario(recording: Recording, topic: TopicFacts) -> bool:
    """Whether this is the topic that the scenario names, or a partition of it."""
    return topic.name == recording.topic or topic.name.startswith(f"{recording.topic}-partition-")


def is_key_shared_of_scenario(recording: Recording, topic: TopicFacts, subscription: SubscriptionFacts) -> bool:
    """Whether this is the Key_Shared subscription that the steps are about."""
    return (
        recording.key_shared is not None
        and subscription.type == "Key_Shared"
        and subscription.name == recording.subscription
        and is_topic_of_scenario(recording, topic)
    )


def _steps_name_consumers_of(recording: Recording, topic: TopicFacts, subscription: SubscriptionFacts) -> bool:
    """Whether the steps' ``connected`` lists are about this subscription."""
    if subscription.type != "Failover":
        return False
    if recording.topic and not is_topic_of_scenario(recording, topic):
        return False
    if recording.subscription:
        return subscription.name == recording.subscription
    return [other.type for other in topic.subscriptions].count("Failover") == 1


def compare_consumers(
    context: Context, topic: TopicFacts, connected: Sequence[str] | None, *, name_known: bool = True
) -> None:
    """Compare every subscription in the statistics of one topic; ``connected`` is what the steps say, None: nothing.

    ``name_known`` is False for a topic whose full name was not recorded, so that no ring can be asked.
    """
    for subscription in topic.subscriptions:
        match subscription.type:
            case "Key_Shared" if not is_key_shared_of_scenario(context.recording, topic, subscription):
                compare_disjoint(context.ledger, f"{topic.name} / {subscription.name}", subscription.consumers)
                context.ledger.skip("Key_Shared subscriptions whose joins and leaves the steps do not name")
            case "Shared":
                context.ledger.skip("Shared subscriptions: nobody is chosen")
            case "Failover" | "Exclusive" if subscription.consumers:
                named = connected is not None and _steps_name_consumers_of(context.recording, topic, subscription)
                _compare_one(context, topic, subscription, connected if named else None, name_known=name_known)
    if connected:
        _compare_presence(context, topic, connected)


def _compare_presence(context: Context, topic: TopicFacts, connected: Sequence[str]) -> None:
    """While consumers are connected, the scenario's subscription exists, has its type, and lists somebody."""
    recording = context.recording
    if recording.subscription_type != "Failover" or not recording.subscription:
        return
    if topic.name not in context.subscribed and not is_topic_of_scenario(recording, topic):
        return
    shown = next(
        (subscription for subscription in topic.subscriptions if subscription.name == recording.subscription), None
    )
    if shown is not None and shown.type == "Failover" and shown.consumers:
        return
    recorded = "no such subscription" if shown is None else f"type {shown.type}, {len(shown.consumers)} connected"
    names = tuple(sorted(consumer.name for consumer in of_steps(recording, connected)))
    subject = f"{topic.name} / {recording.subscription}"
    context.ledger.compare(StepFact.CONNECTED, subject, recorded, names, STEPS_RULE)


def _compare_one(
    context: Context,
    topic: TopicFacts,
    subscription: SubscriptionFacts,
    connected: Sequence[str] | None,
    *,
    name_known: bool,
) -> None:
    recording, ledger = context.recording, context.ledger
    consumers: tuple[Consumer, ...] = ()
    if connected is not None:
        consumers = of_steps(recording, connected)
        listed = tuple(sorted(consumer.name for consumer in subscription.consumers))
        modelled = tuple(sorted(consumer.name for consumer in consumers))
        subject = f"{topic.name} / {subscription.name}"
        if not ledger.compare(StepFact.CONNECTED, subject, listed, modelled, STEPS_RULE):
            consumers = ()
    inferred: InferredLevels | None = None
    if not consumers and not recording.roster and subscription.type == "Failover":
        consumers, inferred = as_listed(context.rules, topic, subscription, context.levels)
    consumers = consumers or of_statistics(recording, subscription)
    if overflows([consumer.priority_level for consumer in consumers]):
        ledger.skip(OVERFLOW)
        return
    compare_subscription(
        context.rules, ledger, topic, subscription, consumers, inferred=inferred, name_known=name_known
    )


def compare_loaded_order(context: Context, topic: TopicFacts) -> None:
    """Compare the order in broker-stats, which are of another moment than the step: who is listed does not count."""
    if not context.recording.roster or context.rules.in_force(topic.partition_index) is Rule.FIRST_CONNECTED:
        return
    for subscription in topic.subscriptions:
        if subscription.type == "Failover" and len(subscription.consumers) > 1:
            consumers = of_statistics(context.recording, subscription)
            if overflows([consumer.priority_level for consumer in consumers]):
                context.ledger.skip(OVERFLOW)
                continue
            subject = f"{topic.name} / {subscription.name} in broker-stats"
            compare_order(context.ledger, subject, subscription.consumers, sort_consumers(consumers), ORDER_RULE)


def compare_delivery(context: Context, step: Step, connected: Sequence[str], topics: Sequence[str]) -> None:
    """Compare who got the messages: that is the active consumer where statistics name nobody."""
    consumers = of_steps(context.recording, connected)
    by_id = dict(zip(connected, consumers, strict=True))
    for place, counts in (step.delivered or {}).items():
        topic = _delivered_topic(place, topics)
        if topic is None or not consumers:
            context.ledger.skip("deliveries on topics that the scenario does not name")
            continue
        if overflows([consumer.priority_level for consumer in consumers]):
            context.ledger.skip(OVERFLOW)
            continue
        index = partition_index(topic)
        choice = choose(
            consumers,
            topic,
            index,
            consistent_hashing=context.rules.consistent_hashing,
            behaviour=context.rules.behaviour,
        )
        assert choice is not None, "somebody is connected"
        receivers = tuple(sorted(f"{who}:{by_id[who].name if who in by_id else '?'}" for who in counts if counts[who]))
        active = next(who for who, consumer in by_id.items() if consumer == choice.active)
        expected = (f"{active}:{choice.active.name}",)
        rule = context.rules.described(index)
        context.ledger.compare(StepFact.ACTIVE_BY_DELIVERY, topic, receivers, expected, rule)


def _delivered_topic(place: str, topics: Sequence[str]) -> str | None:
    """The topic of a delivery, which is recorded under its name, its local name or its partition number."""
    for name in topics:
        if place in (name, name.rpartition("/")[2]) or name.endswith(f"-partition-{place}"):
            return name
    return topics[0] if len(topics) == 1 and partition_index(topics[0]) < 0 else None
