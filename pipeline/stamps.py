"""The columns that every written table ends with: whose a row is, and of which moment it is.

The run of a row is in the path of its file (``run_id=…``), where readers of Parquet find it as a column.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from engine.views.fleet.tables import STAMP, arrow_of
from pipeline.batches import codes_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NAMESPACE: Final = "namespace"
_LATEST_MS: Final = 250_000_000_000_000
COLUMNS: Final = arrow_of(STAMP)
_TENANT, _TIME = COLUMNS.names


def new_run_id() -> str:
    """A new id: the time now to the millisecond, so that ids sort by time, and random digits."""
    now = datetime.now(UTC)
    return f"{now:%Y%m%dT%H%M%S}{now.microsecond // 1000:03}Z-{uuid.uuid4().hex[:8]}"


def time_of(since_1970_ms: int | None) -> datetime | None:
    """A value for a column of times; None where it is unknown, or too late for a date."""
    if since_1970_ms is None or not 0 < since_1970_ms < _LATEST_MS:
        return None
    return datetime.fromtimestamp(since_1970_ms / 1000, UTC)


def time_of_text(text: str) -> datetime | None:
    """The same of a text as brokers write it; one without a zone is in UTC.

    >>> time_of_text("2026-01-08T09:33:39.457424-07:00").isoformat(), time_of_text("2026-01-08T09:33:39.1Z[UTC]").second
    ('2026-01-08T16:33:39.457424+00:00', 39)
    """
    try:
        moment = datetime.fromisoformat(text.partition("[")[0])
        return moment.astimezone(UTC) if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def since_1970_ms(moment: datetime | None) -> int:
    """A value of such a column in milliseconds, 0 where it is unknown."""
    return 0 if moment is None else round(moment.timestamp() * 1000)


def stamped(table: Any, snapshot_time: datetime | None) -> Any:
    """A ``pyarrow.Table`` with these columns at its end, unless it has them already. O(rows)."""
    if _TIME in table.column_names:
        return table
    when = pa.repeat(pa.scalar(snapshot_time, COLUMNS.field(_TIME).type), table.num_rows)
    for name, column in ((_TENANT, _tenants(table)), (_TIME, when)):
        table = table.append_column(COLUMNS.field(name).with_type(column.type), column)
    return table


def stamped_frame(rows: DataFrame, snapshot_time: datetime | None) -> DataFrame:
    """``stamped`` for a DataFrame."""
    if _TIME in rows.columns:
        return rows
    from pyspark.sql import functions as fn  # noqa: PLC0415

    tenant = fn.nullif(fn.substring_index(_NAMESPACE, "/", 1), fn.lit("")) if _NAMESPACE in rows.columns else None
    when = fn.lit(snapshot_time.isoformat() if snapshot_time else None).cast("timestamp")
    return rows.withColumns({_TENANT: fn.lit(None).cast("string") if tenant is None else tenant, _TIME: when})


def with_comments(rows: DataFrame, comments: Mapping[str, str]) -> DataFrame:
    """The same columns, each with its comment, which Spark writes into files and shows."""
    from pyspark.sql import functions as fn  # noqa: PLC0415

    return rows.select(*(fn.col(name).alias(name, metadata={"comment": comments[name]}) for name in rows.columns))


def _tenants(table: Any) -> Any:
    if _NAMESPACE not in table.column_names:
        return pa.nulls(table.num_rows, pa.string())
    namespaces, codes = codes_of(table[_NAMESPACE])
    names = pa.array([name.partition("/")[0] or None for name in namespaces], pa.string()).dictionary_encode()
    return pa.DictionaryArray.from_arrays(names.indices.take(pa.array(codes)), names.dictionary)
