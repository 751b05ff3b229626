"""Assigning in tasks: rows come from Spark, owners are found and written here, and only sums go back.

Writing where the owners are found spares the way back through the JVM, and summing while writing spares reading again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.failover.choose import rule_in_force
from engine.fleet.hashing import murmur3_bulk
from pipeline.batches import byte_column, codes_of, joined, whole_groups
from pipeline.choosing import Change, Choice, Partitions
from pipeline.lists import Key
from pipeline.policies import WHAT_IF_RULE, Policy
from pipeline.schemas import ASSIGNMENTS, Table
from pipeline.writing import PartWriter

PARTIAL_LOADS: Final = Table(
    "partial_loads",
    ("policy int", "slot bigint", "partitions bigint", "before bigint", "moved bigint", "msg_rate_out double",
     "msg_throughput_out double"),
)  # fmt: skip
"""The sums of one task: by policy and slot of the lists after the change; nobody's slot tells what is nobody's."""
INPUT_COLUMNS: Final = (
    "subscription", "topic", "namespace", "partition_index", "consumer_set", "told_active_consumer", "msg_rate_out",
    "msg_throughput_out",
)  # fmt: skip
UNIT_COLUMNS: Final = ("namespace", "subscription", "consumer_set")
_RULES: Final = ("modulo", "ring", "first-connected", WHAT_IF_RULE)


class AssignAccount(msgspec.Struct):
    """What one task wrote; ``told`` partitions whose active consumer the broker told, and how often it was ours."""

    rows: int = 0
    parts: dict[str, list[str]] = {}
    told: int = 0
    agreed: int = 0


@dataclass(frozen=True)
class AssignPlan:
    """Everything a task needs beside its rows; it travels with the function, so it has to stay small."""

    units: Mapping[Key, int]
    change: Change
    policies: Sequence[Policy]
    in_force: Policy
    folder: str
    whole_units: bool


def assigner(plan: AssignPlan) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function the tasks run: rows of Failover subscriptions in, one account out."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext  # noqa: PLC0415

        context = TaskContext.get()
        task = _Task(plan, context.partitionId() if context is not None else 0)
        yield pa.RecordBatch.from_pydict({"account": [msgspec.msgpack.encode(task.run(batches))]})

    return run


@dataclass
class _Task:
    plan: AssignPlan
    number: int
    account: AssignAccount = field(default_factory=AssignAccount)

    def __post_init__(self) -> None:
        folder = self.plan.folder
        self.writer = PartWriter(ASSIGNMENTS, f"{folder}/{ASSIGNMENTS.name}", self.number)
        slots = int(self.plan.change.new_slots.start[-1])
        self.sums = {policy: np.zeros((5, slots)) for policy in self.plan.policies}
        self.words = _Words(self.plan)

    def run(self, batches: Iterator[Any]) -> AssignAccount:
        loads = PartWriter(PARTIAL_LOADS, f"{self.plan.folder}/{PARTIAL_LOADS.name}", self.number)
        try:
            groups = whole_groups(batches, UNIT_COLUMNS) if self.plan.whole_units else joined(batches)
            for table in groups:
                self.take(table)
            loads.write(self._partial_loads())
            for writer in (self.writer, loads):
                part = writer.close()
                if part is not None:
                    self.account.parts[writer.table.name] = [part]
        except BaseException:
            self.writer.discard()
            loads.discard()
            raise
        self.account.rows = self.writer.rows
        return self.account

    def take(self, table: Any) -> None:
        """Assign some rows under every policy."""
        unit = unit_numbers(table, self.plan.units)
        topics = byte_column(table["topic"])
        index = table["partition_index"].to_numpy().astype(np.int64)
        partitions = Partitions(unit, murmur3_bulk(topics), index)
        now = self.plan.change.old.places(self.plan.in_force, partitions)
        choices = self.plan.change.all_choices(partitions, now, self.plan.policies, self.plan.in_force)
        self._compare(table, unit, now)
        for policy, choice in choices.items():
            self._sum(policy, choice, table)
            self.writer.write(self.words.rows(table, unit, index, policy, choice))

    def _compare(self, table: Any, unit: NDArray[np.int64], now: NDArray[np.int64]) -> None:
        told = table["told_active_consumer"]
        count = len(told) - told.null_count
        if count:
            self.account.told += count
            self.account.agreed += pc.sum(pc.equal(told, self.words.before_names(unit, now))).as_py() or 0

    def _sum(self, policy: Policy, choice: Choice, table: Any) -> None:
        sums = self.sums[policy]
        size = sums.shape[1]
        sums[0] += np.bincount(choice.after, minlength=size)
        sums[1] += np.bincount(choice.before, minlength=size)
        sums[2] += np.bincount(choice.after[choice.after != choice.before], minlength=size)
        for row, name in ((3, "msg_rate_out"), (4, "msg_throughput_out")):
            sums[row] += np.bincount(choice.after, weights=table[name].to_numpy(), minlength=size)

    def _partial_loads(self) -> Any:
        tables = []
        for policy, sums in self.sums.items():
            slots = np.flatnonzero(sums[0] + sums[1])
            number = np.full(len(slots), list(Policy).index(policy), dtype=np.int32)
            columns = [
                number,
                slots,
                *(sums[row][slots].astype(np.int64) for row in range(3)),
                sums[3][slots],
                sums[4][slots],
            ]
            tables.append(pa.Table.from_arrays([pa.array(column) for column in columns], schema=PARTIAL_LOADS.arrow))
        return pa.concat_tables(tables)


class _Words:
    """The texts of the result as dictionaries, so that a name is written once and not once a row."""

    def __init__(self, plan: AssignPlan) -> None:
        change = plan.change
        self._old_start, self._new_start = change.old_slots.start, change.new_slots.start
        self._old = pa.array([name for each in change.old.lists for name in (*each.names, None)], pa.string())
        self._new = pa.array([name for each in change.new.lists for name in (*each.names, None)], pa.string())
        self._policies = pa.array([policy.value for policy in Policy], pa.string())
        self._rules = pa.array(_RULES, pa.string())
        self._behaviour = change.old.behaviour

    def before_names(self, unit: NDArray[np.int64], places: NDArray[np.int64]) -> Any:
        """The names of consumers by their place before the change."""
        return self._old.take(pa.array(_slots(self._old_start, unit, places)))

    def rows(
        self, table: Any, unit: NDArray[np.int64], index: NDArray[np.int64], policy: Policy, choice: Choice
    ) -> Any:
        """The rows of one policy."""
        count = len(unit)
        before = _slots(self._old_start, unit, choice.before_place)
        named = np.full(count, list(Policy).index(policy), dtype=np.int32)
        columns = {
            "policy": pa.DictionaryArray.from_arrays(named, self._policies),
            "rule": pa.DictionaryArray.from_arrays(self._rule(policy, index), self._rules),
            "what_if": pa.repeat(policy.what_if, count),
            "active_consumer": self._new.take(pa.array(choice.after)).dictionary_encode(),
            "active_before": self._old.take(pa.array(before)).dictionary_encode(),
            "moved": pa.array(choice.after != choice.before),
        }
        arrays = [columns[name] if name in columns else table[name] for name in ASSIGNMENTS.names]
        return pa.Table.from_arrays(arrays, names=list(ASSIGNMENTS.names))

    def _rule(self, policy: Policy, index: NDArray[np.int64]) -> NDArray[np.int32]:
        if policy.what_if:
            return np.full(len(index), _RULES.index(WHAT_IF_RULE), dtype=np.int32)
        on = policy is Policy.FLAG_ON
        plain, partitioned = (
            _RULES.index(rule_in_force(place, consistent_hashing=on, behaviour=self._behaviour).value)
            for place in (-1, 0)
        )
        return np.where(index < 0, plain, partitioned).astype(np.int32)


def _slots(start: NDArray[np.int64], unit: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.where(places < 0, start[unit + 1] - 1, start[unit] + places)


def unit_numbers(table: Any, units: Mapping[Key, int]) -> NDArray[np.int64]:
    """The unit of each row by (namespace, subscription, consumer_set). O(rows), and a look-up a combination."""
    codes = np.zeros(table.num_rows, dtype=np.int64)
    columns = []
    for name in UNIT_COLUMNS:
        values, places = codes_of(table[name])
        columns.append(values)
        codes = codes * len(values) + places
    present, inverse = np.unique(codes, return_inverse=True)
    numbers = np.empty(len(present), dtype=np.int64)
    for place, code in enumerate(present.tolist()):
        rest, third = divmod(code, len(columns[2]))
        first, second = divmod(rest, len(columns[1]))
        numbers[place] = units[columns[0][first], columns[1][second], columns[2][third]]
    return numbers[inverse]
