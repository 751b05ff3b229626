"""A persistent Key_Shared subscription in simulated time: what is sent, what waits, and what ends the wait.

Source: ``PersistentStickyKeyDispatcherMultipleConsumers`` (PIP-379) and its classic form. What is modelled are the
rules that decide whether a message may be sent; whatever happens leads to a read (``readMoreEntries``,
``filterAndGroupEntriesForDispatching``), now or later. A read takes no time here.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from engine.errors import Rejection
from engine.keyshared.delivery_state import Delivery, DeliveryState, Message, OrderRule, Sent
from engine.keyshared.draining import DrainingHashes
from engine.keyshared.model import Consumer, Selector


def read(state: DeliveryState, now_ms: int, sent_before: tuple[Sent, ...] = ()) -> Delivery:
    """Try the replay queue in order, then new entries while the look-ahead allows; O(n log n) for what is tried.

    Messages sent are appended to ``sent_before``.
    """
    reader = _Reader(state, now_ms)
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
    """One read: collects the messages sent and those that stay on the replay queue."""

    def __init__(self, state: DeliveryState, now_ms: int) -> None:
        self._before = state
        self._now_ms = now_ms
        self.read_position = state.read_position
        self.stopped_at = state.stopped_at
        self.replay = set(state.replay)
        self.delayed = set(state.delayed)
        self.sent: list[Sent] = []
        self._pending = {owner: dict(held) for owner, held in state.pending.items()}
        self._draining = state.draining
        self._waiting = state.recently_joined.released(state.first_unacked)
        self._held_slots: set[int] = set()

    def may_read_on(self, limit: int | None) -> bool:
        """Whether there is a new entry that neither the look-ahead nor an ownerless key prevents from being read."""
        if self.stopped_at is not None or self.read_position == self._before.next_position:
            return False
        return limit is None or len(self.replay) < limit

    def offer(self, position: int, *, replay: bool) -> bool:
        """Send one message to its consumer or put it on the replay queue; false if it stops the whole subscription.

        A delayed message is set aside; it neither counts for the look-ahead nor blocks its slot.
        """
        message = self._before.backlog[position]
        if message.deliver_at_ms > self._now_ms:
            self.delayed.add(position)
            return True
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
            delayed=frozenset(self.delayed),
            pending=self._pending,
            draining=self._draining,
            recently_joined=self._waiting,
            stopped_at=self.stopped_at,
        )


def publish(state: DeliveryState, keys: Iterable[bytes], now_ms: int, *, deliver_at_ms: int = 0) -> Delivery:
    """Publish messages with these sticky keys in order, then send everything that may be sent.

    ``deliver_at_ms`` delays the messages; they do not block others of their keys.
    """
    due = advance_to(state, now_ms)
    state = due.state
    backlog = dict(state.backlog)
    position = state.next_position
    for key in keys:
        backlog[position] = Message(position, key, state.selector.slots.slot_of_key(key), deliver_at_ms)
        position += 1
    return read(replace(state, backlog=backlog, next_position=position), now_ms, due.sent)


def join(
    state: DeliveryState, consumer: Consumer, now_ms: int, *, joined: Selector | Rejection | None = None
) -> Delivery | Rejection:
    """A consumer joins; slots that move to it from others and have unacknowledged messages start to drain.

    ``joined``: the outcome of the selector's join, where the caller has it already.
    """
    due = advance_to(state, now_ms)
    before = due.state
    selector = before.selector.join(consumer) if joined is None else joined
    if isinstance(selector, Rejection):
        return selector
    others = len(before.selector.consumers)
    state = replace(before, selector=selector, pending={**before.pending, consumer.consumer_id: {}})
    if state.terms.order is OrderRule.RECENTLY_JOINED:
        marks = state.recently_joined.join(consumer.consumer_id, state.read_position, state.first_unacked, others)
        state = replace(state, recently_joined=marks)
    return read(_drain(state, before.selector, consumer.consumer_id, now_ms), now_ms, due.sent)


def leave(state: DeliveryState, consumer_id: int, now_ms: int, *, left_to: Selector | None = None) -> Delivery:
    """A consumer leaves: its unacknowledged messages are replayed. After the last one, all order rules are reset.

    ``left_to``: the selector without it, where the caller has it already.
    """
    due = advance_to(state, now_ms)
    before = due.state
    if consumer_id not in before.pending:
        return due
    selector = before.selector.leave(consumer_id) if left_to is None else left_to
    draining = before.draining
    for slot in before.pending[consumer_id].values():
        draining, _ = draining.acknowledged(slot, consumer_id)
    left = {holder_id: held for holder_id, held in before.pending.items() if holder_id != consumer_id}
    state = replace(
        before,
        selector=selector,
        pending=left,
        # Messages skipped while they were out are not sent again.
        replay=before.replay | (before.pending[consumer_id].keys() & before.backlog.keys()),
        draining=draining.forget(consumer_id) if left else DrainingHashes(),
        recently_joined=before.recently_joined.leave(consumer_id, len(left)),
        read_due_ms=before.read_due_ms if left else None,
        stopped_at=before.stopped_at if left else None,
    )
    return read(_drain(state, before.selector, consumer_id, now_ms), now_ms, due.sent)


def acknowledge(state: DeliveryState, consumer_id: int, position: int, now_ms: int) -> Delivery:
    """A consumer acknowledges one message; one that it does not hold is ignored.

    The last message of a draining hash unblocks others after the unblocking interval. Freed permits, and newcomers that
    no longer have to wait, cause a read at once.
    """
    due = advance_to(state, now_ms)
    state = due.state
    held = state.pending.get(consumer_id, {})
    if position not in held:
        return due
    draining, freed = state.draining.acknowledged(held[position], consumer_id)
    left = {other: slot for other, slot in held.items() if other != position}
    state = replace(
        state,
        draining=draining,
        pending={**state.pending, consumer_id: left},
        backlog={other: message for other, message in state.backlog.items() if other != position},
    )
    if freed and state.read_due_ms is None:
        state = replace(state, read_due_ms=now_ms + state.terms.unblocking_interval_ms)
    waiting = state.recently_joined.released(state.first_unacked)
    read_now = bool(state.terms.max_unacked) or waiting != state.recently_joined
    state = replace(state, recently_joined=waiting)
    return read(state, now_ms, due.sent) if read_now else Delivery(state, due.sent)


def advance_to(state: DeliveryState, now_ms: int) -> Delivery:
    """Let time pass: do a read that is due by ``now_ms`` and send the delayed messages that are due."""
    ripe = frozenset(position for position in state.delayed if state.backlog[position].deliver_at_ms <= now_ms)
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
    """Register the moved slots: first the ranges consumers lost, then those they got back."""
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
