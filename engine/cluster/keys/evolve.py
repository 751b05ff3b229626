"""The fold of a Key_Shared subscription: its state after each of its events."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from msgspec import structs

from engine.cluster.events import fold
from engine.cluster.keys.dispatchers import joining, leaving, with_deliveries, with_published, with_routing
from engine.cluster.keys.state import (
    KeyConsumerJoined,
    KeyConsumerLeft,
    KeyDispatcherStarted,
    KeyEvent,
    KeyIntervalsSeen,
    KeysAcknowledged,
    KeysPublished,
    KeysRouted,
    KeysSeen,
    KeySubscription,
    KeySubscriptionCreated,
    KeyTimePassed,
    set_of,
)
from engine.cluster.limits import IDS, INT_64, MAX_KEY_MESSAGES
from engine.cluster.state import ClusterState
from engine.config import CURRENT, behaviour_of, default_settings
from engine.errors import Rejection
from engine.keyshared.admission import KeySharedMode, SubscriptionTerms, delivery_terms, selector_for
from engine.keyshared.autosplit import AutoSplitSelector
from engine.keyshared.delivery import acknowledge, advance_to
from engine.keyshared.delivery_state import Delivery, DeliveryState, Sent
from engine.keyshared.keys import key_of_text
from engine.keyshared.model import Consumer
from engine.keyshared.ring import RingSelector, refuse_ring
from engine.names import refuse_namespace, refuse_subscription
from engine.routing.clients import MAX_PARTITIONS, key_routing


def created(event: KeySubscriptionCreated) -> KeySubscription:
    """A subscription as it is created: the selector of a broker's defaults, until a dispatcher is started."""
    empty = _dispatcher(KeyDispatcherStarted(event.subscription, False, 0, False, CURRENT.label, ()))
    return KeySubscription(event.subscription, event.name, event.namespace, event.topics, (event,), (empty,))


def folded(events: Iterable[KeyEvent]) -> KeySubscription | str:
    """The subscription that these events lead to, or why they cannot follow each other. O(events)."""
    return fold(events, _begun, key_objection, after)


def _begun(first: KeyEvent | None) -> KeySubscription | str:
    if isinstance(first, KeySubscriptionCreated):
        return created(first)
    return "a Key_Shared subscription begins with its creation"


def after(subscription: KeySubscription, event: KeyEvent) -> KeySubscription:
    """The subscription after an event that ``key_objection`` accepts."""
    now = replace(subscription, happened=(*subscription.happened, event))
    match event:
        case KeySubscriptionCreated():
            return now
        case KeyDispatcherStarted():
            return _started(now, event)
        case KeyConsumerJoined():
            return with_deliveries(now, event.partition, joining(event, now.now_ms))
        case KeyConsumerLeft():
            return with_deliveries(now, event.partition, leaving(event.consumer_id, now.now_ms))
        case KeyIntervalsSeen():
            return with_deliveries(now, event.partition, partial(_with_intervals, event))
        case KeysSeen():
            return _with_keys(now, event.keys)
        case KeysPublished():
            known = _with_keys(now, ((text, 1) for text in event.keys))
            return with_published(known, [_key(text) for text in event.keys])
        case KeysAcknowledged():
            return with_deliveries(now, event.partition, partial(_acknowledged, event, now.now_ms))
        case KeyTimePassed():
            return with_deliveries(
                replace(now, now_ms=event.now_ms), None, lambda dispatcher: advance_to(dispatcher, event.now_ms)
            )
        case KeysRouted():
            return with_routing(now, event, _empty_dispatcher(subscription))


def _empty_dispatcher(subscription: KeySubscription) -> DeliveryState:
    starts = (event for event in reversed(subscription.happened) if isinstance(event, KeyDispatcherStarted))
    latest = next(starts, None)
    return subscription.delivery if latest is None else _dispatcher(latest)


def _with_intervals(event: KeyIntervalsSeen, dispatcher: DeliveryState) -> Delivery:
    selector = dispatcher.selector
    assert isinstance(selector, AutoSplitSelector), "only halved ranges have a history that is not known"
    seen = structs.replace(
        selector,
        uppers=tuple(upper for upper, _ in event.intervals),
        owners=tuple(owner for _, owner in event.intervals),
    )
    return Delivery(structs.replace(dispatcher, selector=seen))


def _acknowledged(event: KeysAcknowledged, now_ms: int, dispatcher: DeliveryState) -> Delivery:
    sent: tuple[Sent, ...] = ()
    for position in event.positions:
        delivery = acknowledge(dispatcher, event.consumer_id, position, now_ms)
        dispatcher, sent = delivery.state, (*sent, *delivery.sent)
    return Delivery(dispatcher, sent)


def without_topic(subscription: KeySubscription, topic: str) -> KeySubscription | None:
    """The subscription after one of its topics is deleted; it goes with the last one."""
    if topic not in subscription.topics:
        return subscription
    left = tuple(name for name in subscription.topics if name != topic)
    first = subscription.happened[0]
    assert isinstance(first, KeySubscriptionCreated), "it begins with its creation"
    happened = (structs.replace(first, topics=left), *subscription.happened[1:])
    return replace(subscription, topics=left, happened=happened) if left else None


def key_objection(subscription: KeySubscription, event: KeyEvent) -> str:
    """Why an event cannot follow, "" when it can."""
    partition = getattr(event, "partition", None)
    if partition is not None and not 0 <= partition < len(subscription.dispatchers):
        return f"{subscription.key!r} has no partition {partition}"
    match event:
        case KeySubscriptionCreated():
            return f"subscription {subscription.key!r} exists"
        case KeyDispatcherStarted():
            return _start_objection(subscription, event)
        case KeyConsumerJoined():
            if event.consumer_id in _connected(subscription, event.partition):
                return f"consumer {event.consumer_id} of {subscription.key!r} is connected"
            newcomer = Consumer(event.consumer_id, event.name, event.declared)
            refusal = refuse_join(subscription, newcomer, event.partition)
            return str(refusal) if refusal is not None else ""
        case KeyConsumerLeft() | KeysAcknowledged():
            known = event.consumer_id in _connected(subscription, event.partition)
            return "" if known else f"consumer {event.consumer_id} of {subscription.key!r} is not connected"
        case KeyIntervalsSeen():
            return _interval_objection(subscription, event)
        case KeysSeen():
            return _count_objection(event) or _text_objection(text for text, _ in event.keys)
        case KeysPublished():
            return _text_objection(event.keys) or undecided_key(subscription, event.keys)
        case KeyTimePassed():
            return _time_objection(subscription.now_ms, event.now_ms)
        case KeysRouted():
            return _routing_objection(subscription, event)


def _start_objection(subscription: KeySubscription, event: KeyDispatcherStarted) -> str:
    if subscription.consumers:
        return f"consumers of {subscription.key!r} are connected, so its dispatcher stays"
    if event.points < 0 or (event.points and not event.declares):
        return f"{event.points} points: a node has 1 or more, and only where consumers declare ranges"
    dispatcher = dispatcher_of(event)
    return str(dispatcher) if isinstance(dispatcher, Rejection) else ""


def _connected(subscription: KeySubscription, partition: int | None) -> set[int]:
    """The ids of consumers of a partition, or of any."""
    if partition is not None:
        return {consumer.consumer_id for consumer in subscription.dispatchers[partition].selector.consumers}
    return {consumer.consumer_id for consumer in subscription.consumers}


def _routing_objection(subscription: KeySubscription, event: KeysRouted) -> str:
    if not max(1, subscription.partitions) <= event.partitions <= MAX_PARTITIONS:
        return f"{subscription.key!r} has {subscription.partitions} partitions; {event.partitions} cannot follow"
    routing = key_routing(event.client, event.hashing)
    if isinstance(routing, Rejection):
        return str(routing)
    return "" if routing.known else f"{routing.family.name} takes {routing.key_hash.random}"


def undecided_key(subscription: KeySubscription, texts: Iterable[str]) -> str:
    """Why the partition of one of these keys is not known, "" where all are."""
    routing = subscription.routing
    if routing is None or routing.family.empty_is_key or len(subscription.dispatchers) == 1:
        return ""
    if any(key_of_text(text) == b"" for text in texts):
        return f"the empty key is no key for {routing.family.name}, so its round robin takes the partition"
    return ""


def refuse_join(subscription: KeySubscription, newcomer: Consumer, partition: int | None = None) -> Rejection | None:
    """Why the selector of a partition, or of any, does not take a consumer that is not connected; None if it does."""
    if newcomer.consumer_id not in IDS:
        return Rejection("ConsumerId", f"the id {newcomer.consumer_id} does not fit into 32 bits", "consumer_id")
    dispatchers = subscription.dispatchers if partition is None else (subscription.dispatchers[partition],)
    for selector in {id(dispatcher.selector): dispatcher.selector for dispatcher in dispatchers}.values():
        if isinstance(selector, RingSelector):
            refusal = refuse_ring(len(selector.members) + 1, selector.points)
            if refusal is not None:
                return refusal
        joined = selector.join(newcomer)
        if isinstance(joined, Rejection):
            return joined
    return None


def _started(subscription: KeySubscription, event: KeyDispatcherStarted) -> KeySubscription:
    empty = _dispatcher(event)
    made = {id(before): _taken_over(before, empty) for before in set_of(subscription.dispatchers)}
    return replace(
        subscription,
        dispatchers=tuple(made[id(before)] for before in subscription.dispatchers),
        declares=event.declares,
        points=event.points,
        allow_out_of_order_delivery=event.allow_out_of_order_delivery,
    )


def _taken_over(before: DeliveryState, empty: DeliveryState) -> DeliveryState:
    # The cursor outlives the dispatcher: what is not acknowledged is read again, with the slots of the new selector.
    backlog = {
        position: structs.replace(message, slot=empty.selector.slots.slot_of_key(message.key))
        for position, message in before.backlog.items()
    }
    return structs.replace(
        empty,
        next_position=before.next_position,
        read_position=before.next_position,
        backlog=backlog,
        replay=frozenset(backlog),
    )


def _dispatcher(event: KeyDispatcherStarted) -> DeliveryState:
    dispatcher = dispatcher_of(event)
    assert isinstance(dispatcher, DeliveryState), f"{event} was let in: {dispatcher}"
    return dispatcher


def dispatcher_of(event: KeyDispatcherStarted) -> DeliveryState | Rejection:
    """The empty dispatcher that this event starts; refused where Pulsar would refuse a setting."""
    behaviour = behaviour_of(event.release)
    if isinstance(behaviour, Rejection):
        return behaviour
    settings = default_settings(behaviour)
    for name, text in event.settings:
        changed = settings.with_setting(name, text)
        if isinstance(changed, Rejection):
            return changed
        settings = changed
    mode = KeySharedMode.STICKY if event.declares else KeySharedMode.AUTO_SPLIT
    selector = selector_for(mode, settings, behaviour)
    if isinstance(selector, Rejection):
        return selector
    terms = SubscriptionTerms(mode=mode, allow_out_of_order_delivery=event.allow_out_of_order_delivery)
    return DeliveryState(delivery_terms(terms, settings, behaviour), selector)


def _with_keys(subscription: KeySubscription, counts: Iterable[tuple[str, int]]) -> KeySubscription:
    keys = dict(subscription.keys)
    for text, count in counts:
        key = _key(text)
        keys[key] = keys.get(key, 0) + count
    return replace(subscription, keys=keys)


def _key(text: str) -> bytes:
    key = key_of_text(text)
    assert isinstance(key, bytes), f"{text!r} was let in: {key}"
    return key


def _time_objection(before_ms: int, now_ms: int) -> str:
    """Why time cannot go on to a moment, "" when it can."""
    if now_ms not in INT_64:
        return "time ran out of 64 bits"
    return "" if now_ms >= before_ms else "time does not run backwards"


def _count_objection(event: KeysSeen) -> str:
    if any(count < 0 for _, count in event.keys):
        return "a key has no negative number of messages"
    most = max((count for _, count in event.keys), default=0)
    return f"a key has up to {MAX_KEY_MESSAGES} messages, not {most}" if most > MAX_KEY_MESSAGES else ""


def _text_objection(texts: Iterable[str]) -> str:
    return next((str(wrong) for text in texts if isinstance(wrong := key_of_text(text), Rejection)), "")


def _interval_objection(subscription: KeySubscription, event: KeyIntervalsSeen) -> str:
    selector = subscription.dispatchers[event.partition or 0].selector
    if not isinstance(selector, AutoSplitSelector):
        return f"{subscription.key!r} does not halve ranges"
    uppers = [upper for upper, _ in event.intervals]
    if not uppers or uppers != sorted(set(uppers)) or uppers[0] < 1 or uppers[-1] != selector.range_size:
        return f"intervals ascend to {selector.range_size}, the range size"
    if sorted(owner for _, owner in event.intervals) != sorted(consumer.consumer_id for consumer in selector.consumers):
        return "each connected consumer has one interval"
    return ""


def key_event_objection(state: ClusterState, event: KeyEvent) -> str:
    """Say why an event of a Key_Shared subscription cannot follow this state, "" when it can."""
    known = next(
        (subscription for subscription in state.key_subscriptions if subscription.key == event.subscription), None
    )
    if isinstance(event, KeySubscriptionCreated):
        if known is not None or any(subscription.key == event.subscription for subscription in state.subscriptions):
            return f"subscription {event.subscription!r} exists"
        refusal = refuse_subscription(event.name) or refuse_namespace(event.namespace)
        if refusal is not None:
            return refusal.message
        unknown = [topic for topic in event.topics if topic not in state.topics]
        return f"there is no topic {unknown[0]!r}" if unknown else ""
    if known is None:
        return f"there is no Key_Shared subscription {event.subscription!r}"
    return key_objection(known, event)


def with_key_event(state: ClusterState, event: KeyEvent) -> ClusterState:
    """Return the state after an event of a Key_Shared subscription; the others are the same objects as before."""
    if isinstance(event, KeySubscriptionCreated):
        return structs.replace(state, key_subscriptions=(*state.key_subscriptions, created(event)))
    next_id = state.next_consumer_id
    if isinstance(event, KeyConsumerJoined):
        next_id = max(next_id, event.consumer_id + 1)
    return structs.replace(
        state,
        key_subscriptions=tuple(
            after(subscription, event) if subscription.key == event.subscription else subscription
            for subscription in state.key_subscriptions
        ),
        next_consumer_id=next_id,
    )
