"""A persistent Key_Shared subscription on simulated time: what is sent, what waits, and what lets it go.

Source: ``PersistentStickyKeyDispatcherMultipleConsumers`` (PIP-379) and its classic form. What is modelled are the
rules that decide whether a message may be sent (``reading``); what happens here leads to a read, now or later.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from engine.errors import Rejection
from engine.keyshared.delivery_state import Delivery, DeliveryState, Message, OrderRule
from engine.keyshared.draining import DrainingHashes
from engine.keyshared.model import Consumer, Selector
from engine.keyshared.reading import read


def publish(state: DeliveryState, keys: Iterable[bytes], now_ms: int, *, deliver_at_ms: int = 0) -> Delivery:
    """Messages of these sticky keys arrive, one after another; then everything that may go is sent.

    ``deliver_at_ms``: delayed messages, which are not sent before; they hold back no other of their keys.
    """
    due = advance_to(state, now_ms)
    state = due.state
    backlog = dict(state.backlog)
    position = state.next_position
    for key in keys:
        backlog[position] = Message(position, key, state.selector.slots.slot_of_key(key), deliver_at_ms)
        position += 1
    return read(replace(state, backlog=backlog, next_position=position), now_ms, due.sent)


def join(state: DeliveryState, consumer: Consumer, now_ms: int) -> Delivery | Rejection:
    """A consumer joins; slots that move to it from others and have unacknowledged messages start to drain."""
    due = advance_to(state, now_ms)
    before = due.state
    selector = before.selector.join(consumer)
    if isinstance(selector, Rejection):
        return selector
    others = len(before.selector.consumers)
    state = replace(before, selector=selector, pending={**before.pending, consumer.consumer_id: {}})
    if state.terms.order is OrderRule.RECENTLY_JOINED:
        marks = state.recently_joined.join(consumer.consumer_id, state.read_position, state.first_unacked, others)
        state = replace(state, recently_joined=marks)
    return read(_drain(state, before.selector, consumer.consumer_id, now_ms), now_ms, due.sent)


def leave(state: DeliveryState, consumer_id: int, now_ms: int) -> Delivery:
    """A consumer leaves: what it had not acknowledged is replayed. When it was the last, all order rules start anew."""
    due = advance_to(state, now_ms)
    before = due.state
    if consumer_id not in before.pending:
        return due
    selector = before.selector.leave(consumer_id)
    draining = before.draining
    for slot in before.pending[consumer_id].values():
        draining, _ = draining.acknowledged(slot, consumer_id)
    left = {each: held for each, held in before.pending.items() if each != consumer_id}
    state = replace(
        before,
        selector=selector,
        pending=left,
        # What was skipped while it was out is not sent again.
        replay=before.replay | (before.pending[consumer_id].keys() & before.backlog.keys()),
        draining=draining.forget(consumer_id) if left else DrainingHashes(),
        recently_joined=before.recently_joined.leave(consumer_id, len(left)),
        read_due_ms=before.read_due_ms if left else None,
        stopped_at=before.stopped_at if left else None,
    )
    return read(_drain(state, before.selector, consumer_id, now_ms), now_ms, due.sent)


def acknowledge(state: DeliveryState, consumer_id: int, position: int, now_ms: int) -> Delivery:
    """A consumer acknowledges one message; one that it does not hold is ignored.

    A draining hash whose last message this is lets others go on after the unblocking interval. Permits that come
    free, and newcomers that need not wait any longer, lead to a read at once.
    """
    due = advance_to(state, now_ms)
    state = due.state
    held = state.pending.get(consumer_id, {})
    if position not in held:
        return due
    draining, freed = state.draining.acknowledged(held[position], consumer_id)
    left = {each: slot for each, slot in held.items() if each != position}
    state = replace(
        state,
        draining=draining,
        pending={**state.pending, consumer_id: left},
        backlog={each: message for each, message in state.backlog.items() if each != position},
    )
    if freed and state.read_due_ms is None:
        state = replace(state, read_due_ms=now_ms + state.terms.unblocking_interval_ms)
    waiting = state.recently_joined.released(state.first_unacked)
    read_now = bool(state.terms.max_unacked) or waiting != state.recently_joined
    state = replace(state, recently_joined=waiting)
    return read(state, now_ms, due.sent) if read_now else Delivery(state, due.sent)


def skip_to(state: DeliveryState, position: int, now_ms: int, *, cleans_pending_acks: bool = True) -> Delivery:
    """The mark-delete position moves up to ``position`` from outside: messages are skipped, cleared, or expire.

    Pulsar then also forgets that consumers hold messages up to there, so **their hashes stop draining while they still
    work on them**, and another consumer may get the key at once (#25627). ``cleans_pending_acks`` false leaves them to
    be acknowledged, as that issue asks for.
    """
    due = advance_to(state, now_ms)
    state = due.state
    draining, pending, freed = state.draining, state.pending, False
    if cleans_pending_acks:
        for consumer_id, held in pending.items():
            for slot in (slot for each, slot in held.items() if each <= position):
                draining, now_free = draining.acknowledged(slot, consumer_id)
                freed = freed or now_free
        pending = {owner: {at: slot for at, slot in held.items() if at > position} for owner, held in pending.items()}
    state = replace(
        state,
        backlog={each: message for each, message in state.backlog.items() if each > position},
        read_position=max(state.read_position, min(position + 1, state.next_position)),
        replay=frozenset(each for each in state.replay if each > position),
        delayed=frozenset(each for each in state.delayed if each > position),
        pending=pending,
        draining=draining,
    )
    if freed and state.read_due_ms is None:
        state = replace(state, read_due_ms=now_ms + state.terms.unblocking_interval_ms)
    return read(state, now_ms, due.sent)


def advance_to(state: DeliveryState, now_ms: int) -> Delivery:
    """Let time pass: a read that is due by ``now_ms`` is made, and delayed messages whose time has come are sent."""
    ripe = frozenset(each for each in state.delayed if state.backlog[each].deliver_at_ms <= now_ms)
    read_is_due = state.read_due_ms is not None and state.read_due_ms <= now_ms
    if not ripe and not read_is_due:
        return Delivery(state)
    state = replace(
        state,
        delayed=state.delayed - ripe,
        replay=state.replay | ripe,
        read_due_ms=None if read_is_due else state.read_due_ms,
    )
    return read(state, now_ms)


def _drain(state: DeliveryState, before: Selector, mover_id: int, now_ms: int) -> DeliveryState:
    """Register what moved: first the ranges consumers lost, then those that came back to them."""
    if state.terms.order is not OrderRule.DRAINING_HASHES or not any(state.pending.values()):
        return state
    held = [
        (consumer_id, slot)
        for consumer_id, messages in state.pending.items()
        if consumer_id != mover_id
        for slot in messages.values()
        if slot != 0
    ]
    draining = state.draining
    for consumer_id, slot in held:
        if before.owner(slot) == consumer_id != state.selector.owner(slot):
            draining = draining.add(slot, consumer_id, now_ms)
    if state.terms.takes_back:
        for consumer_id, slot in held:
            if before.owner(slot) != consumer_id == state.selector.owner(slot):
                draining, _ = draining.acknowledged(slot, consumer_id)
    return replace(state, draining=draining)
