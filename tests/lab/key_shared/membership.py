"""Who is connected to a Key_Shared subscription in each step: as the steps say, else as statistics list it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.errors import Rejection
from engine.keyshared.admission import KeySharedMode
from engine.keyshared.model import DeclaredRanges
from engine.verify.report import Ledger
from tests.lab.facts import StepFact
from tests.lab.key_shared.joining import as_on_the_wire
from tests.lab.key_shared.steps import ACCEPTED, KeySharedScenario, KeySharedStep
from tests.lab.key_shared.subscription import ModelledSubscription
from tests.lab.scenario import Recording, Step


@dataclass(frozen=True, slots=True)
class _Member:
    who: str
    name: str
    declared: DeclaredRanges | None


class Membership:
    """Lets consumers come and go in the model.

    ``lost``: nothing says which of two namesakes came or went, or which ranges a consumer brought.
    """

    def __init__(
        self, recording: Recording, scenario: KeySharedScenario, subscription: ModelledSubscription, ledger: Ledger
    ) -> None:
        self._recording = recording
        self._scenario = scenario
        self._subscription = subscription
        self._ledger = ledger
        self._visitor: str | None = None
        self.lost = False

    def end_visit(self) -> None:
        """Let the consumer go that was let in on trial in the step before."""
        if self._visitor is not None:
            self._subscription.leave(self._visitor)
            self._visitor = None

    def visit(self, who: str) -> None:
        """Note that a consumer on trial was let in."""
        self._visitor = who

    def go_on(self, step: Step, keys: KeySharedStep, listed: Sequence[str] | None) -> None:
        """Bring the model to one step. ``listed`` are the names in its statistics, None without any."""
        if step.connected is not None:
            names = [(who, self._name_of(who)) for who in step.connected]
            self._bring_to([_Member(who, name, self._declared(name, keys)) for who, name in names])
        elif keys.accepted is not None:
            self._bring_to([_Member(name, name, ranges) for name, ranges in keys.accepted.items()])
        elif keys.joins is not None:
            self._join(_Member(self._free_id(keys.joins), keys.joins, self._declared(keys.joins, keys)))
        elif listed is not None:
            self._bring_to_listed(listed, keys)

    def _bring_to_listed(self, listed: Sequence[str], keys: KeySharedStep) -> None:
        names = [self._subscription.name_of(who) for who in self._subscription.connected]
        if sorted(listed) == sorted(names):
            return
        if len(set(listed)) < len(listed) or len(set(names)) < len(names):
            self.lost = True
            return
        self._bring_to([_Member(name, name, self._declared(name, keys)) for name in listed])

    def _bring_to(self, members: Sequence[_Member]) -> None:
        """Let all others leave, then let newcomers join; one that is listed behind a later one left and came again."""
        before = self._subscription.connected
        last = -1
        kept: set[str] = set()
        for member in members:
            if member.who in before and before.index(member.who) > last:
                last = before.index(member.who)
                kept.add(member.who)
        for who in before:
            if who not in kept:
                self._subscription.leave(who)
        for member in members:
            if member.who not in kept:
                self._join(member)

    def _join(self, member: _Member) -> None:
        sticky = self._scenario.terms.mode is KeySharedMode.STICKY
        if sticky and member.declared is None:
            # Where the scenario lists the ranges of all, the name cannot be right; where of some, this one is unknown.
            self.lost = self.lost or not self._scenario.declared or member.name in self._roster_names
            return
        refusal = self._subscription.join(member.who, member.name, member.declared)
        if sticky or isinstance(refusal, Rejection):
            modelled = ACCEPTED if refusal is None else as_on_the_wire(refusal, self._recording)
            rule = f"ranges that a consumer brings, Pulsar {self._subscription.behaviour.label}"
            self._ledger.compare(StepFact.JOIN_ANSWER, member.name, ACCEPTED, modelled, rule)

    @property
    def _roster_names(self) -> set[str]:
        return {consumer.name for consumer in self._recording.roster.values()}

    def _name_of(self, who: str) -> str:
        """Ids of steps are ids of the roster, or ``place:name``."""
        consumer = self._recording.roster.get(who)
        if consumer is not None:
            return consumer.name
        place, _, name = who.partition(":")
        return name if place.isdecimal() and name in self._recording.roster else who

    def _free_id(self, name: str) -> str:
        taken = set(self._subscription.connected)
        return next(who for who in (name, *(f"{name} ({n})" for n in range(2, len(taken) + 3))) if who not in taken)

    def _declared(self, name: str, keys: KeySharedStep) -> DeclaredRanges | None:
        if self._scenario.terms.mode is not KeySharedMode.STICKY:
            return None
        if keys.accepted is not None and name in keys.accepted:
            return keys.accepted[name]
        return keys.declared if keys.declared is not None else (self._scenario.declared or {}).get(name)
