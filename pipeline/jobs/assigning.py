"""The job ``assign``: every partition of every Failover subscription to its active consumer, policy by policy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow.parquet as pq

from engine.admin.inference import Basis, ObservedActives, RulesInForce, rules_in_force
from engine.config import ReleaseBehaviour, behaviour_of
from engine.errors import InputError, Problem, Rejection
from engine.hashing import utf16_order
from pipeline.broker_groups import BrokerGroups, broker_groups
from pipeline.choosing import change_of
from pipeline.jobs import dealing
from pipeline.jobs.assign_tasks import (
    INPUT_COLUMNS,
    PARTIAL_LOADS,
    AssignAccount,
    AssignPlan,
    assign_pieces,
    assign_together,
    assigner,
    units_in,
)
from pipeline.jobs.load_sums import LoadSums
from pipeline.jobs.result import JobOptions, JobResult, spark_faults
from pipeline.lists import Changes, ConsumerList, Key, list_of
from pipeline.pieces import Piece, deal_pieces, pieces_of
from pipeline.policies import Policy, policies_of
from pipeline.reading.consumer_lists import read_consumer_lists
from pipeline.reading.rows import BAD, Row, quarantine_row
from pipeline.schemas import (
    ASSIGN_QUARANTINE,
    ASSIGNMENTS,
    CONSUMER_LOADS,
    CONSUMER_SETS,
    SUBSCRIPTION_LOADS,
    SUBSCRIPTIONS,
    check_folder,
    parts_of,
)
from pipeline.stamps import Stamp
from pipeline.storage import Place, for_arrow
from pipeline.tables import load, need_tables
from pipeline.transforms.failover import chunk_number, chunk_of, failover_rows, sorted_by_unit
from pipeline.witnesses import Witnesses, levels_of, pieces_with_witnesses, together, witnesses_in
from pipeline.writing import Draft, ensure_part, keep_only, move_part, replacing, write_json, write_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOB: Final = "assign"
MAX_UNITS: Final = 10_000
"""Units in one pass: with 20 consumers each that is 240 MB of rings in every worker; more units take more passes."""
_TASKS_OF_WITNESSES: Final = 8
KNOWN: Final = ("policies", "add", "kill", "consumers-from", "flag", "pulsar")


@dataclass(frozen=True)
class Asked:
    """The job's own options: ``policies`` (all), ``add`` and ``kill`` (names with commas), ``consumers-from`` (a file),
    ``flag`` (true or false) and ``pulsar`` (a release): None means what the brokers reported, or what explains the
    active consumers that they reported."""

    policies: tuple[Policy, ...]
    changes: Changes
    flag: bool | None = None
    release: ReleaseBehaviour | None = None
    told: tuple[Row, ...] = ()
    lists_file: str = ""


def asked_of(settings: Mapping[str, str]) -> Asked:
    """Read the options. Raises ``InputError`` for a word that is not known or means nothing."""
    unknown = [name for name in settings if name not in KNOWN]
    if unknown:
        raise InputError(f"assign knows no option {unknown[0]!r}; it knows {', '.join(KNOWN)}")
    lists: dict[tuple[str, str], ConsumerList] = {}
    told: list[Row] = []
    if settings.get("consumers-from"):
        lists, told = read_consumer_lists(Path(settings["consumers-from"]))
    changes = Changes(_names(settings.get("add", "")), _names(settings.get("kill", "")), lists)
    release = behaviour_of(settings["pulsar"]) if "pulsar" in settings else None
    if isinstance(release, Rejection):
        raise InputError(release.message)
    flag = settings.get("flag") or None
    if flag not in ("true", "false", None):
        raise InputError(f"flag is true or false, not {flag!r}")
    policies, name = policies_of(settings.get("policies", "all")), Path(settings.get("consumers-from", "")).name
    return Asked(policies, changes, None if flag is None else flag == "true", release, tuple(told), name)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def run(spark: SparkSession, source: Place, target: Place, options: JobOptions) -> JobResult:
    """From the tables ``subscriptions`` and ``consumer_sets`` of an import under ``source``.

    Raises ``InputError`` when a table or an option is missing or wrong, ``RingsideError`` when writing fails.
    """
    need_tables(source, (SUBSCRIPTIONS, CONSUMER_SETS))
    asked = asked_of(options.settings)
    with replacing(target, JOB) as draft, spark_faults(JOB):
        stamp = options.stamp_of(source)
        this = _Assign(spark, source, draft, asked, pieces_of(SUBSCRIPTIONS, source), broker_groups(source), stamp)
        keys = this.units()
        this.hear_witnesses()
        this.find_rules(keys)
        chunks = -(-len(keys) // MAX_UNITS)
        for number in range(chunks):
            this.one_pass([key for key in keys if chunk_number(key, chunks) == number], number, chunks)
            options.say(f"assign: {this.account['rows']:,} rows written")
        _check_killed(asked.changes, this.killed)
        told = [*asked.told, *_lists_of_nobody(asked, keys)]
        write_rows(CONSUMER_LOADS, draft.table(CONSUMER_LOADS), this.consumers, stamp)
        write_rows(SUBSCRIPTION_LOADS, draft.table(SUBSCRIPTION_LOADS), this.subscriptions, stamp)
        write_rows(ASSIGN_QUARANTINE, draft.table(ASSIGN_QUARANTINE), told, stamp)
        ensure_part(ASSIGNMENTS, draft.table(ASSIGNMENTS), stamp)
        summary = _summary(this)
        write_json(draft.folder, f"{JOB}.json", summary)
    if this.account["in_no_brokers_order"]:
        options.say(
            "assign: lists of consumers that are not sorted by level and name, as brokers have them: "
            f"{this.account['in_no_brokers_order']:,}; each counts as one level"
        )
    return JobResult(JOB, summary)


@dataclass
class _Assign:
    """One run: what was asked for, where things are written, and what has come back so far."""

    spark: SparkSession
    source: Place
    draft: Draft
    asked: Asked
    pieces: list[Piece]
    groups: BrokerGroups
    stamp: Stamp
    account: Counter[str] = field(default_factory=Counter)
    reported: Counter[str] = field(default_factory=Counter)
    agreeing: Counter[str] = field(default_factory=Counter)
    rules: dict[str, RulesInForce] = field(default_factory=dict)
    units_by_group: Counter[str] = field(default_factory=Counter)
    killed: set[str] = field(default_factory=set)
    witnesses: Witnesses = field(default_factory=dict)
    consumers: list[Row] = field(default_factory=list)
    subscriptions: list[Row] = field(default_factory=list)

    @property
    def small(self) -> bool:
        """Whether the driver does it all by itself."""
        return sum(piece.rows for piece in self.pieces) <= dealing.SMALL_ROWS

    def units(self) -> list[Key]:
        """Every unit of the input, sorted."""
        dealt, groups = self._dealt(), self.groups
        found = self._each(len(dealt), lambda number: units_in(dealt[number], groups))
        return sorted({key for each in found for key in msgspec.msgpack.decode(each, type=list[Key])})

    def hear_witnesses(self) -> None:
        """Where brokers told active consumers, priority levels are inferred from these too."""
        dealt = deal_pieces(pieces_with_witnesses(self.pieces), 1 if self.small else _TASKS_OF_WITNESSES)
        groups = self.groups
        self.witnesses = together(self._each(len(dealt), lambda number: witnesses_in(dealt[number], groups)))

    def find_rules(self, keys: Sequence[Key]) -> None:
        """The release and the flag of each group of brokers; what a group leaves open, all of them together decide."""
        sets = _consumer_sets(self.source, {key[2] for key in self.witnesses})
        observed: dict[str, list[ObservedActives]] = {}
        for key, told in sorted(self.witnesses.items()):
            actives = {(topic, index): active for topic, index, active in told}
            observed.setdefault(key[3], []).append(ObservedActives(sets[key[2]].names, actives))
        everything = [each for group in sorted(observed) for each in observed[group]]
        self.units_by_group = Counter(key[3] for key in keys)
        for group in sorted(self.units_by_group):
            self.rules[group] = rules_in_force(
                observed.get(group, everything),
                self.groups.releases_of(group), self.groups.flags_of(group),
                given_release=self.asked.release, given_flag=self.asked.flag,
            )  # fmt: skip

    def _list(self, key: Key, given: ConsumerList) -> ConsumerList:
        told = self.witnesses.get(key)
        if not told:
            return given
        rules = self.rules[key[3]]
        levels = levels_of(
            given.names, told, consistent_hashing=rules.consistent_hashing, behaviour=rules.behaviour
        )  # fmt: skip
        return ConsumerList(given.names, levels)

    def _dealt(self) -> list[list[Piece]]:
        rows = sum(piece.rows for piece in self.pieces)
        return deal_pieces(self.pieces, 1 if self.small else dealing.tasks_for(self.spark, rows))

    def _each(self, count: int, work: Callable[[int], bytes]) -> list[bytes]:
        return dealing.here(count, work) if self.small else dealing.in_tasks(self.spark, count, work)

    def one_pass(self, keys: list[Key], number: int, chunks: int) -> None:
        """The rings of some units go to the tasks, the tasks write, the sums come back."""
        if not keys:
            return
        asked = self.asked
        sets = _consumer_sets(self.source, {key[2] for key in keys})
        before = [self._list(key, sets[key[2]]) for key in keys]
        self._count_orders(before)
        after = None
        if not asked.changes.nothing:
            after = [asked.changes.after(key, each) for key, each in zip(keys, before, strict=True)]
            self.killed.update(name for each in before for name in each.names if name in asked.changes.kill)
        folder = self.draft.aside("staged")
        for table in _STAGED:
            (folder / table.name).mkdir(exist_ok=True)
        change = change_of(before, after, [self.rules[key[3]] for key in keys])
        units = {key: place for place, key in enumerate(keys)}
        plan = AssignPlan(units, change, asked.policies, self.groups, folder, self.stamp)
        answers = self._answers(plan, number, chunks)
        self._collect([msgspec.msgpack.decode(each, type=AssignAccount) for each in answers], folder)
        sums = LoadSums(keys, change.new.lists, asked.policies, change.new_slots, change.new.rules.flag)
        for part in parts_of(folder / PARTIAL_LOADS.name):
            sums.add(pq.read_table(for_arrow(part)))
            part.unlink()
        self.consumers += sums.consumer_rows()
        self.subscriptions += sums.subscription_rows()

    def _count_orders(self, lists: Iterable[ConsumerList]) -> None:
        """How many units have priority levels, which nobody told, and how many a list that no broker sorted."""
        for each in lists:
            if any(each.levels):
                self.account["with_levels"] += 1
            elif any(utf16_order(after) < utf16_order(before) for before, after in pairwise(each.names)):
                self.account["in_no_brokers_order"] += 1

    def _answers(self, plan: AssignPlan, number: int, chunks: int) -> list[bytes]:
        """The accounts of all tasks of one pass."""
        if not any(policy.needs_whole_subscription for policy in plan.policies):
            dealt = self._dealt()
            return self._each(len(dealt), lambda task: assign_pieces(plan, dealt[task], task))
        if self.small:
            return [assign_together(plan, self.pieces)]
        rows = failover_rows(load(self.spark, self.source, SUBSCRIPTIONS)).select(*INPUT_COLUMNS)
        ready = sorted_by_unit(chunk_of(rows, number, chunks) if chunks > 1 else rows)
        return [bytes(row.account) for row in ready.mapInArrow(assigner(plan), "account binary").collect()]

    def _collect(self, accounts: list[AssignAccount], folder: Place) -> None:
        """Keep the parts of tasks that ended well, and move the rows into the result."""
        for table in _STAGED:
            named = {name for each in accounts for name in each.parts.get(table.name, ())}
            keep_only(folder / table.name, named)
        for each in accounts:
            self.account.update(rows=each.rows)
            self.reported.update(each.told)
            self.agreeing.update(each.agreed)
        place = self.draft.table(ASSIGNMENTS)
        for part in parts_of(folder / ASSIGNMENTS.name):
            move_part(part, place)


_STAGED: Final = (ASSIGNMENTS, PARTIAL_LOADS)


def _consumer_sets(source: Place, wanted: set[int]) -> dict[int, ConsumerList]:
    found: dict[int, ConsumerList] = {}
    for part in parts_of(source / CONSUMER_SETS.name):
        table: Any = pq.read_table(for_arrow(part))
        numbers = table["consumer_set"].to_pylist()
        found |= {
            number: list_of(table["names"][place].as_py()) for place, number in enumerate(numbers) if number in wanted
        }
    lost = wanted - found.keys()
    if lost:
        raise InputError(
            f"{len(lost)} lists of consumers are named in {SUBSCRIPTIONS.name} and stand nowhere; import again"
        )
    return found


def _check_killed(changes: Changes, killed: set[str]) -> None:
    missing = [name for name in changes.kill if name not in killed]
    if missing:
        raise InputError(f"no Failover subscription has a consumer called {missing[0]!r}, so it cannot be taken away")


def _lists_of_nobody(asked: Asked, keys: Sequence[Key]) -> list[Row]:
    """Rows about lists whose subscription is not there: they change nothing. Raises ``InputError`` if none is there."""
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


def _summary(this: _Assign) -> dict[str, object]:
    asked, account = this.asked, this.account
    tables = {
        table.name: check_folder(table, this.draft.folder / table.name)
        for table in (ASSIGNMENTS, CONSUMER_LOADS, SUBSCRIPTION_LOADS, ASSIGN_QUARANTINE)
    }
    assert tables[ASSIGNMENTS.name] == account["rows"], "rows were lost between writing and reading"
    every = [dict(zip(SUBSCRIPTION_LOADS.names, row, strict=True)) for row in this.subscriptions]
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
    return {
        "job": JOB,
        "tables": tables,
        "rows_in": tables[ASSIGNMENTS.name] // max(len(asked.policies), 1),
        "in_force": _policies_in_force(this),
        "rules": [_rules_row(this, group) for group in sorted(this.rules)],
        "policies": by_policy,
        # Where groups of brokers differ, each subscription counts once, under the rule of its own.
        "now": {"idle": sum(row["idle"] for row in in_force), "worst_max_over_even": _worst(in_force)},
        "agreement": {"reported": this.reported.total(), "agreeing": this.agreeing.total()},
        "inferred": {
            "with_priority_levels": account["with_levels"],
            "in_no_brokers_order": account["in_no_brokers_order"],
        },
        "changes": {
            "add": list(asked.changes.add),
            "kill": list(asked.changes.kill),
            "lists": len(asked.changes.lists),
        },
    }


def _worst(rows: Iterable[Mapping[str, Any]]) -> float | None:
    return max((row["max_over_even"] for row in rows if row["max_over_even"] is not None), default=None)


def _policies_in_force(this: _Assign) -> list[str]:
    """Pulsar's policies that are in force for some subscription."""
    flags = {rules.consistent_hashing for rules in this.rules.values()}
    return [policy.value for policy, on in ((Policy.FLAG_OFF, False), (Policy.FLAG_ON, True)) if on in flags]


def _rules_row(this: _Assign, group: str) -> dict[str, object]:
    """What one group of brokers runs, how that is known, and how its reported active consumers agree with it."""
    rules = this.rules[group]
    inferred = rules.release_basis is Basis.INFERRED
    return {
        "group": group,
        "release": f"{rules.behaviour.label} or alike" if inferred else rules.behaviour.label,
        "release_basis": rules.release_basis.value,
        "consistent_hashing": rules.consistent_hashing,
        "flag_basis": rules.flag_basis.value,
        "reported": this.reported[group],
        "agreeing": this.agreeing[group],
    }
