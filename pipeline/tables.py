"""Tables as parts, which are Parquet files: written with Arrow, checked, read as DataFrames, and small ones as rows."""

from __future__ import annotations

import contextlib
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from engine.errors import InputError, Problem
from engine.views.fleet.runs import result_at
from engine.views.fleet.tables import STAMP, Table
from pipeline.stamps import COLUMNS, stamped
from pipeline.storage import Place, StorePath, for_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SUFFIX: Final = ".parquet"
ROWS_PER_GROUP: Final = 1 << 18
SPARK_SCHEMA: Final = "org.apache.spark.sql.parquet.row.metadata"
"""Where Spark looks for its own form of the schema, which has comments."""
_ROWS_READ: Final = 1 << 15
"""Rows that are made from columns at once."""


@dataclass
class Tables:
    """The tables of one run: of a published one, or of one that is being written.

    ``paths`` are those of the parts of each table below ``root``, ``documents`` the summaries of the jobs.
    """

    root: Place
    run_id: str = ""
    snapshot_time: datetime | None = None
    paths: dict[str, list[str]] = field(default_factory=dict)
    documents: dict[str, bytes] = field(default_factory=dict)

    def __str__(self) -> str:
        return str(self.root)

    def has(self, table: Table) -> bool:
        """Whether there is the table, possibly an empty one."""
        return table.name in self.paths

    def parts(self, table: Table) -> list[Place]:
        """The files of a table in their order; none without it."""
        return [self.root / path for path in self.paths.get(table.name, ())]

    def run_of(self, table: Table) -> str:
        """The run that wrote a table, which may be an earlier one; "" without it."""
        path = next(iter(self.paths.get(table.name, ())), "")
        return path.partition("run_id=")[2].partition("/")[0]

    def need(self, *tables: Table) -> None:
        """Raise ``InputError``, with advice, when a table is missing or its columns are not as declared."""
        for table in tables:
            if not self.has(table):
                raise InputError(f"{self} has no table {table.name}; run the job import first and name its result")
            self.check(table)

    def check(self, table: Table) -> int:
        """The number of rows of a table. Raises ``InputError`` where its columns are not as declared. O(parts)."""
        return sum(_checked_rows(table, part) for part in self.parts(table))

    def sizes(self, *tables: Table) -> dict[str, int]:
        """How many rows each table has. Raises ``InputError`` where its columns are not as declared."""
        return {table.name: self.check(table) for table in tables}

    def load(self, spark: SparkSession, table: Table, *, with_stamp: bool = False) -> DataFrame:
        """A table with its declared columns, ``with_stamp``: and those of its stamp; nothing is read yet.

        Without its job, an empty one. Columns that an earlier release did not write are null.
        """
        stamp = (f"`{column.name}` {column.kind}" for column in STAMP) if with_stamp else ()
        ddl = ", ".join([table.ddl, *stamp])
        parts = [str(part) for part in self.parts(table)]
        return spark.read.schema(ddl).parquet(*parts) if parts else spark.createDataFrame([], ddl)

    def rows(self, table: Table, *columns: str, filters: Any = None) -> Iterator[tuple[Any, ...]]:
        """Rows of a table, read in this process some thousand at a time; none where its job has not run.

        ``filters`` are those of ``pq.read_table``; what passes them is read part by part.
        """
        for batch in self._batches(table, columns, filters):
            yield from zip(*(_column(batch, name).to_pylist() for name in columns), strict=True)

    def records(self, table: Table, *columns: str, filters: Any = None) -> Iterator[dict[str, Any]]:
        """``rows`` by the names of their columns, without any: of all."""
        names = columns or table.names
        return (dict(zip(names, row, strict=True)) for row in self.rows(table, *names, filters=filters))

    def counts(self, table: Table, *columns: str, summed: str = "") -> Counter[tuple[Any, ...]]:
        """How many rows have each combination of values in these columns, or their sum of the column ``summed``.

        Some thousand rows at a time in Arrow, so the table may be large if there are few combinations.
        """
        counts: Counter[tuple[Any, ...]] = Counter()
        for batch in self._batches(table, [*columns, *([summed] if summed else [])]):
            rows = pa.Table.from_batches([batch])
            counted = rows.group_by(list(columns)).aggregate([(summed, "sum") if summed else ([], "count_all")])
            values = counted[f"{summed}_sum" if summed else "count_all"].to_pylist()
            groups = zip(*(counted[name].to_pylist() for name in columns), strict=True)
            for group, value in zip(groups, values, strict=True):
                counts[group] += value
        return counts

    def _batches(self, table: Table, columns: Sequence[str], filters: Any = None) -> Iterator[Any]:
        for part in self.parts(table):
            if filters:
                yield from pq.read_table(for_arrow(part), columns=list(columns), filters=filters).to_batches(_ROWS_READ)
            else:
                with pq.ParquetFile(for_arrow(part)) as parquet:
                    yield from parquet.iter_batches(_ROWS_READ, columns=list(columns))


def parts_in(folder: Place) -> list[Place]:
    """The Parquet files in a folder by name: those of a table that Spark wrote."""
    return sorted(folder.glob(f"*{SUFFIX}"))


def tables_at(source: Place | Tables) -> Tables:
    """The tables of the latest run of a result folder.

    Raises ``InputError`` where there is none, ``OSError`` where the folder cannot be read.
    """
    if isinstance(source, Tables):
        return source
    result = result_at(source)
    known = result.manifest
    documents = {name: result.document(name) for name in known.documents}
    return Tables(source, known.run_id, known.snapshot_time, dict(known.tables), documents)


def tables_if_there(source: Place | Tables) -> Tables:
    """``tables_at``, without any tables where there is no result."""
    with contextlib.suppress(InputError):
        return tables_at(source)
    assert not isinstance(source, Tables)
    return Tables(source)


def _column(batch: Any, name: str) -> Any:
    return batch[name] if name in batch.schema.names else pa.nulls(batch.num_rows)


class PartWriter:
    """Writes one part of a table, under a name that no other attempt of a task has, so that retries never collide."""

    def __init__(
        self, table: Table, folder: Place, task: int, snapshot_time: datetime | None = None, *, job: str = ""
    ) -> None:
        """``job``: that of the rows, where several jobs write the table.

        Columns with few values get statistics only if readers filter by them: they take a third of the time of writing.
        """
        self.table = table
        self._snapshot_time = snapshot_time
        self._few = None if table.few is None else (*table.few, *COLUMNS.names)
        self.name = f"part-{task:06d}-{job and job + '-'}{uuid.uuid4().hex[:12]}{SUFFIX}"
        self._path = folder / self.name
        self._writer: Any = None
        self._schema: Any = None

    def write(self, table: Any) -> None:
        """Append a ``pyarrow.Table`` with the table's columns, if need be without rows; texts may be dictionaries."""
        table = stamped(table, self._snapshot_time)
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
            self._writer.add_key_value_metadata({SPARK_SCHEMA: self.table.spark_schema})
        arrays = [_like(column, field.type) for column, field in zip(table.columns, self._schema, strict=True)]
        if table.num_rows:
            self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema), row_group_size=ROWS_PER_GROUP)

    def close(self) -> None:
        """Finish the part."""
        self._writer.close()

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
    declared = [*table.arrow, *COLUMNS]
    assert given.names == [field.name for field in declared], f"{given.names} are not the columns of {table.name}"
    return pa.schema([pa.field(field.name, given.field(field.name).type, field.nullable) for field in declared])


def _checked_rows(table: Table, part: Place) -> int:
    """The rows of a part, from its footer, which has names, types, and whether columns have empty places.

    Unknown columns do no harm, and those that may be empty may be missing: another release wrote the part.
    """
    try:
        footer = pq.ParquetFile(for_arrow(part))
        schema = footer.schema_arrow
    except (OSError, pa.ArrowException) as fault:
        raise _no_table(table, part, f"it cannot be read: {str(fault).splitlines()[0]}") from fault
    written = {field.name: _plain(field.type) for field in schema}
    for column in table.arrow:
        expected = _plain(column.type)
        found = written.get(column.name, expected if column.nullable else "missing")
        if found != expected:
            raise _no_table(table, part, f"its column {column.name} is {found}, not {expected}")
    _check_empties(table, part, footer.metadata)
    rows: int = footer.metadata.num_rows
    return rows


def _check_empties(table: Table, part: Place, metadata: Any) -> None:
    full = {field.name for field in table.arrow if not field.nullable}
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
