"""What makes a run fail although it was finished: findings, unevenness, disagreement, records set aside."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from engine.errors import InputError
from engine.lint.model import severity_of
from pipeline.jobs.result import JobResult

SEVERITIES: Final = ("info", "warning", "error")
NUMBERS: Final[Mapping[str, str]] = {
    "max_over_even": "assign",
    "idle": "assign",
    "disagreement": "assign",
    "quarantined": "import",
}
"""What a condition can be about, and the job that counts it.

``max_over_even``: of the worst subscription under its rule in force; ``idle``: consumers that get nothing under it;
``disagreement``: reported active consumers that the rules in force do not give; ``quarantined``: records set aside as
bad, or with ``%`` their share of all records.
"""
_FORM: Final = re.compile(r"([a-z_]+)>(\d+(?:\.\d+)?)(%?)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Condition:
    """A severity (``number`` is then empty), or a number that must not be exceeded."""

    text: str
    severity: str = ""
    number: str = ""
    limit: float = 0.0
    percent: bool = False

    def is_met(self, result: JobResult) -> bool:
        """Whether the result of a job, or of one of the jobs of ``run``, is as bad as this says."""
        jobs: Any = result.summary.get("jobs", {result.job: result.summary})
        if self.severity:
            found = jobs.get("lint", {}).get("severities", {})
            return any(severity_of(name) >= severity_of(self.severity) for name in found)
        summary = jobs.get(NUMBERS[self.number])
        return summary is not None and _value(self.number, summary, percent=self.percent) > self.limit


def conditions_of(job: str, texts: Iterable[str]) -> tuple[Condition, ...]:
    """Read ``--fail-on``. Raises ``InputError`` for what is not a condition or what the job does not count.

    >>> [condition.limit for condition in conditions_of("run", ["idle>0", "quarantined>1.5%"])]
    [0.0, 1.5]
    """
    return tuple(_condition(job, text.strip()) for text in texts)


def _condition(job: str, text: str) -> Condition:
    if text in SEVERITIES:
        if job not in ("run", "lint"):
            raise InputError(f"--fail-on {text} is for the jobs run and lint; {job} has no findings")
        return Condition(text, severity=text)
    form = _FORM.fullmatch(text)
    if form is None or form[1] not in NUMBERS or (form[3] and form[1] != "quarantined"):
        known = f"{', '.join(SEVERITIES)}, or a number: {', '.join(f'{name}>N' for name in NUMBERS)}, quarantined>N%"
        raise InputError(f"--fail-on knows {known}; not {text!r}")
    if job not in ("run", NUMBERS[form[1]]):
        raise InputError(f"--fail-on {text} is for the jobs run and {NUMBERS[form[1]]}; {job} does not count it")
    return Condition(text, number=form[1], limit=float(form[2]), percent=bool(form[3]))


def failures_of(result: JobResult, conditions: Iterable[Condition]) -> list[str]:
    """Why a finished run counts as failed, one sentence each; nothing where it does not."""
    failed: Any = result.summary.get("failed", {})
    found = [f"the job {job} failed: {reason}" for job, reason in sorted(failed.items())]
    return [*found, *(f"{condition.text} is met" for condition in conditions if condition.is_met(result))]


def _value(number: str, summary: Mapping[str, Any], *, percent: bool) -> float:
    if number == "disagreement":
        return float(summary["agreement"]["reported"] - summary["agreement"]["agreeing"])
    if number == "quarantined":
        bad = float(summary["problem_rows"])
        rows = float(sum(summary["rows_in"].values()))
        return 100 * bad / rows if percent and rows else bad
    now = summary["now"]
    return float(now["idle"] if number == "idle" else now["worst_max_over_even"] or 0.0)
