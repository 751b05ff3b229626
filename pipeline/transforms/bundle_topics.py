"""Topics of a fleet for the bundles: with statistics, and, where they are listed only, without."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

COLUMNS: Final = (
    "topic", "namespace", "told_bundle", "broker", "has_stats", "publishers", "consumers", "msg_rate_in",
    "msg_rate_out", "msg_throughput_in", "msg_throughput_out",
)  # fmt: skip
_RATES: Final = COLUMNS[7:]


def loaded_topics(topics: DataFrame, subscriptions: DataFrame) -> DataFrame:
    """Topics with statistics and how many consumers each has, over all its subscriptions."""
    counted = subscriptions.groupBy("topic").agg(fn.sum("consumers").cast("bigint").alias("consumers"))
    joined = topics.join(counted, "topic", "left")
    told = fn.when(fn.col("bundle").isNotNull(), fn.concat_ws("/", "namespace", "bundle"))
    return joined.select(
        "topic", "namespace", told.alias("told_bundle"), "broker", fn.lit(True).alias("has_stats"),
        fn.col("publishers").cast("bigint").alias("publishers"), fn.coalesce("consumers", fn.lit(0)).alias("consumers"),
        *_RATES,
    )  # fmt: skip


def listed_topics(listed: DataFrame, topics: DataFrame) -> DataFrame:
    """Topics that lists name and no statistics tell: they exist and are not loaded."""
    names = listed.where("not is_parent").select("topic", "namespace").distinct()
    missing = names.join(topics.select("topic"), "topic", "left_anti")
    nothing = {"told_bundle": "string", "broker": "string"}
    columns = [fn.lit(None).cast(kind).alias(name) for name, kind in nothing.items()]
    zeros = [fn.lit(0).cast("bigint").alias(name) for name in ("publishers", "consumers")]
    rates = [fn.lit(0.0).alias(name) for name in _RATES]
    return missing.select("topic", "namespace", *columns, fn.lit(False).alias("has_stats"), *zeros, *rates)


def by_namespace(topics: DataFrame, partitions: int) -> DataFrame:
    """Each namespace in one partition, its topics together and by name: sums come out the same every time."""
    return topics.select(*COLUMNS).repartition(partitions, "namespace").sortWithinPartitions("namespace", "topic")
