"""Rows from the tasks that read input to those that write tables, as blocks: cells that have a whole table in them.

Spark moves a block like one value, however many rows and columns it has; moving rows through the JVM one by one takes
several times as long as decoding them. The account of a reading task is a block too, so that only the accounts of
finished attempts count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipeline.batches import by_part
from pipeline.session import activate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_COLUMNS: Final = {"part": "int", "share": "int", "number": "int", "name": "string", "block": "binary"}
"""``share`` and ``number`` order blocks as they were read; ``name`` is what the tasks agree to call their rows."""
BLOCKS: Final = ", ".join(f"{name} {kind}" for name, kind in _COLUMNS.items())
_ACCOUNT: Final = "account"
_BLOCK_BYTES: Final = 32 * 1024**2
_PARTS_PER_TASK: Final = 4
"""Spark deals parts to tasks by hash; with several each, tasks are of about equal size."""
_PACKED: Final = pa.ipc.IpcWriteOptions(compression="lz4")
"""Each byte is copied some ten times on its way through the JVM."""
_Share = TypeVar("_Share")
_Struct = TypeVar("_Struct", bound=msgspec.Struct)
_Reader_co = TypeVar("_Reader_co", covariant=True)


class _HasReaders(Protocol[_Reader_co]):
    @property
    def readers(self) -> Sequence[_Reader_co]: ...


@dataclass(frozen=True)
class WritingTasks:
    """How many tasks write, and how many parts blocks belong to; a part is written by one task."""

    count: int
    parts: int

    @classmethod
    def over(cls, size_bytes: int, bytes_per_task: int) -> WritingTasks:
        tasks = max(1, size_bytes // bytes_per_task)
        return cls(tasks, _PARTS_PER_TASK * tasks if tasks > 1 else 1)


@dataclass
class Sender:
    """Makes the batches that one reading task yields."""

    share: int
    _sent: int = 0

    def table(self, part: int, name: str, table: Any) -> Iterator[Any]:
        """The blocks of a ``pyarrow.Table``."""
        for piece in slices(table):
            yield self._batch(part, name, _block_of(piece))

    def by_part(self, name: str, table: Any, part: NDArray[np.int64]) -> Iterator[Any]:
        """The blocks of a table whose rows belong to these parts."""
        for number, own in by_part(table, part):
            yield from self.table(number, name, own)

    def again(self, part: int, name: str, block: bytes) -> Any:
        """A batch that was sent before, by its block."""
        return self._batch(part, name, pa.array([block], pa.binary()))

    def account(self, account: msgspec.Struct) -> Any:
        """The last batch."""
        return self._batch(0, _ACCOUNT, pa.array([msgspec.msgpack.encode(account)], pa.binary()))

    def _batch(self, part: int, name: str, block: Any) -> Any:
        self._sent += 1
        numbers = [pa.array([number], pa.int32()) for number in (part, self.share, self._sent)]
        return pa.RecordBatch.from_arrays([*numbers, pa.array([name]), block], list(_COLUMNS))


def read_by_engine(
    spark: SparkSession, shares: Sequence[_Share], read: Callable[[_Share, int], Iterator[Any]], tasks: int
) -> DataFrame:
    """The batches that ``read`` yields for each share and its number, all blocks of a part in one of ``tasks`` tasks.

    ``read`` makes them with a :class:`Sender`. Nothing is read yet. Shares are pickled, so they should be small.
    """
    from pipeline.data_source import EngineReader, pickled, registered  # noqa: PLC0415  imports Spark

    reader = EngineReader([pickled(share) for share in shares], pickled(read))
    name = registered(spark, columns=BLOCKS, engine_reader=reader)
    # Reading looks up data sources in the active session; that of a stream's thread is another one.
    before = type(spark).getActiveSession()
    activate(spark)
    try:
        return spark.read.format(name).load().repartition(tasks, "part")
    finally:
        if before is not None:
            activate(before)


def received(batches: Iterator[Any]) -> dict[str, list[bytes]]:
    """The blocks of a writing task by name, in the order of reading."""
    waiting: dict[str, list[tuple[int, int, bytes]]] = defaultdict(list)
    for batch in batches:
        _, *columns = (column.to_pylist() for column in batch.columns)
        for share, number, name, block in zip(*columns, strict=True):
            waiting[name].append((share, number, block))
    return {name: [block for *_, block in sorted(blocks)] for name, blocks in waiting.items()}


def accounts_in(blocks: dict[str, list[bytes]], kind: type[_Struct]) -> list[_Struct]:
    """Take the accounts of reading tasks out of the blocks of a writing task."""
    return [msgspec.msgpack.decode(block, type=kind) for block in blocks.pop(_ACCOUNT, ())]


def readers_of(accounts: Iterable[_HasReaders[_Reader_co]], shares: int) -> list[_Reader_co]:
    """The accounts of all reading tasks, from those of the writing tasks; each share has exactly one."""
    readers = [reader for account in accounts for reader in account.readers]
    assert len(readers) == shares, f"{len(readers)} of {shares} readers gave an account"
    return readers


def _block_of(table: Any) -> Any:
    """A ``pyarrow.Table`` as a block, in a binary Arrow array of one value."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_PACKED) as writer:
        writer.write_table(table)
    block = sink.getvalue()
    ends = pa.py_buffer(np.array([0, block.size], dtype=np.int32))
    return pa.Array.from_buffers(pa.binary(), 1, [None, ends, block])


def opened(block: bytes) -> Any:
    """The table of a block, without copying it."""
    return pa.ipc.open_stream(block).read_all()


def slices(table: Any, *, most_bytes: int = _BLOCK_BYTES) -> Iterator[Any]:
    """The table in slices of about so many bytes: a cell has to fit into memory several times.

    >>> [part.num_rows for part in slices(pa.table({"a": [1, 2, 3]}), most_bytes=16)]
    [2, 1]
    """
    step = max(1, table.num_rows * most_bytes // max(table.nbytes, 1))
    for first in range(0, table.num_rows, step):
        yield table.slice(first, step)


def joined(tables: Sequence[Any], few: Collection[str]) -> Any:
    """One table with each column in one chunk; texts in the columns ``few`` become dictionaries, others plain."""
    # Even an empty table beside it would make a copy of a large one.
    full = [table for table in tables if table.num_rows] or tables[:1]
    return pa.concat_tables([_alike(table, few) for table in full]).unify_dictionaries().combine_chunks()


def _alike(table: Any, few: Collection[str]) -> Any:
    columns = [
        column.dictionary_encode() if name in few and not pa.types.is_dictionary(column.type)
        else column if name in few else plain(column)
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]  # fmt: skip
    return pa.Table.from_arrays(columns, names=table.column_names)


def plain(column: Any) -> Any:
    """The column without a dictionary."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
