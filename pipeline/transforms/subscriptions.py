"""Subscriptions by their consumers: in units as the job ``assign`` takes them, in cases as the rules of the doctor do.

A *unit* is a subscription of a cluster with one list of consumers (``engine.failover.bulk``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as fn

from engine.admin.inference import MOST_ACTIVES
from engine.names import SEGMENT

SUBSCRIPTION: Final = ("cluster", "namespace", "subscription")
UNIT: Final = (*SUBSCRIPTION, "consumer_set")
_ACTIVES: Final = "array<struct<topic:string,partition_index:int,active:string>>"
_FAILOVER: Final = "Failover"
_KEY_SHARED: Final = "Key_Shared"


def failover_rows(subscriptions: DataFrame) -> DataFrame:
    """Failover subscriptions, one row for each of their topics and partitions."""
    return subscriptions.where(fn.col("type") == _FAILOVER)


def units_of(rows: DataFrame, consumer_sets: DataFrame) -> DataFrame:
    """Each unit with its ``number``, how many ``partitions`` it has, the ``names`` of its consumers (null where the set
    is missing) and its ``actives_of``."""
    units = rows.groupBy(*UNIT).agg(fn.count("*").alias("partitions"))
    return (
        units.join(consumer_sets, ["cluster", "consumer_set"], "left")
        .join(actives_of(rows, UNIT), [*UNIT], "left")
        .select(_number(), *UNIT, "partitions", "names", "actives")
    )


def actives_of(rows: DataFrame, unit: Sequence[str]) -> DataFrame:
    """``unit`` and ``actives``: the first topics by name whose active consumer a broker reported.

    At most ``MOST_ACTIVES``, so that a unit fits into a row; the order of the rows does not matter.
    """
    seen = rows.where(fn.col("reported_active_consumer").isNotNull())
    active = fn.struct("topic", "partition_index", fn.col("reported_active_consumer").alias("active"))
    # Ranked, not collected and cut: a subscription may have millions of topics. Spark keeps the first of each group.
    place = fn.row_number().over(Window.partitionBy(*unit).orderBy("topic", "partition_index"))
    first = seen.withColumn("place", place).where(fn.col("place") <= MOST_ACTIVES)
    return first.groupBy(*unit).agg(fn.sort_array(fn.collect_list(active)).alias("actives"))


def topics_with_unit(rows: DataFrame) -> DataFrame:
    """The topics and partitions of ``rows``, each with the ``number`` of its unit."""
    # The rules count with 0 where an answer has no rate.
    known = rows.fillna(0.0, ["msg_rate_out", "msg_throughput_out"])
    columns = ("topic", "partition_index", "reported_active_consumer", "msg_rate_out", "msg_throughput_out")
    return known.select(_number(), *columns)


def _number() -> Column:
    """The hash of a unit stands for it: strings, or a join by them, would cost more than all rules."""
    return fn.xxhash64(*UNIT).alias("number")


def failover_cases(subscriptions: DataFrame, sets: DataFrame) -> DataFrame:
    """One row for each Failover subscription over topics with the same consumers.

    A topic has the consumers of its first partition that has any. ``partitioned`` and ``unpartitioned`` count
    topics; ``topic`` is the first by name. ``actives``: see ``actives_of``.
    """
    rows = subscriptions.where((fn.col("type") == _FAILOVER) & (fn.col("consumers") > 0))
    # By a number: Spark sorts all rows before it aggregates texts. Two topics have one index only by odd names.
    first = fn.shiftleft(fn.col("partition_index").cast("bigint"), 32) + fn.crc32(fn.col("topic").cast("binary"))
    by_topic = rows.groupBy(*SUBSCRIPTION, "partitioned_topic").agg(
        fn.min_by("consumer_set", first).alias("consumer_set"),
        fn.max((fn.col("partition_index") >= 0).cast("int")).alias("parted"),
    )
    cases = by_topic.groupBy(*UNIT).agg(
        fn.min("partitioned_topic").alias("topic"),
        fn.sum("parted").cast("bigint").alias("partitioned"),
        fn.sum(1 - fn.col("parted")).cast("bigint").alias("unpartitioned"),
    )
    return (
        cases.join(actives_of(rows, UNIT), [*UNIT], "left")
        .join(sets, ["cluster", "consumer_set"])
        .select(
            *SUBSCRIPTION, "topic", "partitioned", "unpartitioned", "names",
            # Not null: for each row that Spark passes to Python, Arrow goes through all nulls of a list before it.
            fn.coalesce("actives", fn.array().cast(_ACTIVES)).alias("actives"),
        )
    )  # fmt: skip


def _key_shared(subscriptions: DataFrame) -> DataFrame:
    """The Key_Shared subscriptions whose consumers share slots; those on segments of scalable topics share buckets."""
    return subscriptions.where((fn.col("type") == _KEY_SHARED) & ~fn.col("topic").startswith(f"{SEGMENT}://"))


def key_shared_lists(subscriptions: DataFrame, sets: DataFrame) -> DataFrame:
    """The consumers of each Key_Shared subscription as ``names``, and how many ``lists`` its topics have.

    Every partition has a dispatcher of its own: the list of the first topic by name represents all.
    """
    rows = _key_shared(subscriptions)
    by_list = rows.groupBy(*UNIT).agg(fn.min("topic").alias("topic"))
    first = fn.min_by("consumer_set", fn.struct("topic", "consumer_set")).alias("consumer_set")
    chosen = by_list.groupBy(*SUBSCRIPTION).agg(first, fn.count("*").alias("lists"))
    return chosen.join(sets, ["cluster", "consumer_set"]).select(*SUBSCRIPTION, "names", "lists")


def key_cases(subscriptions: DataFrame, consumers: DataFrame) -> DataFrame:
    """One row for each Key_Shared subscription over topics with the same consumers and the same ranges.

    ``names``, ``since``, ``starts`` and ``ends`` have one item per consumer in the dispatcher's order; those of the
    ranges are lists. ``topics`` counts topics; ``topic`` is the first by name.
    """
    wanted = _key_shared(subscriptions).where(fn.col("consumers") > 0)
    member = fn.struct("position", "consumer", "connected_since", "key_hash_ranges")
    lists = (
        wanted.select(*SUBSCRIPTION, "topic", "partitioned_topic", "partition_index")
        .join(consumers, [*SUBSCRIPTION, "topic"])
        .groupBy(*SUBSCRIPTION, "topic", "partitioned_topic", "partition_index")
        .agg(fn.sort_array(fn.collect_list(member)).alias("members"))
    )
    by_topic = lists.groupBy(*SUBSCRIPTION, "partitioned_topic").agg(
        fn.min_by("members", fn.struct("partition_index", "topic")).alias("members")
    )
    # The times of connection do not count: two topics have the same list if names and ranges are equal.
    same = fn.transform("members", lambda member: fn.struct(member["consumer"], member["key_hash_ranges"]))
    cases = by_topic.withColumn("same", same).groupBy(*SUBSCRIPTION, "same").agg(
        fn.min("partitioned_topic").alias("topic"), fn.count("*").alias("topics"),
        fn.min_by("members", "partitioned_topic").alias("members"),
    )  # fmt: skip
    return cases.select(
        *SUBSCRIPTION, "topic", "topics",
        fn.col("members.consumer").alias("names"), fn.col("members.connected_since").alias("since"),
        fn.transform(
            "members", lambda member: fn.transform(member["key_hash_ranges"], lambda piece: piece["start"])
        ).alias("starts"),
        fn.transform(
            "members", lambda member: fn.transform(member["key_hash_ranges"], lambda piece: piece["end"])
        ).alias("ends"),
    )  # fmt: skip
