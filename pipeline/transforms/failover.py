"""Failover subscriptions in the form that the job ``assign`` takes: with the group of their brokers, by unit.

A *unit* is a subscription with one list of consumers in one group of brokers (``engine.failover.bulk``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from engine.admin.inference import MOST_ACTIVES
from pipeline.broker_groups import BrokerGroups

UNIT: Final = ("namespace", "subscription", "consumer_set", "group")
_MOST_BROADCAST: Final = 500_000


def failover_rows(subscriptions: DataFrame, groups: BrokerGroups) -> DataFrame:
    """Failover subscriptions, one row for each of their topics and partitions, with the ``group`` of their brokers."""
    return subscriptions.where(fn.col("type") == "Failover").withColumn("group", group_of(fn.col("file"), groups))


def group_of(file: Column, groups: BrokerGroups) -> Column:
    """``BrokerGroups.group_of`` as an expression: the nearest folder above with reports, else the first folder."""
    by_depth: dict[int, list[str]] = defaultdict(list)
    for folder in groups.folders:
        by_depth[folder.count("/") + 1].append(folder)
    group = fn.when(fn.contains(file, fn.lit("/")), fn.substring_index(file, "/", 1)).otherwise("")
    for depth in sorted(by_depth):
        above = fn.substring_index(file, "/", depth)
        group = fn.when(above.isin(by_depth[depth]), above).otherwise(group)
    return group


def units_of(rows: DataFrame, consumer_sets: DataFrame) -> DataFrame:
    """Each unit with the ``names`` of its consumers (null where the set is missing) and its ``actives_of``."""
    units = rows.select(*UNIT).distinct()
    return (
        units.join(consumer_sets, "consumer_set", "left")
        .join(actives_of(rows, UNIT), [*UNIT], "left")
        .select(*UNIT, "names", "actives")
    )


def actives_of(rows: DataFrame, unit: Sequence[str]) -> DataFrame:
    """``unit`` and ``actives``: the first topics by name whose active consumer a broker reported.

    At most ``MOST_ACTIVES``, so that a unit fits into a row; the order of the rows does not matter.
    """
    seen = rows.where(fn.col("told_active_consumer").isNotNull())
    active = fn.struct("topic", "partition_index", fn.col("told_active_consumer").alias("active"))
    first = fn.min_by(active, fn.struct("topic", "partition_index"), MOST_ACTIVES)
    return seen.groupBy(*unit).agg(first.alias("actives"))


def numbered_rows(rows: DataFrame, units: DataFrame, count: int) -> DataFrame:
    """The columns that the engine reads, and ``unit``; ``units`` has ``count`` rows of ``UNIT`` and ``unit``."""
    numbered = rows.join(fn.broadcast(units) if count <= _MOST_BROADCAST else units, [*UNIT])
    return numbered.select(
        "unit", "topic", "partition_index", "told_active_consumer", "msg_rate_out", "msg_throughput_out"
    )


def by_unit_and_topic(rows: DataFrame) -> DataFrame:
    """Numbered rows with each unit in one partition, its topics in the order of their names."""
    return rows.repartition("unit").sortWithinPartitions("unit", "topic")
