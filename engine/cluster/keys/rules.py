"""Key_Shared subscriptions: found by their key, created, and how they share keys."""

from __future__ import annotations

from collections.abc import Iterable

from engine.cluster.commands import ShareKeys, SubscribeKeyShared
from engine.cluster.consumer_rules import refuse_long_name, short
from engine.cluster.events import Event, SettingChanged
from engine.cluster.keys.events import KeySubscriptionCreated, KeyTimePassed
from engine.cluster.keys.evolve import dispatcher_of
from engine.cluster.keys.nodes import declared_by, nodes_of
from engine.cluster.keys.restarts import RING_FLAG, restarted, restarts, started
from engine.cluster.keys.state import KeySubscription, SharingMode
from engine.cluster.state import ClusterState, find_key_subscription
from engine.config import BrokerSettings
from engine.errors import Rejection
from engine.keyshared.admission import SubscriptionTerms, SubscriptionType, join_refusal
from engine.keyshared.model import Consumer
from engine.names import TopicName, parse_topic_name, refuse_subscription


def subscribe_key_shared(state: ClusterState, command: SubscribeKeyShared) -> tuple[Event, ...] | Rejection:
    """Refusals: a bad name, an unknown topic, a subscription of that name on it, a setting that Pulsar does not take.

    A subscription of another type whose consumers left would change its type in Pulsar; here it keeps it.
    """
    refusal = refuse_long_name(command.name, "name")
    if refusal is not None:
        return refusal
    refusal = refuse_subscription(command.name)
    if refusal is not None:
        return refusal
    name = parse_topic_name(command.topic)
    topic = state.topics.get(name.complete) if isinstance(name, TopicName) else None
    if topic is None or not isinstance(name, TopicName):
        return Rejection("RestException", f"Topic {short(command.topic)} not found", "topic", 404)
    refusal = _name_taken(state, command.name, topic.name)
    if refusal is not None:
        return refusal
    keys = {each.key for each in state.subscriptions} | {each.key for each in state.key_subscriptions}
    key = next(text for text in _keys_for(command.name) if text not in keys)
    start = started(state, key, ordered=not command.allow_out_of_order_delivery)
    made = dispatcher_of(start)
    if isinstance(made, Rejection):
        return made
    # Time is one for all: a subscription that comes later does not begin at zero again.
    now_ms = max((each.now_ms for each in state.key_subscriptions), default=0)
    clock = (KeyTimePassed(key, now_ms),) if now_ms else ()
    return (KeySubscriptionCreated(key, command.name, name.namespace, (topic.name,)), start, *clock)


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


def _name_taken(state: ClusterState, name: str, topic: str) -> Rejection | None:
    for each in state.subscriptions:
        if each.name == name and topic in each.topics:
            if each.consumers:
                return join_refusal(SubscriptionTerms(SubscriptionType.FAILOVER), SubscriptionTerms())
            message = (
                f"{short(name)} is a Failover subscription of {topic}, and its type stays here; choose another name"
            )
            return Rejection("SubscriptionExists", message, "name", 409)
    if any(each.name == name and topic in each.topics for each in state.key_subscriptions):
        return Rejection("SubscriptionExists", f"{short(name)} is there already on {topic}", "name", 409)
    return None


def _keys_for(name: str) -> Iterable[str]:
    yield name
    number = 2
    while True:
        yield f"{name}#{number}"
        number += 1


def share_keys(state: ClusterState, command: ShareKeys) -> tuple[Event, ...] | Rejection:
    """Refusals: SubscriptionNotFound, an unknown mode, points below 1 or too few for a node. The mode it has: nothing.

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
    ranges = declared_by(mode, points, len(subscription.consumers))
    if isinstance(ranges, Rejection):
        return ranges
    flag = _flag_changed(state, mode)
    settings = flag or state.settings
    start = started(
        state,
        subscription.key,
        settings=settings,
        declares=mode.declares,
        points=points,
        ordered=not subscription.allow_out_of_order_delivery,
    )
    made = dispatcher_of(start)
    if isinstance(made, Rejection):
        return made
    others = restarts(state, settings, state.release, but=subscription.key) if flag is not None else []
    if isinstance(others, Rejection):
        return others
    consumers = [
        Consumer(each.consumer_id, each.name, declared)
        for each, declared in zip(nodes_of(subscription), ranges, strict=True)
    ]
    changed = [SettingChanged(RING_FLAG, settings.text_of(RING_FLAG))] if flag is not None else []
    return (*changed, *restarted(subscription, start, consumers), *others)


def _flag_changed(state: ClusterState, mode: SharingMode) -> BrokerSettings | None:
    """The settings with the flag that decides between the automatic modes; None where it stays as it is."""
    ring = mode is SharingMode.CONSISTENT_AUTO_SPLIT
    if mode.declares or state.settings.subscriptionKeySharedUseConsistentHashing is ring:
        return None
    changed = state.settings.with_setting(RING_FLAG, "true" if ring else "false")
    assert isinstance(changed, BrokerSettings), changed
    return changed
