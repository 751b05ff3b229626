"""One read of a persistent Key_Shared dispatcher: what goes out, and what is put on the replay queue.

Source: ``readMoreEntries`` and ``filterAndGroupEntriesForDispatching`` of
``PersistentStickyKeyDispatcherMultipleConsumers``. A read takes no time here.
"""

from __future__ import annotations

from dataclasses import replace

from engine.keyshared.delivery_state import Delivery, DeliveryState, Message, OrderRule, Sent


def read(state: DeliveryState, now_ms: int, sent_before: tuple[Sent, ...] = ()) -> Delivery:
    """Try the replay queue in order, then new entries while the look-ahead allows; O(n log n) for what is tried.

    What goes out is reported behind ``sent_before``.
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
    """One read: collects what goes out and what stays on the replay queue."""

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
        """Whether there is a new entry, and neither the look-ahead nor an ownerless key keeps it from being read."""
        if self.stopped_at is not None or self.read_position == self._before.next_position:
            return False
        return limit is None or len(self.replay) < limit

    def offer(self, position: int, *, replay: bool) -> bool:
        """Send one message to its consumer, or put it on the replay queue; false when it stops everything instead.

        One whose time has not come is put aside, and neither counts for the look-ahead nor holds its slot back.
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
