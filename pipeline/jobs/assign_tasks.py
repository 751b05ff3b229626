"""Assigning in tasks: each reads its pieces, finds owners and writes them, and only sums go back.

Writing where the owners are found spares the way back through the JVM, and summing while writing spares reading again.
Only policies that look at a whole subscription get their rows from Spark, which brings them together.
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

from engine.bulk_hashing import murmur3_bulk
from pipeline.batches import byte_column, codes_of, whole_groups
from pipeline.broker_groups import GROUP, BrokerGroups
from pipeline.choosing import Change, Choice, Partitions
from pipeline.jobs.assign_words import FEW_WORDS, Words
from pipeline.lists import Key
from pipeline.pieces import Piece, read_pieces
from pipeline.policies import Policy
from pipeline.schemas import ASSIGNMENTS, Table
from pipeline.stamps import Stamp
from pipeline.storage import Place
from pipeline.writing import PartWriter

PARTIAL_LOADS: Final = Table(
    "partial_loads",
    ("policy int", "slot bigint", "partitions bigint", "before bigint", "moved bigint", "msg_rate_out double",
     "msg_throughput_out double"),
)  # fmt: skip
"""The sums of one task: by policy and slot of the lists after the change; nobody's slot tells what is nobody's."""
INPUT_COLUMNS: Final = (
    "subscription", "topic", "namespace", "partition_index", "consumer_set", "told_active_consumer", "msg_rate_out",
    "msg_throughput_out", "file",
)  # fmt: skip
TOGETHER: Final = ("namespace", "subscription", "consumer_set")
"""Columns in whose order Spark hands rows over: a unit is never cut, though several of them may come together."""
UNIT_COLUMNS: Final = (*TOGETHER, GROUP)
FEW: Final = ("subscription", "namespace", "type", "told_active_consumer", "file")
"""Columns of ``subscriptions`` with few different texts."""
_FAILOVER: Final = "Failover"


_FEW_COMBINATIONS: Final = 1 << 22


class AssignAccount(msgspec.Struct):
    """What one task wrote; ``told``: partitions whose active consumer the broker reported, by group of brokers, and how
    often it was ours."""

    rows: int = 0
    parts: dict[str, list[str]] = {}
    told: dict[str, int] = {}
    agreed: dict[str, int] = {}


@dataclass(frozen=True)
class AssignPlan:
    """Everything a task needs beside its rows; it travels with the function, so it has to stay small."""

    units: Mapping[Key, int]
    change: Change
    policies: Sequence[Policy]
    groups: BrokerGroups
    folder: Place
    stamp: Stamp


def assign_pieces(plan: AssignPlan, pieces: Sequence[Piece], number: int) -> bytes:
    """One task: the rows of its pieces; an account as MessagePack."""
    return msgspec.msgpack.encode(_Task(plan, number).run(failover_tables(pieces, plan.groups)))


def assign_together(plan: AssignPlan, pieces: Sequence[Piece]) -> bytes:
    """All pieces at once, each unit together and by topic name: what a small input needs of Spark's shuffle."""
    tables = [_plain(table) for table in failover_tables(pieces, plan.groups)]
    if not tables:
        return msgspec.msgpack.encode(_Task(plan, 0).run(iter(())))
    order = [(name, "ascending") for name in (*UNIT_COLUMNS, "topic")]
    together = pa.concat_tables(tables).combine_chunks().sort_by(order)
    return msgspec.msgpack.encode(_Task(plan, 0).run(iter((together,))))


def failover_tables(
    pieces: Sequence[Piece], groups: BrokerGroups, columns: Sequence[str] = INPUT_COLUMNS
) -> Iterator[Any]:
    """Only Failover subscriptions, one row each of their topics and partitions, with the group of their brokers."""
    for table in read_pieces(pieces, (*columns, "type"), few=FEW):
        kinds = table["type"].cast(pa.string())
        wanted = pc.equal(kinds, _FAILOVER)
        yield groups.with_groups(table if pc.all(wanted).as_py() else table.filter(wanted))


def units_in(pieces: Sequence[Piece], groups: BrokerGroups) -> bytes:
    """The units of some pieces, each once, as MessagePack."""
    found: set[Key] = set()
    for table in failover_tables(pieces, groups, (*TOGETHER, "file")):
        found.update(combinations(table)[0])
    return msgspec.msgpack.encode(sorted(found))


def _plain(table: Any) -> Any:
    fields = [
        pa.field(field.name, field.type.value_type if pa.types.is_dictionary(field.type) else field.type)
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))


def assigner(plan: AssignPlan) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function Spark's tasks run: rows of whole units in, one account out."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext  # noqa: PLC0415

        context = TaskContext.get()
        task = _Task(plan, context.partitionId() if context is not None else 0)
        account = task.run(map(plan.groups.with_groups, whole_groups(batches, TOGETHER)))
        yield pa.RecordBatch.from_pydict({"account": [msgspec.msgpack.encode(account)]})

    return run


@dataclass
class _Task:
    plan: AssignPlan
    number: int
    account: AssignAccount = field(default_factory=AssignAccount)

    def __post_init__(self) -> None:
        folder = self.plan.folder
        self.writer = PartWriter(ASSIGNMENTS, folder / ASSIGNMENTS.name, self.number, self.plan.stamp, few=FEW_WORDS)
        slots = int(self.plan.change.new_slots.start[-1])
        self.sums = {policy: np.zeros((5, slots)) for policy in self.plan.policies}
        self.words = Words(self.plan.change)

    def run(self, tables: Iterator[Any]) -> AssignAccount:
        loads = PartWriter(PARTIAL_LOADS, self.plan.folder / PARTIAL_LOADS.name, self.number)
        try:
            for table in tables:
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
        if len(unit) and unit.min() < 0:
            # Units of another pass.
            table, unit = table.filter(pa.array(unit >= 0)), unit[unit >= 0]
        if not len(unit):
            return
        topics = byte_column(table["topic"])
        index = table["partition_index"].to_numpy().astype(np.int64)
        partitions = Partitions(unit, murmur3_bulk(topics), index)
        now = self.plan.change.old.places_now(partitions)
        choices = self.plan.change.all_choices(partitions, now, self.plan.policies)
        self._compare(table, unit, now)
        for policy, choice in choices.items():
            self._sum(policy, choice, table)
            self.writer.write(self.words.rows(table, unit, index, policy, choice))

    def _compare(self, table: Any, unit: NDArray[np.int64], now: NDArray[np.int64]) -> None:
        told = table["told_active_consumer"]
        if told.null_count == len(told):
            return
        ours = self.words.before_names(unit, now).cast(pa.string())
        agrees = pc.equal(told.cast(pa.string()), ours)
        for group, reported, agreed in zip(*_counts_by(table[GROUP], told, agrees), strict=True):
            self.account.told[group] = self.account.told.get(group, 0) + reported
            self.account.agreed[group] = self.account.agreed.get(group, 0) + agreed

    def _sum(self, policy: Policy, choice: Choice, table: Any) -> None:
        sums = self.sums[policy]
        size = sums.shape[1]
        held = np.bincount(choice.after, minlength=size)
        sums[0] += held
        if choice.after is choice.before:
            sums[1] += held
        else:
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


def _counts_by(groups: Any, told: Any, agrees: Any) -> tuple[list[str], list[int], list[int]]:
    """Each group with a reported active consumer, how many it reported, and with how many of them ours agree."""
    reported = pa.table({GROUP: groups.cast(pa.string()), "told": told.is_valid(), "agrees": agrees.fill_null(False)})
    rows = reported.filter(reported["told"]).group_by(GROUP).aggregate([("told", "count"), ("agrees", "sum")])
    return rows[GROUP].to_pylist(), rows["told_count"].to_pylist(), rows["agrees_sum"].to_pylist()


def unit_numbers(table: Any, units: Mapping[Key, int]) -> NDArray[np.int64]:
    """The unit of each row by ``UNIT_COLUMNS``, -1 for none. O(rows)."""
    keys, place = combinations(table)
    return np.array([units.get(key, -1) for key in keys], dtype=np.int64)[place]


def combinations(table: Any) -> tuple[list[Key], NDArray[np.int64]]:
    """The different combinations of ``UNIT_COLUMNS``, and the place of each row's combination among them."""
    codes = np.zeros(table.num_rows, dtype=np.int64)
    columns = []
    size = 1
    for name in UNIT_COLUMNS:
        values, places = codes_of(table[name])
        columns.append(values)
        codes = codes * len(values) + places
        size *= len(values)
    if size <= max(_FEW_COMBINATIONS, 4 * len(codes)):
        used = np.zeros(size, dtype=bool)
        used[codes] = True
        present = np.flatnonzero(used)
        place = (np.cumsum(used) - 1)[codes]
    else:
        present, place = np.unique(codes, return_inverse=True)
    keys: list[Key] = []
    for code in present.tolist():
        rest, fourth = divmod(code, len(columns[3]))
        rest, third = divmod(rest, len(columns[2]))
        first, second = divmod(rest, len(columns[1]))
        keys.append((columns[0][first], columns[1][second], columns[2][third], columns[3][fourth]))
    return keys, place
