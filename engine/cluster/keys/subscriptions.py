"""Key_Shared subscriptions: created, put into another mode, restarted, and what their nodes declare."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engine.cluster.commands import ShareKeys, SubscribeKeyShared
from engine.cluster.events import Event, SettingChanged
from engine.cluster.keys.evolve import after, dispatcher_of, key_objection, refuse_join
from engine.cluster.keys.state import (
    KEY_SETTINGS,
    RING_FLAG,
    KeyConsumerJoined,
    KeyConsumerLeft,
    KeyDispatcherStarted,
    KeyEvent,
    KeysRouted,
    KeySubscription,
    KeySubscriptionCreated,
    KeyTimePassed,
    SharingMode,
)
from engine.cluster.limits import refuse_long_name, short
from engine.cluster.state import ClusterState, find_key_subscription
from engine.config import BrokerSettings
from engine.errors import Rejection
from engine.keyshared.admission import SubscriptionTerms, SubscriptionType, join_refusal
from engine.keyshared.consistent_sticky import node_ranges
from engine.keyshared.model import RANGE_SIZE, Consumer, DeclaredRanges
from engine.names import TopicName, parse_topic_name, refuse_subscription
from engine.routing.clients import JAVA_DEFAULT, MAX_PARTITIONS, KeyRouting


def restarts(
    state: ClusterState, settings: BrokerSettings, release: str, *, but: str = ""
) -> list[KeyEvent] | Rejection:
    """The events of a broker that restarts with these settings; all consumers connect again in the same order.

    Left out are ``but`` and, in the same release, subscriptions whose dispatcher would be the same. Refused where
    Pulsar would not accept a setting with which the dispatcher of one of them is made.
    """
    events: list[KeyEvent] = []
    for subscription in state.key_subscriptions:
        if subscription.key == but:
            continue
        start = started(
            state,
            subscription.key,
            settings=settings,
            release=release,
            declares=subscription.declares,
            points=subscription.points,
            ordered=not subscription.allow_out_of_order_delivery,
        )
        dispatcher = dispatcher_of(start)
        if isinstance(dispatcher, Rejection):
            return dispatcher
        latest = next((old for old in reversed(subscription.happened) if isinstance(old, KeyDispatcherStarted)), None)
        if latest is None or latest.release != start.release or dispatcher_of(latest) != dispatcher:
            events += restarted(subscription, start, subscription.consumers)
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
    """The event of a dispatcher that starts with these settings and release, by default those of the state."""
    read = settings or state.settings
    known = tuple((name, read.text_of(name)) for name in KEY_SETTINGS)
    return KeyDispatcherStarted(key, declares, points, not ordered, release or state.release, known)


def restarted(
    subscription: KeySubscription, start: KeyDispatcherStarted, consumers: Iterable[Consumer]
) -> list[KeyEvent]:
    """Replace the dispatcher; a consumer that the new one refuses stays out, as with a broker.

    ``start`` must be accepted by ``dispatcher_of``.
    """
    events: list[KeyEvent] = [
        KeyConsumerLeft(subscription.key, consumer.consumer_id) for consumer in subscription.consumers
    ]
    events.append(start)
    for event in events:
        subscription = after(subscription, event)
    for consumer in consumers:
        joined = KeyConsumerJoined(subscription.key, consumer.consumer_id, consumer.name, consumer.declared)
        if not key_objection(subscription, joined):
            subscription = after(subscription, joined)
            events.append(joined)
    return events


def accepted(subscription: KeySubscription, events: Sequence[KeyEvent]) -> tuple[KeyEvent, ...] | Rejection:
    """The events, if the selector takes every consumer that joins; else its refusal."""
    for event in events:
        if isinstance(event, KeyConsumerJoined):
            newcomer = Consumer(event.consumer_id, event.name, event.declared)
            refusal = refuse_join(subscription, newcomer)
            if refusal is not None:
                return refusal
        subscription = after(subscription, event)
    return tuple(events)


def nodes_of(subscription: KeySubscription) -> tuple[Consumer, ...]:
    """The consumers in the order of their node indices; those that declare something else follow in joining order.

    A node that restarted under another name is last in the dispatcher, and keeps its index.
    """
    consumers = subscription.consumers
    ranges = declared_by(SharingMode.CONSISTENT_STICKY, subscription.points, len(consumers))
    if isinstance(ranges, Rejection) or not subscription.points:
        return consumers
    index = {declared: at for at, declared in enumerate(ranges)}
    return tuple(sorted(consumers, key=lambda consumer: index.get(consumer.declared, len(consumers))))


def declared_by(mode: SharingMode, points: int, count: int) -> Sequence[DeclaredRanges | None] | Rejection:
    """What each of ``count`` consumers declares, by index; None for each where nothing is declared.

    STICKY ranges that nobody named are equal parts of the slots. Refused: what ``node_ranges`` refuses, and points so
    few that a node has no range, since its client does not let it connect then.
    """
    if not mode.declares or count == 0:
        return [None] * count
    if mode is SharingMode.STICKY:
        edges = [number * RANGE_SIZE // count for number in range(count + 1)]
        return [((edges[at], edges[at + 1] - 1),) for at in range(count)]
    ranges = node_ranges(points, count)
    if isinstance(ranges, Rejection):
        return ranges
    idle = next((at for at, pieces in enumerate(ranges) if not pieces), None)
    if idle is not None:
        message = (
            f"Ranges for KeyShared policy must not be empty. (all points of node {idle} are on slots of others; "
            "give more points)"
        )
        return Rejection("IllegalArgumentException", message, "points")
    return [tuple((piece.start, piece.end) for piece in pieces) for pieces in ranges]


def reconnected(
    subscription: KeySubscription, consumers: Sequence[Consumer], points: int
) -> tuple[KeyEvent, ...] | Rejection:
    """Stop all consumers, then start them with the ranges of their index and the new number of nodes."""
    ranges = declared_by(SharingMode.CONSISTENT_STICKY, points, len(consumers))
    if isinstance(ranges, Rejection):
        return ranges
    events: list[KeyEvent] = [
        KeyConsumerLeft(subscription.key, consumer.consumer_id) for consumer in subscription.consumers
    ]
    events += [
        KeyConsumerJoined(subscription.key, consumer.consumer_id, consumer.name, declared)
        for consumer, declared in zip(consumers, ranges, strict=True)
    ]
    return accepted(subscription, events)


def subscribe_key_shared(state: ClusterState, command: SubscribeKeyShared) -> tuple[Event, ...] | Rejection:
    """Create a subscription.

    Refusals: a bad name, an unknown topic, a subscription of that name on it, a setting that Pulsar does not take.

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
    keys = {subscription.key for subscription in state.subscriptions} | {
        subscription.key for subscription in state.key_subscriptions
    }
    key = next(text for text in _keys_for(command.name) if text not in keys)
    start = started(state, key, ordered=not command.allow_out_of_order_delivery)
    dispatcher = dispatcher_of(start)
    if isinstance(dispatcher, Rejection):
        return dispatcher
    # All subscriptions share one clock: a later one does not begin at zero.
    now_ms = max((subscription.now_ms for subscription in state.key_subscriptions), default=0)
    clock = (KeyTimePassed(key, now_ms),) if now_ms else ()
    routed = (routed_by(key, topic.partitions),) if 0 < topic.partitions <= MAX_PARTITIONS else ()
    return (KeySubscriptionCreated(key, command.name, name.namespace, (topic.name,)), start, *routed, *clock)


def routed_by(key: str, partitions: int, routing: KeyRouting = JAVA_DEFAULT) -> KeysRouted:
    """The event of a topic with so many partitions."""
    return KeysRouted(key, partitions, routing.client, routing.hashing)


def repartitioned(state: ClusterState, topic: str, partitions: int) -> tuple[KeysRouted, ...]:
    """The events of subscriptions whose topic gets more partitions."""
    return tuple(
        routed_by(subscription.key, partitions, subscription.routing)
        for subscription in state.key_subscriptions
        if topic in subscription.topics
        and subscription.routing is not None
        and subscription.partitions < partitions <= MAX_PARTITIONS
    )


def find_key_consumer(subscription: KeySubscription, consumer_id: int) -> Consumer | Rejection:
    """The connected consumer of that id; refused in Pulsar's words."""
    for consumer in subscription.consumers:
        if consumer.consumer_id == consumer_id:
            return consumer
    message = f"Consumer was not connected: #{consumer_id} of {subscription.key}"
    return Rejection("ServerMetadata", message, "consumer_id")


def no_key_subscription(state: ClusterState, key: str) -> Rejection:
    """The refusal for an unknown key, or one of another type."""
    if any(subscription.key == key for subscription in state.subscriptions):
        return Rejection("NotKeyShared", f"{short(key)} is of type Failover; this is for Key_Shared", "subscription")
    known = ", ".join(repr(subscription.key) for subscription in state.key_subscriptions[:5]) or "none"
    message = f"there is no Key_Shared subscription {short(key)}; known: {known}"
    return Rejection("SubscriptionNotFound", message, "subscription", 404)


def _name_taken(state: ClusterState, name: str, topic: str) -> Rejection | None:
    for subscription in state.subscriptions:
        if subscription.name == name and topic in subscription.topics:
            if subscription.consumers:
                return join_refusal(SubscriptionTerms(SubscriptionType.FAILOVER), SubscriptionTerms())
            message = (
                f"{short(name)} is a Failover subscription of {topic}, and its type stays here; choose another name"
            )
            return Rejection("SubscriptionExists", message, "name", 409)
    if any(subscription.name == name and topic in subscription.topics for subscription in state.key_subscriptions):
        return Rejection("SubscriptionExists", f"{short(name)} is there already on {topic}", "name", 409)
    return None


def _keys_for(name: str) -> Iterable[str]:
    yield name
    number = 2
    while True:
        yield f"{name}#{number}"
        number += 1


def share_keys(state: ClusterState, command: ShareKeys) -> tuple[Event, ...] | Rejection:
    """Put a subscription into another mode; no event for the mode it has.

    Refusals: SubscriptionNotFound, an unknown mode, points below 1 or too few for a node.

    STICKY ranges that nobody named are equal parts of the 65536 slots in the order of joining.
    """
    subscription = find_key_subscription(state, command.subscription)
    if subscription is None:
        return no_key_subscription(state, command.subscription)
    modes = {mode.value: mode for mode in SharingMode}
    mode = modes.get(command.mode)
    if mode is None:
        return Rejection("UnknownMode", f"{short(command.mode)} is not a mode; known: {', '.join(modes)}", "mode")
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
    dispatcher = dispatcher_of(start)
    if isinstance(dispatcher, Rejection):
        return dispatcher
    others = restarts(state, settings, state.release, but=subscription.key) if flag is not None else []
    if isinstance(others, Rejection):
        return others
    consumers = [
        Consumer(consumer.consumer_id, consumer.name, declared)
        for consumer, declared in zip(nodes_of(subscription), ranges, strict=True)
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
