"""The job ``assign``: every partition of every Failover subscription to its active consumer, policy by policy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from engine.admin.inference import Basis, RulesInForce
from engine.config import ReleaseBehaviour
from engine.errors import InputError, Problem
from engine.failover.bulk import Changes, ConsumerList
from engine.failover.bulk_policies import Policy, policies_of
from pipeline.clusters import reported
from pipeline.jobs.assign_loads import Totals, write_loads
from pipeline.jobs.assign_units import Units, prepare_units, rules_by_cluster
from pipeline.jobs.options import check_options, release_of
from pipeline.jobs.result import JobOptions, JobResult
from pipeline.reading.consumer_lists import read_consumer_lists
from pipeline.reading.rows import BAD, Row, quarantine_row
from pipeline.runs import Draft
from pipeline.schemas import (
    ASSIGN_QUARANTINE,
    ASSIGNMENTS,
    CONSUMER_LOADS,
    CONSUMER_SETS,
    SUBSCRIPTION_LOADS,
    SUBSCRIPTIONS,
)
from pipeline.sink import write_by_engine
from pipeline.storage import Place
from pipeline.tables import Tables, tables_at
from pipeline.transforms.owners import OwnerAccount, OwnersByRule
from pipeline.transforms.subscriptions import failover_rows, numbered_rows, units_of, write_units
from pipeline.transforms.units import SUMS, FleetUnits, SlotSums

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
        found = draft.work / "found_units"
        write_units(units_of(rows, tables.load(spark, CONSUMER_SETS)), found)
        rules = rules_by_cluster(found, reported(tables), release=asked.release, flag=asked.flag)
        fleet, units = prepare_units(draft, found, asked.changes, rules)
        quarantine = [*asked.problems, *_lists_of_nobody(asked, units.unknown_lists)]
        totals = Totals(asked.policies)
        accounts: list[OwnerAccount] = []
        if units.count:
            accounts, sums = _assign(rows, fleet, units.count, draft, asked.policies)
            options.say(f"assign: {sum(account.rows for account in accounts):,} rows written")
            write_loads(draft, fleet, sums, totals)
        draft.write(ASSIGN_QUARANTINE, [("", *row) for row in quarantine])
        draft.fill(ASSIGNMENTS, CONSUMER_LOADS, SUBSCRIPTION_LOADS)
        summary = _summary(draft, asked, units, accounts, totals)
        draft.write_json(f"{JOB}.json", summary)
    if units.in_no_brokers_order:
        options.say(
            "assign: consumer lists that are not sorted by level and name, as brokers sort them: "
            f"{units.in_no_brokers_order:,}; each counts as one level"
        )
    return JobResult(JOB, summary)


def _assign(
    rows: DataFrame, fleet: FleetUnits, count: int, draft: Draft, policies: Sequence[Policy]
) -> tuple[list[OwnerAccount], SlotSums]:
    """Write ``assignments`` under every policy."""
    numbered = numbered_rows(rows, fleet.file, count)
    accounts = write_by_engine(numbered, draft, OwnersByRule(fleet, policies), OwnerAccount, aside=(SUMS,))
    return accounts, SlotSums(draft.working.parts(SUMS))


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


def _summary(
    draft: Draft, asked: AssignOptions, units: Units, accounts: Sequence[OwnerAccount], totals: Totals
) -> dict[str, object]:
    tables = draft.sizes(ASSIGNMENTS, CONSUMER_LOADS, SUBSCRIPTION_LOADS, ASSIGN_QUARANTINE)
    assert tables[ASSIGNMENTS.name] == sum(account.rows for account in accounts), (
        "rows were lost between writing and reading"
    )
    seen, agreeing = (_added(getattr(account, name) for account in accounts) for name in ("reported", "agreeing"))
    flags = {rules.consistent_hashing for rules in units.rules.values()}
    return {
        "job": JOB,
        "tables": tables,
        "rows_in": tables[ASSIGNMENTS.name] // max(len(asked.policies), 1),
        # The policies that are in force for some subscription.
        "in_force": [policy.value for policy, on in zip(Policy, (False, True), strict=True) if on in flags],
        "rules": [_rules_row(cluster, each, seen[cluster], agreeing[cluster]) for cluster, each in units.rules.items()],
        "policies": {policy.value: totals.of(policy) for policy in asked.policies},
        # Where clusters differ, each subscription counts once, under the rule of its own.
        "now": totals.now,
        "agreement": {"reported": seen.total(), "agreeing": agreeing.total()},
        "inferred": {
            "with_priority_levels": units.with_priority_levels,
            "in_no_brokers_order": units.in_no_brokers_order,
        },
        "changes": {
            "add": list(asked.changes.add),
            "kill": list(asked.changes.kill),
            "lists": len(asked.changes.lists),
        },
    }


def _added(counts: Iterable[Mapping[str, int]]) -> Counter[str]:
    result: Counter[str] = Counter()
    for each in counts:
        result.update(each)
    return result


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
