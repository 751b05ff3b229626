"""The job ``report``: a small summary of a result folder, and tables sorted by the worst first."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from heapq import nsmallest
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import msgspec

from engine.views.fleet.summary import (
    FILE_NAME,
    VERSION,
    Agreement,
    BalanceLoop,
    BalanceTotals,
    ClusterRules,
    FindingCount,
    FleetSummary,
    FleetTotals,
    GroupTotals,
    KeyModeTotals,
    NextUnload,
    NowTotals,
    PolicyTotals,
    QuarantineCount,
    Records,
    ScalableTotals,
    WorstBroker,
    WorstBundle,
    WorstFinding,
    WorstNamespace,
    WorstScalableTopic,
    WorstSubscription,
    summary_text,
    unknown_of,
)
from engine.views.fleet.tables import (
    BALANCE_BROKERS,
    BALANCE_LOOPS,
    BALANCE_UNLOADS,
    BROKERS,
    BUNDLE_LOADS,
    CONSUMERS,
    EVERY_TABLE,
    FILES,
    FINDINGS,
    KEY_SPREADS,
    LISTED,
    PUBLISHERS,
    QUARANTINE,
    SCALE_FORECAST,
    SUBSCRIPTION_LOADS,
    SUBSCRIPTIONS,
    TOPICS,
    WORST_NAMESPACES,
    WORST_SUBSCRIPTIONS,
    Table,
)
from pipeline.clusters import Reported, reported
from pipeline.jobs.options import check_options
from pipeline.jobs.result import JobOptions, JobResult
from pipeline.runs import Draft
from pipeline.storage import Place
from pipeline.tables import Tables, tables_at
from pipeline.transforms.worst import (
    RATES,
    SIZES,
    TO_SPLIT,
    failover_units,
    key_units,
    traffic_of,
    worst_namespaces,
    worst_subscriptions,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

JOB: Final = "report"
_OF_GROUPS: Final = ("msg_rate_in", "msg_rate_out", *SIZES)
_MOST_TENANTS: Final = 1_000
_JOBS: Final = ("import", "assign", "keys", "bundles", "lint", "balance", "scalable")
_OWN: Final = (WORST_SUBSCRIPTIONS, WORST_NAMESPACES)


def run(spark: SparkSession, source: Place | Tables, target: Place | Draft, options: JobOptions) -> JobResult:
    """Summarize the tables under ``source``; those of an import are required, the others optional.

    Raises ``InputError`` for a missing table or a bad option.
    """
    check_options(JOB, options.settings)
    top = int(options.settings.get("top", "20"))
    tables = tables_at(source)
    with options.writing(JOB, tables, target) as draft:
        this = _Report(spark, tables, draft, options)
        this.write_worst()
        summary = this.summary(top)
        draft.documents[FILE_NAME] = summary_text(summary)
        summary_of_job = {"job": JOB, "tables": draft.sizes(*_OWN)}
        draft.write_json(f"{JOB}.json", summary_of_job)
    options.say(
        f"report: {summary.totals.topics:,} topics, {sum(finding.count for finding in summary.findings):,} findings"
    )
    return JobResult(JOB, summary_of_job)


class _Report:
    """One run over the tables of one folder."""

    def __init__(self, spark: SparkSession, source: Tables, draft: Draft, options: JobOptions) -> None:
        self._spark, self._source, self._draft, self._failed = spark, source, draft, options.failed
        self._summaries = {job: _read_json(source, f"{job}.json") for job in _JOBS}
        self._modes = reported(source).each(_key_mode)
        self._in_force = frozenset(self._summaries["assign"].get("in_force", ()))

    def _frame(self, table: Table) -> DataFrame:
        if self._source.has(table):
            self._source.check(table)
        return self._source.load(self._spark, table)

    def write_worst(self) -> None:
        """Write both tables; subscriptions are read once, namespaces from the written subscriptions."""
        traffic, findings = traffic_of(self._frame(SUBSCRIPTIONS)).persist(), self._frame(FINDINGS)
        units = failover_units(self._frame(SUBSCRIPTION_LOADS)).unionByName(
            key_units(self._frame(KEY_SPREADS), traffic, self._modes)
        )
        self._draft.write_frame(WORST_SUBSCRIPTIONS, worst_subscriptions(units, traffic, findings))
        worst = self._draft.load(self._spark, WORST_SUBSCRIPTIONS)
        self._draft.write_frame(
            WORST_NAMESPACES,
            worst_namespaces(self._frame(TOPICS), traffic, worst, self._frame(BUNDLE_LOADS), findings),
        )
        traffic.unpersist()

    def summary(self, top: int) -> FleetSummary:
        """The summary, from the written tables and from the summaries of the jobs."""
        there = [table for table in EVERY_TABLE if table not in _OWN and self._source.has(table)]
        tables = self._source.sizes(*there) | self._draft.sizes(*_OWN)
        when = self._source.snapshot_time
        return FleetSummary(
            version=VERSION,
            jobs=tuple(job for job in _JOBS if self._summaries[job]),
            totals=self._totals(tables),
            policies=self._policies(),
            rules=self._rules(),
            failed=dict(sorted(self._failed.items())),
            now=msgspec.convert(self._summaries["assign"].get("now", {}), NowTotals),
            records=self._records(),
            run_id=self._source.run_of(FILES),
            snapshot_time=when.isoformat() if when else None,
            agreement=msgspec.convert(self._summaries["assign"].get("agreement", {}), Agreement),
            key_modes=self._key_modes(),
            worst_subscriptions=tuple(self._first(self._draft, WORST_SUBSCRIPTIONS, WorstSubscription, top)),
            worst_namespaces=tuple(self._first(self._draft, WORST_NAMESPACES, WorstNamespace, top)),
            balance=msgspec.convert(self._summaries["balance"].get("totals", {}), BalanceTotals),
            worst_brokers=tuple(self._first(self._source, BALANCE_BROKERS, WorstBroker, top)),
            next_unloads=tuple(self._first(self._source, BALANCE_UNLOADS, NextUnload, top, ("cycle", "=", 1))),
            balance_loops=tuple(self._first(self._source, BALANCE_LOOPS, BalanceLoop, top)),
            scalable=msgspec.convert(self._summaries["scalable"].get("totals", {}), ScalableTotals),
            worst_scalable_topics=tuple(self._first(self._source, SCALE_FORECAST, WorstScalableTopic, top)),
            worst_bundles=self._bundles(top),
            findings=self._findings(),
            worst_findings=tuple(self._first(self._source, FINDINGS, WorstFinding, top)),
            quarantine=self._quarantine(),
            groups=self._groups(),
            tables=dict(sorted(tables.items())),
        )

    @cached_property
    def _spaces(self) -> list[dict[str, Any]]:
        """The rows of ``worst_namespaces``, once they are written."""
        names = (*RATES, *SIZES)
        counts = ("cluster", "namespace", "topics", "partitioned_topics", "subscriptions")
        return list(self._draft.records(WORST_NAMESPACES, *counts, *names, *map(unknown_of, names)))

    def _totals(self, tables: dict[str, int]) -> FleetTotals:
        """The totals, as sums over the namespaces that ``write_worst`` wrote."""
        listed_only = 0
        if tables.get(LISTED.name):
            listed = self._frame(LISTED).where("not is_parent").select("cluster", "topic").distinct()
            listed_only = listed.join(self._frame(TOPICS), ["cluster", "topic"], "left_anti").count()
        named = self._frame(TOPICS).select("cluster", "broker").where("broker is not null").distinct().collect()
        spaces = self._spaces
        return FleetTotals(
            topics=tables[TOPICS.name],
            subscriptions=tables[SUBSCRIPTIONS.name],
            partitioned_topics=sum(space["partitioned_topics"] for space in spaces),
            namespaces=sum(space["topics"] > 0 for space in spaces),
            subscription_names=sum(space["subscriptions"] for space in spaces),
            listed_only=listed_only,
            consumers=tables.get(CONSUMERS.name, 0),
            publishers=tables.get(PUBLISHERS.name, 0),
            clusters=len(self._summaries["import"].get("clusters", ("",))),
            # Statistics name brokers that saved no load report.
            brokers=len({*map(tuple, named), *self._source.rows(BROKERS, "cluster", "broker")}),
            bundles=tables.get(BUNDLE_LOADS.name, 0) or tables.get("bundles", 0),
            **_sums(spaces, (*RATES, *SIZES)),
        )

    def _groups(self) -> tuple[GroupTotals, ...]:
        """Clusters, and the tenants with most topics."""
        rows: dict[tuple[str, str], list[Mapping[str, Any]]] = defaultdict(list)
        for space in self._spaces:
            rows[space["cluster"], ""].append(space)
            rows[space["cluster"], space["namespace"].partition("/")[0]].append(space)
        groups = [
            GroupTotals(*key, topics=sum(space["topics"] for space in own), **_sums(own, _OF_GROUPS))
            for key, own in sorted(rows.items())
        ]
        tenants = sorted((group for group in groups if group.tenant), key=lambda group: -group.topics)
        return (*(group for group in groups if not group.tenant), *tenants[:_MOST_TENANTS])

    def _policies(self) -> tuple[PolicyTotals, ...]:
        policies: dict[str, dict[str, Any]] = self._summaries["assign"].get("policies", {})
        totals = [
            PolicyTotals(policy=name, in_force=name in self._in_force, **counts) for name, counts in policies.items()
        ]
        return tuple(sorted(totals, key=lambda total: total.policy))

    def _records(self) -> Records:
        imported = self._summaries["import"]
        return Records(sum(imported.get("rows_in", {}).values()), imported.get("problem_rows", 0))

    def _rules(self) -> tuple[ClusterRules, ...]:
        """Clusters whose reported active consumers disagree come first, then by name."""
        rules = [msgspec.convert(row, ClusterRules) for row in self._summaries["assign"].get("rules", ())]
        return tuple(sorted(rules, key=lambda rule: (rule.agreeing - rule.reported, rule.cluster)))

    def _key_modes(self) -> tuple[KeyModeTotals, ...]:
        modes: dict[str, dict[str, Any]] = self._summaries["keys"].get("modes", {})
        modes_in_force = {*self._modes.values.values()} or {self._modes.default}
        return tuple(
            KeyModeTotals(mode=name, in_force=name in modes_in_force, **counts) for name, counts in modes.items()
        )

    def _first(
        self, tables: Tables, table: Table, kind: Any, top: int, only: tuple[str, str, object] | None = None
    ) -> list[Any]:
        """The first rows that pass the filter ``only``; Spark names the parts of a sorted result in its order."""
        rows = tables.records(table, filters=[only] if only else None)
        return [msgspec.convert({**row, "unknown": _unknown(row)}, kind) for row in islice(rows, top)]

    def _bundles(self, top: int) -> tuple[WorstBundle, ...]:
        names = ("cluster", "bundle", "broker", "topics", "outcome", "reason", *RATES)
        loads = (
            WorstBundle(cluster, bundle, broker, topics, _both(*rates[:2]), _both(*rates[2:]), outcome, reason)
            for cluster, bundle, broker, topics, outcome, reason, *rates
            in self._source.rows(BUNDLE_LOADS, *names)
        )  # fmt: skip
        return tuple(nsmallest(top, loads, key=_badness))

    def _findings(self) -> tuple[FindingCount, ...]:
        counted = self._source.counts(FINDINGS, "severity_level", "rule", "severity")
        worst_first = sorted(counted.items(), key=lambda entry: (-entry[0][0], entry[0]))
        return tuple(FindingCount(rule, severity, count) for (_, rule, severity), count in worst_first)

    def _quarantine(self) -> tuple[QuarantineCount, ...]:
        rows = self._source.counts(QUARANTINE, "job", "table", "kind", summed="rows")
        problems = self._source.counts(QUARANTINE, "job", "table", "kind")
        return tuple(
            QuarantineCount(job, table, kind, rows[job, table, kind], count)
            for (job, table, kind), count in sorted(problems.items())
        )


def _unknown(row: Mapping[str, Any]) -> dict[str, int]:
    return {name: row[unknown_of(name)] for name in row if row.get(unknown_of(name))}


def _sums(spaces: Sequence[Mapping[str, Any]], names: Iterable[str]) -> dict[str, Any]:
    """Sums over rows of ``worst_namespaces``, the same in every order, and of how many topics each is ``unknown``."""
    topics = sum(space["topics"] for space in spaces)
    sums: dict[str, Any] = {"unknown": {}}
    for name in names:
        lacking = sum(space[unknown_of(name)] for space in spaces)
        known = [space[name] for space in spaces if space[name] is not None]
        total = math.fsum(known) if name in RATES else sum(known)
        sums[name] = None if lacking and lacking == topics else total
        if lacking:
            sums["unknown"][name] = lacking
    return sums


def _both(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first + second


def _badness(bundle: WorstBundle) -> tuple[object, ...]:
    """The worst bundles come first by it."""
    return (bundle.outcome != TO_SPLIT, -(bundle.msgs_per_sec or 0.0), -bundle.topics, bundle.cluster, bundle.bundle)


def _key_mode(known: Reported, cluster: str) -> str:
    settings = known.settings_of(cluster, {}, known.release_of(cluster))
    return "consistent_auto_split" if settings.subscriptionKeySharedUseConsistentHashing else "auto_split"


def _read_json(source: Tables, name: str) -> dict[str, Any]:
    """The summary of a job, empty where it has not run."""
    document = json.loads(source.documents.get(name, b"{}"))
    return document if isinstance(document, dict) else {}
