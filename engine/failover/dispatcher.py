"""Who is connected to a dispatcher and who is active: connect, disconnect, unsubscribe, close.

Source: ``AbstractDispatcherSingleActiveConsumer``. Pure functions from a state to an ``Outcome`` or a ``Rejection``;
what follows a change of the active consumer is in ``handover``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum

from engine.errors import Rejection
from engine.failover.choose import choose
from engine.failover.handover import cancel_pending_read, notice, start_handover
from engine.failover.state import (
    ActiveConsumerChanged,
    Connection,
    ConsumerDisconnected,
    DispatcherState,
    Effect,
    Outcome,
    SubscriptionType,
)


class Liveness(Enum):
    """What the ping of an Exclusive consumer's connection showed, when a second one wants to connect."""

    ALIVE = "alive"
    UNKNOWN = "unknown"
    DEAD = "dead, and still listed when the connect is tried again"
    GONE = "dead, and no longer listed when the connect is tried again"


def connect(
    state: DispatcherState, connection: Connection, now_ms: int = 0, *, liveness: Sequence[Liveness] = (Liveness.ALIVE,)
) -> Outcome | Rejection:
    """A consumer connects (``addConsumer``).

    ``liveness`` matters only for a second Exclusive consumer: what each check of the first one's connection answers, in
    order; after the last answer the connection counts as alive.

    Refusals, as ``ConsumerBusy``: the list is as long as the limit (Failover), somebody is connected (Exclusive).
    """
    if state.closed:
        return Outcome(state, (ConsumerDisconnected(connection.consumer_id),))
    terms = state.terms
    gone: tuple[Effect, ...] = ()
    if terms.subscription_type is SubscriptionType.EXCLUSIVE and state.connections:
        refusal = _exclusive_refusal(liveness, terms.behaviour.exclusive_attempts)
        if refusal is not None:
            return refusal
        state, gone = _without_dead_consumer(state)
    if terms.subscription_type is SubscriptionType.FAILOVER and 0 < terms.max_consumers <= len(state.connections):
        return Rejection("ConsumerBusy", "Subscription reached max consumers limit", field="consumer")
    listed = replace(state, connections=(*state.connections, connection))
    outcome = _choose_again(listed, now_ms)
    effects = (*gone, *outcome.effects)
    if outcome.state.active_id == state.active_id:
        effects = (*effects, *notice(outcome.state, connection.consumer_id))
    return Outcome(outcome.state, effects)


def disconnect(state: DispatcherState, consumer_id: int, now_ms: int = 0) -> Outcome | Rejection:
    """A consumer's connection closes (``removeConsumer``); one of its entries in the list goes.

    **A standby that leaves can move the role between two others**: the number of consumers changes. The one that leaves
    gets no notice. When the last one leaves nobody is told, and a waiting hand-over task goes on waiting.
    """
    at = next((i for i, each in enumerate(state.connections) if each.consumer_id == consumer_id), None)
    if at is None:
        return Rejection("ServerMetadata", "Consumer was not connected", field="consumer_id")
    left = (*state.connections[:at], *state.connections[at + 1 :])
    permits = state.permits
    if all(each.consumer_id != consumer_id for each in left):
        permits = {known: count for known, count in permits.items() if known != consumer_id}
    listed = replace(state, connections=left, permits=permits)
    if left and not state.closed:
        return _choose_again(listed, now_ms)
    changed: tuple[Effect, ...] = ()
    if not left:
        listed = replace(listed, active_id=None)
        changed = (ActiveConsumerChanged(state.active_id, None),)
    outcome = cancel_pending_read(listed)
    return Outcome(outcome.state, (*changed, *outcome.effects))


def can_unsubscribe(state: DispatcherState, consumer_id: int) -> bool:
    """Whether a consumer may unsubscribe: only when it is alone and active."""
    return len(state.connections) == 1 and state.connections[0].consumer_id == consumer_id == state.active_id


def close(state: DispatcherState) -> DispatcherState:
    """Close the dispatcher: from now on nobody is chosen, and whoever connects is cut off."""
    return replace(state, closed=True)


def _choose_again(state: DispatcherState, now_ms: int) -> Outcome:
    terms = state.terms
    choice = choose(
        [connection.consumer for connection in state.connections],
        terms.topic,
        terms.partition_index,
        consistent_hashing=terms.consistent_hashing,
        behaviour=terms.behaviour,
    )
    assert choice is not None, "somebody is connected"
    by_id = {connection.consumer_id: connection for connection in state.connections}
    order = tuple(by_id[consumer.consumer_id] for consumer in choice.order)
    previous_id, active_id = state.active_id, choice.active.consumer_id
    state = replace(state, connections=order, active_id=active_id)
    if active_id == previous_id:
        return Outcome(state)
    outcome = start_handover(state, now_ms)
    return Outcome(outcome.state, (ActiveConsumerChanged(previous_id, active_id), *outcome.effects))


def _exclusive_refusal(liveness: Sequence[Liveness], attempts: int) -> Rejection | None:
    message = "Exclusive consumer is already connected"
    for attempt in range(attempts):
        answer = liveness[attempt] if attempt < len(liveness) else Liveness.ALIVE
        if answer is Liveness.GONE:
            return None
        if answer is not Liveness.DEAD:
            return Rejection("ConsumerBusy", message, field="consumer")
    after = f" after {attempts} attempts" if attempts > 1 else ""
    return Rejection("ConsumerBusy", message + after, field="consumer")


def _without_dead_consumer(state: DispatcherState) -> tuple[DispatcherState, tuple[Effect, ...]]:
    outcome = disconnect(state, state.connections[0].consumer_id)
    assert isinstance(outcome, Outcome)
    return outcome.state, outcome.effects
