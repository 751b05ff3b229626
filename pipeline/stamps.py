"""The columns that say which run wrote a row, and which moment of the fleet the row is about."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.batches import same_text
from pipeline.manifests import parts_of
from pipeline.storage import Place, for_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COLUMNS: Final = pa.schema(
    [pa.field("run_id", pa.string(), nullable=False), pa.field("snapshot_time", pa.timestamp("us", "UTC"))]
)
"""The last columns of every result table. ``run_id`` is one for all jobs of a run; ``snapshot_time`` is the latest
moment of the answers that the run is about: the time that their folder is named by, else when the file was written."""
DDL: Final = "run_id string, snapshot_time timestamp"
"""The same for Spark."""


def new_run_id() -> str:
    """A new id: the time now, and random digits that differ between runs of the same second."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:8]}"


@dataclass(frozen=True, slots=True)
class Stamp:
    """The two columns for all rows of one run."""

    run_id: str = field(default_factory=new_run_id)
    snapshot_time: datetime | None = None

    def on(self, table: Any) -> Any:
        """A ``pyarrow.Table`` with the two columns at its end, unless it has them already. O(rows)."""
        if COLUMNS.names[0] in table.column_names:
            return table
        run = same_text(self.run_id, table.num_rows)
        when = pa.repeat(pa.scalar(self.snapshot_time, COLUMNS.field(1).type), table.num_rows)
        return table.append_column(COLUMNS.field(0).with_type(run.type), run).append_column(COLUMNS.field(1), when)

    def on_frame(self, rows: DataFrame) -> DataFrame:
        """``on`` for a DataFrame."""
        if COLUMNS.names[0] in rows.columns:
            return rows
        from pyspark.sql import functions as fn  # noqa: PLC0415

        when = fn.lit(self.snapshot_time.isoformat() if self.snapshot_time else None).cast("timestamp")
        return rows.withColumns(dict(zip(COLUMNS.names, (fn.lit(self.run_id), when), strict=True)))


def stamp_of_table(folder: Place) -> Stamp:
    """The stamp of the rows of a table that one run wrote; an empty one where it has none."""
    for part in parts_of(folder):
        file = pq.ParquetFile(for_arrow(part))
        if COLUMNS.names[0] in file.schema_arrow.names and file.metadata.num_rows:
            first = next(file.iter_batches(batch_size=1, columns=COLUMNS.names[:1])).column(0)
            return Stamp(str(first[0].as_py()), time_of_table(folder))
    return Stamp("", None)


def time_of_table(folder: Place) -> datetime | None:
    """The latest ``snapshot_time`` in a table; None where it has none. Reads one column of few values."""
    latest: datetime | None = None
    for part in parts_of(folder):
        file = pq.ParquetFile(for_arrow(part))
        if COLUMNS.names[1] in file.schema_arrow.names:
            # A session that is not ours may write times without a zone: they are in UTC.
            newest = pc.max(file.read(columns=[COLUMNS.names[1]])[0]).cast(COLUMNS.field(1).type, safe=False).as_py()
            latest = max((time for time in (latest, newest) if time is not None), default=None)
    return latest
