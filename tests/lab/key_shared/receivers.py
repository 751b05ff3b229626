"""Receivers of keys: who got each message, and which nobody got; none is lost, and none comes twice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tests.lab.key_shared.steps import KeySharedScenario, KeySharedTold, MessageName
from tests.lab.key_shared.subscription import KeySharedBook
from tests.lab.report import FactKind, Ledger

_LATE = "messages that may go and had not arrived yet: before 4.0 a key without owner slows the others down"
Arrivals = dict[MessageName, set[str]]


class KeySharedReceivers:
    """Publishes what the steps send and holds what arrives against the book; ``outstanding`` had not arrived so far.

    ``keeps`` False: the topic is not persistent, and what nobody gets at once is dropped.
    """

    def __init__(self, scenario: KeySharedScenario, book: KeySharedBook, ledger: Ledger, *, keeps: bool) -> None:
        self._scenario = scenario
        self._book = book
        self._keeps = keeps
        self._ledger = ledger
        self._number = 0
        self._round = ""
        self._late = False
        self._anew = False
        self._times_empty = 0
        self._missed: set[MessageName] = set()
        self.outstanding: dict[MessageName, None] = {}

    def go_on(self, told: KeySharedTold) -> None:
        """Send what the step sends, then compare what arrived in it."""
        self._number += 1
        round_name = self._round = told.round or f"step {self._number}"
        keys = self._keys_of(told)
        names = self._book.publish(round_name, keys)
        self.outstanding.update(dict.fromkeys(names))
        self._anew = self._book.times_empty > self._times_empty
        self._times_empty = self._book.times_empty
        # Once something may be late, the rest of it may come in any later step, until all have left.
        self._late = bool(self.outstanding) and not self._anew and (self._late or self._book.may_be_late)
        arrived = self._arrived(told, round_name)
        if arrived is None:
            return
        only_newcomer = told.by_newcomer is not None and told.received is None
        newcomer = self._newcomer
        for message in tuple(self.outstanding):
            if only_newcomer and message not in arrived and self._book.sent_to.get(message) != newcomer:
                continue
            if not self._compare(message, arrived.get(message, set())) and message not in arrived:
                # Told once; it does not wait for anybody.
                self._missed.add(message)
                del self.outstanding[message]
        for message in sorted(arrived.keys() - self.outstanding.keys() - self._missed):
            recorded = tuple(sorted(arrived[message]))
            rule = "a message that was acknowledged does not come again"
            self._ledger.compare(FactKind.KEY_RECEIVER, self._subject(message), recorded, (), rule)
        for message in arrived:
            self.outstanding.pop(message, None)
        if not self._keeps:
            self.outstanding.clear()

    @property
    def _newcomer(self) -> str | None:
        return self._book.connected[-1] if self._book.connected else None

    def _keys_of(self, told: KeySharedTold) -> tuple[str, ...]:
        if told.keys is not None:
            return told.keys
        if told.received is None:
            return ()
        return self._scenario.keys or tuple(dict.fromkeys(key for keys in told.received.values() for key in keys))

    def _compare(self, message: MessageName, receivers: set[str]) -> bool:
        """False: it should have arrived, or gone to another, or not have gone at all."""
        book, ledger, subject = self._book, self._ledger, self._subject(message)
        owner = book.owner_of(message[1])
        goes = book.may_go(message)
        # One name for each: a message that was not acknowledged in time comes again.
        recorded = tuple(sorted(receivers))
        rule = f"slot {book.slot_of(message[1])} of the key, Pulsar {book.behaviour.label}"
        if self._anew and owner is not None:
            rule = f"{rule}: what nobody had acknowledged goes to those that come after all have left"
            return ledger.compare(FactKind.KEY_RECEIVER, subject, recorded, (owner,), rule)
        if goes and self._late and not receivers:
            ledger.skip(_LATE)
            return True
        if goes:
            modelled = (book.sent_to[message],)
            # What is late may have gone when the model sent it, or just now.
            if self._late and owner is not None and recorded == (owner,):
                modelled = (owner,)
            return ledger.compare(FactKind.KEY_RECEIVER, subject, recorded, modelled, rule)
        if owner is None:
            rule = f"{rule}: no consumer has it"
            return ledger.compare(FactKind.KEY_WITHOUT_OWNER, subject, recorded, (), rule)
        rule = f"{rule}: {owner} has it, and an older message holds it back"
        return ledger.compare(FactKind.KEY_HELD_BACK, subject, recorded, (), rule)

    def _subject(self, message: MessageName) -> str:
        round_name, key = message
        if round_name.startswith("step "):
            return f"key {key}" if round_name == self._round else f"key {key}, sent in {round_name}"
        return f"key {key}, round {round_name}"

    def _arrived(self, told: KeySharedTold, round_name: str) -> Arrivals | None:
        """Message -> who got it in this step; None when the step does not tell."""
        found: Arrivals = {}
        if told.received is not None:
            _add(found, {who: [(round_name, key) for key in keys] for who, keys in told.received.items()})
        for by_who in (told.delivered, told.earlier):
            if by_who is not None:
                _add(found, by_who)
        newcomer = self._newcomer
        if told.by_sole is not None and newcomer is not None:
            _add(found, {newcomer: told.by_sole})
        if told.by_newcomer is not None and newcomer is not None:
            _add(found, {newcomer: self._oldest(told.by_newcomer, round_name)})
        told_of = (told.received, told.delivered, told.earlier, told.by_newcomer, told.by_sole)
        return None if all(each is None for each in told_of) else found

    def _oldest(self, keys: Iterable[str], round_name: str) -> list[MessageName]:
        """Messages that are told by their keys only: the oldest of each key that had not arrived."""
        by_key: dict[str, list[MessageName]] = {}
        for message in self.outstanding:
            by_key.setdefault(message[1], []).append(message)
        return [by_key[key].pop(0) if by_key.get(key) else (round_name, key) for key in keys]


def _add(found: Arrivals, by_who: Mapping[str, Iterable[MessageName]]) -> None:
    for who, messages in by_who.items():
        for message in messages:
            found.setdefault(message, set()).add(who)
