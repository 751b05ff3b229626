"""Rows of Failover subscriptions, and the units in which they are assigned (``pipeline.lists``)."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

UNIT: Final = ("namespace", "subscription", "consumer_set")


def failover_rows(subscriptions: DataFrame) -> DataFrame:
    """Only Failover subscriptions, one row each of their topics and partitions."""
    return subscriptions.where(fn.col("type") == "Failover")


def units_of(rows: DataFrame) -> DataFrame:
    """Each unit once."""
    return rows.select(*UNIT).distinct()


def chunk_of(rows: DataFrame, number: int, count: int) -> DataFrame:
    """The rows of every ``count``-th subscription; a subscription is in one chunk whole."""
    return rows.where(fn.pmod(fn.xxhash64("namespace", "subscription"), fn.lit(count)) == number)


def sorted_by_unit(rows: DataFrame) -> DataFrame:
    """Each unit in one partition, its rows together and by topic name."""
    return rows.repartition(*UNIT).sortWithinPartitions(*UNIT, "topic")
