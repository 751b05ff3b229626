"""Conditions under which a finished run fails: findings, unevenness, disagreement, quarantined records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Protocol

import msgspec

from engine.errors import InputError, Rejection
from engine.limit import Limit, parse_limit
from engine.lint.model import severity_of
from engine.text import counted
from engine.views.fleet.summary import BalanceTotals, FleetSummary, ScalableTotals

SEVERITIES: Final = ("info", "warning", "error")
NUMBERS: Final[Mapping[str, str]] = {
    "busiest_over_average": "assign",
    "idle": "assign",
    "disagreement": "assign",
    "quarantined": "import",
    "broker_usage": "balance",
    "unloads": "balance",
    "loops": "balance",
    "blocked": "scalable",
    "stuck": "scalable",
    "unattached": "scalable",
    "uncovered": "scalable",
    "score": "scalable",
    "flaps": "scalable",
}
"""The numbers that conditions can limit, and the job that counts each.

``busiest_over_average``: of the worst subscription under its rule in force that a better spread exists for; ``idle``:
consumers that get nothing under it; ``disagreement``: reported active consumers that the rules in force do not give;
``quarantined``: records set aside as bad, or with ``%`` their share of all records; ``broker_usage``: weighted usage
of the fullest broker in percent; ``unloads``: bundles that the forecast unloads; ``loops``: bundles of it that come
back to a broker they had left, or are unloaded for nothing. Of segments of scalable topics, in all: those that wait
for an older one (``blocked``), that never change hands (``stuck``), without an attached consumer, without a
subscription (``uncovered``); of the topic with the most the ``score`` of its hottest segment, and its changes within
an hour (``flaps``).
"""
WITH_ALL: Final = ("run", "report")
"""Jobs whose result has every number."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What conditions are checked against: findings by severity, and counted numbers by name."""

    severities: Mapping[str, int]
    numbers: Mapping[str, float]
    records: int = 0
    """All records of the import: 100 % of them."""
    failed: Mapping[str, str] | None = None
    """Jobs that failed, with the reason."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A severity that no finding may have, or a limit on a number."""

    text: str
    severity: str = ""
    limit: Limit | None = None

    def value(self, figures: Figures) -> float | None:
        """Findings of this severity or worse, or the number; None where no job has counted it."""
        if self.limit is None:
            least = severity_of(self.severity)
            return sum(count for name, count in figures.severities.items() if severity_of(name) >= least)
        number = figures.numbers.get(self.limit.name)
        return None if number is None else self.limit.compared(number, figures.records)

    def is_met(self, figures: Figures) -> bool:
        if self.limit is None:
            return bool(self.value(figures))
        number = figures.numbers.get(self.limit.name)
        return number is not None and self.limit.holds(number, figures.records)

    def measured(self, figures: Figures) -> str:
        """The number behind a condition that is met, with its limit."""
        if self.limit is None:
            return counted(int(self.value(figures) or 0), "finding")
        measured = self.limit.measured(figures.numbers[self.limit.name], figures.records)
        return f"{self.limit.name} is {measured}"


def conditions_of(job: str, texts: Iterable[str]) -> tuple[Condition, ...]:
    """Parse ``--fail-on``. Raises ``InputError`` for an invalid condition, or a number that the job does not count.

    >>> [condition.limit.number for condition in conditions_of("run", ["idle>0", "quarantined>1.5%"])]
    [0.0, 1.5]
    """
    return tuple(_condition(job, text.strip()) for text in texts)


def _condition(job: str, text: str) -> Condition:
    if text in SEVERITIES:
        if job not in (*WITH_ALL, "lint"):
            raise InputError(f"--fail-on {text} is for the jobs run, report and lint; {job} has no findings")
        return Condition(text, severity=text)
    limit = parse_limit(text, NUMBERS, ("quarantined",))
    if isinstance(limit, Rejection):
        known = f"{', '.join(SEVERITIES)}, or a number: {', '.join(f'{name}>N' for name in NUMBERS)}, quarantined>N%"
        raise InputError(f"--fail-on knows {known}; not {text!r}")
    if job not in (*WITH_ALL, NUMBERS[limit.name]):
        counts = f"the jobs run, report and {NUMBERS[limit.name]}"
        raise InputError(f"--fail-on {text} is for {counts}; {job} does not count it")
    return Condition(text, limit=limit)


def failures_of(figures: Figures, conditions: Iterable[Condition]) -> list[str]:
    """The reasons why a finished run counts as failed, as sentences; empty if it does not."""
    failed = [f"the job {job} failed: {reason}" for job, reason in sorted((figures.failed or {}).items())]
    exceeded = (condition for condition in conditions if condition.is_met(figures))
    return [*failed, *(f"{condition.text}: {condition.measured(figures)}" for condition in exceeded)]


class Result(Protocol):
    """What a job of the pipeline returns."""

    @property
    def job(self) -> str: ...
    @property
    def summary(self) -> Mapping[str, object]: ...


def figures_of_result(result: Result) -> Figures:
    """The figures of a job, or of the jobs of ``run``."""
    jobs: Any = result.summary.get("jobs", {result.job: result.summary})
    numbers: dict[str, float] = {}
    records = 0
    if "now" in jobs.get("assign", {}):
        now, agreement = jobs["assign"]["now"], jobs["assign"]["agreement"]
        numbers["busiest_over_average"] = float(now["worst_busiest_over_average"] or 0.0)
        numbers["idle"] = float(now["idle"])
        numbers["disagreement"] = float(agreement["reported"] - agreement["agreeing"])
    if "problem_rows" in jobs.get("import", {}):
        numbers["quarantined"] = float(jobs["import"]["problem_rows"])
        records = sum(jobs["import"]["rows_in"].values())
    if "totals" in jobs.get("balance", {}):
        numbers |= _of_balance(msgspec.convert(jobs["balance"]["totals"], BalanceTotals))
    if "totals" in jobs.get("scalable", {}):
        numbers |= _known(msgspec.convert(jobs["scalable"]["totals"], ScalableTotals))
    failed: Any = result.summary.get("failed", {})
    return Figures(jobs.get("lint", {}).get("severities", {}), numbers, records, failed)


def figures_of_summary(summary: FleetSummary) -> Figures:
    """The figures of a result folder."""
    severities: Counter[str] = Counter()
    for finding in summary.findings:
        severities[finding.severity] += finding.count
    numbers: dict[str, float] = {}
    if "assign" in summary.jobs:
        numbers["busiest_over_average"] = summary.now.worst_busiest_over_average or 0.0
        numbers["idle"] = float(summary.now.idle)
        numbers["disagreement"] = float(summary.agreement.reported - summary.agreement.agreeing)
    if "import" in summary.jobs:
        numbers["quarantined"] = float(summary.records.bad)
    if "balance" in summary.jobs:
        numbers |= _of_balance(summary.balance)
    if "scalable" in summary.jobs:
        numbers |= _known(summary.scalable)
    return Figures(severities, numbers, summary.records.read, summary.failed)


def _known(totals: ScalableTotals) -> dict[str, float]:
    return {name: value for name, value in asdict(totals).items() if value is not None}


def _of_balance(totals: BalanceTotals) -> dict[str, float]:
    return {
        "broker_usage": 100 * totals.max_usage,
        "unloads": float(totals.unloads),
        "loops": float(totals.loops),
    }
