"""What a rule finds: a value that says what, where, how bad and what to change."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum


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
    return tuple(sorted(findings, key=lambda each: (-each.severity, each.rule, each.where, each.what)))
