"""Numbered work: one task each on the executors, or in the driver where Spark would take longer to hand it out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALL_ROWS: Final = 200_000
"""So many rows the driver works on by itself: an action of Spark alone takes as long."""
_ROWS_A_TASK: Final = 2_000_000
_TASKS_A_CORE: Final = 2


def tasks_for(spark: SparkSession, rows: int) -> int:
    """Tasks for so many rows: some for each core, so that none waits for the last one, and none too large."""
    cores = int(spark.sparkContext.defaultParallelism)
    return max(_TASKS_A_CORE * cores, -(-rows // _ROWS_A_TASK))


def in_tasks(spark: SparkSession, count: int, work: Callable[[int], bytes]) -> list[bytes]:
    """What ``work`` gives for 0 .. count - 1, a task each; both the function and its answers should be small."""
    if not count:
        return []

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield pa.RecordBatch.from_pydict({"account": [work(number)]})

    numbers = spark.range(0, count, 1, count)
    return [bytes(row.account) for row in numbers.mapInArrow(run, "account binary").collect()]


def here(count: int, work: Callable[[int], bytes]) -> list[bytes]:
    """The same without Spark."""
    return [work(number) for number in range(count)]
