"""Run numbered work in tasks on the executors, or in the driver where Spark would take longer to start them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALL_ROWS: Final = 200_000
"""Up to so many rows the driver does the work itself: an empty action of Spark takes as long."""
_ROWS_A_TASK: Final = 2_000_000
_TASKS_A_CORE: Final = 2


def tasks_for(spark: SparkSession, rows: int) -> int:
    """The number of tasks for so many rows: several per core, so that cores end together, and none too large."""
    cores = int(spark.sparkContext.defaultParallelism)
    return max(_TASKS_A_CORE * cores, -(-rows // _ROWS_A_TASK))


def in_tasks(spark: SparkSession, count: int, work: Callable[[int], bytes]) -> list[bytes]:
    """The results of ``work`` for 0 .. count - 1, one task per number; the function and its results should be small."""
    if not count:
        return []

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield pa.RecordBatch.from_pydict({"account": [work(number)]})

    numbers = spark.range(0, count, 1, count)
    return [bytes(row.account) for row in numbers.mapInArrow(run, "account binary").collect()]


def here(count: int, work: Callable[[int], bytes]) -> list[bytes]:
    """``in_tasks`` without Spark."""
    return [work(number) for number in range(count)]
