"""A persistent Key_Shared subscription on simulated time: what is sent, what waits, and what lets it go.

Source: ``PersistentStickyKeyDispatcherMultipleConsumers`` (PIP-379) and its classic form. What is modelled are the
rules that decide whether a message may be sent; a read takes no time, and each tries all of the replay queue, then new
entries.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import replace

from engine.errors import Rejection
from engine.keyshared.delivery_state import Delivery, DeliveryState, Message, OrderRule, Sent
from engine.keyshared.draining import DrainingHashes
from engine.keyshared.impact import impact_of
from engine.keyshared.model import Consumer, RangesById
from engine.ranges import HashRange


def publish(state: DeliveryState, keys: Iterable[bytes], now_ms: int) -> Delivery:
    """Messages of these sticky keys arrive, one after another; then everything that may go is sent."""
    due = advance_to(state, now_ms)
    state = due.state
    backlog = dict(state.backlog)
    position = state.next_position
    for key in keys:
        backlog[position] = Message(position, key, state.selector.slots.slot_of_key(key))
        position += 1
    return _and_read(replace(state, backlog=backlog, next_position=position), due.sent)


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
    return _and_read(_drain(state, before.selector.ranges(), consumer.consumer_id, now_ms), due.sent)


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
        replay=before.replay | frozenset(before.pending[consumer_id]),
        draining=draining.forget(consumer_id) if left else DrainingHashes(),
        recently_joined=before.recently_joined.leave(consumer_id, len(left)),
        read_due_ms=before.read_due_ms if left else None,
        stopped_at=before.stopped_at if left else None,
    )
    return _and_read(_drain(state, before.selector.ranges(), consumer_id, now_ms), due.sent)


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
    return _and_read(state, due.sent) if read_now else Delivery(state, due.sent)


def advance_to(state: DeliveryState, now_ms: int) -> Delivery:
    """Let time pass: a read that is due by ``now_ms`` is made."""
    if state.read_due_ms is None or state.read_due_ms > now_ms:
        return Delivery(state)
    return _and_read(replace(state, read_due_ms=None), ())


def _drain(state: DeliveryState, before: RangesById, mover_id: int, now_ms: int) -> DeliveryState:
    """Register what moved: first the ranges consumers lost, then those that came back to them."""
    if state.terms.order is not OrderRule.DRAINING_HASHES:
        return state
    impact = impact_of(before, state.selector.ranges())
    draining = state.draining
    for consumer_id, slot in _pending_in(state, impact.removed, mover_id):
        draining = draining.add(slot, consumer_id, now_ms)
    if state.terms.takes_back:
        for consumer_id, slot in _pending_in(state, impact.added, mover_id):
            draining, _ = draining.acknowledged(slot, consumer_id)
    return replace(state, draining=draining)


def _pending_in(state: DeliveryState, ranges: RangesById, mover_id: int) -> list[tuple[int, int]]:
    return [
        (consumer_id, slot)
        for consumer_id, pieces in ranges.items()
        if consumer_id != mover_id
        for slot in state.pending.get(consumer_id, {}).values()
        if slot != 0 and _contains(pieces, slot)
    ]


def _contains(pieces: tuple[HashRange, ...], slot: int) -> bool:
    at = bisect_right(pieces, slot, key=lambda piece: piece.start) - 1
    return at >= 0 and pieces[at].contains(slot)


def _and_read(state: DeliveryState, sent_before: tuple[Sent, ...]) -> Delivery:
    """Try the replay queue in order, then new entries while the look-ahead allows."""
    reader = _Reader(state)
    if state.pending:
        for position in sorted(state.replay):
            if reader.stopped_at is not None:
                break
            reader.offer(position, replay=True)
        limit = state.terms.look_ahead_limit(len(state.pending))
        while reader.may_read_on(limit):
            if reader.offer(reader.read_position, replay=False):
                reader.read_position += 1
    return Delivery(reader.state(), (*sent_before, *reader.sent))


class _Reader:
    """One read: collects what goes out and what stays on the replay queue."""

    def __init__(self, state: DeliveryState) -> None:
        self._before = state
        self.read_position = state.read_position
        self.stopped_at = state.stopped_at
        self.replay = set(state.replay)
        self.sent: list[Sent] = []
        self._pending = {owner: dict(held) for owner, held in state.pending.items()}
        self._draining = state.draining
        self._waiting = state.recently_joined.released(state.first_unacked)
        self._held_slots: set[int] = set()

    def may_read_on(self, limit: int | None) -> bool:
        """Whether there is a new entry, and neither the look-ahead nor an ownerless key keeps it from being read."""
        if self.stopped_at is not None or self.read_position == self._before.next_position:
            return False
        return limit is None or len(self.replay) < limit

    def offer(self, position: int, *, replay: bool) -> bool:
        """Send one message to its consumer, or put it on the replay queue; false when it stops everything instead."""
        message = self._before.backlog[position]
        owner = self._before.selector.owner(message.slot)
        if owner is None and self._before.terms.ownerless_key == "stops-subscription":
            self.stopped_at = position
            return False
        # The replay queue is tried first, so a slot held back by now has an older message there.
        overtakes = self._before.terms.keeps_slot_order and message.slot in self._held_slots
        if owner is None or overtakes or not self._may_go(message, owner, replay=replay):
            self.replay.add(position)
            self._held_slots.add(message.slot)
            return True
        self.replay.discard(position)
        self._pending[owner][position] = message.slot
        self.sent.append(Sent(owner, message))
        return True

    def _may_go(self, message: Message, owner: int, *, replay: bool) -> bool:
        terms = self._before.terms
        if terms.order is OrderRule.DRAINING_HASHES:
            blocked, self._draining = self._draining.blocks(message.slot, owner)
            if blocked:
                return False
        limit = self._waiting.limit(owner, replay=replay)
        if limit is not None and message.position >= limit:
            return False
        return not terms.max_unacked or len(self._pending[owner]) < terms.max_unacked

    def state(self) -> DeliveryState:
        return replace(
            self._before,
            read_position=self.read_position,
            replay=frozenset(self.replay),
            pending=self._pending,
            draining=self._draining,
            recently_joined=self._waiting,
            stopped_at=self.stopped_at,
        )
