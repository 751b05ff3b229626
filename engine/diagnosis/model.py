"""What a decider answers: a cause with its verdict and numbers, or the reason why it is ruled out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from engine.diagnosis.seen import SubscriptionSeen

Value = int | float | str | tuple[tuple[int, int], ...]
Numbers = tuple[tuple[str, Value], ...]


class Verdict(Enum):
    """What a cause does to a subscription, the worst first."""

    BLOCKS = "blocks"
    SLOWS = "slows"
    UNEVEN = "uneven"
    CANNOT_TELL = "cannot_tell"
    BY_DESIGN = "by_design"
    FINE = "fine"

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return _RANKS[self]

    @property
    def harms(self) -> bool:
        """Whether somebody has to do something."""
        return self in (Verdict.BLOCKS, Verdict.SLOWS, Verdict.UNEVEN)


_RANKS: Final = {verdict: rank for rank, verdict in enumerate(Verdict)}


@dataclass(frozen=True, slots=True)
class Setting:
    """The setting that rules a cause. ``value`` is what is in force, None where no answer says it; ``source`` says
    where it was read, "" where nowhere. ``default`` is Pulsar's, None for settings of clients.
    """

    name: str
    value: float | str | None = None
    default: float | str | None = None
    source: str = ""


@dataclass(frozen=True, slots=True)
class Cause:
    """One named cause.

    ``what`` is a sentence without a full stop. ``topic`` is the one where it is worst, by full name, "" for a cause of
    the subscription as a whole, and ``topics`` on how many (partitions count singly) it was found. ``blocked`` are
    consumers that get nothing because of it, ``by`` those that make it so. ``waiting`` is the number of messages that
    wait for it. ``fix`` says what to do, a command line where there is one; ``fields`` are the members of the answers
    that it was read from.
    """

    id: str
    verdict: Verdict
    what: str
    topic: str = ""
    topics: int = 1
    blocked: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    waiting: int = 0
    numbers: Numbers = ()
    setting: Setting | None = None
    fix: str = ""
    fields: tuple[str, ...] = ()

    def number(self, name: str) -> Value:
        """One of ``numbers`` by its name; it must be there."""
        return dict(self.numbers)[name]


def in_order_of_verdict(causes: Iterable[Cause]) -> list[Cause]:
    """The worst first; what is fine is left out where something is not."""
    ordered = list(causes)
    harmed = any(cause.verdict.harms for cause in ordered)
    return sorted(
        (cause for cause in ordered if not harmed or cause.verdict is not Verdict.FINE),
        key=lambda cause: cause.verdict.rank,
    )


@dataclass(frozen=True, slots=True)
class RuledOut:
    """A cause that the answers speak against, and how."""

    id: str
    why: str


Judgement = Cause | str
"""A cause, or a few words on why it is none."""


@dataclass(frozen=True, slots=True)
class Decider:
    """A cause that can be found. ``types`` are the subscription types that can have it, as Pulsar writes them.

    ``also_quiet``: whether a subscription can have it where nothing waits and nobody is stopped.
    """

    id: str
    about: str
    types: frozenset[str]
    decide: Callable[[SubscriptionSeen], Judgement]
    also_quiet: bool = False


Rank = tuple[int, int, str, str]
"""Sorts the worst first: by verdict, then by how much waits, then by name."""


def rank_of(first: Cause | None, backlog: int, namespace: str, subscription: str) -> Rank:
    """The rank of a subscription by its first cause, None for none."""
    rank = Verdict.FINE.rank if first is None else first.verdict.rank
    return rank, -max(backlog, first.waiting if first else 0), namespace, subscription


@dataclass(frozen=True, slots=True)
class Earlier:
    """A cause that stood at an earlier moment, counted from 1, and no more at the last; ``at_ms`` is when, if known."""

    moment: int
    at_ms: int | None
    cause: Cause


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What was found about one subscription, the answer first. ``moments`` is how often it was looked at.

    ``earlier`` is what was wrong at the latest moment at which something was, where now nothing is.
    """

    namespace: str
    subscription: str
    type: str
    topic: str
    topics: int
    moments: int
    backlog: int
    causes: tuple[Cause, ...] = ()
    ruled_out: tuple[RuledOut, ...] = field(default=(), repr=False)
    earlier: Earlier | None = None

    @property
    def first(self) -> Cause | None:
        """The answer; None where nothing is to be said."""
        return self.causes[0] if self.causes else None

    @property
    def blocks(self) -> bool:
        return any(cause.verdict is Verdict.BLOCKS for cause in self.causes)

    @property
    def rank(self) -> Rank:
        """Sorts the worst first."""
        return rank_of(self.first, self.backlog, self.namespace, self.subscription)


def worst_first(diagnoses: Iterable[Diagnosis]) -> list[Diagnosis]:
    """Sort what was found about many subscriptions."""
    return sorted(diagnoses, key=lambda diagnosis: diagnosis.rank)
