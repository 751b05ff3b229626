"""One Key_Shared dispatcher on simulated time, as a changeable object: what is sent to whom, and what waits."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.oracles.selectors import Declared, Selector


@dataclass
class Terms:
    """``order`` is "draining", "recently-joined" or "none"."""

    order: str
    takes_back: bool
    strict: bool
    ownerless_stops: bool
    interval_ms: int
    limits: tuple[tuple[int, int], tuple[int, int]]
    """Look-ahead for each consumer and in all, then unacknowledged messages for each consumer and in all."""


@dataclass
class Drained:
    """A slot that drains: who still holds messages of it, how many, and whether somebody was held back."""

    holder: int
    count: int
    blocked: bool = False


@dataclass
class Dispatcher:
    """Positions count from 0. ``unacked``: position -> key; ``slots``: position -> slot of that key here."""

    selector: Selector
    terms: Terms
    unacked: dict[int, bytes] = field(default_factory=dict)
    slots: dict[int, int] = field(default_factory=dict)
    next_position: int = 0
    read_position: int = 0
    replay: set[int] = field(default_factory=set)
    pending: dict[int, set[int]] = field(default_factory=dict)
    draining: dict[int, Drained] = field(default_factory=dict)
    marks: dict[int, int] = field(default_factory=dict)
    due_ms: int | None = None
    stopped: bool = False
    sent: list[tuple[int, int]] = field(default_factory=list)

    def carried_over(self, selector: Selector, terms: Terms) -> Dispatcher:
        """The dispatcher after a restart: nobody is connected, and what is not acknowledged is read again."""
        fresh = Dispatcher(selector, terms, dict(self.unacked))
        fresh.slots = {position: selector.slot(key) for position, key in self.unacked.items()}
        fresh.next_position = fresh.read_position = self.next_position
        fresh.replay = set(self.unacked)
        fresh.sent = list(self.sent)
        return fresh

    def publish(self, keys: list[bytes], now_ms: int) -> None:
        self.let_time_pass(now_ms)
        for key in keys:
            self.unacked[self.next_position] = key
            self.slots[self.next_position] = self.selector.slot(key)
            self.next_position += 1
        self.read()

    def join(self, number: int, name: str, declared: Declared | None, now_ms: int) -> bool:
        self.let_time_pass(now_ms)
        before = self._owners()
        if not self.selector.join(number, name, declared):
            return False
        if self.terms.order == "recently-joined" and self.pending and self.read_position > self._first_unacked():
            self.marks[number] = self.read_position
        self.pending[number] = set()
        self._register(before, number)
        self.read()
        return True

    def leave(self, number: int, now_ms: int) -> None:
        self.let_time_pass(now_ms)
        before = self._owners()
        self.selector.leave(number)
        for position in self.pending.pop(number):
            self._lower(number, self.slots[position])
            self.replay.add(position)
        self.marks.pop(number, None)
        if len(self.pending) <= 1:
            self.marks.clear()
        if not self.pending:
            self.draining.clear()
            self.due_ms, self.stopped = None, False
        self._register(before, number)
        self.read()

    def acknowledge(self, number: int, positions: list[int], now_ms: int) -> None:
        for position in positions:
            self.let_time_pass(now_ms)
            if position not in self.pending.get(number, set()):
                continue
            freed = self._lower(number, self.slots[position])
            self.pending[number].remove(position)
            del self.unacked[position]
            if freed and self.due_ms is None:
                self.due_ms = now_ms + self.terms.interval_ms
            if self._release_marks():
                self.read()

    def let_time_pass(self, now_ms: int) -> None:
        if self.due_ms is not None and self.due_ms <= now_ms:
            self.due_ms = None
            self.read()

    def read(self) -> None:
        """Replay first, in order, then new messages while the look-ahead allows."""
        self._release_marks()
        if not self.pending:
            return
        held_slots: set[int] = set()
        for position in sorted(self.replay):
            if self.stopped:
                return
            self._offer(position, held_slots, replayed=True)
        limit = self._look_ahead()
        while not self.stopped and self.read_position < self.next_position:
            if limit is not None and len(self.replay) >= limit:
                return
            self._offer(self.read_position, held_slots, replayed=False)
            if not self.stopped:
                self.read_position += 1

    def _offer(self, position: int, held_slots: set[int], *, replayed: bool) -> None:
        slot = self.slots[position]
        owner = self.selector.owner(slot)
        if owner is None and self.terms.ownerless_stops:
            self.stopped = True
            return
        overtakes = self.terms.strict and slot in held_slots
        if owner is not None and not overtakes and self._may_have(owner, slot, position, replayed=replayed):
            self.replay.discard(position)
            self.pending[owner].add(position)
            self.sent.append((owner, position))
            return
        self.replay.add(position)
        held_slots.add(slot)

    def _may_have(self, owner: int, slot: int, position: int, *, replayed: bool) -> bool:
        if self.terms.order == "draining" and slot in self.draining:
            entry = self.draining[slot]
            if entry.holder != owner:
                entry.blocked = True
                return False
            del self.draining[slot]
        if owner in self.marks:
            return position < (min(self.marks.values()) if replayed else self.marks[owner])
        return True

    def _register(self, before: dict[int, int | None], mover: int) -> None:
        if self.terms.order != "draining":
            return
        after = self._owners()
        held = [
            (number, self.slots[position])
            for number, positions in self.pending.items()
            if number != mover
            for position in sorted(positions)
        ]
        for number, slot in held:
            if before[slot] == number != after[slot]:
                entry = self.draining.setdefault(slot, Drained(number, 0))
                assert entry.holder == number, f"slot {slot} drains for {entry.holder} and for {number}"
                entry.count += 1
        if self.terms.takes_back:
            for number, slot in held:
                if before[slot] != number == after[slot]:
                    self._lower(number, slot)

    def _lower(self, number: int, slot: int) -> bool:
        """Release one message of a slot, and return whether a consumer that was held back can go on."""
        entry = self.draining.get(slot)
        if entry is None or entry.holder != number:
            return False
        entry.count -= 1
        if entry.count:
            return False
        del self.draining[slot]
        return entry.blocked

    def _owners(self) -> dict[int, int | None]:
        """Who owns the slots of the messages that consumers hold; asked where slots drain only."""
        if self.terms.order != "draining":
            return {}
        held = {self.slots[position] for positions in self.pending.values() for position in positions}
        return {slot: self.selector.owner(slot) for slot in held}

    def _first_unacked(self) -> int:
        return min(self.unacked, default=self.next_position)

    def _release_marks(self) -> bool:
        first = self._first_unacked()
        kept = {number: mark for number, mark in self.marks.items() if mark > first}
        changed = kept != self.marks
        self.marks = kept
        return changed

    def _look_ahead(self) -> int | None:
        for per_consumer, in_all in self.terms.limits:
            bounds = [each for each in (per_consumer * len(self.pending), in_all) if each > 0]
            if bounds:
                return min(bounds)
        return None
