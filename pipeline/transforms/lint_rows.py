"""Rows in the form the doctor's cases are made of (``engine.lint.model``), one row a case or a topic."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from engine.admin.inference import MOST_ACTIVES

FAILOVER = "Failover"
KEY_SHARED = "Key_Shared"


def failover_cases(subscriptions: DataFrame, sets: DataFrame) -> DataFrame:
    """One row for each Failover subscription over topics with the same consumers.

    Of the partitions of a topic the first one that has consumers counts. ``partitioned`` and ``unpartitioned`` count
    topics; ``topic`` is the first by name. ``told`` are the first topics whose active consumer a broker told.
    """
    rows = subscriptions.where((fn.col("type") == FAILOVER) & (fn.col("consumers") > 0))
    by_topic = rows.groupBy("namespace", "subscription", "partitioned_topic").agg(
        fn.min_by("consumer_set", fn.struct("partition_index", "topic")).alias("consumer_set"),
        fn.max((fn.col("partition_index") >= 0).cast("int")).alias("parted"),
    )
    cases = by_topic.groupBy("namespace", "subscription", "consumer_set").agg(
        fn.min("partitioned_topic").alias("topic"),
        fn.sum("parted").cast("bigint").alias("partitioned"),
        fn.sum(1 - fn.col("parted")).cast("bigint").alias("unpartitioned"),
    )
    witness = fn.struct("topic", "partition_index", fn.col("told_active_consumer").alias("active"))
    unit = ("namespace", "subscription", "consumer_set")
    told = (
        rows.where(fn.col("told_active_consumer").isNotNull())
        .groupBy(*unit)
        .agg(fn.slice(fn.sort_array(fn.collect_list(witness)), 1, MOST_ACTIVES).alias("told"))
    )
    return (
        cases.join(told, [*unit], "left")
        .join(sets, "consumer_set")
        .select("namespace", "subscription", "topic", "partitioned", "unpartitioned", "names", "told")
    )


def key_cases(subscriptions: DataFrame, consumers: DataFrame) -> DataFrame:
    """One row for each Key_Shared subscription over topics with the same consumers and the same ranges.

    ``members``: name, ``connected_since`` and ranges of each consumer in the dispatcher's order.
    """
    wanted = subscriptions.where((fn.col("type") == KEY_SHARED) & (fn.col("consumers") > 0))
    member = fn.struct("position", "consumer", "connected_since", "key_hash_ranges")
    lists = (
        wanted.select("subscription", "topic", "namespace", "partitioned_topic", "partition_index")
        .join(consumers, ["subscription", "topic"])
        .groupBy("namespace", "subscription", "topic", "partitioned_topic", "partition_index")
        .agg(fn.sort_array(fn.collect_list(member)).alias("members"))
    )
    by_topic = lists.groupBy("namespace", "subscription", "partitioned_topic").agg(
        fn.min_by("members", fn.struct("partition_index", "topic")).alias("members")
    )
    # When consumers connected is no difference: two topics have one list where names and ranges are the same.
    same = fn.transform("members", lambda each: fn.struct(each["consumer"], each["key_hash_ranges"]))
    cases = by_topic.withColumn("same", same).groupBy("namespace", "subscription", "same").agg(
        fn.min("partitioned_topic").alias("topic"), fn.count("*").alias("topics"),
        fn.min_by("members", "partitioned_topic").alias("members"),
    )  # fmt: skip
    return cases.select(
        "namespace", "subscription", "topic", "topics",
        fn.col("members.consumer").alias("names"), fn.col("members.connected_since").alias("since"),
        fn.transform(
            "members", lambda each: fn.transform(each["key_hash_ranges"], lambda piece: piece["start"])
        ).alias("starts"),
        fn.transform(
            "members", lambda each: fn.transform(each["key_hash_ranges"], lambda piece: piece["end"])
        ).alias("ends"),
    )  # fmt: skip


def namespace_topics(topics: DataFrame, publishers: DataFrame) -> DataFrame:
    """Topics with what the rules about namespaces want, each namespace in one task and in the order brokers list them:
    those without statistics last, persistent ones first, then by name.

    ``topics``: rows of ``transforms.bundle_topics``; that without a topic, with the ``boundaries``, comes first.
    """
    versions = publishers.groupBy("topic").agg(fn.sort_array(fn.collect_set("client_version")).alias("client_versions"))
    last = (~fn.col("has_stats")) & fn.col("topic").rlike(r"-partition-\d+$")
    rows = topics.join(versions, "topic", "left").select(
        "namespace", "topic", "told_bundle", "has_stats", "publishers", "consumers", "msg_rate_in", "msg_rate_out",
        "msg_throughput_in", "msg_throughput_out", "boundaries",
        fn.coalesce("client_versions", fn.array().cast("array<string>")).alias("client_versions"), last.alias("last"),
        (~fn.col("topic").startswith("persistent://")).alias("transient"),
    )  # fmt: skip
    order = ("namespace", "last", "transient", "topic")
    return rows.repartition("namespace").sortWithinPartitions(*order).drop("last", "transient")
