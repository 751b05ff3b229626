"""The job ``assign``: every partition of every Failover subscription to its active consumer, policy by policy."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as fn

from engine.admin.inference import Basis, RulesInForce
from engine.config import ReleaseBehaviour
from engine.errors import InputError, Problem
from engine.failover.bulk import Changes, ConsumerList
from engine.failover.bulk_policies import Policy, policies_of
from pipeline.clusters import reported
from pipeline.jobs.options import check_options, release_of
from pipeline.jobs.result import JobOptions, JobResult
from pipeline.reading.consumer_lists import read_consumer_lists
from pipeline.reading.rows import BAD, Row, quarantine_row
from pipeline.runs import Draft
from pipeline.schemas import (
    ASSIGNMENTS,
    CONSUMER_LOADS,
    CONSUMER_SETS,
    QUARANTINE,
    SUBSCRIPTION_LOADS,
    SUBSCRIPTIONS,
)
from pipeline.sink import NoAccount, write_by_engine
from pipeline.storage import Place
from pipeline.tables import Tables, tables_at
from pipeline.transforms.loads import (
    SUMMED,
    agreement_of,
    consumer_loads,
    consumers_of,
    subscription_loads,
    totals_of,
)
from pipeline.transforms.owners import OwnersByRule
from pipeline.transforms.subscriptions import failover_rows, topics_by_unit, units_of
from pipeline.transforms.units import prepared, rules_by_cluster

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

JOB: Final = "assign"


@dataclass(frozen=True)
class AssignOptions:
    """The job's own options: ``policies`` (all), ``add`` and ``kill`` (names with commas), ``consumers-from`` (a file),
    ``flag`` (true or false) and ``pulsar`` (a release).

    ``flag`` and ``release`` None: what the brokers reported, or what explains the active consumers that they reported.
    ``problems`` are rows of the quarantine about the file of consumers.
    """

    policies: tuple[Policy, ...]
    changes: Changes
    flag: bool | None = None
    release: ReleaseBehaviour | None = None
    problems: tuple[Row, ...] = ()
    lists_file: str = ""


def read_options(settings: Mapping[str, str]) -> AssignOptions:
    """Read the options. Raises ``InputError`` for an unknown option or a bad value."""
    check_options(JOB, settings)
    lists: dict[tuple[str, str], ConsumerList] = {}
    problems: list[Row] = []
    if settings.get("consumers-from"):
        lists, problems = read_consumer_lists(Path(settings["consumers-from"]))
    changes = Changes(_names(settings.get("add", "")), _names(settings.get("kill", "")), lists)
    flag = settings["flag"] == "true" if "flag" in settings else None
    policies, name = policies_of(settings.get("policies", "all")), Path(settings.get("consumers-from", "")).name
    return AssignOptions(policies, changes, flag, release_of(settings), tuple(problems), name)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def run(spark: SparkSession, source: Place | Tables, target: Place | Draft, options: JobOptions) -> JobResult:
    """Assign from the tables ``subscriptions`` and ``consumer_sets`` of an import under ``source``.

    Raises ``InputError`` when a table or an option is missing or wrong, ``RingsideError`` when writing fails.
    """
    asked = read_options(options.settings)
    tables = tables_at(source)
    with options.writing(JOB, tables, target) as draft:
        rows = failover_rows(tables.load(spark, SUBSCRIPTIONS))
        found = units_of(rows, tables.load(spark, CONSUMER_SETS)).persist()
        unknown = _unknown_lists(found, asked.changes)
        rules = rules_by_cluster(found, reported(tables), release=asked.release, flag=asked.flag)
        units = prepared(found, asked.changes, rules).persist()
        counts = _counts(units)
        in_force = {cluster: (each.behaviour, each.consistent_hashing) for cluster, each in rules.items()}
        owners = OwnersByRule(asked.policies, in_force, not asked.changes.nothing)
        write_by_engine(topics_by_unit(rows, units), draft, owners, NoAccount)
        draft.fill(ASSIGNMENTS)
        assignments = draft.load(spark, ASSIGNMENTS)
        consumers = consumers_of(units, assignments, asked.policies).persist()
        draft.write_frame(CONSUMER_LOADS, consumer_loads(consumers))
        ringed = [cluster for cluster, (_, flag) in in_force.items() if flag]
        draft.write_frame(SUBSCRIPTION_LOADS, subscription_loads(consumers, ringed))
        draft.write(QUARANTINE, [("", JOB, *row) for row in (*asked.problems, *_lists_of_nobody(asked, unknown))])
        agreement = {row.cluster: (row.reported, row.agreeing) for row in agreement_of(assignments).collect()}
        totals = totals_of(draft.load(spark, SUBSCRIPTION_LOADS)).collect()
        summary: dict[str, object] = {
            **_rows_written(draft, counts),
            **_rules_applied(rules, agreement),
            "policies": {
                policy.value: _totals([row for row in totals if row.policy == policy.value], SUMMED)
                for policy in asked.policies
            },
            # Where clusters differ, each subscription counts once, under the rule of its own.
            "now": _totals([row for row in totals if row.in_force], ("idle",)),
            "inferred": {name: counts[name] for name in ("with_priority_levels", "in_no_brokers_order")},
            "changes": {
                "add": list(asked.changes.add),
                "kill": list(asked.changes.kill),
                "lists": len(asked.changes.lists),
            },
        }
        draft.write_json(f"{JOB}.json", summary)
        for held in (consumers, units, found):
            held.unpersist()
    if counts["in_no_brokers_order"]:
        options.say(
            "assign: consumer lists that are not sorted by level and name, as brokers sort them: "
            f"{counts['in_no_brokers_order']:,}; each counts as one level"
        )
    return JobResult(JOB, summary)


def _counts(units: DataFrame) -> dict[str, int]:
    """What the summary says of all units. Raises ``InputError`` where consumer sets are missing."""
    (counts,) = units.agg(
        fn.count_distinct(fn.when(fn.isnull("names"), fn.struct("cluster", "consumer_set"))).alias("lost"),
        fn.count_if(fn.array_max("levels") > 0).alias("with_priority_levels"),
        fn.count_if(~fn.col("in_order")).alias("in_no_brokers_order"),
        fn.coalesce(fn.sum("partitions"), fn.lit(0)).alias("partitions"),
    ).collect()
    if counts.lost:
        raise InputError(
            f"{SUBSCRIPTIONS.name} refers to {counts.lost:,} consumer sets that {CONSUMER_SETS.name} lacks; "
            "run import again"
        )
    result: dict[str, int] = counts.asDict()
    return result


def _unknown_lists(units: DataFrame, changes: Changes) -> set[tuple[str, str]]:
    """The given lists that are of no unit. Raises ``InputError`` for a consumer to remove that no unit has."""
    if changes.kill:
        names = units.select(fn.explode("names").alias("name")).where(fn.col("name").isin([*changes.kill])).distinct()
        known = {row.name for row in names.collect()}
        missing = [name for name in changes.kill if name not in known]
        if missing:
            raise InputError(f"no Failover subscription has a consumer called {missing[0]!r}, so it cannot be removed")
    unknown = set(changes.lists)
    if unknown:
        called = [subscription for _, subscription in unknown]
        keys = units.where(fn.col("subscription").isin(called)).select("namespace", "subscription").distinct()
        for namespace, subscription in keys.collect():
            unknown -= {(namespace, subscription), ("", subscription)}
    return unknown


def _lists_of_nobody(asked: AssignOptions, unknown: Collection[tuple[str, str]]) -> list[Row]:
    """Rows about lists of unknown subscriptions, which change nothing. Raises ``InputError`` if all are unknown."""
    lost, lists = sorted(unknown), asked.changes.lists
    if lost and len(lost) == len(lists):
        raise InputError(f"no Failover subscription is called {_place(lost[0])!r}, so its list of consumers is no use")
    return [
        quarantine_row(
            Problem(asked.lists_file, "$", f"no Failover subscription is called {_place(key)!r}", "its list is no use"),
            "consumer_lists", len(lists[key].names), BAD,
        )
        for key in lost
    ]  # fmt: skip


def _place(key: tuple[str, str]) -> str:
    return "/".join(part for part in key if part)


def _rows_written(draft: Draft, counts: Mapping[str, int]) -> dict[str, object]:
    tables = draft.sizes(ASSIGNMENTS, CONSUMER_LOADS, SUBSCRIPTION_LOADS, QUARANTINE)
    assert tables[ASSIGNMENTS.name] == counts["partitions"], "rows were lost between reading and writing"
    return {"job": JOB, "tables": tables, "rows_in": counts["partitions"]}


def _rules_applied(rules: Mapping[str, RulesInForce], agreement: Mapping[str, tuple[int, int]]) -> dict[str, object]:
    """The rules of each cluster, and how many reported active consumers agree with them."""
    flags = {each.consistent_hashing for each in rules.values()}
    shown, agreeing = (sum(counts[at] for counts in agreement.values()) for at in (0, 1))
    return {
        # The policies that are in force for some subscription.
        "in_force": [policy.value for policy, on in zip(Policy, (False, True), strict=True) if on in flags],
        "rules": [_rules_row(cluster, each, *agreement.get(cluster, (0, 0))) for cluster, each in rules.items()],
        "agreement": {"reported": shown, "agreeing": agreeing},
    }


def _totals(rows: Sequence[Any], summed: Sequence[str]) -> dict[str, object]:
    worst = [row.worst_max_over_even for row in rows if row.worst_max_over_even is not None]
    return {
        **{name: sum(row[name] for row in rows) for name in summed},
        "worst_max_over_even": max(worst, default=None),
    }


def _rules_row(cluster: str, rules: RulesInForce, reported: int, agreeing: int) -> dict[str, object]:
    """The rules of one cluster, how they are known, and how many reported active consumers agree."""
    inferred = rules.release_basis is Basis.INFERRED
    return {
        "cluster": cluster,
        "release": f"{rules.behaviour.label} or alike" if inferred else rules.behaviour.label,
        "release_basis": rules.release_basis.value,
        "consistent_hashing": rules.consistent_hashing,
        "flag_basis": rules.flag_basis.value,
        "reported": reported,
        "agreeing": agreeing,
    }
