"""Who may connect to a Key_Shared subscription and who leaves it."""

from __future__ import annotations

from engine.cluster.commands import AddConsumer, KillConsumer, RenameConsumer
from engine.cluster.consumers import refuse_connect
from engine.cluster.events import Event
from engine.cluster.keys.state import KeyConsumerJoined, KeyConsumerLeft, KeySubscription
from engine.cluster.keys.subscriptions import accepted, find_key_consumer, nodes_of, reconnected
from engine.cluster.limits import refuse_long_name
from engine.cluster.state import ClusterState
from engine.errors import Rejection
from engine.keyshared.admission import KeySharedMode, SubscriptionTerms, join_refusal
from engine.keyshared.model import Consumer
from engine.keyshared.sticky import policy_problem


def add_key_consumer(
    state: ClusterState, subscription: KeySubscription, command: AddConsumer
) -> tuple[Event, ...] | Rejection:
    """Decide whether a consumer may connect; refusals are Pulsar's, priority levels play no part.

    With consistent sticky ranges all nodes stop and come back.

    Ranges that are given by hand are declared as they are, first to the client's own check, then to the broker's.
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
    """Pulsar's words where somebody is connected; else the mode is still to be chosen."""
    advice = "change the mode to sticky first"
    ordering = subscription.allow_out_of_order_delivery
    here = SubscriptionTerms(mode=KeySharedMode.AUTO_SPLIT, allow_out_of_order_delivery=ordering)
    busy = join_refusal(here, SubscriptionTerms(mode=KeySharedMode.STICKY, allow_out_of_order_delivery=ordering))
    if subscription.consumers and busy is not None:
        return Rejection(busy.error, f"{busy.message} ({advice})", "ranges")
    message = f"consumers of {subscription.key} declare no ranges in mode {subscription.mode.value}; {advice}"
    return Rejection("IllegalArgumentException", message, "ranges")
