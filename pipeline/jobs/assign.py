"""The job ``assign``: every partition of every Failover subscription to its active consumer, policy by policy."""

from __future__ import annotations

from collections import Counter
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
from engine.views.fleet.tables import (
    ASSIGNMENTS,
    CONSUMER_LOADS,
    CONSUMER_SETS,
    QUARANTINE,
    SUBSCRIPTION_LOADS,
    SUBSCRIPTIONS,
)
from pipeline.clusters import reported
from pipeline.jobs.options import check_options, release_of
from pipeline.jobs.result import JobOptions, JobResult
from pipeline.reading.consumer_lists import read_consumer_lists
from pipeline.reading.rows import BAD, Row, quarantine_row
from pipeline.runs import Draft
from pipeline.sink import write_by_engine
from pipeline.storage import Place
from pipeline.tables import Tables, tables_at
from pipeline.transforms.loads import consumer_loads, consumers_of, subscription_loads
from pipeline.transforms.owners import HELD, OwnedAccount, OwnersByRule
from pipeline.transforms.subscriptions import failover_rows, topics_with_unit, units_of
from pipeline.transforms.units import UNITS, UnitAccount, UnitWork, rules_by_cluster

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

JOB: Final = "assign"
_SUMMED: Final = ("partitions", "idle", "moved", "least_moved")


@dataclass(frozen=True)
class AssignOptions:
    """``flag`` and ``release`` None: as reported, or what explains the reported active consumers.

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
        accounts = write_by_engine(found, draft, UnitWork(asked.changes, rules), UnitAccount, aside=(UNITS,))
        found.unpersist()
        counts = _counts(accounts)
        units = draft.working.load(spark, UNITS)
        _check_numbers(draft.working)
        in_force = {cluster: (each.behaviour, each.consistent_hashing) for cluster, each in rules.items()}
        owners = OwnersByRule(asked.policies, in_force, not asked.changes.nothing, draft.working.parts(UNITS))
        agreement = write_by_engine(topics_with_unit(rows), draft, owners, OwnedAccount, aside=(HELD,))
        draft.fill(ASSIGNMENTS)
        consumers = consumers_of(units, draft.working.load(spark, HELD), asked.policies).persist()
        draft.write_frame(CONSUMER_LOADS, consumer_loads(consumers))
        ringed = [cluster for cluster, (_, flag) in in_force.items() if flag]
        draft.write_frame(SUBSCRIPTION_LOADS, subscription_loads(consumers, ringed))
        consumers.unpersist()
        draft.write(QUARANTINE, [("", JOB, *row) for row in (*asked.problems, *_lists_of_nobody(asked, unknown))])
        loads = [*draft.rows(SUBSCRIPTION_LOADS, "policy", "in_force", *_SUMMED, "improvable", "busiest_over_average")]
        summary: dict[str, object] = {
            **_rows_written(draft, counts),
            **_rules_applied(rules, agreement),
            "policies": {
                policy.value: _totals([row[2:] for row in loads if row[0] == policy.value]) for policy in asked.policies
            },
            # Where clusters differ, each subscription counts once, under the rule of its own.
            "now": {
                name: value
                for name, value in _totals([row[2:] for row in loads if row[1]]).items()
                if name in ("idle", "worst_busiest_over_average")
            },
            "inferred": {name: counts[name] for name in ("with_priority_levels", "in_no_brokers_order")},
            "changes": {
                "add": list(asked.changes.add),
                "kill": list(asked.changes.kill),
                "lists": len(asked.changes.lists),
            },
        }
        draft.write_json(f"{JOB}.json", summary)
    if counts["in_no_brokers_order"]:
        options.say(
            "assign: consumer lists that are not sorted by level and name, as brokers sort them: "
            f"{counts['in_no_brokers_order']:,}; each counts as one level"
        )
    return JobResult(JOB, summary)


def _counts(accounts: Sequence[UnitAccount]) -> dict[str, int]:
    """What the summary says of all units. Raises ``InputError`` where consumer sets are missing."""
    lost = set[tuple[str, int]]().union(*(account.lost for account in accounts))
    if lost:
        raise InputError(
            f"{SUBSCRIPTIONS.name} refers to {len(lost):,} consumer sets that {CONSUMER_SETS.name} lacks; "
            "run import again"
        )
    names = ("partitions", "with_priority_levels", "in_no_brokers_order")
    return {name: sum(getattr(account, name) for account in accounts) for name in names}


def _check_numbers(working: Tables) -> None:
    numbers = [number for (number,) in working.rows(UNITS, "number")]
    # Of 40,000,000 fleets with a million subscriptions it is about one.
    assert len(set(numbers)) == len(numbers), "two subscriptions have the same hash"


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


def _rules_applied(rules: Mapping[str, RulesInForce], accounts: Sequence[OwnedAccount]) -> dict[str, object]:
    """The rules of each cluster, and how many reported active consumers agree with them."""
    flags = {each.consistent_hashing for each in rules.values()}
    shown, agreeing = Counter[str](), Counter[str]()
    for account in accounts:
        shown.update(account.reported)
        agreeing.update(account.agreeing)
    return {
        # The policies that are in force for some subscription.
        "in_force": [policy.value for policy, on in zip(Policy, (False, True), strict=True) if on in flags],
        "rules": [_rules_row(cluster, each, shown[cluster], agreeing[cluster]) for cluster, each in rules.items()],
        "agreement": {"reported": shown.total(), "agreeing": agreeing.total()},
    }


def _totals(rows: Sequence[Sequence[Any]]) -> dict[str, object]:
    """Sums over rows of ``subscription_loads``, and the worst of those that a better spread exists for."""
    return {
        **{name: sum(row[at] for row in rows) for at, name in enumerate(_SUMMED)},
        "worst_busiest_over_average": max((ratio for *_, improvable, ratio in rows if improvable), default=None),
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
