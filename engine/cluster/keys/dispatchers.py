"""The dispatchers of a subscription's partitions: what happens to some, to all, or to those that keys go to.

Partitions in the same state are one object, and so are selectors: an event is folded once for each different one, so a
thousand partitions without traffic cost as much as one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from msgspec import structs

from engine.cluster.keys.state import KeyConsumerJoined, KeysRouted, KeySubscription, SentFrom, set_of
from engine.errors import Rejection
from engine.keyshared.delivery import join, leave, publish
from engine.keyshared.delivery_state import Delivery, DeliveryState, Sent
from engine.keyshared.model import Consumer, Selector
from engine.routing.clients import KeyRouting

SENT_KEPT: Final = 200
"""How many of the sent messages are kept."""

Change = Callable[[DeliveryState], Delivery]


def with_deliveries(subscription: KeySubscription, partition: int | None, change: Change) -> KeySubscription:
    """The subscription after a change of one partition's dispatcher, or of all (None)."""
    dispatchers = subscription.dispatchers
    if partition is not None:
        delivery = change(dispatchers[partition])
        after = (*dispatchers[:partition], delivery.state, *dispatchers[partition + 1 :])
        return _with_sent(replace(subscription, dispatchers=after), [SentFrom(partition, one) for one in delivery.sent])
    changed = {id(dispatcher): change(dispatcher) for dispatcher in set_of(dispatchers)}
    sent: list[SentFrom] = []
    if any(delivery.sent for delivery in changed.values()):
        sent = [SentFrom(at, one) for at, before in enumerate(dispatchers) for one in changed[id(before)].sent]
    after = tuple([changed[id(before)].state for before in dispatchers])
    return _with_sent(replace(subscription, dispatchers=after), sent)


def joining(event: KeyConsumerJoined, now_ms: int) -> Change:
    """What a join changes; the selector's part is done once for all that have the same one."""
    consumer = Consumer(event.consumer_id, event.name, event.declared)
    known: dict[int, Selector | Rejection] = {}

    def joined(dispatcher: DeliveryState) -> Delivery:
        selector = dispatcher.selector
        if id(selector) not in known:
            known[id(selector)] = selector.join(consumer)
        delivery = join(dispatcher, consumer, now_ms, joined=known[id(selector)])
        assert not isinstance(delivery, Rejection), f"{event} was let in: {delivery}"
        return delivery

    return joined


def leaving(consumer_id: int, now_ms: int) -> Change:
    """What a leave changes; the selector's part is done once for all that have the same one."""
    known: dict[int, Selector] = {}

    def left(dispatcher: DeliveryState) -> Delivery:
        selector = dispatcher.selector
        if id(selector) not in known:
            known[id(selector)] = selector.leave(consumer_id)
        return leave(dispatcher, consumer_id, now_ms, left_to=known[id(selector)])

    return left


def with_published(subscription: KeySubscription, keys: Sequence[bytes]) -> KeySubscription:
    """The subscription after messages of these keys arrived, each in its partition, in their order."""
    by_partition: dict[int, list[int]] = {}
    for index, key in enumerate(keys):
        partition = subscription.partition_of(key)
        assert partition is not None, f"the partition of {key!r} is not decided"
        by_partition.setdefault(partition, []).append(index)
    dispatchers = list(subscription.dispatchers)
    sent: list[tuple[int, SentFrom]] = []
    for partition, indices in by_partition.items():
        before = dispatchers[partition]
        delivery = publish(before, [keys[index] for index in indices], subscription.now_ms)
        dispatchers[partition] = delivery.state
        sent += [(_turn(one, before, indices), SentFrom(partition, one)) for one in delivery.sent]
    sent.sort(key=lambda one: one[0])
    return _with_sent(replace(subscription, dispatchers=tuple(dispatchers)), [one for _, one in sent])


def _turn(sent: Sent, before: DeliveryState, indices: Sequence[int]) -> int:
    """The place of a message among those that were published; earlier ones that went out too come first."""
    place = sent.message.position - before.next_position
    return indices[place] if place >= 0 else -1


def with_routing(subscription: KeySubscription, event: KeysRouted, empty: DeliveryState) -> KeySubscription:
    """The subscription whose topics have so many partitions; ``empty`` is a dispatcher that nobody has joined.

    Partitions that are new begin with that; the consumers connect to them in the order of joining, without the
    history of those that left. Topics that were not partitioned until now keep what they have as partition 0.
    """
    routing = KeyRouting(event.client, event.hashing)
    dispatchers = subscription.dispatchers
    missing = event.partitions - len(dispatchers)
    if missing > 0:
        first, fresh = dispatchers[0], empty
        for consumer in subscription.consumers:
            joined = join(fresh, consumer, subscription.now_ms)
            assert not isinstance(joined, Rejection), f"{consumer} was let in: {joined}"
            fresh = joined.state
        if fresh == first:
            fresh = first
        elif fresh.selector == first.selector:
            fresh = structs.replace(fresh, selector=first.selector)
        dispatchers = (*dispatchers, *[fresh] * missing)
    return replace(subscription, dispatchers=dispatchers, routing=routing)


def _with_sent(subscription: KeySubscription, sent: Sequence[SentFrom]) -> KeySubscription:
    return replace(subscription, sent=(*subscription.sent, *sent)[-SENT_KEPT:]) if sent else subscription
