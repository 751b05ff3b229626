"""A rule, what holds for all brokers, and what a rule finds: a value that says what, where, how bad, what to change."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Generic, TypeVar

from engine.bundles.plan import LoadManager
from engine.config import CURRENT, BrokerSettings, ReleaseBehaviour

Case = TypeVar("Case")


class Severity(IntEnum):
    """How much a finding matters; a higher number is worse.

    ERROR: somebody gets nothing, messages reach nobody, or a mechanism cannot work. WARNING: uneven, wasted or
    repeated in vain. INFO: right as it is, but not what one might think.
    """

    INFO = 1
    WARNING = 2
    ERROR = 3

    @property
    def label(self) -> str:
        return self.name.lower()


def severity_of(label: str) -> Severity:
    """The severity of a label; the labels are those of ``Severity.label``.

    >>> severity_of("warning") > severity_of("info")
    True
    """
    return Severity[label.upper()]


@dataclass(frozen=True, slots=True, order=True)
class Where:
    """Where a finding lies; empty texts where a part does not apply, all of them for the brokers' settings.

    Of a subscription, ``topic`` is the first of its ``topics`` topics by name: two subscriptions of one name with
    different consumers are told apart by it. ``consumer`` and ``topic`` are names, ``bundle`` is a range text.
    """

    namespace: str = ""
    subscription: str = ""
    bundle: str = ""
    topic: str = ""
    consumer: str = ""
    topics: int = 0


Numbers = tuple[tuple[str, float], ...]
"""(Name with its unit, value): how bad it is."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong or worth knowing. ``what`` and ``advice`` are sentences without a full stop."""

    rule: str
    severity: Severity
    what: str
    where: Where
    numbers: Numbers
    advice: str

    def number(self, name: str) -> float:
        """One of ``numbers`` by its name; it must be there."""
        return dict(self.numbers)[name]


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The worst first, then by rule and place: an order that does not depend on that of the answers."""
    return tuple(sorted(findings, key=lambda finding: (-finding.severity, finding.rule, finding.where, finding.what)))


@dataclass(frozen=True, slots=True)
class Rule(Generic[Case]):
    """``worst`` is the highest severity it gives; ``source`` are Pulsar's threads or classes it comes from."""

    id: str
    about: str
    worst: Severity
    source: str
    check: Callable[[Case], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class World:
    """What holds for all brokers: settings, release, and the load manager where it is known.

    ``shedder`` and ``placement`` are the strategies of the modular one by their class names, "" where no answer says.
    """

    settings: BrokerSettings = field(default_factory=BrokerSettings)
    behaviour: ReleaseBehaviour = CURRENT
    load_manager: LoadManager | None = None
    shedder: str = ""
    placement: str = ""

    @property
    def flag_in_force(self) -> bool:
        """``activeConsumerFailoverConsistentHashing``, as far as the release knows it."""
        return (
            self.settings.activeConsumerFailoverConsistentHashing and self.behaviour.knows_failover_consistent_hashing
        )
