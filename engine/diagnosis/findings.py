"""Diagnoses for other readers: as findings of the doctor, and as the JSON of ``ringside why --json``."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, TypeVar

from engine.answer import about
from engine.diagnosis.absent import NOT_REPORTED
from engine.diagnosis.causes import counts, failover, in_hands, pace, reached_limits, slots
from engine.diagnosis.causes.stalled import UNEXPLAINED
from engine.diagnosis.cursors import CURSORS_ONLY
from engine.diagnosis.limits import Setting
from engine.diagnosis.metered import METRICS_ONLY
from engine.diagnosis.model import Cause, Diagnosis, KnownBug, RuledOut, Value, Verdict
from engine.diagnosis.placed import NO_STATISTICS
from engine.diagnosis.producing import HOT_PARTITION
from engine.diagnosis.release import JudgedRelease
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
class CauseRow:
    id: Annotated[str, about("Its name; the same in every release of Ringside.")]
    verdict: Annotated[Verdict, about("What it does, the worst first; the last two harm nobody.")]
    what: Annotated[str, about("A sentence.")]
    topic: Annotated[
        str,
        about(
            "Full name of the topic or partition where it is worst; empty for a cause of the subscription as a whole."
        ),
    ]
    topics: Annotated[int, about("On how many topics and partitions it was found.", 1)]
    blocked: Annotated[Sequence[str], about("Consumers that get nothing because of it.")]
    by: Annotated[Sequence[str], about("Consumers that make it so.")]
    waiting: Annotated[int, about("Messages that wait for it, on all those topics.")]
    numbers: Annotated[
        Mapping[str, Value],
        about("What it was read from, by name; times in ms and sizes in bytes where the name says so."),
    ]
    setting: Annotated[str | None, about("The setting that rules it.")]
    setting_in_force: Annotated[Setting | None, about("What is known of that setting.")]
    fix: Annotated[str, about("What to do; command lines in it are quoted for a shell.")]
    fields: Annotated[Sequence[str], about("Members of the answers that it was read from.")]
    looks_like: Annotated[
        Sequence[KnownBug],
        about("Publicly reported faults of Pulsar that it looks like, of releases that the brokers can have."),
    ]


@dataclass(frozen=True, slots=True)
class EarlierRow:
    """What was wrong at the latest moment at which something was, where nothing is at the last one; else null."""

    moment: Annotated[int, about("Which moment, counted from 1.", 1)]
    at_ms: Annotated[int | None, about("When that was, in epoch milliseconds; null where nothing says it.")]
    cause: Annotated[CauseRow, about("The cause.")]


@dataclass(frozen=True, slots=True)
class DiagnosisRow:
    moments: Annotated[int, about("At how many moments the cluster was looked at.", 1)]
    namespace: Annotated[str, about("Tenant and namespace.")]
    subscription: Annotated[str, about("Name of the subscription.")]
    type: Annotated[
        str, about("Its type; None where nobody has connected since the topic was loaded, unknown of metrics alone.")
    ]
    topic: Annotated[
        str, about("Full name of the topic where the first cause is worst, without the suffix of a partition.")
    ]
    topics: Annotated[int, about("Its topics and partitions.", 1)]
    backlog: Annotated[
        int | None, about("Entries that are not acknowledged, on all of them; null where the answers lack it.")
    ]
    release: Annotated[JudgedRelease, about("The release by whose rules it was judged.")]
    causes: Annotated[Sequence[CauseRow], about("What was found; the first one is the answer.")]
    ruled_out: Annotated[Sequence[RuledOut], about("Causes that the answers speak against.")]
    earlier: Annotated[EarlierRow | None, about("What was mended, or went by.")]


R = TypeVar("R", bound=DiagnosisRow)


@dataclass(frozen=True, slots=True)
class WhyDocument(DiagnosisRow):
    """What `ringside why --json` prints of one subscription."""

    FORMAT: ClassVar = "ringside.why/1"


@dataclass(frozen=True, slots=True)
class WhyAllDocument:
    """What `ringside why --all --json` prints."""

    FORMAT: ClassVar = WhyDocument.FORMAT

    subscriptions: Annotated[Sequence[DiagnosisRow], about("Every subscription, the worst first.")]


def diagnosis_document(diagnosis: Diagnosis) -> WhyDocument:
    return _diagnosis(WhyDocument, diagnosis)


def diagnoses_document(diagnoses: Sequence[Diagnosis]) -> WhyAllDocument:
    return WhyAllDocument([_diagnosis(DiagnosisRow, diagnosis) for diagnosis in diagnoses])


def _diagnosis(kind: type[R], diagnosis: Diagnosis) -> R:
    return kind(
        moments=diagnosis.moments,
        namespace=diagnosis.namespace,
        subscription=diagnosis.subscription,
        type=diagnosis.type,
        topic=parent_of(diagnosis.topic),
        topics=diagnosis.topics,
        backlog=diagnosis.backlog,
        release=diagnosis.release.summary,
        causes=[_cause(cause) for cause in diagnosis.causes],
        ruled_out=diagnosis.ruled_out,
        earlier=None
        if diagnosis.earlier is None
        else EarlierRow(
            moment=diagnosis.earlier.moment,
            at_ms=diagnosis.earlier.at_ms,
            cause=_cause(diagnosis.earlier.cause),
        ),
    )


def _cause(cause: Cause) -> CauseRow:
    return CauseRow(
        id=cause.id,
        verdict=cause.verdict,
        what=cause.what,
        topic=cause.topic,
        topics=cause.topics,
        blocked=cause.blocked,
        by=cause.by,
        waiting=cause.waiting,
        numbers=dict(cause.numbers),
        setting=None if cause.setting is None else cause.setting.name,
        setting_in_force=cause.setting,
        fix=cause.fix,
        fields=cause.fields,
        looks_like=cause.looks_like,
    )
