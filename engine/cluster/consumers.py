"""Who may connect and who may leave: ``PersistentTopic.addConsumerToSubscription`` and the single-active dispatcher."""

from __future__ import annotations

from collections import Counter

from engine.cluster.commands import AddConsumer, KillConsumer, RenameConsumer, SetPriorityLevel
from engine.cluster.events import ConsumerAdded, ConsumerRemoved, Event
from engine.cluster.keys.state import KeySubscription
from engine.cluster.limits import INT_32, MAX_CONSUMERS, NAME_LIMIT_BYTES
from engine.cluster.state import ClusterState, Subscription
from engine.errors import Rejection
from engine.failover.model import Consumer
from engine.hashing import utf8


def add_consumer(state: ClusterState, command: AddConsumer) -> tuple[Event, ...] | Rejection:
    """Refusals: SubscriptionNotFound, IllegalArgumentException (name, level), ConsumerBusy. Equal names are allowed."""
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
    """Refusals: SubscriptionNotFound, ServerMetadata (``Consumer was not connected``)."""
    found = _find_consumer(state, command.subscription, command.consumer_id)
    if isinstance(found, Rejection):
        return found
    return (ConsumerRemoved(command.subscription, command.consumer_id),)


def rename_consumer(state: ClusterState, command: RenameConsumer) -> tuple[Event, ...] | Rejection:
    """A leave and a connect under another name, so the consumer stands last and has a new id; its own name: nothing."""
    found = _find_consumer(state, command.subscription, command.consumer_id)
    if isinstance(found, Rejection):
        return found
    subscription, consumer = found
    refusal = refuse_long_name(command.name, "name")
    if refusal is not None:
        return refusal
    if command.name == consumer.name:
        return ()
    return _reconnect(state, subscription, consumer, command.name, consumer.priority_level)


def set_priority_level(state: ClusterState, command: SetPriorityLevel) -> tuple[Event, ...] | Rejection:
    """A leave and a connect with another level (a level is fixed at connect); its own level: nothing."""
    found = _find_consumer(state, command.subscription, command.consumer_id)
    if isinstance(found, Rejection):
        return found
    subscription, consumer = found
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
    known = ", ".join(repr(each.key) for each in state.subscriptions[:5]) or "none"
    more = ", ..." if len(state.subscriptions) > 5 else ""
    return Rejection(
        "SubscriptionNotFound", f"there is no subscription {short(key)}; known: {known}{more}", "subscription", 404
    )


def refuse_long_name(name: str, field: str) -> Rejection | None:
    """None for a name of at most ``NAME_LIMIT_BYTES``; any characters are welcome, halves of surrogate pairs too."""
    # One character is one to four bytes, so a text that is far too long need not be encoded to know it.
    size = len(name) if len(name) > NAME_LIMIT_BYTES else len(utf8(name))
    if size <= NAME_LIMIT_BYTES:
        return None
    return Rejection(
        "IllegalArgumentException",
        f"{short(name)} has more than {NAME_LIMIT_BYTES} bytes in UTF-8, the limit here; choose a shorter one",
        field,
    )


def refuse_connect(
    state: ClusterState, subscription: Subscription | KeySubscription, connected: int
) -> Rejection | None:
    """ConsumerBusy when one more consumer is too many next to ``connected`` others of this subscription.

    Pulsar asks the topic first (``maxConsumersPerTopic`` counts the consumers of all subscriptions of one topic or
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
    return Rejection("IllegalArgumentException", f"priority level {level} is no signed 32-bit number", "priority_level")


def short(text: str) -> str:
    """A text for a message, cut where it is long."""
    return repr(text if len(text) <= 60 else text[:57] + "...")
