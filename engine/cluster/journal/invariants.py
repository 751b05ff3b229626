"""What holds in every state, in one place. The checker stands outside of what it checks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import astuple
from typing import Final

from engine.bundles.boundaries import namespace_bundles
from engine.cluster.keys.state import KeySubscription
from engine.cluster.limits import IDS, INT_32, MAX_PARTITIONS, MAX_WITHOUT_STATISTICS, without_statistics
from engine.cluster.producers.state import ProducerTopic
from engine.cluster.state import ClusterState, Namespace, Subscription
from engine.cluster.tables.loads import LoadTable
from engine.cluster.tables.topics import Load, Topic, TopicTable
from engine.errors import Rejection
from engine.names import (
    TopicName,
    parse_topic_name,
    refuse_namespace,
    refuse_subscription,
)

_LARGEST: Final = 2**63


"""Counters are Java longs; a rate that is not below this is infinite, no number, or a slip."""


def faults(state: ClusterState) -> tuple[str, ...]:
    """Everything that is wrong with a state, as sentences; empty for every state that commands can lead to.

    O(consumers + topics + partitions of subscriptions).
    """
    return (
        *_topic_faults(state),
        *_load_faults(state),
        *_subscription_faults(state),
        *producer_faults(state),
        *_namespace_faults(state),
    )


def check(state: ClusterState) -> None:
    """Assert that nothing is wrong, and print the whole state when something is."""
    found = faults(state)
    assert not found, "\n".join((*found, repr(state)))


def _topic_faults(state: ClusterState) -> list[str]:
    found: list[str] = []
    for topic in _judged_topics(state.topics):
        name = parse_topic_name(topic.name)
        if not isinstance(name, TopicName) or name.complete != topic.name:
            found.append(f"{topic.name!r} is no complete topic name")
        elif name.namespace not in state.namespaces:
            found.append(f"topic {topic.name!r} lies in a namespace without bundles")
        if not 0 <= topic.partitions <= MAX_PARTITIONS:
            found.append(f"topic {topic.name!r} has {topic.partitions} partitions: 0 to {MAX_PARTITIONS} are modelled")
    bare = without_statistics(state)
    if bare > MAX_WITHOUT_STATISTICS:
        found.append(f"{bare} partitions have no statistics: up to {MAX_WITHOUT_STATISTICS} are modelled")
    return found


def _judged_topics(topics: TopicTable) -> Iterable[Topic]:
    """All topics; of made-up ones, which differ by their numbers alone, the first and the last."""
    if topics.recipe is not None and len(topics):
        return [topics[name] for name in (topics.names[0], topics.names[-1])]
    return topics.listed()


def _load_faults(state: ClusterState) -> list[str]:
    every = (state.loads, *(each.loads for each in state.subscriptions if each.loads))
    return [fault for loads in every for fault in load_faults(state.topics, loads)]


def load_faults(topics: TopicTable, loads: Mapping[str, Load]) -> list[str]:
    """What is wrong with statistics: they are of no partition of these topics, or hold a number that cannot be."""
    if isinstance(loads, LoadTable) and loads.topics is topics:
        fine = all(bool(((each >= 0) & (each < _LARGEST)).all()) for each in (loads.rates, loads.counts))
        return [] if fine else ["statistics hold a number that is negative or no number"]
    found = [f"statistics of {name!r}, which does not exist" for name in loads if not _has_dispatcher(topics, name)]
    found += [
        f"statistics of {name!r} hold a number that is negative or no number"
        for name, load in loads.items()
        if not all(0 <= value < _LARGEST for value in astuple(load))
    ]
    return found


def _has_dispatcher(topics: TopicTable, name: str) -> bool:
    """Whether a name is that of a topic without partitions or of a partition."""
    return topics.partition_number(name) >= 0


def _subscription_faults(state: ClusterState) -> list[str]:
    found: list[str] = []
    keys = [*(each.key for each in state.subscriptions), *(each.key for each in state.key_subscriptions)]
    if len(set(keys)) != len(keys):
        found.append("two subscriptions have one key")
    ids: set[int] = set()
    named = [(each.name, each.namespace) for each in state.subscriptions]
    named += [(each.name, each.namespace) for each in state.key_subscriptions]
    refusals = [refuse_subscription(name) or refuse_namespace(namespace) for name, namespace in named]
    found += [refusal.message for refusal in refusals if refusal is not None]
    for subscription in state.subscriptions:
        found += _one_subscription_faults(state, subscription)
        for consumer in subscription.consumers:
            if consumer.consumer_id in ids or not 0 <= consumer.consumer_id < state.next_consumer_id:
                found.append(f"consumer id {consumer.consumer_id} is not unique or not below {state.next_consumer_id}")
            ids.add(consumer.consumer_id)
            if consumer.priority_level not in INT_32:
                found.append(f"priority level {consumer.priority_level} is no signed 32-bit number")
    for shared in state.key_subscriptions:
        found += _key_subscription_faults(state, shared)
        for each in shared.consumers:
            if each.consumer_id in ids or not 0 <= each.consumer_id < state.next_consumer_id:
                found.append(f"consumer id {each.consumer_id} is not unique or not below {state.next_consumer_id}")
            ids.add(each.consumer_id)
    if not 0 <= state.next_consumer_id <= len(IDS):
        found.append(f"the next consumer id is {state.next_consumer_id}: ids have 32 bits")
    return found


def _one_subscription_faults(state: ClusterState, subscription: Subscription) -> list[str]:
    if subscription.topics is state.topics.names:
        return []
    places = state.topics.places(subscription.topics).tolist()
    found = [
        f"subscription {subscription.key!r} has the topic {topic!r}, which does not exist"
        for topic, place in zip(subscription.topics, places, strict=True)
        if place < 0
    ]
    if len(set(subscription.topics)) != len(subscription.topics):
        found.append(f"subscription {subscription.key!r} has a topic twice")
    return found


def _key_subscription_faults(state: ClusterState, subscription: KeySubscription) -> list[str]:
    found = [
        f"subscription {subscription.key!r} has the topic {topic!r}, which does not exist"
        for topic in subscription.topics
        if topic not in state.topics
    ]
    delivery = subscription.delivery
    held = [position for positions in delivery.pending.values() for position in positions]
    if len(set(held)) != len(held) or any(position not in delivery.backlog for position in held):
        found.append(f"subscription {subscription.key!r} has a message in two hands, or one that does not exist")
    if set(delivery.pending) != {each.consumer_id for each in subscription.consumers}:
        found.append(f"the dispatcher of {subscription.key!r} and its selector know other consumers")
    return found


def _namespace_faults(state: ClusterState) -> list[str]:
    found: list[str] = []
    for key, namespace in state.namespaces.items():
        if key != namespace.name:
            found.append(f"namespace {namespace.name!r} is kept under the name {key!r}")
        found += _one_namespace_faults(namespace)
    return found


def _one_namespace_faults(namespace: Namespace) -> list[str]:
    refusal = refuse_namespace(namespace.name)
    if refusal is not None:
        return [refusal.message]
    bundles = namespace_bundles(namespace.name, namespace.boundaries)
    if isinstance(bundles, Rejection):
        return [f"namespace {namespace.name!r}: {bundles.message}"]
    return [
        f"namespace {namespace.name!r}: a cut of {split.lower:#010x}_{split.upper:#010x} lies outside"
        for split in namespace.splits
        if not all(split.lower < cut < split.upper for cut in split.cuts)
    ]


def producer_faults(state: ClusterState) -> list[str]:
    """Everything that is wrong with the producers of a state, as sentences. O(producer objects)."""
    names = [each.topic for each in state.producer_topics]
    found = ["the producers of a topic are kept twice"] if len(set(names)) != len(names) else []
    for each in state.producer_topics:
        topic = state.topics.get(each.topic)
        if topic is None or topic.partitions != each.partitions:
            found.append(f"the producers of {each.topic!r} see {each.partitions} partitions, which it does not have")
        found += _connection_faults(each)
    return found


def _connection_faults(topic: ProducerTopic) -> list[str]:
    brokers, producers = topic.producers.topic, topic.producers.producers
    found = (
        [f"{topic.topic!r} counts its producers wrong"]
        if [p.number for p in producers] != [*range(len(producers))]
        else []
    )
    held = {(each.number, at) for each in producers for at, mine in each.started.items() if mine.connected}
    seen: set[tuple[int, int]] = set()
    for at, there in enumerate(brokers.connected):
        mine = {(each.owner, at) for each in there}
        if len(mine) != len(there) or len({each.producer_name for each in there}) != len(there):
            found.append(f"a producer or a name is connected twice to partition {at} of {topic.topic!r}")
        if there and at in brokers.failing:
            found.append(f"partition {at} of {topic.topic!r} is not served and has producers")
        seen |= mine
    if held != seen:
        found.append(f"producers and brokers of {topic.topic!r} know other connections: {sorted(held ^ seen)[:3]}")
    return found
