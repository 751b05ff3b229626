"""The dispatcher of a single active consumer: who connects, who is active, and how the role is handed over.

Source: ``AbstractDispatcherSingleActiveConsumer`` (connect, disconnect, close) and
``PersistentDispatcherSingleActiveConsumer`` (hand-over, reads, flow, redelivery). Pure functions from a state to an
``Outcome``; time is a number in milliseconds that the caller gives. The delay exists so that late acknowledgements of
the former active consumer can arrive before the cursor is rewound: delivery is at least once across a hand-over, with
or without it.

Example, delay 1000: the first consumer connects at 0, its flow at 5 is counted only, and at 1000 the task rewinds,
notifies and reads for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum

from engine.errors import Rejection
from engine.failover.choose import choose
from engine.failover.state import (
    NOTICE_PROTOCOL_VERSION,
    ActiveConsumerChanged,
    Connection,
    ConsumerDisconnected,
    DispatcherState,
    Effect,
    EntriesDispatched,
    EntriesDropped,
    FlowIgnored,
    HandoverAlreadyWaiting,
    HandoverScheduled,
    IgnoredBecause,
    Notified,
    Outcome,
    PendingRead,
    ReadCancelled,
    ReadStarted,
    ReadStillRunning,
    Rewound,
    SubscriptionType,
)


def start_handover(state: DispatcherState, now_ms: int) -> Outcome:
    """Start the hand-over to a newly chosen active consumer (``scheduleReadOnActiveConsumer``).

    On a non-persistent topic only notices are sent, and only by releases with #26482.
    """
    terms = state.terms
    if not terms.persistent:
        return Outcome(state, notify_everybody(state) if terms.behaviour.notices_on_nonpersistent_change else ())
    state, effects = _cancel_pending_read(state)
    if state.pending_read is not None:
        return Outcome(state, (*effects, ReadStillRunning(state.pending_read.consumer_id)))
    if terms.subscription_type is not SubscriptionType.FAILOVER or terms.delay_ms <= 0:
        return _then(effects, _rewind_notify_read(state))
    if state.handover_due_ms is not None:
        return Outcome(state, (*effects, HandoverAlreadyWaiting(state.handover_due_ms)))
    due_ms = now_ms + terms.delay_ms
    return Outcome(replace(state, handover_due_ms=due_ms), (*effects, HandoverScheduled(due_ms)))


def advance_to(state: DispatcherState, now_ms: int) -> Outcome:
    """Let time pass: a hand-over task that is due by ``now_ms`` runs for the consumer that is active then."""
    if state.handover_due_ms is None or now_ms < state.handover_due_ms:
        return Outcome(state)
    return _rewind_notify_read(replace(state, handover_due_ms=None))


def read_completed(state: DispatcherState, entries: int, *, transferring: bool = False) -> Outcome:
    """The pending read brings ``entries`` entries.

    For a consumer that is no longer active, or while the topic moves to another broker (``transferring``), they are
    dropped, the cursor is rewound, and the current active consumer takes over **at once**, whatever the delay.
    """
    pending = state.pending_read
    assert pending is not None, "no read is pending"
    read = state.cursor.next_entries(entries)
    state = replace(state, pending_read=None)
    if pending.consumer_id != state.active_id or transferring:
        return _then((EntriesDropped(pending.consumer_id, read),), _rewind_notify_read(state))
    permits = {**state.permits, pending.consumer_id: max(0, state.permits.get(pending.consumer_id, 0) - len(read))}
    state = replace(state, cursor=state.cursor.after_reading(read), permits=permits)
    return _then((EntriesDispatched(pending.consumer_id, read),), _read_more(state))


def flow(state: DispatcherState, consumer_id: int, permits: int) -> Outcome:
    """A client asks for ``permits`` more entries. They are always counted; only the active consumer's start a read.

    A non-persistent topic has no cursor to read: there they are counted and that is all.
    """
    counted = {**state.permits, consumer_id: state.permits.get(consumer_id, 0) + permits}
    state = replace(state, permits=counted)
    if not state.terms.persistent:
        return Outcome(state)
    if state.pending_read is not None:
        return Outcome(state, (FlowIgnored(consumer_id, IgnoredBecause.READ_PENDING),))
    reason = _deaf_to(state, consumer_id)
    return Outcome(state, (FlowIgnored(consumer_id, reason),)) if reason else _read_more(state)


def acknowledge(state: DispatcherState, *entries: int) -> DispatcherState:
    """Acknowledge entries; a late acknowledgement by a former active consumer counts like any other."""
    return replace(state, cursor=state.cursor.acknowledge(*entries))


def notify_everybody(state: DispatcherState) -> tuple[Effect, ...]:
    """A notice to each consumer in sorted order, standbys whose state did not change included."""
    return tuple(effect for connection in state.connections for effect in notice(state, connection.consumer_id))


def notice(state: DispatcherState, consumer_id: int) -> tuple[Effect, ...]:
    """The notice to one consumer; none for type Exclusive, without an active consumer, or to a client before v12."""
    if state.active_id is None or state.terms.subscription_type is not SubscriptionType.FAILOVER:
        return ()
    version = next(
        connection.protocol_version for connection in state.connections if connection.consumer_id == consumer_id
    )
    if version < NOTICE_PROTOCOL_VERSION:
        return ()
    return (Notified(consumer_id, consumer_id == state.active_id),)


def cancel_pending_read(state: DispatcherState) -> Outcome:
    """Take a pending read back where that is possible."""
    return Outcome(*_cancel_pending_read(state))


def _cancel_pending_read(state: DispatcherState) -> tuple[DispatcherState, tuple[Effect, ...]]:
    if state.pending_read is None or not state.pending_read.cancellable:
        return state, ()
    return replace(state, pending_read=None), (ReadCancelled(state.pending_read.consumer_id),)


def _rewind_notify_read(state: DispatcherState) -> Outcome:
    state, rewound = _rewind(state)
    return _then((rewound, *notify_everybody(state)), _read_more(state))


def _rewind(state: DispatcherState) -> tuple[DispatcherState, Rewound]:
    cursor = state.cursor.rewound()
    return replace(state, cursor=cursor), Rewound(cursor.read_position, state.cursor.unacknowledged)


def _read_more(state: DispatcherState) -> Outcome:
    """Start a read for the active consumer if it has permits and none is pending (``readMoreEntries``)."""
    active_id = state.active_id
    if active_id is None or state.pending_read is not None or state.permits.get(active_id, 0) <= 0:
        return Outcome(state)
    return Outcome(replace(state, pending_read=PendingRead(active_id)), (ReadStarted(active_id),))


def _deaf_to(state: DispatcherState, consumer_id: int) -> IgnoredBecause | None:
    if consumer_id != state.active_id:
        return IgnoredBecause.NOT_ACTIVE
    return IgnoredBecause.WAITING_FOR_HANDOVER if state.handover_due_ms is not None else None


def _then(effects: tuple[Effect, ...], outcome: Outcome) -> Outcome:
    return Outcome(outcome.state, (*effects, *outcome.effects))


class Liveness(Enum):
    """The result of pinging the connected Exclusive consumer when a second one connects."""

    ALIVE = "alive"
    UNKNOWN = "unknown"
    DEAD = "dead, and still listed when the connect is tried again"
    GONE = "dead, and no longer listed when the connect is tried again"


def connect(
    state: DispatcherState, connection: Connection, now_ms: int = 0, *, liveness: Sequence[Liveness] = (Liveness.ALIVE,)
) -> Outcome | Rejection:
    """Connect a consumer (``addConsumer``).

    ``liveness`` matters only when a second Exclusive consumer connects: the results of the successive checks of the
    first one's connection. After the last of them the connection counts as alive.

    Refused as ``ConsumerBusy`` when the limit of consumers is reached (Failover) or one is connected (Exclusive).
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
    """Disconnect a consumer (``removeConsumer``): one of its entries is removed from the list.

    **A standby that leaves can move the role between two others**: the number of consumers changes. The one that leaves
    gets no notice. When the last consumer leaves, no notice is sent and a scheduled hand-over task stays scheduled.
    """
    at = next((i for i, connection in enumerate(state.connections) if connection.consumer_id == consumer_id), None)
    if at is None:
        return Rejection("ServerMetadata", "Consumer was not connected", field="consumer_id")
    left = (*state.connections[:at], *state.connections[at + 1 :])
    permits = state.permits
    if all(connection.consumer_id != consumer_id for connection in left):
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


def close(state: DispatcherState) -> DispatcherState:
    """Close the dispatcher: from now on no consumer is chosen, and consumers that connect are disconnected."""
    return replace(state, closed=True)


def _choose_again(state: DispatcherState, now_ms: int) -> Outcome:
    terms = state.terms
    choice = choose(
        [connection.consumer for connection in state.connections],
        terms.topic,
        terms.partition_index,
        consistent_hashing=terms.consistent_hashing,
        behaviour=terms.behaviour,
        listed=True,
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
