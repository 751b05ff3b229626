"""Consumers of Failover subscriptions: who may connect and leave, and the state after it.

Source: ``PersistentTopic.addConsumerToSubscription`` and the single-active dispatcher.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from msgspec import structs

from engine.cluster.commands import AddConsumer, KillConsumer, RenameConsumer, SetPriorityLevel
from engine.cluster.events import ConsumerAdded, ConsumerRemoved, Event
from engine.cluster.keys.state import KeySubscription
from engine.cluster.limits import IDS, INT_32, MAX_CONSUMERS, refuse_long_name, short
from engine.cluster.state import ClusterState, Subscription
from engine.errors import Rejection
from engine.failover.model import Consumer


def add_consumer(state: ClusterState, command: AddConsumer) -> tuple[Event, ...] | Rejection:
    """Decide whether a consumer may connect; equal names are allowed.

    Refusals: SubscriptionNotFound, IllegalArgumentException (name, level), ConsumerBusy.
    """
    subscription = find_subscription(state, command.subscription)
    if isinstance(subscription, Rejection):
        return subscription
    refusal = (
        refuse_long_name(command.name, "name")
        or _refuse_level(command.priority_level)
        or refuse_connect(state, subscription, len(subscription.consumers))
    )
    if refusal is not None:
        return refusal
    return (ConsumerAdded(subscription.key, state.next_consumer_id, command.name, command.priority_level),)


def kill_consumer(state: ClusterState, command: KillConsumer) -> tuple[Event, ...] | Rejection:
    """Disconnect a consumer. Refusals: SubscriptionNotFound, ServerMetadata (``Consumer was not connected``)."""
    connected = _find_consumer(state, command.subscription, command.consumer_id)
    if isinstance(connected, Rejection):
        return connected
    return (ConsumerRemoved(command.subscription, command.consumer_id),)


def rename_consumer(state: ClusterState, command: RenameConsumer) -> tuple[Event, ...] | Rejection:
    """Leave and connect under another name, so the consumer is last and has a new id; no event for its own name."""
    connected = _find_consumer(state, command.subscription, command.consumer_id)
    if isinstance(connected, Rejection):
        return connected
    subscription, consumer = connected
    refusal = refuse_long_name(command.name, "name")
    if refusal is not None:
        return refusal
    if command.name == consumer.name:
        return ()
    return _reconnect(state, subscription, consumer, command.name, consumer.priority_level)


def set_priority_level(state: ClusterState, command: SetPriorityLevel) -> tuple[Event, ...] | Rejection:
    """Leave and connect with another level, which is fixed at connect; no event for its own level."""
    connected = _find_consumer(state, command.subscription, command.consumer_id)
    if isinstance(connected, Rejection):
        return connected
    subscription, consumer = connected
    refusal = _refuse_level(command.priority_level)
    if refusal is not None:
        return refusal
    if command.priority_level == consumer.priority_level:
        return ()
    return _reconnect(state, subscription, consumer, consumer.name, command.priority_level)


def find_subscription(state: ClusterState, key: str) -> Subscription | Rejection:
    """The subscription of that key. O(subscriptions)."""
    for subscription in state.subscriptions:
        if subscription.key == key:
            return subscription
    known = ", ".join(repr(subscription.key) for subscription in state.subscriptions[:5]) or "none"
    more = ", ..." if len(state.subscriptions) > 5 else ""
    return Rejection(
        "SubscriptionNotFound", f"there is no subscription {short(key)}; known: {known}{more}", "subscription", 404
    )


def refuse_connect(
    state: ClusterState, subscription: Subscription | KeySubscription, connected: int
) -> Rejection | None:
    """Refuse with ConsumerBusy when one more consumer beside ``connected`` others of this subscription is too many.

    Pulsar checks the topic first (``maxConsumersPerTopic`` counts the consumers of all subscriptions of one topic or
    partition), then the dispatcher (``maxConsumersPerSubscription``, per partition too). 0 and less mean no limit.
    Here a consumer connects to every topic of its subscription, so one full topic refuses it.
    O(topics of all subscriptions) with a topic limit, else O(1).
    """
    per_topic = state.settings.maxConsumersPerTopic
    per_subscription = state.settings.maxConsumersPerSubscription
    if per_topic > 0:
        counts = consumers_per_topic(state)
        lacking = len(subscription.consumers) - connected
        for topic in subscription.topics:
            if counts[topic] - lacking >= per_topic:
                return Rejection(
                    "ConsumerBusy",
                    f"Topic reached max consumers limit ({topic} has {counts[topic] - lacking},"
                    f" maxConsumersPerTopic is {per_topic})",
                    "maxConsumersPerTopic",
                )
    if 0 < per_subscription <= connected:
        return Rejection(
            "ConsumerBusy",
            f"Subscription reached max consumers limit ({subscription.key} has {connected},"
            f" maxConsumersPerSubscription is {per_subscription})",
            "maxConsumersPerSubscription",
        )
    if connected >= MAX_CONSUMERS:
        return Rejection("TooManyConsumers", f"up to {MAX_CONSUMERS} consumers are modelled here", "subscription")
    return None


def consumers_per_topic(state: ClusterState) -> Counter[str]:
    """How many consumers each topic (and each of its partitions) has over all subscriptions; 0 for unknown topics."""
    counts: Counter[str] = Counter()
    every: list[Subscription | KeySubscription] = [*state.subscriptions, *state.key_subscriptions]
    for subscription in every:
        for topic in subscription.topics:
            counts[topic] += len(subscription.consumers)
    return counts


def _find_consumer(state: ClusterState, key: str, consumer_id: int) -> tuple[Subscription, Consumer] | Rejection:
    subscription = find_subscription(state, key)
    if isinstance(subscription, Rejection):
        return subscription
    for consumer in subscription.consumers:
        if consumer.consumer_id == consumer_id:
            return subscription, consumer
    return Rejection("ServerMetadata", f"Consumer was not connected: #{consumer_id} of {key}", "consumer_id")


def _reconnect(
    state: ClusterState, subscription: Subscription, consumer: Consumer, name: str, priority_level: int
) -> tuple[Event, ...] | Rejection:
    # A limit that was lowered since it connected keeps a consumer out when it comes back.
    refusal = refuse_connect(state, subscription, len(subscription.consumers) - 1)
    if refusal is not None:
        return refusal
    return (
        ConsumerRemoved(subscription.key, consumer.consumer_id),
        ConsumerAdded(subscription.key, state.next_consumer_id, name, priority_level),
    )


def _refuse_level(level: int) -> Rejection | None:
    # The Java client refuses negative levels, the broker takes any number that the wire protocol can carry.
    if level in INT_32:
        return None
    return Rejection(
        "IllegalArgumentException", f"priority level {level} is not a signed 32-bit number", "priority_level"
    )


def consumer_objection(state: ClusterState, event: ConsumerAdded | ConsumerRemoved) -> str:
    """Say why a consumer cannot come or go like this, "" when it can."""
    if isinstance(event, ConsumerRemoved):
        connected = any(consumer.consumer_id == event.consumer_id for consumer in _consumers(state, event.subscription))
        return "" if connected else f"consumer {event.consumer_id} of {event.subscription!r} is not connected"
    if all(subscription.key != event.subscription for subscription in state.subscriptions):
        return f"there is no subscription {event.subscription!r}"
    if event.consumer_id not in IDS or event.priority_level not in INT_32:
        return f"the id {event.consumer_id} or the level {event.priority_level} does not fit into 32 bits"
    return "" if event.consumer_id >= state.next_consumer_id else f"the id {event.consumer_id} was used before"


def with_consumer_event(state: ClusterState, event: ConsumerAdded | ConsumerRemoved) -> ClusterState:
    """Return the state after a consumer came or went. O(consumers)."""
    connected = _consumers(state, event.subscription)
    if isinstance(event, ConsumerAdded):
        consumers = (*connected, Consumer(event.consumer_id, event.name, event.priority_level))
        next_id = event.consumer_id + 1
    else:
        consumers = tuple(consumer for consumer in connected if consumer.consumer_id != event.consumer_id)
        next_id = state.next_consumer_id
    return structs.replace(
        state,
        subscriptions=tuple(
            replace(subscription, consumers=consumers) if subscription.key == event.subscription else subscription
            for subscription in state.subscriptions
        ),
        next_consumer_id=next_id,
    )


def _consumers(state: ClusterState, key: str) -> tuple[Consumer, ...]:
    return next((subscription.consumers for subscription in state.subscriptions if subscription.key == key), ())
