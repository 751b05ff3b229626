"""Tables as parts, which are Parquet files: written with Arrow, checked, read as DataFrames, and small ones as rows."""

from __future__ import annotations

import contextlib
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from engine.errors import InputError, Problem
from pipeline.manifests import SUFFIX, has_table, parts_of
from pipeline.schemas import Table
from pipeline.stamps import COLUMNS as STAMP
from pipeline.stamps import DDL as STAMP_DDL
from pipeline.stamps import Stamp
from pipeline.storage import Place, StorePath, for_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS_PER_GROUP: Final = 1 << 18
_ROWS_WRITTEN: Final = 1 << 16
"""Rows of the driver that are turned into columns at once."""
_ROWS_READ: Final = 1 << 15
"""Rows that are made from columns at once."""


class PartWriter:
    """Writes one part of a table in a task, under a name that no other attempt has, so that retries never collide."""

    def __init__(self, table: Table, folder: Place, task: int, stamp: Stamp | None = None, *, kind: str = "") -> None:
        """``kind`` distinguishes several parts of one task and table.

        Columns with few values get statistics only if readers filter by them: they take a third of the time of writing.
        """
        self.table = table
        self._stamp = stamp
        self._few = None if table.few is None else (*table.few, *STAMP.names)
        self.rows = 0
        self._path = folder / f"part-{task:06d}-{kind and kind + '-'}{uuid.uuid4().hex[:12]}{SUFFIX}"
        self._writer: Any = None
        self._schema: Any = None

    def write(self, table: Any) -> None:
        """Append a ``pyarrow.Table`` with the table's columns, if need be without rows; texts may be dictionaries."""
        table = table if self._stamp is None else self._stamp.on(table)
        if self._schema is None:
            self._schema = _as_written(self.table, table.schema)
            place = self._path
            path, store = (place.path, place.store) if isinstance(place, StorePath) else (place, None)
            # Without Arrow's own schema a dictionary is read back as plain texts.
            self._writer = pq.ParquetWriter(
                path, self._schema, filesystem=store, compression="zstd", store_schema=False,
                use_dictionary=True if self._few is None else list(self._few),
                write_statistics=[
                    name for name in self._schema.names if name in self.table.sought or name not in (self._few or ())
                ],
            )  # fmt: skip
        arrays = [_like(column, field.type) for column, field in zip(table.columns, self._schema, strict=True)]
        if table.num_rows:
            self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema), row_group_size=ROWS_PER_GROUP)
        self.rows += table.num_rows

    def close(self) -> str | None:
        """Finish the part, and return its name; None when nothing was written."""
        if self._writer is None:
            return None
        self._writer.close()
        return self._path.name

    def discard(self) -> None:
        """Close and remove the part."""
        if self._writer is not None:
            with contextlib.suppress(OSError):
                self._writer.close()
            self._path.unlink(missing_ok=True)


def _like(column: Any, kind: Any) -> Any:
    """Convert texts to or from dictionaries, like those that were written first."""
    if column.type == kind:
        return column
    return column.dictionary_encode() if pa.types.is_dictionary(kind) else column.cast(kind)


def _as_written(table: Table, given: Any) -> Any:
    declared = [*table.arrow, *STAMP]
    names = [field.name for field in declared][: len(given.names)]
    assert given.names == names, f"{given.names} are not the columns of {table.name}"
    return pa.schema(
        [pa.field(field.name, given.field(field.name).type, field.nullable) for field in declared[: len(names)]]
    )


def write_rows(table: Table, folder: Place, rows: Iterable[tuple[object, ...]], stamp: Stamp | None = None) -> None:
    """Write rows of the driver as one part, even an empty one, so that readers find its columns."""
    writer = PartWriter(table, folder, 0, stamp)
    waiting = iter(rows)
    try:
        writer.write(table.columns_of(list(islice(waiting, _ROWS_WRITTEN))))
        while some := list(islice(waiting, _ROWS_WRITTEN)):
            writer.write(table.columns_of(some))
        writer.close()
    except BaseException:
        writer.discard()
        raise


def move_part(part: Place, folder: Place) -> None:
    """Move a part that this run wrote into the folder of its table, which is in the same store."""
    part.rename(folder / part.name)  # type: ignore[arg-type]


def need_tables(source: Place, tables: Sequence[Table]) -> None:
    """Raise ``InputError``, with advice, when a table is missing or its columns are not as declared."""
    for table in tables:
        if not has_table(source / table.name):
            raise InputError(f"{source} has no table {table.name}; run the job import first and name its result")
        check_folder(table, source / table.name)


def load_if_there(spark: SparkSession, source: Place, table: Table) -> DataFrame:
    """One table, or an empty one where its job has not run. Raises ``InputError`` for columns not as declared."""
    if not has_table(source / table.name):
        return spark.createDataFrame([], table.ddl)
    check_folder(table, source / table.name)
    return load(spark, source, table)


def load(spark: SparkSession, source: Place, table: Table, *, stamped: bool = False) -> DataFrame:
    """One table with its declared schema, ``stamped``: with the columns of its stamp; nothing is read yet."""
    folder = source / table.name
    ddl = f"{table.ddl}, {STAMP_DDL}" if stamped else table.ddl
    if isinstance(folder, StorePath):  # the parts that the manifest names: others may exist for a moment
        parts = [str(part) for part in parts_of(folder)]
        return spark.read.schema(ddl).parquet(*parts) if parts else spark.createDataFrame([], ddl)
    return spark.read.schema(ddl).parquet(str(folder))


def rows_of(folder: Place, *columns: str, filters: Any = None) -> Iterator[tuple[Any, ...]]:
    """Rows of a table, read in this process some thousand at a time; none where its job has not run.

    ``filters`` are those of ``pq.read_table``; what passes them is read part by part.
    """
    for batch in _batches(folder, columns, filters):
        yield from zip(*(batch[name].to_pylist() for name in columns), strict=True)


def _batches(folder: Place, columns: Sequence[str], filters: Any = None) -> Iterator[Any]:
    for part in parts_of(folder):
        if filters:
            yield from pq.read_table(for_arrow(part), columns=list(columns), filters=filters).to_batches(_ROWS_READ)
        else:
            with pq.ParquetFile(for_arrow(part)) as parquet:
                yield from parquet.iter_batches(_ROWS_READ, columns=list(columns))


def counts_of(folder: Place, *columns: str, summed: str = "") -> Counter[tuple[Any, ...]]:
    """How many rows have each combination of values in these columns, or their sum of the column ``summed``.

    Some thousand rows at a time in Arrow, so the table may be large if there are few combinations.
    """
    counts: Counter[tuple[Any, ...]] = Counter()
    for batch in _batches(folder, [*columns, *([summed] if summed else [])]):
        rows = pa.Table.from_batches([batch])
        counted = rows.group_by(list(columns)).aggregate([(summed, "sum") if summed else ([], "count_all")])
        values = counted[f"{summed}_sum" if summed else "count_all"].to_pylist()
        groups = zip(*(counted[name].to_pylist() for name in columns), strict=True)
        for group, value in zip(groups, values, strict=True):
            counts[group] += value
    return counts


def check_folder(table: Table, folder: Place) -> int:
    """The number of rows of a written table. Raises ``InputError`` where its columns are not as declared.

    Looks at the footers only: names, types, and that columns which may not be empty are not. O(parts).
    """
    rows = 0
    for part in parts_of(folder):
        try:
            footer = pq.ParquetFile(for_arrow(part))
            schema = footer.schema_arrow
        except (OSError, pa.ArrowException) as fault:
            raise _no_table(table, part, f"it cannot be read: {str(fault).splitlines()[0]}") from fault
        written = [(field.name, _plain(field.type)) for field in schema if field.name not in STAMP.names]
        expected = [(field.name, _plain(field.type)) for field in table.arrow]
        if written != expected:
            pairs = zip(written, expected, strict=False)
            different = next((pair for pair in pairs if pair[0] != pair[1]), (written, expected))
            raise _no_table(table, part, f"has {different[0]} where {different[1]} is expected")
        _check_empties(table, part, footer.metadata)
        rows += footer.metadata.num_rows
    return rows


def _check_empties(table: Table, part: Place, metadata: Any) -> None:
    full = {name for name, _, nullable in table.fields if not nullable}
    for group in range(metadata.num_row_groups):
        for index in range(metadata.num_columns):
            column = metadata.row_group(group).column(index)
            counted = column.statistics is not None and column.statistics.has_null_count
            if column.path_in_schema in full and counted and column.statistics.null_count:
                raise _no_table(table, part, f"column {column.path_in_schema} has empty places")


def _plain(kind: Any) -> str:
    # Writers name the items of a list differently.
    return f"list<{_plain(kind.value_type)}>" if pa.types.is_list(kind) else str(kind)


def _no_table(table: Table, part: Place, reason: str) -> InputError:
    problem = Problem(str(part), "$", reason, "write it again with this release")
    return InputError(f"{part} is not a table {table.name}: {reason}", (problem,))
