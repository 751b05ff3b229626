"""Which moment a run is about."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from pipeline.schemas import SETTINGS
from pipeline.stamps import Stamp, new_run_id, time_of_table
from pipeline.writing import write_rows

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


def test_rows_are_stamped_once_and_a_table_says_its_latest_moment(tmp_path: Path) -> None:
    rows = SETTINGS.columns_of([("a", "1", "f"), ("b", "2", "f")])
    once = Stamp("first", NOON).on(rows)
    assert once.column_names == [*SETTINGS.names, "run_id", "snapshot_time"]
    assert Stamp("second").on(once)["run_id"].cast(pa.string()).to_pylist() == ["first", "first"]
    assert time_of_table(tmp_path) is None
    write_rows(SETTINGS, tmp_path, [("a", "1", "f")])
    assert time_of_table(tmp_path) is None
    write_rows(SETTINGS, tmp_path, [("a", "1", "f")], Stamp("third", NOON))
    assert time_of_table(tmp_path) == NOON
    assert new_run_id() != new_run_id()
