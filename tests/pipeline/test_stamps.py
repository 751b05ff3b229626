"""Which moment a run is about."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from pipeline.manifests import parts_of
from pipeline.schemas import SETTINGS
from pipeline.stamps import Stamp, new_run_id, time_of_table
from pipeline.tables import write_rows
from pipeline.writing import Draft

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


def test_rows_are_stamped_once_and_a_table_says_its_latest_moment(tmp_path: Path) -> None:
    rows = SETTINGS.columns_of([("", "a", "1", "f"), ("", "b", "2", "f")])
    once = Stamp("first", NOON).on(rows)
    assert once.column_names == [*SETTINGS.names, "tenant", "run_id", "snapshot_time"]
    assert Stamp("second").on(once)["run_id"].cast(pa.string()).to_pylist() == ["first", "first"]
    assert time_of_table(tmp_path) is None
    write_rows(SETTINGS, tmp_path, [("", "a", "1", "f")])
    assert time_of_table(tmp_path) is None
    write_rows(SETTINGS, tmp_path, [("", "a", "1", "f")], Stamp("third", NOON))
    assert time_of_table(tmp_path) == NOON
    assert new_run_id() != new_run_id()


def test_spark_and_arrow_write_the_same_times(spark: SparkSession, tmp_path: Path) -> None:
    draft = Draft("x", tmp_path, Stamp("r", NOON))
    draft.write_frame(SETTINGS, spark.createDataFrame([("", "a", "1", "f")], SETTINGS.ddl))
    write_rows(SETTINGS, draft.table(SETTINGS), [("", "a", "1", "f")], draft.stamp)
    parts = parts_of(tmp_path / SETTINGS.name)
    assert {pq.read_schema(part).field("snapshot_time").type for part in parts} == {pa.timestamp("us", "UTC")}


def test_times_without_a_zone_are_in_utc(tmp_path: Path) -> None:
    """As a session writes them whose settings are not ours."""
    rows = Stamp("r", NOON).on(SETTINGS.columns_of([("", "a", "1", "f")]))
    pq.write_table(rows, tmp_path / "part.parquet", use_deprecated_int96_timestamps=True, store_schema=False)
    assert time_of_table(tmp_path) == NOON
