"""Events of key traces."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn


def one_row_a_key(events: DataFrame) -> DataFrame:
    """Every key of every space once, with its rows and messages; a row that is an account stays what it is."""
    sums = (fn.sum(name).alias(name) for name in ("rows", "msgs"))
    return events.groupBy("space", "key").agg(*sums)
