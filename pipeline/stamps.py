"""The columns that every written table ends with: whose a row is, which run wrote it, of which moment it is."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.batches import codes_of, same_text
from pipeline.manifests import parts_of
from pipeline.storage import Place, for_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NAMESPACE: Final = "namespace"
COLUMNS: Final = pa.schema(
    [
        pa.field("tenant", pa.string()),
        pa.field("run_id", pa.string(), nullable=False),
        pa.field("snapshot_time", pa.timestamp("us", "UTC")),
    ]
)
"""The last columns of every result table. ``tenant`` is that of the namespace, empty where a row is about none;
``run_id`` is one for all jobs of a run; ``snapshot_time`` is the latest moment of the answers that the run is about:
the time that their folder is named by, else when the file was written."""
_TENANT, _RUN, _TIME = COLUMNS.names
DDL: Final = "tenant string, run_id string, snapshot_time timestamp"
"""The same for Spark."""


def new_run_id() -> str:
    """A new id: the time now, and random digits that differ between runs of the same second."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:8]}"


@dataclass(frozen=True, slots=True)
class Stamp:
    """What one run writes into all of its rows."""

    run_id: str = field(default_factory=new_run_id)
    snapshot_time: datetime | None = None

    def on(self, table: Any) -> Any:
        """A ``pyarrow.Table`` with these columns at its end, unless it has them already. O(rows)."""
        if _RUN in table.column_names:
            return table
        when = pa.repeat(pa.scalar(self.snapshot_time, COLUMNS.field(_TIME).type), table.num_rows)
        columns = (_tenants(table), same_text(self.run_id, table.num_rows), when)
        for name, column in zip(COLUMNS.names, columns, strict=True):
            table = table.append_column(COLUMNS.field(name).with_type(column.type), column)
        return table

    def on_frame(self, rows: DataFrame) -> DataFrame:
        """``on`` for a DataFrame."""
        if _RUN in rows.columns:
            return rows
        from pyspark.sql import functions as fn  # noqa: PLC0415

        tenant = fn.nullif(fn.substring_index(_NAMESPACE, "/", 1), fn.lit("")) if _NAMESPACE in rows.columns else None
        when = fn.lit(self.snapshot_time.isoformat() if self.snapshot_time else None).cast("timestamp")
        columns = (fn.lit(None).cast("string") if tenant is None else tenant, fn.lit(self.run_id), when)
        return rows.withColumns(dict(zip(COLUMNS.names, columns, strict=True)))


def _tenants(table: Any) -> Any:
    if _NAMESPACE not in table.column_names:
        return pa.nulls(table.num_rows, pa.string())
    namespaces, codes = codes_of(table[_NAMESPACE])
    names = pa.array([name.partition("/")[0] or None for name in namespaces], pa.string()).dictionary_encode()
    return pa.DictionaryArray.from_arrays(names.indices.take(pa.array(codes)), names.dictionary)


def stamp_of_table(folder: Place) -> Stamp:
    """The stamp of the rows of a table that one run wrote; an empty one where it has none."""
    for part in parts_of(folder):
        file = pq.ParquetFile(for_arrow(part))
        if _RUN in file.schema_arrow.names and file.metadata.num_rows:
            first = next(file.iter_batches(batch_size=1, columns=[_RUN])).column(0)
            return Stamp(str(first[0].as_py()), time_of_table(folder))
    return Stamp("", None)


def time_of_table(folder: Place) -> datetime | None:
    """The latest ``snapshot_time`` in a table; None where it has none. Reads one column of few values."""
    latest: datetime | None = None
    for part in parts_of(folder):
        file = pq.ParquetFile(for_arrow(part))
        if _TIME in file.schema_arrow.names:
            # A session that is not ours may write times without a zone: they are in UTC.
            newest = pc.max(file.read(columns=[_TIME])[0]).cast(COLUMNS.field(_TIME).type, safe=False).as_py()
            latest = max((time for time in (latest, newest) if time is not None), default=None)
    return latest
