"""The job ``lint``: check every subscription, key space and namespace of a fleet against the rules of the doctor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from engine.bundles.plan import LoadManager
from engine.lint.doctor import lint_world
from engine.lint.model import World
from engine.scenarios.linting import load_manager_of
from pipeline.broker_groups import reported_release, settings_of
from pipeline.jobs.options import LOAD_MANAGERS, OWN, check_options, release_of
from pipeline.jobs.result import JobOptions, JobResult, spark_faults
from pipeline.reading.answers import LOAD_MANAGER
from pipeline.reading.kept_answers import EVERYWHERE
from pipeline.schemas import (
    ANSWERS,
    BUNDLES,
    CONSUMER_SETS,
    CONSUMERS,
    FINDINGS,
    LISTED,
    PUBLISHERS,
    SETTINGS,
    SUBSCRIPTIONS,
    TOPICS,
)
from pipeline.storage import Place
from pipeline.tables import check_folder, counts_of, load, need_tables, rows_of
from pipeline.transforms.bundle_topics import (
    by_namespace,
    mixed_producers,
)
from pipeline.transforms.findings import (
    CausePlan,
    cause_linter,
    failover_findings,
    findings_table,
    key_findings,
    namespace_linter,
    producer_findings,
    row_linter,
)
from pipeline.transforms.subscriptions import failover_cases, key_cases
from pipeline.writing import Draft, replacing, write_json

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

JOB: Final = "lint"
_NEEDED: Final = (TOPICS, SUBSCRIPTIONS, CONSUMER_SETS, CONSUMERS, PUBLISHERS, LISTED, BUNDLES, ANSWERS)


def run(spark: SparkSession, source: Place, target: Place, options: JobOptions) -> JobResult:
    """Write ``findings`` from the tables of an import under ``source``.

    Options: ``pulsar`` (a release; default: the one that all brokers reported), ``load-manager`` (modular, simple or
    extensible), and broker settings by their exact names. Raises ``InputError`` for a missing table or a bad option.
    """
    need_tables(source, _NEEDED)
    world = world_of(source, options.settings)
    with replacing(target, JOB, options.stamp_of(source)) as draft, spark_faults(JOB):
        rows = _subscription_findings(spark, source, world).unionByName(_namespace_findings(spark, source, world))
        rows = rows.unionByName(_causes(spark, source, world))
        order = ("rule", "namespace", "subscription", "bundle", "topic", "consumer", "topics", "what")
        from pyspark.sql import functions as fn  # noqa: PLC0415

        # In one task: to sort in several, Spark samples the rows first, and so would run every rule twice.
        draft.write_frame(FINDINGS, rows.repartition(1).sortWithinPartitions(fn.desc("severity_level"), *order))
        summary = _summary(draft, world)
        write_json(draft.folder, f"{JOB}.json", summary)
    options.say(f"lint: {check_folder(FINDINGS, target / FINDINGS.name):,} findings")
    return JobResult(JOB, summary)


def world_of(source: Place, given: Mapping[str, str]) -> World:
    """The settings, release and load manager of all brokers. Raises ``InputError`` for an unknown one."""
    check_options(JOB, given)
    behaviour = release_of(given) or reported_release(source)
    settings = settings_of(source, {name: value for name, value in given.items() if name not in OWN[JOB]}, behaviour)
    manager = next((known for known in LOAD_MANAGERS if known == given.get("load-manager")), None)
    return World(settings, behaviour, manager or _reported_manager(source))


def _reported_manager(source: Place) -> LoadManager | None:
    """The load manager that the brokers' settings name; brokers whose settings leave it out do not count."""
    names = (value for name, value in rows_of(source / SETTINGS.name, "name", "value") if name == LOAD_MANAGER)
    return load_manager_of(max(names, default=None))


def _subscription_findings(spark: SparkSession, source: Place, world: World) -> DataFrame:
    subscriptions = load(spark, source, SUBSCRIPTIONS)
    failover = failover_cases(subscriptions, load(spark, source, CONSUMER_SETS))
    keys = key_cases(subscriptions, load(spark, source, CONSUMERS))
    findings = failover.mapInArrow(row_linter(world, failover_findings), FINDINGS.ddl)
    return findings.unionByName(keys.mapInArrow(row_linter(world, key_findings), FINDINGS.ddl))


def _namespace_findings(spark: SparkSession, source: Place, world: World) -> DataFrame:
    """Findings about single namespaces, and those about the settings of all brokers."""
    topics, listed = load(spark, source, TOPICS), load(spark, source, LISTED)
    rows = by_namespace(topics, listed, load(spark, source, BUNDLES))
    findings = rows.mapInArrow(namespace_linter(world), FINDINGS.ddl)
    mixed = mixed_producers(topics, listed, load(spark, source, PUBLISHERS))
    findings = findings.unionByName(mixed.mapInArrow(row_linter(world, producer_findings), FINDINGS.ddl))
    own = findings_table(lint_world(world))
    return findings.unionByName(spark.createDataFrame(own, FINDINGS.ddl)) if own.num_rows else findings


def _causes(spark: SparkSession, source: Place, world: World) -> DataFrame:
    """Findings about the moment of the answers that the import kept; one task per namespace."""
    from pyspark.sql import functions as fn  # noqa: PLC0415

    everywhere = rows_of(source / ANSWERS.name, "file", "body", filters=[("namespace", "=", EVERYWHERE)])
    rows = load(spark, source, ANSWERS).where(fn.col("namespace") != EVERYWHERE)
    sorted_rows = rows.repartition("namespace").sortWithinPartitions("namespace", "file")
    plan = CausePlan(tuple(sorted(everywhere)), world.behaviour.label)
    return sorted_rows.mapInArrow(cause_linter(plan), FINDINGS.ddl)


def _summary(draft: Draft, world: World) -> dict[str, object]:
    rules: Counter[str] = Counter()
    severities: Counter[str] = Counter()
    for (rule, severity), count in counts_of(draft.table(FINDINGS), "rule", "severity").items():
        rules[rule] += count
        severities[severity] += count
    return {
        "job": JOB,
        "tables": draft.rows(FINDINGS),
        "release": world.behaviour.label,
        "rules": dict(sorted(rules.items())),
        "severities": dict(sorted(severities.items())),
    }
