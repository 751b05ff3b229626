"""Causes as findings of the doctor, so that a check of answers says what is wrong now beside what can go wrong."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from engine.diagnosis.causes import failover, fine, pace, ranges, slots
from engine.diagnosis.model import Cause, Diagnosis, Verdict
from engine.diagnosis.seen import parent_of
from engine.diagnosis.why import DECIDERS
from engine.lint.model import Finding, Severity, Where, in_order

SEVERITIES: Final[Mapping[Verdict, Severity]] = {
    Verdict.BLOCKS: Severity.ERROR,
    Verdict.SLOWS: Severity.WARNING,
    Verdict.UNEVEN: Severity.WARNING,
    Verdict.CANNOT_TELL: Severity.INFO,
}
"""Other verdicts are no findings."""
_UNEVEN: Final = frozenset({failover.IDLE, slots.FEW_KEYS, slots.NO_SLOTS})
_SLOW: Final = frozenset({pace.RATE_LIMITED, pace.HOT_KEY, pace.SLOW_CONSUMER, pace.REDELIVERY})
_HARMLESS: Final = frozenset(
    {
        pace.DELAYED,
        failover.DIFFERS,
        failover.STANDBY,
        slots.AUTO_SPLIT_SKEW,
        fine.IDLE,
        fine.CATCHING_UP,
        ranges.DIFFER,
        ranges.BATCHES,
    }
)


@dataclass(frozen=True, slots=True)
class CauseRule:
    """A cause as a rule of the doctor: ``worst`` is the highest severity that it gives."""

    id: str
    about: str
    worst: Severity
    source: str = "statistics of brokers"


CAUSE_RULES: Final = tuple(
    CauseRule(decider.id, decider.about, Severity.WARNING if decider.id in _UNEVEN | _SLOW else Severity.ERROR)
    for decider in DECIDERS
    if decider.id not in _HARMLESS
)


def findings_of(
    diagnoses: Iterable[Diagnosis], ids: Collection[str] | None = None, *, namespace: str | None = None
) -> tuple[Finding, ...]:
    """The causes that do harm or may do, the worst first; ``ids`` are those that are wanted, None for all."""
    return in_order(
        _finding(diagnosis, cause)
        for diagnosis in diagnoses
        if namespace in (None, diagnosis.namespace)
        for cause in diagnosis.causes
        if cause.verdict in SEVERITIES and (ids is None or cause.id in ids)
    )


def _finding(diagnosis: Diagnosis, cause: Cause) -> Finding:
    where = Where(
        diagnosis.namespace,
        diagnosis.subscription,
        topic=parent_of(cause.topic or diagnosis.topic),
        consumer=cause.by[0] if len(cause.by) == 1 else "",
        topics=cause.topics,
    )
    numbers = tuple((name, float(value)) for name, value in cause.numbers if isinstance(value, int | float))
    return Finding(cause.id, SEVERITIES[cause.verdict], cause.what, where, numbers, cause.fix)
