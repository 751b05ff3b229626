"""Count the rows that the driver itself takes from tables: tasks run in other processes, which no patch reaches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

_READERS = ("read", "read_row_group")
_COLLECTORS = ("collect", "toArrow", "toPandas", "toLocalIterator")


def rows_of_driver(spark: SparkSession, patch: pytest.MonkeyPatch) -> list[int]:
    """A list to which every later read adds its number of rows."""
    rows: list[int] = []

    def counted(owner: Any, name: str) -> None:
        called = getattr(owner, name)

        def count(*args: Any, **options: Any) -> Any:
            result = called(*args, **options)
            rows.append(len(result) if isinstance(result, list) else result.num_rows)
            return result

        patch.setattr(owner, name, count)

    batches_of = pq.ParquetFile.iter_batches

    def counted_batches(*args: Any, **options: Any) -> Iterator[Any]:
        for batch in batches_of(*args, **options):
            rows.append(batch.num_rows)
            yield batch

    patch.setattr(pq.ParquetFile, "iter_batches", counted_batches)
    for owner, names in ((type(spark.range(1)), _COLLECTORS), (pq, ("read_table",)), (pq.ParquetFile, _READERS)):
        for name in names:
            counted(owner, name)
    return rows
