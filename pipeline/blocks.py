"""Tables as cells of a DataFrame: Spark moves a block like one value, however many rows and columns are in it.

Moving rows through the JVM one by one takes several times as long as decoding them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_BLOCK_BYTES: Final = 32 * 1024**2
_PACKED: Final = pa.ipc.IpcWriteOptions(compression="lz4")
"""Each byte is copied some ten times on its way through the JVM."""


def block_of(table: Any) -> Any:
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


def parts_together(blocks: DataFrame, tasks: int) -> DataFrame:
    """Blocks with all those of one ``part`` in the same of so many tasks."""
    return blocks.repartition(tasks, "part")


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
