"""Tables of a result folder: checked, as DataFrames, and small ones as rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from engine.errors import InputError, Problem
from pipeline.manifests import has_table, parts_of
from pipeline.schemas import Table
from pipeline.stamps import COLUMNS as STAMP
from pipeline.stamps import DDL as STAMP_DDL
from pipeline.storage import Place, StorePath, for_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ROWS_TOGETHER: Final = 1 << 15


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
    for rows in _batches(folder, columns, filters):
        yield from zip(*(rows[name].to_pylist() for name in columns), strict=True)


def first_rows(folder: Place, columns: Sequence[str], count: int, filters: Any = None) -> list[dict[str, Any]]:
    """The first rows of a table that pass the ``filters``, and no part after those that have them is read."""
    records: list[dict[str, Any]] = []
    for rows in _batches(folder, columns, filters):
        records += rows.slice(0, count - len(records)).to_pylist()
        if len(records) >= count:
            break
    return records


def _batches(folder: Place, columns: Sequence[str], filters: Any = None) -> Iterator[Any]:
    for part in parts_of(folder):
        if filters:
            yield pq.read_table(for_arrow(part), columns=list(columns), filters=filters)
            continue
        with pq.ParquetFile(for_arrow(part)) as parquet:
            yield from parquet.iter_batches(_ROWS_TOGETHER, columns=list(columns))


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
