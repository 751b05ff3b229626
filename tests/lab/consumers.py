"""Consumers: who is connected, in which order, and who is active, for every subscription that statistics show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from engine.admin.facts import SubscriptionFacts, TopicFacts
from engine.admin.priorities import InferredLevels, infer_priority_levels
from engine.failover.choose import Choice, Rule, choose, rule_in_force, sort_consumers
from engine.failover.model import Consumer
from engine.names import NON_PERSISTENT, partition_index
from tests.lab.connect_times import connect_ranks
from tests.lab.judge import (
    Judge,
    is_key_shared_of_scenario,
    is_told_by_steps,
    is_topic_of_scenario,
    of_scenario,
    of_statistics,
)
from tests.lab.key_shared.statistics import compare_apart
from tests.lab.recording import Recording, Step
from tests.lab.report import FactKind, Ledger

ORDER_RULE = "priority level, then name by UTF-16 code unit, then connect order"
GroupKey = tuple[str, tuple[str, ...], Rule]
Guesses = Mapping[GroupKey, InferredLevels]


@dataclass(frozen=True, slots=True)
class Court:
    """What every comparison of consumers needs."""

    recording: Recording
    judge: Judge
    ledger: Ledger
    guesses: Guesses
    subscribed: frozenset[str] = frozenset()
    """Topics on which some statistics show the scenario's subscription; one that is durable does not go away."""

    @property
    def levels_known(self) -> bool:
        return bool(self.recording.roster)

    def rule_of(self, topic: TopicFacts) -> Rule:
        return rule_in_force(
            topic.partition_index, consistent_hashing=self.judge.consistent_hashing, behaviour=self.judge.behaviour
        )


def guess_levels(judge: Judge, topics: Iterable[TopicFacts]) -> dict[GroupKey, InferredLevels]:
    """Levels inferred from all topics on which one subscription has the same consumers in the same order."""
    actives: dict[GroupKey, dict[tuple[str, int], str]] = {}
    for topic in topics:
        rule = rule_in_force(
            topic.partition_index, consistent_hashing=judge.consistent_hashing, behaviour=judge.behaviour
        )
        for subscription in topic.subscriptions:
            if subscription.type == "Failover" and subscription.consumers:
                group = actives.setdefault(_group(subscription, rule), {})
                if subscription.active_consumer_name is not None:
                    group[topic.name, topic.partition_index] = subscription.active_consumer_name
    return {key: infer_priority_levels(key[1], seen, [key[2]]) for key, seen in actives.items()}


def _group(subscription: SubscriptionFacts, rule: Rule) -> GroupKey:
    return subscription.name, tuple(consumer.name for consumer in subscription.consumers), rule


def compare_consumers(
    court: Court, topic: TopicFacts, connected: Sequence[str] | None, *, name_known: bool = True
) -> None:
    """Hold every subscription of one topic's statistics against the model; ``connected`` is what the steps say.

    ``name_known`` False: the full name of the topic was not recorded, so no ring can be asked.
    """
    for subscription in topic.subscriptions:
        if subscription.type == "Key_Shared":
            if not is_key_shared_of_scenario(court.recording, topic, subscription):
                compare_apart(court.ledger, f"{topic.name} / {subscription.name}", subscription.consumers)
                court.ledger.skip("Key_Shared subscriptions whose consumers' coming and going no steps tell")
        elif subscription.type == "Shared":
            court.ledger.skip("Shared subscriptions: nobody is chosen")
        elif subscription.type in ("Failover", "Exclusive") and subscription.consumers:
            told = connected is not None and is_told_by_steps(court.recording, topic, subscription)
            _compare_one(court, topic, subscription, connected if told else None, name_known=name_known)
    if connected:
        _compare_presence(court, topic, connected)


def _compare_presence(court: Court, topic: TopicFacts, connected: Sequence[str]) -> None:
    """Consumers are connected, so the scenario's subscription is there, has its type, and lists somebody."""
    recording = court.recording
    if recording.subscription_type != "Failover" or not recording.subscription:
        return
    if topic.name not in court.subscribed and not is_topic_of_scenario(recording, topic):
        return
    found = next((each for each in topic.subscriptions if each.name == recording.subscription), None)
    if found is not None and found.type == "Failover" and found.consumers:
        return
    recorded = "no such subscription" if found is None else f"type {found.type}, {len(found.consumers)} connected"
    names = tuple(sorted(consumer.name for consumer in of_scenario(recording, connected)))
    subject = f"{topic.name} / {recording.subscription}"
    court.ledger.compare(FactKind.CONNECTED, subject, recorded, names, "the scenario's steps")


def _compare_one(
    court: Court,
    topic: TopicFacts,
    subscription: SubscriptionFacts,
    connected: Sequence[str] | None,
    *,
    name_known: bool,
) -> None:
    subject = f"{topic.name} / {subscription.name}"
    names = tuple(consumer.name for consumer in subscription.consumers)
    consumers: tuple[Consumer, ...] = ()
    if connected is not None:
        consumers = of_scenario(court.recording, connected)
        wanted = tuple(sorted(consumer.name for consumer in consumers))
        if not court.ledger.compare(FactKind.CONNECTED, subject, tuple(sorted(names)), wanted, "the scenario's steps"):
            consumers = ()
    guess: InferredLevels | None = None
    if not consumers:
        consumers = of_statistics(court.recording, subscription)
        if not court.levels_known and subscription.type == "Failover":
            guess = court.guesses.get(_group(subscription, court.rule_of(topic)))
    if guess is not None and court.rule_of(topic) is not Rule.FIRST_CONNECTED:
        consumers = tuple(
            Consumer(each.consumer_id, each.name, level) for each, level in zip(consumers, guess.levels, strict=True)
        )
    exclusive = subscription.type == "Exclusive"
    choice = choose(
        consumers,
        topic.name,
        0 if exclusive else topic.partition_index,
        consistent_hashing=court.judge.consistent_hashing,
        behaviour=court.judge.behaviour,
    )
    assert choice is not None, "somebody is connected"
    order = tuple(consumer.name for consumer in choice.order)
    rule = "connect order" if choice.rule is Rule.FIRST_CONNECTED else ORDER_RULE
    if guess is not None and max(guess.levels) > 0:
        court.ledger.skip("dispatcher order that only inferred priority levels explain")
    elif court.levels_known or guess is not None:
        _compare_order(court, subject, subscription, choice.order, rule)
    if not name_known and court.rule_of(topic) is Rule.RING and len(order) > 1:
        court.ledger.skip("active consumers of topics whose full name was not recorded")
    else:
        _compare_active(court, topic, subscription, choice, guess)


def _compare_active(
    court: Court,
    topic: TopicFacts,
    subscription: SubscriptionFacts,
    choice: Choice,
    guess: InferredLevels | None,
) -> None:
    active, order = choice.active.name, tuple(consumer.name for consumer in choice.order)
    subject = f"{topic.name} / {subscription.name}"
    recorded = subscription.active_consumer_name
    ledger = court.ledger
    if topic.domain == NON_PERSISTENT and recorded is None:
        ledger.compare(FactKind.NO_ACTIVE_NAME, subject, recorded, None, "non-persistent statistics name nobody")
        return
    kind = FactKind.ACTIVE_PARTITION if topic.partition_index >= 0 else FactKind.ACTIVE_NONPARTITIONED
    if subscription.type == "Exclusive":
        kind = FactKind.ACTIVE_EXCLUSIVE
    elif guess is not None and max(guess.levels) > 0 and guess.basis != "contradiction":
        kind = FactKind.ACTIVE_INFERRED_LEVELS
    ledger.compare(kind, subject, recorded, active, court.judge.rule(topic.partition_index))
    if recorded is not None and kind is not FactKind.ACTIVE_INFERRED_LEVELS:
        names = [consumer.name for consumer in subscription.consumers]
        ledger.compare(
            FactKind.STANDBYS,
            subject,
            _without(names, recorded),
            _without(order, active),
            "all but the active consumer",
        )


def _without(names: Sequence[str], active: str) -> tuple[str, ...]:
    at = names.index(active) if active in names else len(names)
    return (*names[:at], *names[at + 1 :])


def _compare_order(
    court: Court, subject: str, subscription: SubscriptionFacts, order: Sequence[Consumer], rule: str
) -> None:
    """Names in order; namesakes of one level are told apart by the time they connected."""
    levels: dict[str, set[int]] = {}
    for consumer in order:
        levels.setdefault(consumer.name, set()).add(consumer.priority_level)
    plain = {name for name, known in levels.items() if len(known) == 1}
    ranks = connect_ranks(subscription.consumers, plain)
    modelled: list[str] = []
    for consumer in order:
        nth = sum(each.name == consumer.name for each in order[: order.index(consumer)]) + 1
        modelled.append(f"{consumer.name} (connected {nth}.)" if consumer.name in ranks else consumer.name)
    seen: dict[str, int] = {}
    recorded: list[str] = []
    for each in subscription.consumers:
        if each.name in ranks:
            place = seen.get(each.name, 0)
            seen[each.name] = place + 1
            recorded.append(f"{each.name} (connected {ranks[each.name][place]}.)")
        else:
            recorded.append(each.name)
    court.ledger.compare(FactKind.ORDER, subject, tuple(recorded), tuple(modelled), rule)


def compare_loaded_order(court: Court, topic: TopicFacts) -> None:
    """broker-stats lists consumers in dispatcher order too; its moment is not the steps', so only the order counts."""
    if not court.levels_known or court.rule_of(topic) is Rule.FIRST_CONNECTED:
        return
    for subscription in topic.subscriptions:
        if subscription.type == "Failover" and len(subscription.consumers) > 1:
            consumers = sort_consumers(of_statistics(court.recording, subscription))
            subject = f"{topic.name} / {subscription.name} in broker-stats"
            _compare_order(court, subject, subscription, consumers, ORDER_RULE)


def _delivered_topic(place: str, topics: Sequence[str]) -> str | None:
    """The topic that a delivery was recorded for: by its name, its local name or its partition number."""
    for name in topics:
        if place in (name, name.rpartition("/")[2]) or name.endswith(f"-partition-{place}"):
            return name
    return topics[0] if len(topics) == 1 and partition_index(topics[0]) < 0 else None


def compare_delivery(court: Court, step: Step, connected: Sequence[str], topics: Sequence[str]) -> None:
    """Where statistics name nobody, the consumer that got the messages is the active one."""
    consumers = of_scenario(court.recording, connected)
    by_id = dict(zip(connected, consumers, strict=True))
    for partition, counts in (step.delivered or {}).items():
        topic = _delivered_topic(partition, topics)
        if topic is None or not consumers:
            court.ledger.skip("deliveries on topics that the scenario does not name")
            continue
        index = partition_index(topic)
        choice = choose(
            consumers,
            topic,
            index,
            consistent_hashing=court.judge.consistent_hashing,
            behaviour=court.judge.behaviour,
        )
        assert choice is not None, "somebody is connected"
        receivers = tuple(sorted(f"{who}:{by_id[who].name if who in by_id else '?'}" for who in counts if counts[who]))
        active = next(who for who, consumer in by_id.items() if consumer == choice.active)
        court.ledger.compare(
            FactKind.ACTIVE_BY_DELIVERY, topic, receivers, (f"{active}:{choice.active.name}",), court.judge.rule(index)
        )
