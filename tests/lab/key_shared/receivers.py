"""Receivers of keys: who got each message, and which messages nobody got; none is lost, and none comes twice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from engine.verify.report import Ledger
from tests.lab.facts import StepFact
from tests.lab.key_shared.steps import KeySharedScenario, KeySharedStep, MessageName
from tests.lab.key_shared.subscription import ModelledSubscription

_LATE: Final = "messages that may go and had not arrived yet: before 4.0 a key without owner slows the others down"
Arrivals = dict[MessageName, set[str]]


class Receivers:
    """Sends what the steps send and compares what arrives; ``outstanding`` are messages that have not arrived so far.

    ``keeps`` is False for a topic that is not persistent: what nobody gets at once is dropped.
    """

    def __init__(
        self, scenario: KeySharedScenario, subscription: ModelledSubscription, ledger: Ledger, *, keeps: bool
    ) -> None:
        self._scenario = scenario
        self._subscription = subscription
        self._keeps = keeps
        self._ledger = ledger
        self._number = 0
        self._round = ""
        self._late = False
        self._anew = False
        self._times_empty = 0
        self._missed: set[MessageName] = set()
        self.outstanding: dict[MessageName, None] = {}

    def go_on(self, step: KeySharedStep) -> None:
        """Send what the step sends, then compare what arrived in it."""
        self._number += 1
        self._round = step.round or f"step {self._number}"
        names = self._subscription.publish(self._round, self._keys_of(step))
        self.outstanding.update(dict.fromkeys(names))
        self._anew = self._subscription.times_empty > self._times_empty
        self._times_empty = self._subscription.times_empty
        # Once something may be late, the rest of it may come in any later step, until all have left.
        late = self._late or self._subscription.may_be_late
        self._late = bool(self.outstanding) and not self._anew and late
        arrived = self._arrived(step)
        if arrived is None:
            return
        only_newcomer = step.by_newcomer is not None and step.received is None
        for message in tuple(self.outstanding):
            goes_elsewhere = self._subscription.sent_to.get(message) != self._newcomer
            if only_newcomer and message not in arrived and goes_elsewhere:
                continue
            if not self._compare(message, arrived.get(message, set())) and message not in arrived:
                # Reported once; nobody waits for it any longer.
                self._missed.add(message)
                del self.outstanding[message]
        for message in sorted(arrived.keys() - self.outstanding.keys() - self._missed):
            receivers = tuple(sorted(arrived[message]))
            rule = "a message that was acknowledged does not come again"
            self._ledger.compare(StepFact.KEY_RECEIVER, self._subject(message), receivers, (), rule)
        for message in arrived:
            self.outstanding.pop(message, None)
        if not self._keeps:
            self.outstanding.clear()

    @property
    def _newcomer(self) -> str | None:
        return self._subscription.connected[-1] if self._subscription.connected else None

    def _keys_of(self, step: KeySharedStep) -> tuple[str, ...]:
        if step.keys is not None:
            return step.keys
        if step.received is None:
            return ()
        return self._scenario.keys or tuple(dict.fromkeys(key for keys in step.received.values() for key in keys))

    def _compare(self, message: MessageName, receivers: set[str]) -> bool:
        """False: the message should have arrived, or gone to another consumer, or not have gone at all."""
        subscription, ledger, subject = self._subscription, self._ledger, self._subject(message)
        owner = subscription.owner_of(message[1])
        goes = subscription.may_go(message)
        # One name each: a message that was not acknowledged in time comes again.
        recorded = tuple(sorted(receivers))
        rule = f"slot {subscription.slot_of(message[1])} of the key, Pulsar {subscription.behaviour.label}"
        if self._anew and owner is not None:
            rule = f"{rule}: what nobody had acknowledged goes to those that come after all have left"
            return ledger.compare(StepFact.KEY_RECEIVER, subject, recorded, (owner,), rule)
        if goes and self._late and not receivers:
            ledger.skip(_LATE)
            return True
        if goes:
            modelled = (subscription.sent_to[message],)
            # A late message may have gone when the model sent it, or just now.
            if self._late and owner is not None and recorded == (owner,):
                modelled = (owner,)
            return ledger.compare(StepFact.KEY_RECEIVER, subject, recorded, modelled, rule)
        if owner is None:
            return ledger.compare(StepFact.KEY_WITHOUT_OWNER, subject, recorded, (), f"{rule}: no consumer has it")
        rule = f"{rule}: {owner} has it, and an older message holds it back"
        return ledger.compare(StepFact.KEY_HELD_BACK, subject, recorded, (), rule)

    def _subject(self, message: MessageName) -> str:
        round_name, key = message
        if not round_name.startswith("step "):
            return f"key {key}, round {round_name}"
        return f"key {key}" if round_name == self._round else f"key {key}, sent in {round_name}"

    def _arrived(self, step: KeySharedStep) -> Arrivals | None:
        """Message -> who got it in this step; None when the step does not say."""
        recorded = (step.received, step.delivered, step.earlier, step.by_newcomer, step.by_sole)
        if all(members is None for members in recorded):
            return None
        arrivals: Arrivals = {}
        if step.received is not None:
            _add(arrivals, {who: [(self._round, key) for key in keys] for who, keys in step.received.items()})
        for by_who in (step.delivered, step.earlier):
            if by_who is not None:
                _add(arrivals, by_who)
        if step.by_sole is not None and self._newcomer is not None:
            _add(arrivals, {self._newcomer: step.by_sole})
        if step.by_newcomer is not None and self._newcomer is not None:
            _add(arrivals, {self._newcomer: self._oldest(step.by_newcomer)})
        return arrivals

    def _oldest(self, keys: Iterable[str]) -> list[MessageName]:
        """Messages of which only the keys are recorded: the oldest of each key that had not arrived."""
        by_key: dict[str, list[MessageName]] = {}
        for message in self.outstanding:
            by_key.setdefault(message[1], []).append(message)
        return [by_key[key].pop(0) if by_key.get(key) else (self._round, key) for key in keys]


def _add(arrivals: Arrivals, by_who: Mapping[str, Iterable[MessageName]]) -> None:
    for who, messages in by_who.items():
        for message in messages:
            arrivals.setdefault(message, set()).add(who)
