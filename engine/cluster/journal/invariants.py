"""The invariants of every state, checked without any code of the folds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np
from msgspec.structs import astuple

from engine.bundles.boundaries import namespace_bundles
from engine.cluster.keys.state import KeySubscription, set_of
from engine.cluster.limits import IDS, INT_32, MAX_PARTITIONS, MAX_WITHOUT_STATISTICS, without_statistics
from engine.cluster.producers.state import ProducerTopic
from engine.cluster.state import ClusterState, Namespace, Subscription
from engine.cluster.tables.loads import UNKNOWN_COUNT, LoadTable, filled
from engine.cluster.tables.topics import Load, Topic, TopicTable
from engine.errors import Rejection
from engine.names import (
    TopicName,
    parse_topic_name,
    refuse_namespace,
    refuse_subscription,
)

_LARGEST: Final = 2**63
"""Counters are Java longs; a rate above this is infinite, NaN, or an error."""


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
    problems = faults(state)
    assert not problems, "\n".join((*problems, repr(state)))


def _topic_faults(state: ClusterState) -> list[str]:
    faults: list[str] = []
    for topic in _judged_topics(state.topics):
        name = parse_topic_name(topic.name)
        if not isinstance(name, TopicName) or name.complete != topic.name:
            faults.append(f"{topic.name!r} is not a complete topic name")
        elif name.namespace not in state.namespaces:
            faults.append(f"topic {topic.name!r} is in a namespace without bundles")
        if not 0 <= topic.partitions <= MAX_PARTITIONS:
            faults.append(f"topic {topic.name!r} has {topic.partitions} partitions: 0 to {MAX_PARTITIONS} are modelled")
    bare = without_statistics(state)
    if bare > MAX_WITHOUT_STATISTICS:
        faults.append(f"{bare} partitions have no statistics: up to {MAX_WITHOUT_STATISTICS} are modelled")
    return faults


def _judged_topics(topics: TopicTable) -> Iterable[Topic]:
    """All topics; of synthetic ones, which differ only by number, the first and the last alone."""
    if topics.recipe is not None and len(topics):
        return [topics[name] for name in (topics.names[0], topics.names[-1])]
    return topics.listed()


def _load_faults(state: ClusterState) -> list[str]:
    every = (state.loads, *(subscription.loads for subscription in state.subscriptions if subscription.loads))
    return [fault for loads in every for fault in load_faults(state.topics, loads)]


def load_faults(topics: TopicTable, loads: Mapping[str, Load]) -> list[str]:
    """Faults of statistics: a name that is no partition of these topics, or an impossible number."""
    if isinstance(loads, LoadTable) and loads.topics is topics:
        columns = (filled(loads.rates), np.where(loads.counts == UNKNOWN_COUNT, 0, loads.counts))
        fine = all(bool(((column >= 0) & (column < _LARGEST)).all()) for column in columns)
        return [] if fine else ["statistics hold a number that is negative or no number"]
    faults = [f"statistics of {name!r}, which does not exist" for name in loads if not _has_dispatcher(topics, name)]
    faults += [
        f"statistics of {name!r} hold a number that is negative or no number"
        for name, load in loads.items()
        if not all(value is None or 0 <= value < _LARGEST for value in astuple(load))
    ]
    return faults


def _has_dispatcher(topics: TopicTable, name: str) -> bool:
    """Whether a name is that of a topic without partitions or of a partition."""
    return topics.partition_number(name) >= 0


def _subscription_faults(state: ClusterState) -> list[str]:
    faults: list[str] = []
    keys = [
        *(subscription.key for subscription in state.subscriptions),
        *(subscription.key for subscription in state.key_subscriptions),
    ]
    if len(set(keys)) != len(keys):
        faults.append("two subscriptions have one key")
    ids: set[int] = set()
    named = [(subscription.name, subscription.namespace) for subscription in state.subscriptions]
    named += [(subscription.name, subscription.namespace) for subscription in state.key_subscriptions]
    refusals = [refuse_subscription(name) or refuse_namespace(namespace) for name, namespace in named]
    faults += [refusal.message for refusal in refusals if refusal is not None]
    for subscription in state.subscriptions:
        faults += _one_subscription_faults(state, subscription)
        for consumer in subscription.consumers:
            if consumer.consumer_id in ids or not 0 <= consumer.consumer_id < state.next_consumer_id:
                faults.append(f"consumer id {consumer.consumer_id} is not unique or not below {state.next_consumer_id}")
            ids.add(consumer.consumer_id)
            if consumer.priority_level not in INT_32:
                faults.append(f"priority level {consumer.priority_level} is not a signed 32-bit number")
    for shared in state.key_subscriptions:
        faults += _key_subscription_faults(state, shared)
        for member in shared.consumers:
            if member.consumer_id in ids or not 0 <= member.consumer_id < state.next_consumer_id:
                faults.append(f"consumer id {member.consumer_id} is not unique or not below {state.next_consumer_id}")
            ids.add(member.consumer_id)
    if not 0 <= state.next_consumer_id <= len(IDS):
        faults.append(f"the next consumer id is {state.next_consumer_id}: ids have 32 bits")
    return faults


def _one_subscription_faults(state: ClusterState, subscription: Subscription) -> list[str]:
    if subscription.topics is state.topics.names:
        return []
    places = state.topics.places(subscription.topics).tolist()
    faults = [
        f"subscription {subscription.key!r} has the topic {topic!r}, which does not exist"
        for topic, place in zip(subscription.topics, places, strict=True)
        if place < 0
    ]
    if len(set(subscription.topics)) != len(subscription.topics):
        faults.append(f"subscription {subscription.key!r} has a topic twice")
    return faults


def _key_subscription_faults(state: ClusterState, subscription: KeySubscription) -> list[str]:
    faults = [
        f"subscription {subscription.key!r} has the topic {topic!r}, which does not exist"
        for topic in subscription.topics
        if topic not in state.topics
    ]
    for delivery in set_of(subscription.dispatchers):
        held = [position for positions in delivery.pending.values() for position in positions]
        if len(set(held)) != len(held) or any(position not in delivery.backlog for position in held):
            faults.append(f"subscription {subscription.key!r} has a message in two hands, or one that does not exist")
        if set(delivery.pending) != {consumer.consumer_id for consumer in delivery.selector.consumers}:
            faults.append(f"a dispatcher of {subscription.key!r} and its selector know other consumers")
    return faults


def _namespace_faults(state: ClusterState) -> list[str]:
    faults: list[str] = []
    for key, namespace in state.namespaces.items():
        if key != namespace.name:
            faults.append(f"namespace {namespace.name!r} is kept under the name {key!r}")
        faults += _one_namespace_faults(namespace)
    return faults


def _one_namespace_faults(namespace: Namespace) -> list[str]:
    refusal = refuse_namespace(namespace.name)
    if refusal is not None:
        return [refusal.message]
    bundles = namespace_bundles(namespace.name, namespace.boundaries)
    if isinstance(bundles, Rejection):
        return [f"namespace {namespace.name!r}: {bundles.message}"]
    return [
        f"namespace {namespace.name!r}: a cut of {split.lower:#010x}_{split.upper:#010x} is outside of it"
        for split in namespace.splits
        if not all(split.lower < cut < split.upper for cut in split.cuts)
    ]


def producer_faults(state: ClusterState) -> list[str]:
    """Everything that is wrong with the producers of a state, as sentences. O(producer objects)."""
    names = [topic.topic for topic in state.producer_topics]
    faults = ["the producers of a topic are kept twice"] if len(set(names)) != len(names) else []
    faults += [
        f"{name!r} takes {limit} producers"
        for name, limit in state.producer_policies.items()
        if limit < 0 or limit not in INT_32
    ]
    for producers in state.producer_topics:
        topic = state.topics.get(producers.topic)
        if topic is None or topic.partitions != producers.partitions:
            faults.append(
                f"the producers of {producers.topic!r} see {producers.partitions} partitions, which it does not have"
            )
        faults += _connection_faults(producers)
    return faults


def _connection_faults(topic: ProducerTopic) -> list[str]:
    brokers, producers = topic.producers.topic, topic.producers.producers
    faults = (
        [f"{topic.topic!r} counts its producers wrong"]
        if [p.number for p in producers] != [*range(len(producers))]
        else []
    )
    held = {(producer.number, at) for producer in producers for at, mine in producer.started.items() if mine.connected}
    seen: set[tuple[int, int]] = set()
    for at, there in enumerate(brokers.connected):
        mine = {(connected.owner, at) for connected in there}
        if len(mine) != len(there) or len({connected.producer_name for connected in there}) != len(there):
            faults.append(f"a producer or a name is connected twice to partition {at} of {topic.topic!r}")
        if there and at in brokers.failing:
            faults.append(f"partition {at} of {topic.topic!r} is not served and has producers")
        seen |= mine
    if held != seen:
        faults.append(f"producers and brokers of {topic.topic!r} know other connections: {sorted(held ^ seen)[:3]}")
    return faults
