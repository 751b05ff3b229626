"""Who is connected to a Key_Shared subscription in each step: as the steps tell it, else as statistics list it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.errors import Rejection
from engine.keyshared.admission import KeySharedMode
from engine.keyshared.model import DeclaredRanges
from tests.lab.key_shared.joining import as_on_the_wire
from tests.lab.key_shared.steps import ACCEPTED, KeySharedScenario, KeySharedTold
from tests.lab.key_shared.subscription import KeySharedBook
from tests.lab.recording import Recording, Step
from tests.lab.report import FactKind, Ledger


@dataclass(frozen=True, slots=True)
class _Member:
    who: str
    name: str
    declared: DeclaredRanges | None


class KeySharedMembers:
    """Lets consumers come and go in the book.

    ``lost``: nothing tells which of two namesakes came or went, or which ranges a consumer brought.
    """

    def __init__(self, recording: Recording, scenario: KeySharedScenario, book: KeySharedBook, ledger: Ledger) -> None:
        self._recording = recording
        self._scenario = scenario
        self._book = book
        self._ledger = ledger
        self._visitor: str | None = None
        self.lost = False

    def end_visit(self) -> None:
        """Whoever was let in on trial in the step before has left."""
        if self._visitor is not None:
            self._book.leave(self._visitor)
            self._visitor = None

    def visit(self, who: str) -> None:
        """A consumer on trial was let in."""
        self._visitor = who

    def go_on(self, step: Step, told: KeySharedTold, listed: Sequence[str] | None) -> None:
        """Bring the book to one step. ``listed`` are the names in its statistics, None without any."""
        if step.connected is not None:
            names = [(who, self._name_of(who)) for who in step.connected]
            self._follow([_Member(who, name, self._declared(name, told)) for who, name in names])
        elif told.accepted is not None:
            self._follow([_Member(name, name, ranges) for name, ranges in told.accepted.items()])
        elif told.joins is not None:
            self._join(_Member(self._free(told.joins), told.joins, self._declared(told.joins, told)))
        elif listed is not None:
            self._follow_listed(listed, told)

    def _follow_listed(self, listed: Sequence[str], told: KeySharedTold) -> None:
        names = [self._book.name_of(who) for who in self._book.connected]
        if sorted(listed) == sorted(names):
            return
        if len(set(listed)) < len(listed) or len(set(names)) < len(names):
            self.lost = True
            return
        self._follow([_Member(name, name, self._declared(name, told)) for name in listed])

    def _follow(self, wanted: Sequence[_Member]) -> None:
        """Whoever is not wanted leaves, and whoever stands behind a later one has left and come again."""
        before = self._book.connected
        last = -1
        kept: set[str] = set()
        for member in wanted:
            if member.who in before and before.index(member.who) > last:
                last = before.index(member.who)
                kept.add(member.who)
        for who in before:
            if who not in kept:
                self._book.leave(who)
        for member in wanted:
            if member.who not in kept:
                self._join(member)

    def _join(self, member: _Member) -> None:
        if self._scenario.terms.mode is KeySharedMode.STICKY and member.declared is None:
            # Where the scenario tells the ranges of all, it is the name that cannot be right.
            self.lost = self.lost or not self._scenario.declared
            return
        refusal = self._book.join(member.who, member.name, member.declared)
        if self._scenario.terms.mode is KeySharedMode.STICKY or isinstance(refusal, Rejection):
            modelled = ACCEPTED if refusal is None else as_on_the_wire(refusal, self._recording)
            rule = f"ranges that a consumer brings, Pulsar {self._book.behaviour.label}"
            self._ledger.compare(FactKind.JOIN_ANSWER, member.name, ACCEPTED, modelled, rule)

    def _name_of(self, who: str) -> str:
        """Ids of steps are names of the roster, or ``place:name``."""
        person = self._recording.roster.get(who)
        if person is not None:
            return person.name
        place, _, name = who.partition(":")
        return name if place.isdecimal() and name in self._recording.roster else who

    def _free(self, name: str) -> str:
        taken = set(self._book.connected)
        return next(who for who in (name, *(f"{name} ({n})" for n in range(2, len(taken) + 3))) if who not in taken)

    def _declared(self, name: str, told: KeySharedTold) -> DeclaredRanges | None:
        if self._scenario.terms.mode is not KeySharedMode.STICKY:
            return None
        if told.accepted is not None and name in told.accepted:
            return told.accepted[name]
        return told.declared if told.declared is not None else (self._scenario.declared or {}).get(name)
