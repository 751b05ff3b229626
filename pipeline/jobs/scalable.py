"""The job ``scalable``: who has which segment of every scalable topic, and the next automatic step of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from engine.admin.files import AnswerFile
from engine.admin.kinds import SCALABLE_KINDS, AnswerKind
from engine.admin.moments import read_moments
from engine.errors import InputError, Rejection
from engine.names import namespace_of
from engine.views.fleet.tables import ANSWERS, FILES, SCALE_FORECAST, SEGMENT_CONSUMERS, SEGMENTS
from engine.views.scalable.figures import figures_of
from engine.views.scalable.model import ScalableView
from engine.views.scalable.view import last_views
from pipeline.jobs.options import check_options
from pipeline.jobs.result import JobOptions, JobResult
from pipeline.reading.rows import Row
from pipeline.runs import Draft, Parts
from pipeline.sink import NoAccount, write_by_engine
from pipeline.stamps import time_of
from pipeline.storage import Place
from pipeline.tables import Tables, tables_at
from pipeline.transforms.namespace_answers import NamespaceAnswers, answers_by_namespace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOB: Final = "scalable"
WRITTEN: Final = (SEGMENTS, SEGMENT_CONSUMERS, SCALE_FORECAST)
_SUMS: Final = ("blocked", "stuck", "unattached", "uncovered")
_GREATEST: Final = ("score", "flaps")
_KINDS: Final = [kind.value for kind in (*SCALABLE_KINDS, AnswerKind.MANY)]
_ORDER: Final = {
    SEGMENTS: ("cluster", "topic", "start", "segment"),
    SEGMENT_CONSUMERS: ("cluster", "topic", "subscription", "consumer", "segment"),
    SCALE_FORECAST: ("-stuck", "-unattached", "-blocked", "-idle", "-score", "cluster", "topic"),
}


def has_scalable_topics(tables: Tables) -> bool:
    """Whether an import has an answer about a scalable topic."""
    kinds = [kind.value for kind in SCALABLE_KINDS]
    return any(True for _ in tables.rows(FILES, "file", filters=[("kind", "in", kinds)]))


def run(spark: SparkSession, source: Place | Tables, target: Place | Draft, options: JobOptions) -> JobResult:
    """Write the segments of scalable topics, their consumers and the next steps, from the answers that an import kept.

    Raises ``InputError`` for a missing table or a bad option.
    """
    check_options(JOB, options.settings)
    tables = tables_at(source)
    with options.writing(JOB, tables, target) as draft:
        from pyspark.sql import functions as fn  # noqa: PLC0415

        files = tables.load(spark, FILES).where(fn.col("kind").isin(_KINDS)).select("cluster", "file")
        rows = answers_by_namespace(
            tables.load(spark, ANSWERS).join(fn.broadcast(files), ["cluster", "file"], "left_semi")
        )
        write_by_engine(rows, draft, ScalableWork(NamespaceAnswers.of(tables)), NoAccount, aside=_ORDER)
        for table, order in _ORDER.items():
            if draft.working.has(table):
                draft.write_sorted(table, order)
        draft.fill(*WRITTEN)
        steps = Counter(action for (action,) in draft.rows(SCALE_FORECAST, "next"))
        totals = _totals(draft.rows(SCALE_FORECAST, *_SUMS, *_GREATEST))
        summary = {"job": JOB, "tables": draft.sizes(*WRITTEN), "steps": dict(sorted(steps.items())), "totals": totals}
        draft.write_json(f"{JOB}.json", summary)
    options.say(f"scalable: {sum(steps.values()):,} topics, {sum(steps.values()) - steps['none']:,} with a step ahead")
    return JobResult(JOB, summary)


def _totals(rows: Iterable[Row]) -> dict[str, float | None]:
    """The members of ``ScalableTotals``; rows come a part at a time, however many there are."""
    totals: dict[str, float | None] = {**dict.fromkeys(_SUMS, 0), **dict.fromkeys(_GREATEST)}
    for row in rows:
        for name, value in zip(totals, row, strict=True):
            if value is not None:
                so_far = totals[name] or 0
                totals[name] = so_far + value if name in _SUMS else max(so_far, value)
    return totals


@dataclass(frozen=True)
class ScalableWork:
    """The work of a task on rows of ``answers_by_namespace``."""

    answers: NamespaceAnswers

    def __call__(self, batches: Iterator[Any], parts: Parts) -> NoAccount:
        for cluster, namespace, files in self.answers.groups(batches):
            for written, rows in rows_of(cluster, namespace, files).items():
                parts.write(written, written.columns_of(rows))
        return NoAccount()


def rows_of(cluster: str, namespace: str, files: Sequence[AnswerFile]) -> dict[Any, list[Row]]:
    """The rows by table of one namespace, from its answers in any order; what cannot be shown was reported already."""
    try:
        views = last_views(read_moments(*files))
    except InputError:
        return {}
    own = [one for one in views.values() if not isinstance(one, Rejection) and namespace_of(one.topic) == namespace]
    return {
        SEGMENTS: [row for view in own for row in _segment_rows(cluster, namespace, view)],
        SEGMENT_CONSUMERS: [row for view in own for row in _consumer_rows(cluster, namespace, view)],
        SCALE_FORECAST: [_forecast_row(cluster, namespace, view) for view in own],
    }


def _segment_rows(cluster: str, namespace: str, view: ScalableView) -> Iterator[Row]:
    for one in view.segments:
        yield (
            cluster, namespace, view.topic, one.id, one.start, one.end, one.state, one.buckets, one.topic, one.owner,
            one.msg_rate_in, one.byte_rate_in, one.msg_rate_out, one.byte_rate_out, one.load_age_seconds, one.score,
            one.score_metric, one.backlog, time_of(one.created_ms), list(one.parents), list(one.children),
        )  # fmt: skip


def _consumer_rows(cluster: str, namespace: str, view: ScalableView) -> Iterator[Row]:
    """A row for each segment of a consumer, dealt or printed, and one without a segment where it has none."""
    for subscription in view.subscriptions:
        for one in subscription.consumers:
            shares = {share.segment: share for share in one.computed or ()}
            dealt = set(shares) if one.computed is not None else set(one.reported)
            segments: list[int | None] = [*sorted(dealt | set(one.reported))]
            for segment in segments or [None]:
                share = shares.get(segment) if segment is not None else None
                yield (
                    cluster, namespace, view.topic, subscription.name, subscription.type, one.name, segment,
                    segment in dealt, segment in one.reported, segment in one.stuck,
                    share.buckets if share is not None else 0,
                    share.first_bucket if share is not None else None,
                    share.last_bucket if share is not None else None,
                    one.connected, one.unacked,
                )  # fmt: skip


def _forecast_row(cluster: str, namespace: str, view: ScalableView) -> Row:
    figures, ahead = figures_of(view), view.next
    step = ahead.steps[0] if ahead.steps else None
    known = {
        "cluster": cluster,
        "namespace": namespace,
        "controller": view.controller,
        "epoch": view.epoch,
        "capacity": ahead.capacity,
        "step_segments": list(step.segments) if step is not None else [],
        "step_buckets": step.buckets if step is not None else 0,
        "candidates": len(ahead.steps),
        "reported_reason": ahead.reported_reason,
        "split_in_s": ahead.cooldowns.split,
        "merge_in_s": ahead.cooldowns.merge,
        "rebucket_in_s": ahead.cooldowns.rebucket,
    }
    return tuple(known[name] if name in known else getattr(figures, name) for name in SCALE_FORECAST.names)
