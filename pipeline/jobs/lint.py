"""The job ``lint``: check every subscription, key space and namespace of a fleet against the rules of the doctor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from engine.lint.doctor import lint_world
from engine.lint.model import World
from engine.scenarios.linting import load_manager_of
from engine.views.fleet.tables import (
    ANSWERS,
    BUNDLES,
    CONSUMER_SETS,
    CONSUMERS,
    FINDINGS,
    LISTED,
    PUBLISHERS,
    SUBSCRIPTIONS,
    TOPICS,
)
from pipeline.clusters import ByCluster, Reported, reported
from pipeline.jobs.options import LOAD_MANAGERS, broker_settings, check_options, release_of
from pipeline.jobs.result import JobOptions, JobResult
from pipeline.reading.answers import LOAD_MANAGER
from pipeline.reading.consumer_lists import has_key_shared
from pipeline.runs import Draft
from pipeline.storage import Place
from pipeline.tables import Tables, tables_at
from pipeline.transforms.bundle_topics import by_namespace, mixed_producers
from pipeline.transforms.findings import (
    cause_linter,
    failover_findings,
    findings_table,
    key_findings,
    namespace_linter,
    producer_findings,
    row_linter,
)
from pipeline.transforms.namespace_answers import NamespaceAnswers, answers_by_namespace
from pipeline.transforms.subscriptions import failover_cases, key_cases

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

JOB: Final = "lint"


def run(spark: SparkSession, source: Place | Tables, target: Place | Draft, options: JobOptions) -> JobResult:
    """Write ``findings`` from the tables of an import under ``source``.

    Raises ``InputError`` for a missing table or a bad option.
    """
    tables = tables_at(source)
    worlds = worlds_of(tables, options.settings)
    with options.writing(JOB, tables, target) as draft:
        rows = _subscription_findings(spark, tables, worlds).unionByName(_namespace_findings(spark, tables, worlds))
        rows = rows.unionByName(_causes(spark, tables, worlds))
        order = ("rule", "cluster", "namespace", "subscription", "bundle", "topic", "consumer", "topics", "what")
        from pyspark.sql import functions as fn  # noqa: PLC0415

        # In one task: to sort in several, Spark samples the rows first, and so would run every rule twice.
        draft.write_frame(FINDINGS, rows.repartition(1).sortWithinPartitions(fn.desc("severity_level"), *order))
        summary = _summary(draft, worlds)
        draft.write_json(f"{JOB}.json", summary)
    options.say(f"lint: {sum(summary['severities'].values()):,} findings")
    return JobResult(JOB, summary)


def worlds_of(source: Tables, given: Mapping[str, str]) -> ByCluster[World]:
    """The settings, release and load manager of each cluster. Raises ``InputError`` for an unknown one."""
    check_options(JOB, given)
    release = release_of(given)
    settings = broker_settings(JOB, given)
    manager = next((name for name in LOAD_MANAGERS if name == given.get("load-manager")), None)

    def world(known: Reported, cluster: str) -> World:
        behaviour = release or known.release_of(cluster)
        # Brokers whose settings leave the load manager out do not count.
        managers = (value for name, value in known.settings.get(cluster, ()) if name == LOAD_MANAGER)
        own = manager or load_manager_of(max(managers, default=None))
        return World(known.settings_of(cluster, settings, behaviour), behaviour, own)

    return reported(source).each(world)


def _subscription_findings(spark: SparkSession, source: Tables, worlds: ByCluster[World]) -> DataFrame:
    subscriptions = source.load(spark, SUBSCRIPTIONS)
    failover = failover_cases(subscriptions, source.load(spark, CONSUMER_SETS))
    findings = failover.mapInArrow(row_linter(worlds, failover_findings), FINDINGS.ddl)
    if not has_key_shared(source):  # else all consumers would be moved for nothing
        return findings
    keys = key_cases(subscriptions, source.load(spark, CONSUMERS))
    return findings.unionByName(keys.mapInArrow(row_linter(worlds, key_findings), FINDINGS.ddl))


def _namespace_findings(spark: SparkSession, source: Tables, worlds: ByCluster[World]) -> DataFrame:
    """Findings about single namespaces, and those about the settings of all brokers of a cluster."""
    topics, listed = source.load(spark, TOPICS), source.load(spark, LISTED)
    rows = by_namespace(topics, listed, source.load(spark, BUNDLES))
    findings = rows.mapInArrow(namespace_linter(worlds), FINDINGS.ddl)
    if len(source.counts(PUBLISHERS, "client_version")) > 1:  # else no topic has producers of several
        mixed = mixed_producers(topics, listed, source.load(spark, PUBLISHERS))
        findings = findings.unionByName(mixed.mapInArrow(row_linter(worlds, producer_findings), FINDINGS.ddl))
    known = worlds.values or {"": worlds.default}
    own = findings_table((cluster, found) for cluster, world in known.items() for found in lint_world(world))
    return findings.unionByName(spark.createDataFrame(own, FINDINGS.ddl)) if own.num_rows else findings


def _causes(spark: SparkSession, source: Tables, worlds: ByCluster[World]) -> DataFrame:
    """Findings about the moment of the answers that the import kept."""
    rows = answers_by_namespace(source.load(spark, ANSWERS))
    return rows.mapInArrow(cause_linter(worlds, NamespaceAnswers.of(source)), FINDINGS.ddl)


def _summary(draft: Draft, worlds: ByCluster[World]) -> dict[str, Any]:
    rules: Counter[str] = Counter()
    severities: Counter[str] = Counter()
    for (rule, severity), count in draft.counts(FINDINGS, "rule", "severity").items():
        rules[rule] += count
        severities[severity] += count
    return {
        "job": JOB,
        "tables": draft.sizes(FINDINGS),
        "releases": sorted({world.behaviour.label for world in (worlds.values or {"": worlds.default}).values()}),
        "rules": dict(sorted(rules.items())),
        "severities": dict(sorted(severities.items())),
    }
