"""Draining hashes: a slot that moved is not served by its new consumer until the old one has acknowledged.

Source: ``DrainingHashesTracker`` (PIP-379, #23352; taking slots back #24736).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Struct, field
from msgspec.structs import replace

from engine.answer import about


class DrainingHash(Struct, frozen=True):
    """One slot that drains."""

    slot: Annotated[int, about("The slot.", 0)]
    consumer_id: Annotated[int, about("Who must acknowledge first.")]
    unacked: Annotated[int, about("Messages of the slot that it has not acknowledged.")]
    blocked_attempts: Annotated[int, about("How often a message of the slot was held back.", 0)]
    since_ms: Annotated[int, about("From when on, in milliseconds.")]


class DrainingHashes(Struct, frozen=True):
    """All slots that drain, by slot; and by consumer id how many of its slots have been cleared so far.

    An immutable value: every operation makes another one, in O(n) for n slots that drain.
    """

    entries: Mapping[int, DrainingHash] = field(default_factory=dict)
    cleared_total: Mapping[int, int] = field(default_factory=dict)

    def add(self, slot: int, consumer_id: int, now_ms: int) -> DrainingHashes:
        """One more unacknowledged message of a slot that moved away from a consumer.

        The slot must not drain for another consumer: a consumer never receives messages of such a slot.
        """
        entry = self.entries.get(slot) or DrainingHash(slot, consumer_id, 0, 0, now_ms)
        assert entry.consumer_id == consumer_id, f"slot {slot} drains for {entry.consumer_id}, not for {consumer_id}"
        return self._with(replace(entry, unacked=entry.unacked + 1))

    def acknowledged(self, slot: int, consumer_id: int) -> tuple[DrainingHashes, bool]:
        """Count an acknowledged or dropped message of a slot; also return whether a blocked consumer can continue.

        At zero the entry is removed. A slot that does not drain for this consumer is ignored.

        >>> draining = DrainingHashes().add(7, consumer_id=1, now_ms=0)
        >>> blocked, draining = draining.blocks(7, consumer_id=2)
        >>> draining, freed = draining.acknowledged(7, consumer_id=1)
        >>> blocked, freed, dict(draining.entries), draining.cleared_total
        (True, True, {}, {1: 1})
        """
        entry = self.entries.get(slot)
        if entry is None or entry.consumer_id != consumer_id:
            return self, False
        if entry.unacked > 1:
            return self._with(replace(entry, unacked=entry.unacked - 1)), False
        return self._without(slot), entry.blocked_attempts > 0

    def blocks(self, slot: int, consumer_id: int) -> tuple[bool, DrainingHashes]:
        """Whether a message of a slot must wait before it goes to a consumer; blocked attempts are counted.

        A slot that came back to the consumer it drains for passes, and stops draining. Slot 0 always passes.
        """
        entry = self.entries.get(slot)
        if slot == 0 or entry is None:
            return False, self
        if entry.consumer_id == consumer_id:
            left = {other: drained for other, drained in self.entries.items() if other != slot}
            return False, replace(self, entries=left)
        return True, self._with(replace(entry, blocked_attempts=entry.blocked_attempts + 1))

    def forget(self, consumer_id: int) -> DrainingHashes:
        """Drop the statistics of a consumer that is gone; its messages have been dropped before.

        Without #24736 an entry with too high a count can outlive its consumer: then the slot is blocked for good.
        """
        return replace(self, cleared_total={k: v for k, v in self.cleared_total.items() if k != consumer_id})

    def of_consumer(self, consumer_id: int) -> tuple[DrainingHash, ...]:
        """The slots that drain for one consumer, ascending: what its statistics list."""
        mine = (entry for entry in self.entries.values() if entry.consumer_id == consumer_id)
        return tuple(sorted(mine, key=lambda entry: entry.slot))

    def _with(self, entry: DrainingHash) -> DrainingHashes:
        return replace(self, entries={**self.entries, entry.slot: entry})

    def _without(self, slot: int) -> DrainingHashes:
        owner = self.entries[slot].consumer_id
        left = {other: entry for other, entry in self.entries.items() if other != slot}
        return DrainingHashes(left, {**self.cleared_total, owner: self.cleared_total.get(owner, 0) + 1})
