"""The job ``assign``: every partition of every Failover subscription to its active consumer, policy by policy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from engine.admin.inference import (
    Basis,
    ObservedActive,
    ObservedActives,
    RulesInForce,
    levels_of,
    list_of,
    rules_in_force,
)
from engine.config import ReleaseBehaviour
from engine.errors import InputError, Problem
from engine.failover.bulk import Changes, ConsumerList, Key, slots_of
from engine.failover.bulk_policies import PULSARS, Policy, policies_of, unit_rules
from engine.hashing import utf16_order
from pipeline.broker_groups import BrokerGroups, broker_groups
from pipeline.jobs.assign_loads import LoadSums
from pipeline.jobs.options import check_options, release_of
from pipeline.jobs.result import JobOptions, JobResult, spark_faults
from pipeline.reading.consumer_lists import read_consumer_lists
from pipeline.reading.rows import BAD, Row, quarantine_row
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
from pipeline.tables import load, need_tables
from pipeline.transforms.owners import NOW, FewestMovesOfUnits, FleetLists, OwnerAccount, OwnersByRule
from pipeline.transforms.subscriptions import UNIT, by_unit_and_topic, failover_rows, numbered_rows, units_of
from pipeline.writing import Draft, replacing, write_json

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


def run(spark: SparkSession, source: Place, target: Place, options: JobOptions) -> JobResult:
    """Assign from the tables ``subscriptions`` and ``consumer_sets`` of an import under ``source``.

    Raises ``InputError`` when a table or an option is missing or wrong, ``RingsideError`` when writing fails.
    """
    need_tables(source, (SUBSCRIPTIONS, CONSUMER_SETS))
    asked = read_options(options.settings)
    groups = broker_groups(source)
    with replacing(target, JOB, options.stamp_of(source)) as draft, spark_faults(JOB):
        rows = failover_rows(load(spark, source, SUBSCRIPTIONS), groups)
        fleet = _fleet_of(units_of(rows, load(spark, source, CONSUMER_SETS)).toArrow(), groups, asked)
        _check_killed(asked.changes, fleet)
        quarantine = [*asked.problems, *_lists_of_nobody(asked, fleet.keys)]
        accounts = _assign(rows, fleet, draft, asked.policies)
        options.say(f"assign: {sum(account.rows for account in accounts):,} rows written")
        loads = LoadSums(fleet.keys, fleet.lists.after or fleet.lists.before, asked.policies, fleet.lists.rules.flag)
        for account in accounts:
            loads.add(account)
        subscriptions = loads.subscription_rows()
        draft.write(CONSUMER_LOADS, loads.consumer_rows())
        draft.write(SUBSCRIPTION_LOADS, subscriptions)
        draft.write(ASSIGN_QUARANTINE, quarantine)
        draft.fill(ASSIGNMENTS)
        summary = _summary(draft, asked, fleet, accounts, subscriptions)
        write_json(draft.folder, f"{JOB}.json", summary)
    odd = fleet.in_no_brokers_order
    if odd:
        options.say(
            "assign: consumer lists that are not sorted by level and name, as brokers sort them: "
            f"{odd:,}; each counts as one level"
        )
    return JobResult(JOB, summary)


@dataclass(frozen=True)
class _Fleet:
    """Every unit by its number, with its consumers and rules, and the rules of each group of brokers.

    The driver and every worker hold it. It grows with subscriptions and their consumers, not with topics: 3 kB for a
    unit of 20 consumers, and 12 kB while it is made from the reported active consumers.
    """

    lists: FleetLists
    rules: Mapping[str, RulesInForce]

    @property
    def keys(self) -> Sequence[Key]:
        return self.lists.keys

    @property
    def in_no_brokers_order(self) -> int:
        """How many units without priority levels have a list that is not in the order brokers sort it."""
        return sum(
            not any(consumers.levels)
            and any(utf16_order(after) < utf16_order(before) for before, after in pairwise(consumers.names))
            for consumers in self.lists.before
        )


def _fleet_of(units: Any, groups: BrokerGroups, asked: AssignOptions) -> _Fleet:
    """Read the rows of ``units_of``, in any order. Raises ``InputError`` where a consumer set is missing."""
    units = units.sort_by([(name, "ascending") for name in UNIT])
    columns = [units[name].to_pylist() for name in (*UNIT, "names", "actives")]
    keys: list[Key] = list(zip(*columns[:4], strict=True))
    names, actives = columns[4:]
    lost = {key[2] for key, listed in zip(keys, names, strict=True) if listed is None}
    if lost:
        raise InputError(
            f"{SUBSCRIPTIONS.name} refers to {len(lost):,} consumer sets that {CONSUMER_SETS.name} lacks; "
            "run import again"
        )
    observed = [[(row["topic"], row["partition_index"], row["active"]) for row in rows or ()] for rows in actives]
    rules = _rules_by_group(keys, names, observed, groups, asked)
    before = []
    for key, listed, seen in zip(keys, names, observed, strict=True):
        given = list_of(listed)
        if seen:
            now = rules[key[3]]
            levels = levels_of(listed, seen, consistent_hashing=now.consistent_hashing, behaviour=now.behaviour)
            given = ConsumerList(given.names, levels)
        before.append(given)
    after = None
    if not asked.changes.nothing:
        after = [asked.changes.after(key, listed) for key, listed in zip(keys, before, strict=True)]
    of_units = unit_rules([(rules[key[3]].behaviour, rules[key[3]].consistent_hashing) for key in keys])
    return _Fleet(FleetLists(keys, before, after, of_units, slots_of(after or before)), rules)


def _rules_by_group(
    keys: Sequence[Key], names: Sequence[Sequence[str]], observed: Sequence[Sequence[ObservedActive]],
    groups: BrokerGroups, asked: AssignOptions,
) -> dict[str, RulesInForce]:  # fmt: skip
    """The release and the flag of each group of brokers; for a group without evidence that of all groups counts."""
    evidence: dict[str, list[ObservedActives]] = {}
    for key, listed, seen in zip(keys, names, observed, strict=True):
        if seen:
            actives = {(topic, index): active for topic, index, active in seen}
            evidence.setdefault(key[3], []).append(ObservedActives(tuple(listed), actives))
    everything = [observation for group in sorted(evidence) for observation in evidence[group]]
    return {
        group: rules_in_force(
            evidence.get(group, everything),
            groups.releases_of(group), groups.flags_of(group), given_release=asked.release, given_flag=asked.flag,
        )
        for group in sorted({key[3] for key in keys})
    }  # fmt: skip


def _assign(rows: DataFrame, fleet: _Fleet, draft: Draft, policies: Sequence[Policy]) -> list[OwnerAccount]:
    """Write ``assignments`` under Pulsar's own policies, then, from their counts, with the fewest moves."""
    if not fleet.keys:
        return []
    columns = [pa.array(column, kind) for column, kind in zip(zip(*fleet.keys, strict=True), _KEY_TYPES, strict=True)]
    numbers = pa.array(range(len(fleet.keys)), pa.int64())
    units = rows.sparkSession.createDataFrame(pa.Table.from_arrays([*columns, numbers], names=[*UNIT, "unit"]))
    numbered = numbered_rows(rows, units, len(fleet.keys))
    by_rule = OwnersByRule(fleet.lists, [policy for policy in policies if not policy.what_if])
    accounts = write_by_engine(numbered, draft, by_rule, OwnerAccount)
    if Policy.FEWEST_MOVES in policies:
        now = np.zeros(int(fleet.lists.slots.start[-1]), dtype=np.int64)
        for account in accounts:
            if NOW in account.sums:
                slots, values = account.sums[NOW].arrays()
                now[slots] += values[0].astype(np.int64)
        moves = FewestMovesOfUnits(fleet.lists, now)
        accounts += write_by_engine(by_unit_and_topic(numbered), draft, moves, OwnerAccount)
    return accounts


_KEY_TYPES: Final = (pa.string(), pa.string(), pa.int64(), pa.string())


def _check_killed(changes: Changes, fleet: _Fleet) -> None:
    known = {name for consumers in fleet.lists.before for name in consumers.names} if changes.kill else set()
    missing = [name for name in changes.kill if name not in known]
    if missing:
        raise InputError(f"no Failover subscription has a consumer called {missing[0]!r}, so it cannot be removed")


def _lists_of_nobody(asked: AssignOptions, keys: Sequence[Key]) -> list[Row]:
    """Rows about lists of unknown subscriptions, which change nothing. Raises ``InputError`` if all are unknown."""
    there = {(key[0], key[1]) for key in keys} | {("", key[1]) for key in keys}
    lists = asked.changes.lists
    lost = sorted(lists.keys() - there)
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
    draft: Draft, asked: AssignOptions, fleet: _Fleet, accounts: Sequence[OwnerAccount], subscriptions: Sequence[Row]
) -> dict[str, object]:
    tables = draft.rows(ASSIGNMENTS, CONSUMER_LOADS, SUBSCRIPTION_LOADS, ASSIGN_QUARANTINE)
    assert tables[ASSIGNMENTS.name] == sum(account.rows for account in accounts), (
        "rows were lost between writing and reading"
    )
    every = [dict(zip(SUBSCRIPTION_LOADS.names, row, strict=True)) for row in subscriptions]
    by_policy: dict[str, dict[str, object]] = {}
    for policy in asked.policies:
        rows = [row for row in every if row["policy"] == policy.value]
        by_policy[policy.value] = {
            "what_if": policy.what_if,
            "partitions": sum(row["partitions"] for row in rows),
            "idle": sum(row["idle"] for row in rows),
            "moved": sum(row["moved"] for row in rows),
            "least_moved": sum(row["least_moved"] for row in rows),
            "worst_max_over_even": _worst(rows),
        }
    in_force = [row for row in every if row["in_force"]]
    reported, agreeing = (_by_group(fleet, accounts, name) for name in ("reported", "agreeing"))
    flags = {rules.consistent_hashing for rules in fleet.rules.values()}
    return {
        "job": JOB,
        "tables": tables,
        "rows_in": tables[ASSIGNMENTS.name] // max(len(asked.policies), 1),
        # Pulsar's policies that are in force for some subscription.
        "in_force": [policy.value for policy, on in zip(PULSARS, (False, True), strict=True) if on in flags],
        "rules": [_rules_row(group, rules, reported[group], agreeing[group]) for group, rules in fleet.rules.items()],
        "policies": by_policy,
        # Where groups of brokers differ, each subscription counts once, under the rule of its own.
        "now": {"idle": sum(row["idle"] for row in in_force), "worst_max_over_even": _worst(in_force)},
        "agreement": {"reported": reported.total(), "agreeing": agreeing.total()},
        "inferred": {
            "with_priority_levels": sum(any(consumers.levels) for consumers in fleet.lists.before),
            "in_no_brokers_order": fleet.in_no_brokers_order,
        },
        "changes": {
            "add": list(asked.changes.add),
            "kill": list(asked.changes.kill),
            "lists": len(asked.changes.lists),
        },
    }


def _worst(rows: Iterable[Mapping[str, Any]]) -> float | None:
    return max((row["max_over_even"] for row in rows if row["max_over_even"] is not None), default=None)


def _by_group(fleet: _Fleet, accounts: Iterable[OwnerAccount], name: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    for account in accounts:
        for unit, count in getattr(account, name).items():
            counts[fleet.keys[unit][3]] += count
    return counts


def _rules_row(group: str, rules: RulesInForce, reported: int, agreeing: int) -> dict[str, object]:
    """The rules of one group of brokers, how they are known, and how many reported active consumers agree."""
    inferred = rules.release_basis is Basis.INFERRED
    return {
        "group": group,
        "release": f"{rules.behaviour.label} or alike" if inferred else rules.behaviour.label,
        "release_basis": rules.release_basis.value,
        "consistent_hashing": rules.consistent_hashing,
        "flag_basis": rules.flag_basis.value,
        "reported": reported,
        "agreeing": agreeing,
    }
