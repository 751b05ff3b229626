"""Draining hashes in statistics (PIP-379): which, for whom, how many messages, what they hold back, how they clear.

In a scenario of draining one consumer holds messages without acknowledging while others join. The steps say which keys
the others got in the end: the slots of these keys moved, so exactly these drain, each until its new owner gets it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from engine.admin.facts import ConsumerFacts, SubscriptionFacts
from engine.keyshared.delivery_state import OrderRule
from engine.verify.consumers import compare_draining_sums
from engine.verify.report import Ledger
from tests.lab.facts import StepFact
from tests.lab.key_shared.steps import KeySharedStep
from tests.lab.key_shared.subscription import ModelledSubscription
from tests.lab.scenario import Recording

_RULE: Final = "PIP-379: a slot that moved drains until its former consumer has acknowledged"


class Draining:
    """Follows the steps of a scenario; ``_holder`` is the consumer that had messages when it was alone."""

    def __init__(self, recording: Recording, subscription: ModelledSubscription, ledger: Ledger) -> None:
        self._subscription = subscription
        self._ledger = ledger
        self._holder: str | None = None
        self._arrived: dict[str, str | None] = {}
        self._drained: set[int] = set()
        recorded = [step.key_shared.by_others for step in recording.steps if step.key_shared is not None]
        lists = [{key for keys in by_who.values() for key in keys} for by_who in recorded if by_who]
        self._keys = {key for keys in lists for key in keys}
        self._cumulative = any(earlier & later for earlier, later in pairwise(lists))

    def go_on(self, step: KeySharedStep) -> None:
        """Compare what has gone to others than the holder so far."""
        if step.by_others is None:
            return
        receivers: dict[str, set[str]] = {}
        for who, keys in step.by_others.items():
            for key in keys:
                receivers.setdefault(key, set()).add(who)
        for key in receivers:
            self._arrived.setdefault(key, self._subscription.owner_of(key))
        for key in sorted(self._arrived if self._cumulative else receivers):
            rule = f"slot {self._subscription.slot_of(key)} of the key, once it has drained"
            recorded = tuple(sorted(receivers.get(key, ())))
            self._ledger.compare(StepFact.KEY_RECEIVER, f"key {key}", recorded, (self._arrived[key],), rule)

    def compare(self, subject: str, facts: SubscriptionFacts, listed: Sequence[str]) -> None:
        """Compare one answer; ``listed`` are the scenario's ids of the consumers in it."""
        pairs = list(zip(listed, facts.consumers, strict=True))
        if len(pairs) == 1 and pairs[0][1].unacked_messages and self._holder is None:
            self._holder = pairs[0][0]
        if facts.draining_count is None and not any(consumer.draining for consumer in facts.consumers):
            return
        compare_draining_sums(self._ledger, subject, facts)
        self._compare_cleared_sum(subject, facts)
        expected = self._expected()
        for who, consumer in pairs:
            place = f"{subject} / {consumer.name}"
            of_holder = expected if who == self._holder else Counter[int]()
            if self._keys and self._holder is not None:
                self._compare_hashes(place, consumer, of_holder)
            else:
                self._compare_owners(place, who, consumer)
            self._compare_blocked(place, facts, consumer, of_holder)
        if self._keys and self._holder is not None:
            self._compare_cleared(subject, pairs, expected)
            self._compare_replay(subject, facts)
        elif not self._may_drain:
            self._compare_cleared(subject, pairs, Counter())
        else:
            self._ledger.skip("totals of cleared hashes: messages on their way while consumers come and go")

    def _expected(self) -> Counter[int]:
        """Slot -> its messages that the holder has not acknowledged, though somebody else owns the slot now."""
        if not self._may_drain or self._holder is None:
            return Counter()
        owners = {key: self._subscription.owner_of(key) for key in self._keys - self._arrived.keys()}
        waiting = (key for key, owner in owners.items() if owner not in (None, self._holder))
        expected = Counter(self._subscription.slot_of(key) for key in waiting)
        self._drained |= expected.keys()
        return expected

    @property
    def _may_drain(self) -> bool:
        return self._subscription.order.order is OrderRule.DRAINING_HASHES

    def _compare_cleared_sum(self, subject: str, facts: SubscriptionFacts) -> None:
        # What a consumer cleared that has left is not listed any more.
        if self._subscription.times_left and self._may_drain:
            return
        cleared = sum(consumer.draining_cleared_total or 0 for consumer in facts.consumers)
        rule = "the subscription's counts are the sums over its consumers"
        self._ledger.compare(StepFact.DRAINING_CLEARED, subject, facts.draining_cleared_total or 0, cleared, rule)

    def _compare_hashes(self, place: str, consumer: ConsumerFacts, expected: Counter[int]) -> None:
        listed = {draining.hash: draining.unacked for draining in consumer.draining}
        for slot in sorted(listed.keys() | expected.keys()):
            recorded = f"{listed[slot]} messages" if slot in listed else "does not drain"
            modelled = f"{expected[slot]} messages" if slot in expected else "does not drain"
            self._ledger.compare(StepFact.DRAINING_HASH, f"{place} / hash {slot}", recorded, modelled, _RULE)

    def _compare_owners(self, place: str, who: str, consumer: ConsumerFacts) -> None:
        """Without the keys only this is known: no slot drains for the consumer that owns it."""
        for draining in consumer.draining:
            owner = self._subscription.owner_of_slot(draining.hash)
            drains = self._may_drain and owner not in (None, who)
            modelled = "drains" if drains else "does not drain"
            self._ledger.compare(StepFact.DRAINING_HASH, f"{place} / hash {draining.hash}", "drains", modelled, _RULE)

    def _compare_blocked(
        self, place: str, facts: SubscriptionFacts, consumer: ConsumerFacts, expected: Counter[int]
    ) -> None:
        """Compare that a hash has blocked attempts exactly when a message of it waits on the replay queue."""
        if not consumer.draining or facts.msg_in_replay is None:
            return
        blocked = sum(draining.blocked_attempts > 0 for draining in consumer.draining)
        waiting = facts.msg_in_replay
        rule = f"{waiting} messages wait on the replay queue; each was tried and held back"
        modelled = min(blocked, waiting)
        if waiting in (0, expected.total()):
            modelled = len(expected) if waiting else 0
        self._ledger.compare(StepFact.DRAINING_BLOCKED, place, blocked, modelled, rule)

    def _compare_cleared(
        self, subject: str, pairs: Sequence[tuple[str, ConsumerFacts]], expected: Counter[int]
    ) -> None:
        for who, consumer in pairs:
            cleared = len(self._drained - expected.keys()) if who == self._holder else 0
            recorded = consumer.draining_cleared_total or 0
            rule = "a hash is cleared once, with the last message of it"
            self._ledger.compare(StepFact.DRAINING_CLEARED, f"{subject} / {consumer.name}", recorded, cleared, rule)

    def _compare_replay(self, subject: str, facts: SubscriptionFacts) -> None:
        if facts.msg_in_replay is not None:
            recorded = facts.msg_backlog_entries - facts.unacked_messages
            rule = "what was not sent to anybody waits on the replay queue"
            self._ledger.compare(StepFact.KEY_BACKLOG, subject, recorded, facts.msg_in_replay, rule)
