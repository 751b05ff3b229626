"""Decisions about a Key_Shared subscription: joins and leaves, messages, acknowledgements and time."""

from __future__ import annotations

from typing import Final, NamedTuple

from engine.cluster.commands import (
    Acknowledge,
    AddConsumer,
    KillConsumer,
    PassTime,
    RenameConsumer,
    RouteKeys,
    SendKeys,
)
from engine.cluster.consumers import refuse_connect
from engine.cluster.events import Event
from engine.cluster.keys.evolve import undecided_key
from engine.cluster.keys.state import (
    KeyConsumerJoined,
    KeyConsumerLeft,
    KeysAcknowledged,
    KeysPublished,
    KeysRouted,
    KeySubscription,
    KeyTimePassed,
    set_of,
)
from engine.cluster.keys.subscriptions import accepted, find_key_consumer, no_key_subscription, nodes_of, reconnected
from engine.cluster.limits import refuse_long_name
from engine.cluster.producers.state import ProducerTimePassed
from engine.cluster.scalable.events import LONGEST_MS, TIME_REFUSED, ScalableTimePassed
from engine.cluster.state import ClusterState, find_key_subscription
from engine.errors import Rejection
from engine.keyshared.admission import KeySharedMode, SubscriptionTerms, join_refusal
from engine.keyshared.keys import key_of_text
from engine.keyshared.model import Consumer
from engine.keyshared.sticky import policy_problem
from engine.routing.clients import key_routing


def add_key_consumer(
    state: ClusterState, subscription: KeySubscription, command: AddConsumer
) -> tuple[Event, ...] | Rejection:
    """Decide whether a consumer may connect; refusals are Pulsar's, priority levels play no part.

    With consistent sticky ranges all nodes stop and come back.

    Ranges that are given by hand are checked as the client does, then as the broker does.
    """
    refusal = refuse_long_name(command.name, "name") or refuse_connect(state, subscription, len(subscription.consumers))
    if refusal is not None:
        return refusal
    if not subscription.declares and command.ranges is not None:
        return _declares_nothing(subscription)
    if command.ranges is None and subscription.points:
        newcomer = Consumer(state.next_consumer_id, command.name)
        return reconnected(subscription, (*nodes_of(subscription), newcomer), subscription.points)
    declared = (command.ranges or ()) if subscription.declares else None
    if declared is not None:
        problem = policy_problem(declared)
        if problem is not None:
            return problem
    return accepted(subscription, [KeyConsumerJoined(subscription.key, state.next_consumer_id, command.name, declared)])


def kill_key_consumer(subscription: KeySubscription, command: KillConsumer) -> tuple[Event, ...] | Rejection:
    """Disconnect a consumer. Refusal: ServerMetadata.

    With consistent sticky ranges the last node takes over the index that is free."""
    consumer = find_key_consumer(subscription, command.consumer_id)
    if isinstance(consumer, Rejection):
        return consumer
    if not subscription.points or len(subscription.consumers) == 1:
        return (KeyConsumerLeft(subscription.key, command.consumer_id),)
    *others, last = nodes_of(subscription)
    if last is not consumer:
        others[others.index(consumer)] = last
    return reconnected(subscription, others, subscription.points)


def rename_key_consumer(
    state: ClusterState, subscription: KeySubscription, command: RenameConsumer
) -> tuple[Event, ...] | Rejection:
    """Leave and connect under another name with the same ranges, so the consumer is last and has a new id.

    Refusals: ServerMetadata, a name that is too long, a limit that was lowered since it connected. Its own name:
    nothing.
    """
    consumer = find_key_consumer(subscription, command.consumer_id)
    if isinstance(consumer, Rejection):
        return consumer
    refusal = refuse_long_name(command.name, "name")
    if refusal is not None:
        return refusal
    if command.name == consumer.name:
        return ()
    refusal = refuse_connect(state, subscription, len(subscription.consumers) - 1)
    if refusal is not None:
        return refusal
    left = KeyConsumerLeft(subscription.key, consumer.consumer_id)
    joined = KeyConsumerJoined(subscription.key, state.next_consumer_id, command.name, consumer.declared)
    return accepted(subscription, [left, joined])


def _declares_nothing(subscription: KeySubscription) -> Rejection:
    """The refusal, in Pulsar's words where a consumer is connected; else the mode is still to be chosen."""
    advice = "change the mode to sticky first"
    ordering = subscription.allow_out_of_order_delivery
    here = SubscriptionTerms(mode=KeySharedMode.AUTO_SPLIT, allow_out_of_order_delivery=ordering)
    busy = join_refusal(here, SubscriptionTerms(mode=KeySharedMode.STICKY, allow_out_of_order_delivery=ordering))
    if subscription.consumers and busy is not None:
        return Rejection(busy.error, f"{busy.message} ({advice})", "ranges")
    message = f"consumers of {subscription.key} declare no ranges in mode {subscription.mode.value}; {advice}"
    return Rejection("IllegalArgumentException", message, "ranges")


MAX_MESSAGES: Final = 100_000
"""Unacknowledged messages of one subscription that are modelled one by one."""

MAX_TIME_MS: Final = 10**12


def send_keys(state: ClusterState, command: SendKeys) -> tuple[Event, ...] | Rejection:
    """Publish messages. Refusals: SubscriptionNotFound, a key that is not a text, no key, below one time, too many."""
    subscription = find_key_subscription(state, command.subscription)
    if subscription is None:
        return no_key_subscription(state, command.subscription)
    if not command.keys:
        return Rejection("IllegalArgumentException", 'name a key to send; an empty one is written ""', "keys")
    if command.times < 1:
        return Rejection("IllegalArgumentException", f"{command.times} times is not a number of messages", "times")
    for text in command.keys:
        key = key_of_text(text)
        if isinstance(key, Rejection):
            return key
    undecided = undecided_key(subscription, command.keys)
    if undecided:
        return Rejection("UndecidedPartition", undecided, "keys")
    backlog = sum(len(dispatcher.backlog) for dispatcher in set_of(subscription.dispatchers))
    backlog += len(command.keys) * command.times
    if backlog > MAX_MESSAGES:
        message = f"up to {MAX_MESSAGES} unacknowledged messages are modelled, and these would be {backlog}"
        return Rejection("TooManyMessages", message, "times")
    keys = _first_keys(subscription, command.keys) if command.batched else command.keys
    return (KeysPublished(subscription.key, keys * command.times),)


def _first_keys(subscription: KeySubscription, texts: tuple[str, ...]) -> tuple[str, ...]:
    """The keys that a broker reads of one batch in each partition: of an entry, that of its first message alone."""
    partitions = [subscription.partition_of(key) for text in texts if isinstance(key := key_of_text(text), bytes)]
    first = dict(reversed(list(zip(partitions, texts, strict=True))))
    return tuple(first[partition] for partition in partitions)


def route_keys(state: ClusterState, command: RouteKeys) -> tuple[Event, ...] | Rejection:
    """Take the partition of keys with another client's hash; no event for the one in force.

    Refusals: SubscriptionNotFound, NotPartitioned, an unknown client or hash, one that no key decides.
    """
    subscription = find_key_subscription(state, command.subscription)
    if subscription is None:
        return no_key_subscription(state, command.subscription)
    if subscription.routing is None:
        message = f"{subscription.key} has a topic without partitions, so no hash of a client takes one"
        return Rejection("NotPartitioned", message, "subscription", 409)
    routing = key_routing(command.client, command.hashing)
    if isinstance(routing, Rejection):
        return routing
    if not routing.known:
        message = f"{routing.family.name} takes {routing.key_hash.random}, so nothing can be computed"
        return Rejection("UndecidedPartition", message, "client")
    if routing == subscription.routing:
        return ()
    return (KeysRouted(subscription.key, subscription.partitions, routing.client, routing.hashing),)


def acknowledge_keys(state: ClusterState, command: Acknowledge) -> tuple[Event, ...] | Rejection:
    """Acknowledge the oldest unacknowledged messages; no event where there are none.

    Refusals: SubscriptionNotFound, ServerMetadata, a key that is not a text, a negative count.

    Without a consumer the oldest messages of all of them are meant.
    """
    subscription = find_key_subscription(state, command.subscription)
    if subscription is None:
        return no_key_subscription(state, command.subscription)
    if command.count < 0:
        return Rejection("IllegalArgumentException", f"{command.count} is not a number of messages", "count")
    if command.consumer_id is not None:
        consumer = find_key_consumer(subscription, command.consumer_id)
        if isinstance(consumer, Rejection):
            return consumer
    key: bytes | None = None
    if command.key is not None:
        parsed = key_of_text(command.key)
        if isinstance(parsed, Rejection):
            return parsed
        key = parsed
    held = _held(subscription, command.consumer_id, key)
    if command.count:
        held = held[: command.count]
    return tuple(
        KeysAcknowledged(
            subscription.key,
            owner,
            tuple(held_one.position for held_one in held if (held_one.owner, held_one.partition) == (owner, partition)),
            partition,
        )
        for owner, partition in dict.fromkeys((held_one.owner, held_one.partition) for held_one in held)
    )


def pass_time(state: ClusterState, command: PassTime) -> tuple[Event, ...] | Rejection:
    """Advance the time of all Key_Shared subscriptions, producers and scalable topics.

    Refusals: none of them there, below 1 ms, too much.
    """
    if not 1 <= command.duration_ms <= MAX_TIME_MS:
        message = f"{command.duration_ms} is not a duration; wait for 1 to {MAX_TIME_MS} ms"
        return Rejection("IllegalArgumentException", message, "duration_ms")
    if not state.key_subscriptions and not state.producer_topics and not state.scalable_topics:
        message = "time changes nothing here: there is no Key_Shared subscription, no producer and no scalable topic"
        return Rejection("SubscriptionNotFound", message, "duration_ms", 404)
    if state.scalable_topics and command.duration_ms > LONGEST_MS:
        return Rejection("IllegalArgumentException", TIME_REFUSED, "duration_ms")
    return (
        *(
            KeyTimePassed(subscription.key, subscription.now_ms + command.duration_ms)
            for subscription in state.key_subscriptions
        ),
        *(ProducerTimePassed(topic.topic, topic.now_ms + command.duration_ms) for topic in state.producer_topics),
        *(ScalableTimePassed(one.topic, one.running.now_ms + command.duration_ms) for one in state.scalable_topics),
    )


class _Held(NamedTuple):
    """An unacknowledged message; positions count in each partition."""

    position: int
    partition: int
    owner: int


def _held(subscription: KeySubscription, consumer_id: int | None, key: bytes | None) -> list[_Held]:
    """The unacknowledged messages that are meant, oldest first; of several partitions, by their place in them."""
    return sorted(
        _Held(position, partition, owner)
        for partition, dispatcher in enumerate(subscription.dispatchers)
        for owner, messages in dispatcher.pending.items()
        if consumer_id is None or owner == consumer_id
        for position in messages
        if key is None or dispatcher.backlog[position].key == key
    )
