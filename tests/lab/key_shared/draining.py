"""Draining hashes in statistics: which, for whom, how many messages, what they hold back, and how they clear (PIP-379).

A scenario of draining has one consumer that holds messages without acknowledging, while others join. It tells which
keys the others got in the end: their slots moved, so exactly these drain, each until its new owner gets it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from engine.admin.keyshared import KeySharedConsumerFacts, KeySharedFacts
from engine.keyshared.delivery_state import OrderRule
from tests.lab.key_shared.steps import KeySharedTold
from tests.lab.key_shared.subscription import KeySharedBook
from tests.lab.recording import Recording
from tests.lab.report import FactKind, Ledger

_RULE = "PIP-379: a slot that moved drains until its former consumer has acknowledged"


class KeySharedDraining:
    """Follows the steps of a scenario; ``holder`` is the consumer that had messages when it was alone."""

    def __init__(self, recording: Recording, book: KeySharedBook, ledger: Ledger) -> None:
        self._book = book
        self._ledger = ledger
        self._holder: str | None = None
        self._arrived: dict[str, str | None] = {}
        self._drained: set[int] = set()
        told = [step.key_shared.by_others for step in recording.steps if step.key_shared is not None]
        lists = [{key for keys in by_who.values() for key in keys} for by_who in told if by_who]
        self._keys = {key for keys in lists for key in keys}
        self._cumulative = any(earlier & later for earlier, later in pairwise(lists))

    def go_on(self, told: KeySharedTold) -> None:
        """Compare what others than the holder got up to now."""
        if told.by_others is None:
            return
        arrived: dict[str, set[str]] = {}
        for who, keys in told.by_others.items():
            for key in keys:
                arrived.setdefault(key, set()).add(who)
        for key in arrived:
            self._arrived.setdefault(key, self._book.owner_of(key))
        for key in sorted(self._arrived if self._cumulative else arrived):
            rule = f"slot {self._book.slot_of(key)} of the key, once it has drained"
            recorded = tuple(sorted(arrived.get(key, ())))
            self._ledger.compare(FactKind.KEY_RECEIVER, f"key {key}", recorded, (self._arrived[key],), rule)

    def see(self, subject: str, facts: KeySharedFacts, listed: Sequence[str]) -> None:
        """Compare one answer; ``listed`` are the scenario's ids of the consumers in it."""
        pairs = list(zip(listed, facts.consumers, strict=True))
        if len(pairs) == 1 and pairs[0][1].unacked_messages and self._holder is None:
            self._holder = pairs[0][0]
        if facts.draining_count is None and not any(each.draining for each in facts.consumers):
            return
        self._compare_sums(subject, facts)
        expected = self._expected()
        for who, consumer in pairs:
            place = f"{subject} / {consumer.name}"
            self._compare_counts(place, consumer)
            if self._keys and self._holder is not None:
                self._compare_exactly(place, consumer, expected if who == self._holder else Counter())
            else:
                self._compare_owners(place, who, consumer)
            self._compare_blocked(place, facts, consumer, expected if who == self._holder else Counter())
        if self._keys and self._holder is not None:
            self._compare_cleared(subject, pairs, expected)
            self._compare_replay(subject, facts)
        elif not self._may_drain:
            self._compare_cleared(subject, pairs, Counter())
        else:
            self._ledger.skip("totals of cleared hashes: messages on their way while consumers come and go")

    def _expected(self) -> Counter[int]:
        """Slot -> messages of it that the holder has not acknowledged, though the slot is somebody else's now."""
        waiting = [
            key for key in self._keys - self._arrived.keys() if self._book.owner_of(key) not in (None, self._holder)
        ]
        expected = Counter(self._book.slot_of(key) for key in waiting) if self._drains else Counter[int]()
        self._drained |= expected.keys()
        return expected

    @property
    def _may_drain(self) -> bool:
        return self._book.order.order is OrderRule.DRAINING_HASHES

    @property
    def _drains(self) -> bool:
        return self._may_drain and self._holder is not None

    def _compare_sums(self, subject: str, facts: KeySharedFacts) -> None:
        hashes = sum(each.draining_count or 0 for each in facts.consumers)
        messages = sum(each.draining_unacked_messages or 0 for each in facts.consumers)
        cleared = sum(each.draining_cleared_total or 0 for each in facts.consumers)
        recorded = _counted(facts.draining_count or 0, facts.draining_unacked_messages or 0)
        rule = "the subscription's counts are the sums over its consumers"
        self._ledger.compare(FactKind.DRAINING_COUNT, subject, recorded, _counted(hashes, messages), rule)
        # What a consumer cleared that has left is not listed any more.
        if not self._book.times_left or not self._may_drain:
            self._ledger.compare(FactKind.DRAINING_CLEARED, subject, facts.draining_cleared_total or 0, cleared, rule)

    def _compare_counts(self, place: str, consumer: KeySharedConsumerFacts) -> None:
        messages = sum(each.unacked for each in consumer.draining)
        recorded = _counted(consumer.draining_count or 0, consumer.draining_unacked_messages or 0)
        if messages > consumer.unacked_messages:
            recorded += f", of {consumer.unacked_messages} that the consumer holds"
        rule = "the counts are those of the hashes that are listed, and no consumer drains more than it holds"
        self._ledger.compare(FactKind.DRAINING_COUNT, place, recorded, _counted(len(consumer.draining), messages), rule)

    def _compare_exactly(self, place: str, consumer: KeySharedConsumerFacts, expected: Counter[int]) -> None:
        listed = {each.hash: each.unacked for each in consumer.draining}
        for slot in sorted(listed.keys() | expected.keys()):
            recorded = f"{listed[slot]} messages" if slot in listed else "does not drain"
            modelled = f"{expected[slot]} messages" if slot in expected else "does not drain"
            self._ledger.compare(FactKind.DRAINING_HASH, f"{place} / hash {slot}", recorded, modelled, _RULE)

    def _compare_owners(self, place: str, who: str, consumer: KeySharedConsumerFacts) -> None:
        """Without the keys only this is known: nothing drains for a consumer whose slot it is."""
        for each in consumer.draining:
            owner = self._book.owner_of_slot(each.hash)
            drains = self._may_drain and owner not in (None, who)
            modelled = "drains" if drains else "does not drain"
            self._ledger.compare(FactKind.DRAINING_HASH, f"{place} / hash {each.hash}", "drains", modelled, _RULE)

    def _compare_blocked(
        self, place: str, facts: KeySharedFacts, consumer: KeySharedConsumerFacts, expected: Counter[int]
    ) -> None:
        """A hash has blocked attempts if, and only if, a message of it waits on the replay queue."""
        if not consumer.draining or facts.replay_messages is None:
            return
        blocked = sum(each.attempts > 0 for each in consumer.draining)
        waiting = facts.replay_messages
        rule = f"{waiting} messages wait on the replay queue; each was tried and held back"
        if waiting in (0, expected.total()):
            self._ledger.compare(FactKind.DRAINING_BLOCKED, place, blocked, len(expected) if waiting else 0, rule)
        else:
            self._ledger.compare(FactKind.DRAINING_BLOCKED, place, blocked, min(blocked, waiting), rule)

    def _compare_cleared(
        self, subject: str, pairs: Sequence[tuple[str, KeySharedConsumerFacts]], expected: Counter[int]
    ) -> None:
        for who, consumer in pairs:
            cleared = len(self._drained - expected.keys()) if who == self._holder else 0
            place = f"{subject} / {consumer.name}"
            recorded = consumer.draining_cleared_total or 0
            rule = "a hash is cleared once, with the last message of it"
            self._ledger.compare(FactKind.DRAINING_CLEARED, place, recorded, cleared, rule)

    def _compare_replay(self, subject: str, facts: KeySharedFacts) -> None:
        """Everything that was not sent to anybody waits on the replay queue."""
        if facts.replay_messages is not None:
            recorded = facts.backlog_entries - facts.unacked_messages
            rule = "what was not sent to anybody waits on the replay queue"
            self._ledger.compare(FactKind.KEY_BACKLOG, subject, recorded, facts.replay_messages, rule)


def _counted(hashes: int, messages: int) -> str:
    return f"{hashes} hashes with {messages} messages"
