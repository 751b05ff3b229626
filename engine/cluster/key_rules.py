"""Who may connect to a Key_Shared subscription, what a change of mode takes, and what messages do there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from engine.cluster.commands import AddConsumer, KillConsumer, RenameConsumer, ShareKeys, SubscribeKeyShared
from engine.cluster.consumer_rules import refuse_connect, refuse_long_name, short
from engine.cluster.events import Event, SettingChanged
from engine.cluster.key_events import (
    KeyConsumerJoined,
    KeyConsumerLeft,
    KeyDispatcherStarted,
    KeyEvent,
    KeySubscriptionCreated,
)
from engine.cluster.key_evolve import after, dispatcher_of, key_objection
from engine.cluster.key_state import KeySubscription, SharingMode
from engine.cluster.state import ClusterState
from engine.config import BrokerSettings
from engine.errors import Rejection
from engine.keyshared.admission import SubscriptionTerms, SubscriptionType, join_refusal
from engine.keyshared.consistent_sticky import node_ranges
from engine.keyshared.model import RANGE_SIZE, Consumer, DeclaredRanges
from engine.keyshared.sticky_policy import policy_problem
from engine.names import TopicName, parse_topic_name

RING_FLAG: Final = "subscriptionKeySharedUseConsistentHashing"
KEY_SETTINGS: Final = (
    RING_FLAG,
    "subscriptionKeySharedConsistentHashingReplicaPoints",
    "subscriptionKeySharedUseClassicPersistentImplementation",
    "keySharedLookAheadMsgInReplayThresholdPerConsumer",
    "keySharedLookAheadMsgInReplayThresholdPerSubscription",
    "keySharedUnblockingIntervalMs",
)
"""The broker's settings that a Key_Shared dispatcher reads when it is made."""


def find_key_subscription(state: ClusterState, key: str) -> KeySubscription | None:
    """The Key_Shared subscription of that key, None when it is of another type or not there. O(subscriptions)."""
    return next((each for each in state.key_subscriptions if each.key == key), None)


def subscribe_key_shared(state: ClusterState, command: SubscribeKeyShared) -> tuple[Event, ...] | Rejection:
    """Refusals: a bad name, an unknown topic, a subscription of that name that is there or of another type."""
    refusal = refuse_long_name(command.name, "name")
    if refusal is not None:
        return refusal
    name = parse_topic_name(command.topic)
    topic = state.topics.get(name.complete) if isinstance(name, TopicName) else None
    if topic is None or not isinstance(name, TopicName):
        return Rejection("RestException", f"Topic {short(command.topic)} not found", "topic", 404)
    terms = SubscriptionTerms()
    for each in state.subscriptions:
        if each.name == command.name and topic.name in each.topics and each.consumers:
            busy = join_refusal(SubscriptionTerms(SubscriptionType.FAILOVER), terms)
            assert busy is not None, "Failover is not Key_Shared"
            return busy
    keys = {each.key for each in state.subscriptions} | {each.key for each in state.key_subscriptions}
    if any(each.name == command.name and topic.name in each.topics for each in state.key_subscriptions):
        return Rejection("SubscriptionExists", f"{command.name} is there already on {topic.name}", "name", 409)
    key = next(text for text in _keys_for(command.name) if text not in keys)
    return (
        KeySubscriptionCreated(key, command.name, name.namespace, (topic.name,)),
        started(state, key, ordered=not command.allow_out_of_order_delivery),
    )


def add_key_consumer(
    state: ClusterState, subscription: KeySubscription, command: AddConsumer
) -> tuple[Event, ...] | Rejection:
    """Refusals are Pulsar's; priority levels play no part. With consistent sticky ranges all nodes stop and come back.

    Ranges that are given by hand are declared as they are, first to the client's own check, then to the broker's.
    """
    refusal = refuse_long_name(command.name, "name") or refuse_connect(state, subscription, len(subscription.consumers))
    if refusal is not None:
        return refusal
    if not subscription.declares and command.ranges is not None:
        busy = "consumers of this subscription declare no ranges; change the mode to sticky first"
        return Rejection("ConsumerBusy", busy, "ranges")
    if command.ranges is None and subscription.points:
        newcomer = Consumer(state.next_consumer_id, command.name)
        return _reconnected(subscription, (*subscription.consumers, newcomer), subscription.points)
    declared = (command.ranges or ()) if subscription.declares else None
    if declared is not None:
        problem = policy_problem(declared)
        if problem is not None:
            return problem
    joined = KeyConsumerJoined(subscription.key, state.next_consumer_id, command.name, declared)
    return _accepted(subscription, [joined])


def kill_key_consumer(subscription: KeySubscription, command: KillConsumer) -> tuple[Event, ...] | Rejection:
    """Refusal: ServerMetadata. With consistent sticky ranges the last node takes over the index that is free."""
    consumer = find_key_consumer(subscription, command.consumer_id)
    if isinstance(consumer, Rejection):
        return consumer
    if not subscription.points or len(subscription.consumers) == 1:
        return (KeyConsumerLeft(subscription.key, command.consumer_id),)
    *others, last = subscription.consumers
    if last is not consumer:
        others[others.index(consumer)] = last
    return _reconnected(subscription, others, subscription.points)


def rename_key_consumer(
    state: ClusterState, subscription: KeySubscription, command: RenameConsumer
) -> tuple[Event, ...] | Rejection:
    """A leave and a connect under another name with the same ranges, so the consumer stands last and has a new id."""
    consumer = find_key_consumer(subscription, command.consumer_id)
    if isinstance(consumer, Rejection):
        return consumer
    refusal = refuse_long_name(command.name, "name")
    if refusal is not None:
        return refusal
    if command.name == consumer.name:
        return ()
    left = KeyConsumerLeft(subscription.key, consumer.consumer_id)
    joined = KeyConsumerJoined(subscription.key, state.next_consumer_id, command.name, consumer.declared)
    return _accepted(subscription, [left, joined])


def share_keys(state: ClusterState, command: ShareKeys) -> tuple[Event, ...] | Rejection:
    """Refusals: SubscriptionNotFound, an unknown mode, points below 1. The mode it has: nothing.

    STICKY ranges that nobody named are equal parts of the 65536 slots in the order of joining.
    """
    subscription = find_key_subscription(state, command.subscription)
    if subscription is None:
        return no_key_subscription(state, command.subscription)
    modes = {mode.value: mode for mode in SharingMode}
    mode = modes.get(command.mode)
    if mode is None:
        return Rejection("UnknownMode", f"{short(command.mode)} is no mode; known: {', '.join(modes)}", "mode")
    points = command.points if mode is SharingMode.CONSISTENT_STICKY else 0
    if mode is subscription.mode and points == subscription.points:
        return ()
    if mode is SharingMode.CONSISTENT_STICKY and points < 1:
        return Rejection("InvalidPoints", f"a node needs 1 point or more, not {command.points}", "points")
    ranges = _ranges_of(mode, points, len(subscription.consumers))
    if isinstance(ranges, Rejection):
        return ranges
    ring = mode is SharingMode.CONSISTENT_AUTO_SPLIT
    flips = not mode.declares and state.settings.subscriptionKeySharedUseConsistentHashing is not ring
    settings = state.settings
    events: list[Event] = []
    if flips:
        text = "true" if ring else "false"
        events.append(SettingChanged(RING_FLAG, text))
        changed = settings.with_setting(RING_FLAG, text)
        assert isinstance(changed, BrokerSettings), changed
        settings = changed
    start = started(
        state,
        subscription.key,
        settings=settings,
        declares=mode.declares,
        points=points,
        ordered=not subscription.allow_out_of_order_delivery,
    )
    consumers = [
        Consumer(each.consumer_id, each.name, declared)
        for each, declared in zip(subscription.consumers, ranges, strict=True)
    ]
    events += _restart(subscription, start, consumers)
    if flips:
        events += restarts(state, settings, state.release, but=subscription.key)
    return tuple(events)


def restarts(state: ClusterState, settings: BrokerSettings, release: str, *, but: str = "") -> list[Event]:
    """The broker comes back with these settings: whoever was connected connects again, in the same order.

    Subscriptions whose dispatcher would be the same are left alone.
    """
    events: list[Event] = []
    for each in state.key_subscriptions:
        start = started(
            state,
            each.key,
            settings=settings,
            release=release,
            declares=each.declares,
            points=each.points,
            ordered=not each.allow_out_of_order_delivery,
        )
        latest = next((old for old in reversed(each.happened) if isinstance(old, KeyDispatcherStarted)), None)
        if each.key != but and latest != start:
            events += _restart(each, start, each.consumers)
    return events


def started(
    state: ClusterState,
    key: str,
    *,
    settings: BrokerSettings | None = None,
    release: str | None = None,
    declares: bool = False,
    points: int = 0,
    ordered: bool = True,
) -> KeyDispatcherStarted:
    """The event of a dispatcher that starts in these circumstances, by default those of the state."""
    read = settings or state.settings
    known = tuple((name, read.text_of(name)) for name in KEY_SETTINGS if hasattr(read, name))
    return KeyDispatcherStarted(key, declares, points, not ordered, release or state.release, known)


def find_key_consumer(subscription: KeySubscription, consumer_id: int) -> Consumer | Rejection:
    """The connected consumer of that id; refused in Pulsar's words."""
    for consumer in subscription.consumers:
        if consumer.consumer_id == consumer_id:
            return consumer
    message = f"Consumer was not connected: #{consumer_id} of {subscription.key}"
    return Rejection("ServerMetadata", message, "consumer_id")


def no_key_subscription(state: ClusterState, key: str) -> Rejection:
    """Why there is nothing to do for this key."""
    if any(each.key == key for each in state.subscriptions):
        return Rejection("NotKeyShared", f"{short(key)} is of type Failover; this is for Key_Shared", "subscription")
    known = ", ".join(repr(each.key) for each in state.key_subscriptions[:5]) or "none"
    message = f"there is no Key_Shared subscription {short(key)}; known: {known}"
    return Rejection("SubscriptionNotFound", message, "subscription", 404)


def _reconnected(
    subscription: KeySubscription, consumers: Sequence[Consumer], points: int
) -> tuple[Event, ...] | Rejection:
    """All stop, then all start with the ranges of their place and the new number of nodes."""
    ranges = _ranges_of(SharingMode.CONSISTENT_STICKY, points, len(consumers))
    if isinstance(ranges, Rejection):
        return ranges
    events: list[KeyEvent] = [KeyConsumerLeft(subscription.key, each.consumer_id) for each in subscription.consumers]
    events += [
        KeyConsumerJoined(subscription.key, each.consumer_id, each.name, declared)
        for each, declared in zip(consumers, ranges, strict=True)
    ]
    return _accepted(subscription, events)


def _restart(
    subscription: KeySubscription, start: KeyDispatcherStarted, consumers: Iterable[Consumer]
) -> list[KeyEvent]:
    """The old dispatcher goes, the new one starts; a consumer that it does not take stays out, as with a broker."""
    if isinstance(dispatcher_of(start), Rejection):
        return []
    events: list[KeyEvent] = [KeyConsumerLeft(subscription.key, each.consumer_id) for each in subscription.consumers]
    events.append(start)
    for event in events:
        subscription = after(subscription, event)
    for each in consumers:
        joined = KeyConsumerJoined(subscription.key, each.consumer_id, each.name, each.declared)
        if not key_objection(subscription, joined):
            subscription = after(subscription, joined)
            events.append(joined)
    return events


def _accepted(subscription: KeySubscription, events: Sequence[KeyEvent]) -> tuple[Event, ...] | Rejection:
    """The events, if the selector takes every consumer that joins; else its refusal."""
    for event in events:
        if isinstance(event, KeyConsumerJoined):
            newcomer = Consumer(event.consumer_id, event.name, event.declared)
            refusal = subscription.delivery.selector.join(newcomer)
            if isinstance(refusal, Rejection):
                return refusal
        subscription = after(subscription, event)
    return tuple(events)


def _ranges_of(mode: SharingMode, points: int, count: int) -> Sequence[DeclaredRanges | None] | Rejection:
    if not mode.declares or count == 0:
        return [None] * count
    if mode is SharingMode.STICKY:
        edges = [number * RANGE_SIZE // count for number in range(count + 1)]
        return [((edges[at], edges[at + 1] - 1),) for at in range(count)]
    found = node_ranges(points, count)
    if isinstance(found, Rejection):
        return found
    return [tuple((piece.start, piece.end) for piece in pieces) for pieces in found]


def _keys_for(name: str) -> Iterable[str]:
    yield name
    number = 2
    while True:
        yield f"{name}#{number}"
        number += 1
