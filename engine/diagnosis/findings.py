"""Diagnoses as findings of the doctor."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

from engine.answer import about
from engine.diagnosis.absent import NOT_REPORTED
from engine.diagnosis.causes import counts, failover, in_hands, pace, reached_limits, slots
from engine.diagnosis.causes.stalled import UNEXPLAINED
from engine.diagnosis.cursors import CURSORS_ONLY
from engine.diagnosis.metered import METRICS_ONLY
from engine.diagnosis.model import Cause, Diagnosis, Verdict
from engine.diagnosis.placed import NO_STATISTICS
from engine.diagnosis.producing import HOT_PARTITION
from engine.diagnosis.replicating import REPLICATION
from engine.diagnosis.seen import parent_of
from engine.diagnosis.sums import SUMS_ONLY
from engine.diagnosis.why import DECIDERS
from engine.lint.model import Finding, Severity, Where, in_order
from engine.text import counted

SEVERITIES: Final[Mapping[Verdict, Severity]] = {
    Verdict.BLOCKS: Severity.ERROR,
    Verdict.SLOWS: Severity.WARNING,
    Verdict.UNEVEN: Severity.WARNING,
    Verdict.CANNOT_TELL: Severity.INFO,
}
"""Other verdicts are not findings."""
_UNEVEN: Final = frozenset(
    {failover.IDLE, slots.FEW_KEYS, slots.NO_SLOTS, slots.BATCHES, in_hands.NEWCOMER, counts.COUNTS}
)
_SLOW: Final = frozenset({pace.RATE_LIMITED, pace.HOT_KEY, pace.SLOW_CONSUMER, pace.REDELIVERY, pace.DROPPED})
_HARMLESS: Final = frozenset(
    {
        pace.DELAYED,
        failover.DIFFERS,
        failover.STANDBY,
        slots.AUTO_SPLIT_SKEW,
        pace.IDLE,
        pace.CATCHING_UP,
        slots.DIFFER,
        pace.KEEPING_UP,
        reached_limits.PRODUCERS_FULL,  # the rule producers-full says it of each topic
    }
)


@dataclass(frozen=True, slots=True)
class CauseRule:
    """A cause as a rule of the doctor; ``worst`` is its highest severity."""

    id: str
    about: str
    worst: Severity
    source: str = "statistics of brokers"


CAUSE_RULES: Final = (
    *(
        CauseRule(decider.id, decider.about, Severity.WARNING if decider.id in _UNEVEN | _SLOW else Severity.ERROR)
        for decider in DECIDERS
        if decider.id not in _HARMLESS
    ),
    CauseRule(HOT_PARTITION, "one partition gets what the others do not", Severity.WARNING),
    CauseRule(REPLICATION, "entries wait for another cluster, whose replicator sends nothing", Severity.ERROR),
    CauseRule(UNEXPLAINED, "messages wait, and no answer shows why", Severity.INFO),
    CauseRule(NOT_REPORTED, "the answer lacks what nearly every cause is read from", Severity.INFO),
    CauseRule(SUMS_ONLY, "messages wait, and sums do not say at which partition", Severity.INFO, "partitioned-stats"),
    CauseRule(NO_STATISTICS, "answers without statistics do not say what waits", Severity.INFO, "stats"),
    CauseRule(CURSORS_ONLY, "messages wait, and cursors do not say why", Severity.INFO, "stats-internal"),
    CauseRule(METRICS_ONLY, "messages wait, and metrics do not say why", Severity.INFO, "metrics of brokers"),
)


def findings_of(
    diagnoses: Iterable[Diagnosis], ids: Collection[str] | None = None, *, namespace: str | None = None
) -> tuple[Finding, ...]:
    """Return the causes that do or may do harm, the worst first; only those of ``ids`` unless None."""
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
    what = cause.what
    if cause.topics > 1 and cause.waiting:
        # The sentence is about the worst topic alone, and the place of the finding about all of them.
        what += f" (the worst of {cause.topics:,} topics, with {counted(cause.waiting, 'waiting message')} in all)"
    bugs = [f"looks like {bug.text}; attach {bug.attach} to a report" for bug in cause.looks_like]
    advice = "; ".join(filter(None, [cause.fix, *bugs]))
    return Finding(cause.id, SEVERITIES[cause.verdict], what, where, numbers, advice)


@dataclass(frozen=True, slots=True)
class Why(Diagnosis):
    """What `ringside why --json` prints of one subscription."""

    FORMAT: ClassVar = "ringside.why/1"


@dataclass(frozen=True, slots=True)
class WhyAll:
    """What `ringside why --all --json` prints."""

    FORMAT: ClassVar = Why.FORMAT

    subscriptions: Annotated[Sequence[Diagnosis], about("Every subscription, the worst first.")]
