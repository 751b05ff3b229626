"""Rows of Failover subscriptions, and the units in which they are assigned (``pipeline.lists``)."""

from __future__ import annotations

import zlib
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from engine.hashing import utf8
from pipeline.lists import Key

UNIT: Final = ("namespace", "subscription", "consumer_set")


def failover_rows(subscriptions: DataFrame) -> DataFrame:
    """Only Failover subscriptions, one row each of their topics and partitions."""
    return subscriptions.where(fn.col("type") == "Failover")


def chunk_of(rows: DataFrame, number: int, count: int) -> DataFrame:
    """The rows of every ``count``-th subscription; a subscription is in one chunk whole."""
    told = fn.concat_ws("\0", "namespace", "subscription").cast("binary")
    return rows.where(fn.crc32(told) % count == number)


def chunk_number(key: Key, count: int) -> int:
    """The chunk of a unit, as ``chunk_of`` deals them.

    >>> {chunk_number(("t/n", "s", number, ""), 3) for number in range(9)}
    {0}
    """
    namespace, subscription, _, _ = key
    return zlib.crc32(utf8(f"{namespace}\0{subscription}")) % count


def sorted_by_unit(rows: DataFrame) -> DataFrame:
    """Each unit in one partition, its rows together and by topic name."""
    return rows.repartition(*UNIT).sortWithinPartitions(*UNIT, "topic")
