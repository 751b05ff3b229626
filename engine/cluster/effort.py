"""Estimate the cost of a command, so that a screen can run expensive ones in a worker."""

from __future__ import annotations

from engine.cluster.commands import (
    AddConsumer,
    AddProducers,
    AddTopic,
    Command,
    KillConsumer,
    RepartitionTopic,
    SendByProducers,
    SetProducerRate,
    SetRelease,
    SetSetting,
    ShareKeys,
    SplitBundle,
)
from engine.cluster.keys.state import KEY_SETTINGS, POINTS_SETTING, KeySubscription, SharingMode
from engine.cluster.producers.state import ProducerTopic
from engine.cluster.state import ClusterState, find_key_subscription, find_producer_topic


def effort_of(state: ClusterState, command: Command) -> int:
    """Return roughly how many points, ranges and partitions a command and the view after it process. O(consumers)."""
    return pieces_of(state) + own_effort(state, command)


def pieces_of(state: ClusterState) -> int:
    """Return what every view processes again: of the Key_Shared subscription and of the topic with producers that have
    most the points or declared ranges, and the partitions that producers opened. O(consumers + producers)."""
    of_keys = max(map(_pieces, state.key_subscriptions), default=0)
    return of_keys + max(map(_opened, state.producer_topics), default=0)


def _pieces(subscription: KeySubscription) -> int:
    from engine.keyshared.ring import RingSelector

    selector = subscription.delivery.selector
    if isinstance(selector, RingSelector):
        return selector.points * len(selector.consumers)
    return sum(len(consumer.declared or ()) for consumer in selector.consumers)


def _opened(topic: ProducerTopic) -> int:
    return sum(len(producer.started) for producer in topic.producers.producers)


def own_effort(state: ClusterState, command: Command) -> int:
    """Return what the command itself adds to that, by its numbers. O(consumers), and O(topics) to split."""
    match command:
        case ShareKeys():
            return _reconnecting(find_key_subscription(state, command.subscription), _points_of(state, command))
        case AddConsumer() | KillConsumer():
            # Clients may declare their ranges by how many they are: one more or less, and all connect anew.
            subscription = find_key_subscription(state, command.subscription)
            return _reconnecting(subscription, subscription.points if subscription is not None else 0)
        case SetSetting() if command.name == POINTS_SETTING:
            # No more digits than the largest accepted number; anything else is refused at once.
            points = int(command.text) if command.text.isdecimal() and len(command.text) < 10 else 0
            return _all_reconnecting(state, points)
        case SetRelease():
            return _all_reconnecting(state, state.settings.subscriptionKeySharedConsistentHashingReplicaPoints)
        case SetSetting() if command.name in KEY_SETTINGS:
            return _all_reconnecting(state, state.settings.subscriptionKeySharedConsistentHashingReplicaPoints)
        case SetProducerRate():
            # With a rate a producer opens every partition that it will reach.
            return _producers(state, command.topic, command.producer) * _partitions(state, command.topic)
        case AddProducers():
            return command.plan.count * _partitions(state, command.topic)
        case SendByProducers():
            return _producers(state, command.topic, command.producer) * command.times
        case AddTopic() | RepartitionTopic():
            return command.partitions
        case SplitBundle():
            return len(state.topics) + int(state.topics.partitions.sum())
    return 0


def _reconnecting(subscription: KeySubscription | None, points: int) -> int:
    """Return what it takes that all consumers connect anew, each to those before it, with so many points or ranges."""
    consumers = len(subscription.consumers) if subscription is not None else 0
    return consumers * max(consumers, points) if points else 0


def _all_reconnecting(state: ClusterState, points: int) -> int:
    """Return the same for the subscription of which it takes most."""
    return max((_reconnecting(subscription, points) for subscription in state.key_subscriptions), default=0)


def _points_of(state: ClusterState, command: ShareKeys) -> int:
    """Return how many points or ranges a consumer has once keys are shared as a command says."""
    if command.mode == SharingMode.CONSISTENT_AUTO_SPLIT.value:
        return state.settings.subscriptionKeySharedConsistentHashingReplicaPoints
    return command.points if command.mode == SharingMode.CONSISTENT_STICKY.value else 1


def _producers(state: ClusterState, topic: str, number: int | None) -> int:
    """Return how many producers of a topic a command is about: the one of that number, or all."""
    found = find_producer_topic(state, topic)
    return 1 if number is not None or found is None else len(found.producers.producers)


def _partitions(state: ClusterState, topic: str) -> int:
    found = find_producer_topic(state, topic)
    return found.partitions if found is not None else 0
