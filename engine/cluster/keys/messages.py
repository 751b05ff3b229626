"""Messages of a Key_Shared subscription: publishing, acknowledging, and time."""

from __future__ import annotations

from typing import Final

from engine.cluster.commands import Acknowledge, PassTime, SendKeys
from engine.cluster.events import Event
from engine.cluster.keys.state import KeysAcknowledged, KeysPublished, KeySubscription, KeyTimePassed
from engine.cluster.keys.subscriptions import find_key_consumer, no_key_subscription
from engine.cluster.producers.state import ProducerTimePassed
from engine.cluster.state import ClusterState, find_key_subscription
from engine.errors import Rejection
from engine.keyshared.entry_key import key_of_text

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
    backlog = len(subscription.delivery.backlog) + len(command.keys) * command.times
    if backlog > MAX_MESSAGES:
        message = f"up to {MAX_MESSAGES} unacknowledged messages are modelled, and these would be {backlog}"
        return Rejection("TooManyMessages", message, "times")
    # A broker reads the key of an entry alone, which is that of the first message in it.
    keys = (command.keys[0],) * len(command.keys) if command.batched else command.keys
    return (KeysPublished(subscription.key, keys * command.times),)


def acknowledge_keys(state: ClusterState, command: Acknowledge) -> tuple[Event, ...] | Rejection:
    """Acknowledge the oldest messages that are held; no event where none is.

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
        KeysAcknowledged(subscription.key, owner, tuple(position for position, holder in held if holder == owner))
        for owner in dict.fromkeys(holder for _, holder in held)
    )


def pass_time(state: ClusterState, command: PassTime) -> tuple[Event, ...] | Rejection:
    """Advance the time of all Key_Shared subscriptions and producers. Refusals: none there, below 1 ms, too much."""
    if not 1 <= command.duration_ms <= MAX_TIME_MS:
        message = f"{command.duration_ms} is not a duration; wait for 1 to {MAX_TIME_MS} ms"
        return Rejection("IllegalArgumentException", message, "duration_ms")
    if not state.key_subscriptions and not state.producer_topics:
        message = "time changes nothing here: there is no Key_Shared subscription and no producer"
        return Rejection("SubscriptionNotFound", message, "duration_ms", 404)
    return (
        *(
            KeyTimePassed(subscription.key, subscription.now_ms + command.duration_ms)
            for subscription in state.key_subscriptions
        ),
        *(ProducerTimePassed(topic.topic, topic.now_ms + command.duration_ms) for topic in state.producer_topics),
    )


def _held(subscription: KeySubscription, consumer_id: int | None, key: bytes | None) -> list[tuple[int, int]]:
    """(position, consumer id) of the unacknowledged messages that are meant, oldest first."""
    backlog = subscription.delivery.backlog
    return sorted(
        (position, owner)
        for owner, messages in subscription.delivery.pending.items()
        if consumer_id is None or owner == consumer_id
        for position in messages
        if key is None or backlog[position].key == key
    )
