"""Rows for the cases of the doctor (``engine.lint.model``): one row per case, or per topic."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from pipeline.transforms.failover import actives_of

FAILOVER = "Failover"
KEY_SHARED = "Key_Shared"


def failover_cases(subscriptions: DataFrame, sets: DataFrame) -> DataFrame:
    """One row for each Failover subscription over topics with the same consumers.

    A topic has the consumers of its first partition that has any. ``partitioned`` and ``unpartitioned`` count
    topics; ``topic`` is the first by name. ``actives``: see ``actives_of``.
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
    unit = ("namespace", "subscription", "consumer_set")
    return (
        cases.join(actives_of(rows, unit), [*unit], "left")
        .join(sets, "consumer_set")
        .select("namespace", "subscription", "topic", "partitioned", "unpartitioned", "names", "actives")
    )


def key_cases(subscriptions: DataFrame, consumers: DataFrame) -> DataFrame:
    """One row for each Key_Shared subscription over topics with the same consumers and the same ranges.

    ``names``, ``since``, ``starts`` and ``ends`` have one item per consumer in the dispatcher's order; those of the
    ranges are lists. ``topics`` counts topics; ``topic`` is the first by name.
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
    # The times of connection do not count: two topics have the same list if names and ranges are equal.
    same = fn.transform("members", lambda member: fn.struct(member["consumer"], member["key_hash_ranges"]))
    cases = by_topic.withColumn("same", same).groupBy("namespace", "subscription", "same").agg(
        fn.min("partitioned_topic").alias("topic"), fn.count("*").alias("topics"),
        fn.min_by("members", "partitioned_topic").alias("members"),
    )  # fmt: skip
    return cases.select(
        "namespace", "subscription", "topic", "topics",
        fn.col("members.consumer").alias("names"), fn.col("members.connected_since").alias("since"),
        fn.transform(
            "members", lambda member: fn.transform(member["key_hash_ranges"], lambda piece: piece["start"])
        ).alias("starts"),
        fn.transform(
            "members", lambda member: fn.transform(member["key_hash_ranges"], lambda piece: piece["end"])
        ).alias("ends"),
    )  # fmt: skip


def namespace_topics(topics: DataFrame, publishers: DataFrame) -> DataFrame:
    """Topics with the columns that rules about namespaces read, each namespace in one task.

    They are in the order in which brokers list them: those without statistics last, persistent ones first, then by
    name. ``topics``: rows of ``transforms.bundle_topics``; the row without a topic, with the ``boundaries``, is first.
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
