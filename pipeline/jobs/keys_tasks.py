"""Key traces in tasks: pieces are read and equal keys of a task put together, then Spark brings equal keys of all tasks
together, and each key is hashed once and folded to slots.

What a task has to tell travels as one more row (of no subscription), so that only finished attempts are heard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa

from engine.fleet.hashing import ByteColumn, murmur3_bulk
from engine.fleet.keyshared import slots_bulk
from engine.keyshared.model import SlotSpace
from pipeline.batches import codes_of, joined
from pipeline.reading.rows import Row
from pipeline.reading.trace_pieces import read_piece
from pipeline.reading.trace_rows import EVENTS, TraceAccount
from pipeline.reading.traces import TracePiece
from pipeline.schemas import Table
from pipeline.writing import PartWriter

EVENT_COLUMNS: Final = "space string, key binary, rows bigint, msgs bigint"
FOLDED: Final = Table(
    "folded", ("function int", "space string", "slot bigint", "keys bigint", "rows bigint", "msgs bigint")
)
"""One task's keys by slot; ``function`` is the place of the slot space in the plan."""
HOTTEST: Final = Table("hottest", ("space string", "key_hex string", "hash bigint", "msgs bigint"))
"""One task's heaviest keys of each space; a key is in one task whole."""
ACCOUNT_SPACE: Final = ""
"""The space of a row that is an account: a space that is one has a separator in it."""
_ROWS_HELD: Final = 4_000_000


class ReadAccount(msgspec.Struct):
    """What one reading task found; ``quarantine`` are rows of that table."""

    rows: int
    good: int
    quarantine: list[Row]


class FoldAccount(msgspec.Struct):
    """What one folding task wrote, and the accounts of readers that came its way."""

    parts: dict[str, list[str]] = {}
    rows: int = 0
    keys: int = 0
    readers: list[ReadAccount] = []


@dataclass(frozen=True)
class FoldPlan:
    """The slot functions that are wanted, how many hot keys of each subscription, and where to write."""

    functions: tuple[SlotSpace, ...]
    top: int
    folder: str


def trace_reader(hands: Sequence[Sequence[TracePiece]], *, spread: bool) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function of the reading tasks: numbers of hands in, rows of ``EVENTS`` out, the account last."""

    def read(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from _read_hand(hands[number], spread=spread)

    return read


def _read_hand(hand: Sequence[TracePiece], *, spread: bool) -> Iterator[Any]:
    account = TraceAccount()
    held: list[Any] = []
    rows = 0
    for piece in hand:
        for table in read_piece(piece, account, spread=spread):
            held.append(table)
            rows += table.num_rows
            if rows >= _ROWS_HELD:
                yield from _together(held).to_batches(max_chunksize=1 << 16)
                held, rows = [], 0
    if rows:
        yield from _together(held).to_batches(max_chunksize=1 << 16)
    told = msgspec.msgpack.encode(ReadAccount(account.rows, account.good, account.quarantine()))
    yield pa.RecordBatch.from_pydict(
        {"space": [ACCOUNT_SPACE], "key": [told], "rows": [0], "msgs": [0]}, schema=EVENTS
    )


def _together(tables: Sequence[Any]) -> Any:
    """Equal keys as one row. Far fewer rows travel so, and the sums are whole numbers in any order."""
    grouped = pa.concat_tables(tables).group_by(["space", "key"], use_threads=False)
    summed = grouped.aggregate([("rows", "sum"), ("msgs", "sum")])
    return summed.select(["space", "key", "rows_sum", "msgs_sum"]).rename_columns(EVENTS.names)


def folder_of_keys(plan: FoldPlan) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function of the folding tasks: every key once in, one account out."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext  # noqa: PLC0415

        context = TaskContext.get()
        task = FoldTask(plan, context.partitionId() if context is not None else 0)
        yield pa.RecordBatch.from_pydict({"account": [msgspec.msgpack.encode(task.run(joined(batches)))]})

    return run


@dataclass
class FoldTask:
    """Sums by space, slot function and slot, held until the end: at most one row for each slot that occurs."""

    plan: FoldPlan
    number: int
    account: FoldAccount = field(default_factory=FoldAccount)
    _spaces: dict[str, int] = field(default_factory=dict)
    _folded: list[list[Any]] = field(default_factory=list)
    _hottest: dict[int, list[tuple[int, bytes, int]]] = field(default_factory=dict)

    def run(self, tables: Iterator[Any]) -> FoldAccount:
        """Take everything, then write; a failure leaves no part behind."""
        self._folded = [[] for _ in self.plan.functions]
        writers = [PartWriter(table, f"{self.plan.folder}/{table.name}", self.number) for table in (FOLDED, HOTTEST)]
        try:
            for table in tables:
                self.take(table)
            self._write(*writers)
            self.account.parts = {each.table.name: [part] for each in writers if (part := each.close())}
        except BaseException:
            for writer in writers:
                writer.discard()
            raise
        return self.account

    def take(self, table: Any) -> None:
        """Some keys, each of which comes once."""
        names, codes = codes_of(table["space"])
        keys = table["key"].combine_chunks()
        keys = pa.concat_arrays(keys.chunks) if isinstance(keys, pa.ChunkedArray) else keys
        if ACCOUNT_SPACE in names:
            theirs = codes == names.index(ACCOUNT_SPACE)
            told = [keys[int(row)].as_py() for row in np.flatnonzero(theirs)]
            self.account.readers += [msgspec.msgpack.decode(each, type=ReadAccount) for each in told]
            self.take_keys(names, codes, table, keys, np.flatnonzero(~theirs))
        else:
            self.take_keys(names, codes, table, keys, None)

    def take_keys(self, names: list[str], codes: Any, table: Any, keys: Any, rows: Any | None) -> None:
        """Hash once, then one fold for each slot function."""
        numbers = np.array([self._spaces.setdefault(name, len(self._spaces)) for name in names], dtype=np.int64)
        space = numbers[codes]
        counts, msgs = (table[name].to_numpy() for name in ("rows", "msgs"))
        if rows is not None:
            keys = keys.take(pa.array(rows))
            space, counts, msgs = space[rows], counts[rows], msgs[rows]
        _, offsets, data = keys.buffers()
        if not len(keys):
            return
        hashes = murmur3_bulk(ByteColumn.from_buffers(offsets, data, len(keys), keys.offset))
        self.account.keys += len(keys)
        self.account.rows += int(counts.sum())
        for place, function in enumerate(self.plan.functions):
            slots = slots_bulk(hashes, function)
            self._folded[place].append(folded((space << 32) | slots, np.ones(len(slots), np.int64), counts, msgs))
            if len(self._folded[place]) > 8:
                self._folded[place] = [_merged(self._folded[place])]
        self._keep_hottest(space, keys, hashes, msgs)

    def _keep_hottest(self, space: Any, keys: Any, hashes: Any, msgs: Any) -> None:
        """The heaviest of each space; of equal weight the smaller key, so that the choice is the same every time."""
        order = np.lexsort((-msgs, space))
        begins = np.flatnonzero(np.append(True, np.diff(space[order]) != 0))
        for begin, end in zip(begins.tolist(), [*begins[1:].tolist(), len(order)], strict=True):
            heaviest = order[begin:end]
            if len(heaviest) > self.plan.top:
                # Keys as heavy as the last one that counts may have a smaller text, so all of them are looked at.
                heaviest = heaviest[msgs[heaviest] >= msgs[heaviest[self.plan.top - 1]]]
            number = int(space[order[begin]])
            fresh = [(-int(msgs[at]), keys[at].as_py(), int(hashes[at])) for at in heaviest.tolist()]
            self._hottest[number] = sorted(self._hottest.get(number, []) + fresh)[: self.plan.top]

    def _write(self, slots: PartWriter, hottest: PartWriter) -> None:
        names = pa.array(list(self._spaces), pa.string())
        for place, parts in enumerate(self._folded):
            if parts:
                code, keys, rows, msgs = _merged(parts)
                columns = {
                    "function": pa.array(np.full(len(code), place, dtype=np.int32)),
                    "space": pa.DictionaryArray.from_arrays(pa.array((code >> 32).astype(np.int32)), names),
                    "slot": pa.array(code & 0xFFFFFFFF),
                    "keys": pa.array(keys),
                    "rows": pa.array(rows),
                    "msgs": pa.array(msgs),
                }
                slots.write(pa.table(columns))
        spaces = list(self._spaces)
        rows_of_hot = [
            (spaces[number], key.hex(), hash_value, -weight)
            for number, found in sorted(self._hottest.items())
            for weight, key, hash_value in found
        ]
        hottest.write(HOTTEST.columns_of(rows_of_hot))


def folded(code: Any, *values: Any) -> tuple[Any, ...]:
    """Sums of whole numbers by code: the codes that occur, ascending, then one (n,) int64 for each of ``values``.

    >>> [each.tolist() for each in folded(np.array([5, 2, 5]), np.array([1, 1, 1]), np.array([7, 8, 9]))]
    [[2, 5], [1, 2], [8, 16]]
    """
    order = np.argsort(code, kind="stable")
    ordered = code[order]
    begins = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])
    return ordered[begins], *(np.add.reduceat(each[order], begins) if len(begins) else each[:0] for each in values)


def _merged(parts: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    if len(parts) == 1:
        return parts[0]
    code, *values = (np.concatenate([part[place] for part in parts]) for place in range(len(parts[0])))
    return folded(code, *values)
