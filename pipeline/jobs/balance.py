"""The job ``balance``: forecast the load balancing of all clusters, one task per cluster.

Loads are those of load reports, or of the metrics of brokers that give none (``engine.admin.measured_loads``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from engine.admin.shed_inputs import without_reports
from engine.balance.settings import LOAD_SETTING_DEFAULTS
from engine.errors import InputError
from engine.views.brokers.model import CYCLES, BrokersQuestion
from engine.views.fleet.options import CLUSTERS, MAX_INPUT
from engine.views.fleet.tables import (
    BALANCE_BROKERS,
    BALANCE_CLUSTERS,
    BALANCE_LOOPS,
    BALANCE_UNLOADS,
    BROKERS,
    BUNDLE_REPORTS,
    FILES,
    LOAD_ANSWERS,
    QUARANTINE,
    SETTINGS,
    Table,
)
from pipeline.jobs import importing
from pipeline.jobs.balance_tasks import WRITTEN, BalanceWork
from pipeline.jobs.options import check_options
from pipeline.jobs.result import JobOptions, JobResult
from pipeline.reading.files import find_answers
from pipeline.runs import Draft
from pipeline.sink import NoAccount, write_by_engine
from pipeline.storage import Place
from pipeline.tables import Tables, tables_at, tables_if_there

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOB: Final = "balance"
_MOST_TASKS: Final = 4096
_ORDER: Final[Mapping[Table, tuple[str, ...]]] = {
    BALANCE_CLUSTERS: ("-loops", "-max_usage", "cluster"),
    BALANCE_BROKERS: ("-usage", "-next_unloads", "cluster", "broker"),
    BALANCE_UNLOADS: ("cycle", "cluster"),
    BALANCE_LOOPS: ("-times", "cluster", "kind", "bundle"),
}
"""The sort order of tables; a minus: descending, with nulls last."""


@dataclass(frozen=True)
class BalanceOptions:
    """Settings of the question override those of every cluster; ``release`` None: that of the reports."""

    question: BrokersQuestion
    release: str | None


def read_options(given: Mapping[str, str]) -> BalanceOptions:
    """Read the options. Raises ``InputError`` for a bad value."""
    check_options(JOB, given)
    settings = tuple((name, text) for name, text in given.items() if name in LOAD_SETTING_DEFAULTS)
    question = BrokersQuestion(
        shedder=given.get("shedder"),
        placement=given.get("placement"),
        settings=settings,
        cycles=int(given.get("cycles", str(CYCLES))),
        seed=int(given.get("seed", "0")),
    )
    return BalanceOptions(question, given.get("pulsar"))


def has_loads(tables: Tables) -> bool:
    """Whether an import has a load report, or metrics in place of one."""
    return any(broker for (broker,) in tables.rows(LOAD_ANSWERS, "broker"))


def run(spark: SparkSession, source: Place | Tables, target: Place | Draft, options: JobOptions) -> JobResult:
    """Forecast from the loads of brokers in an import under ``source``, or from raw answers at or below ``source``.

    Raises ``InputError`` with neither a load report nor metrics in place of one, or for a bad option.
    """
    asked = read_options(options.settings)
    tables = tables_if_there(source)
    imported = tables.has(FILES)
    if imported:
        if CLUSTERS in options.settings:
            raise InputError(f"the clusters in {source} are those of its import; give the option to import")
        tables.need(LOAD_ANSWERS, BUNDLE_REPORTS, SETTINGS)
    with options.writing(JOB, tables, target) as draft:
        if not imported:
            assert not isinstance(source, Tables)
            found = find_answers(source, draft.root)
            importing.run(spark, source, draft.work / "imported", _of_import(options), found)
            tables = tables_at(draft.work / "imported")
            draft.snapshot_time = tables.snapshot_time
        if not has_loads(tables):
            settings = dict(tables.rows(SETTINGS, "name", "value"))
            raise InputError(f"{source}: no answer has the load of a broker; {without_reports(settings)}")
        clusters = sorted({cluster for cluster, broker in tables.rows(LOAD_ANSWERS, "cluster", "broker") if broker})
        options.say(f"balance: {len(clusters):,} clusters")
        if not imported:
            _keep_what_was_set_aside(tables, draft)
        summary = _forecast(spark, tables, draft, clusters, asked)
        draft.write_json(f"{JOB}.json", summary)
    totals: Any = summary["totals"]
    options.say(
        f"balance: {totals['unloads']:,} unloads in {asked.question.cycles} cycles,"
        f" {totals['loops']:,} bundles come back"
    )
    return JobResult(JOB, summary)


def _of_import(options: JobOptions) -> JobOptions:
    limit = {name: text for name, text in options.settings.items() if name in (MAX_INPUT, CLUSTERS)}
    return JobOptions(limit, options.say, run_id=options.run_id, watch=options.watch)


def _keep_what_was_set_aside(imported: Tables, draft: Draft) -> None:
    """Add to the quarantine what the import, whose tables are not kept, lost as a whole: damaged files and loads."""
    whole = [("table", "in", [BROKERS.name, FILES.name]), ("rows", ">", 0)]
    rows = imported.rows(QUARANTINE, *QUARANTINE.names, filters=whole)
    draft.write(QUARANTINE, ((cluster, JOB, *row) for cluster, _, *row in rows))


def _forecast(
    spark: SparkSession, tables: Tables, draft: Draft, clusters: Sequence[str], asked: BalanceOptions
) -> dict[str, object]:
    from pyspark.sql import functions as fn  # noqa: PLC0415

    with_loads = spark.createDataFrame([(cluster,) for cluster in clusters], "cluster string")
    answers = tables.load(spark, LOAD_ANSWERS).join(fn.broadcast(with_loads), "cluster", "left_semi")
    # With an explicit number of partitions Spark does not merge them: a cluster is worth a task.
    expected = len(clusters)
    tasks = min(2 * expected, _MOST_TASKS)
    rows = answers.repartition(tasks, "cluster").sortWithinPartitions("cluster", "file")
    write_by_engine(rows, draft, BalanceWork(asked.question, asked.release), NoAccount, aside=_ORDER)
    for table, order in _ORDER.items():
        if draft.working.has(table):
            draft.write_sorted(table, order)
    draft.fill(*WRITTEN)
    totals = _totals(draft)
    assert totals["clusters"] == expected, f"{totals['clusters']} of {expected} clusters were forecast"
    question = asked.question
    return {
        "job": JOB,
        "tables": draft.sizes(*WRITTEN),
        "totals": {**totals, "cycles": question.cycles},
        "question": {
            "shedder": question.shedder,
            "placement": question.placement,
            "settings": dict(question.settings),
            "cycles": question.cycles,
            "seed": question.seed,
            "release": asked.release,
        },
    }


def _totals(tables: Tables) -> dict[str, int | float]:
    """Sums over all clusters, and the usage of the fullest broker."""
    summed = ("reports", "unloads", "topics_interrupted", "loops", "swaps")
    clusters = list(tables.rows(BALANCE_CLUSTERS, "refusal", *summed))
    brokers = list(tables.rows(BALANCE_BROKERS, "usage", "next_unloads"))
    return {
        "clusters": len(clusters),
        "refused": sum(refusal is not None for refusal, *_ in clusters),
        **{name: sum(row[place] for row in clusters) for place, name in enumerate(summed, start=1)},
        "brokers": len(brokers),
        "next_unloads": sum(soon for _, soon in brokers),
        "max_usage": max((usage or 0.0 for usage, _ in brokers), default=0.0),
    }
