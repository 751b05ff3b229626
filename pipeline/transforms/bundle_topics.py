"""Topics of a fleet by namespace, with the bundles of each namespace and their owners."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

_RATES: Final = ("msg_rate_in", "msg_rate_out", "msg_throughput_in", "msg_throughput_out")
_SUMMED: Final = {"publishers": "bigint", "consumers": "bigint", **dict.fromkeys(_RATES, "double")}
_LARGEST: Final = {"told_bundle": "string", "broker": "string", "has_stats": "boolean", "is_listed": "boolean"}
_KNOWN: Final = {"boundaries": "array<bigint>", "owners": "array<struct<bundle:string,broker:string>>"}


def topics_by_namespace(
    topics: DataFrame, subscriptions: DataFrame, listed: DataFrame | None, known: DataFrame
) -> DataFrame:
    """Every topic once, with its loads and the number of consumers of all its subscriptions.

    Topics that only ``listed`` names exist but are not loaded. Each namespace is in one partition, with its topics
    sorted by name, so that sums are reproducible. Its first row has no topic but the columns of ``known``
    (``boundaries_of_namespaces``, ``owners_of_namespaces``). One shuffle.
    """
    bundle = fn.when(fn.col("bundle").isNotNull(), fn.concat_ws("/", "namespace", "bundle"))
    loads = {name: fn.col(name) for name in _SUMMED if name != "consumers"}
    rows = _row(topics, {"told_bundle": bundle, "broker": fn.col("broker"), "has_stats": fn.lit(True), **loads})
    rows = rows.unionByName(_row(subscriptions, {"consumers": fn.col("consumers")}))
    if listed is not None:
        rows = rows.unionByName(_row(listed.where("not is_parent"), {"is_listed": fn.lit(True)}))
    namespaces = known.withColumn("topic", fn.lit(None).cast("string"))
    rows = rows.unionByName(_row(namespaces, {name: fn.col(name) for name in _KNOWN if name in known.columns}))
    whole = rows.repartition("namespace").groupBy("namespace", "topic").agg(
        *(fn.max(name).alias(name) for name in _LARGEST),
        *(fn.sum(name).alias(name) for name in _SUMMED),
        *(fn.first(name, ignorenulls=True).alias(name) for name in _KNOWN),
    )  # fmt: skip
    there = whole.where("topic is null or has_stats or is_listed").drop("is_listed")
    # Empty, and not null: for each row that Spark passes to Python, Arrow goes through all nulls of an array before it.
    once = {
        name: fn.when(fn.col("topic").isNull(), fn.col(name)).otherwise(fn.array().cast(kind))
        for name, kind in _KNOWN.items()
    }
    return there.withColumns(once).sortWithinPartitions("namespace", "topic")


def _row(frame: DataFrame, columns: dict[str, Column]) -> DataFrame:
    """Rows with all columns; those not given are empty, or 0 if they are summed."""
    empty = {name: fn.lit(None) for name in (*_LARGEST, *_KNOWN)} | {"has_stats": fn.lit(False)}
    given = {**empty, **dict.fromkeys(_SUMMED, fn.lit(0)), **columns}
    kinds = {**_LARGEST, **_SUMMED, **_KNOWN}
    return frame.select("namespace", "topic", *(given[name].cast(kind).alias(name) for name, kind in kinds.items()))


def boundaries_of_namespaces(bundles: DataFrame) -> DataFrame:
    """``namespace`` and the ``boundaries`` of its bundles, ascending, both ends of the range included."""
    lowers = fn.sort_array(fn.collect_list("lower"))
    return bundles.groupBy("namespace").agg(fn.array_append(lowers, fn.max("upper")).alias("boundaries"))


def owners_of_namespaces(reports: DataFrame, brokers: DataFrame) -> DataFrame:
    """``namespace`` and the ``owners`` of its bundles, as load reports have them.

    Where two brokers report the same bundle, the newer report counts; of equal times, the later broker by name.
    """
    updated = brokers.groupBy("broker").agg(fn.max("last_update_ms").alias("updated"))
    claim = fn.struct(fn.coalesce("updated", fn.lit(0)).alias("updated"), "broker")
    claims = reports.join(updated, "broker", "left").groupBy("namespace", "bundle").agg(fn.max(claim).alias("claim"))
    owner = fn.struct("bundle", fn.col("claim.broker").alias("broker"))
    return claims.groupBy("namespace").agg(fn.sort_array(fn.collect_list(owner)).alias("owners"))


def namespace_topics(topics: DataFrame) -> DataFrame:
    """Topics with the columns that rules about namespaces read, each namespace in one task.

    They are in the order in which brokers list them: those without statistics last, persistent ones first, then by
    name. ``topics``: rows of ``topics_by_namespace``, which are in their partitions already; the row without a topic,
    with the ``boundaries``, is first.
    """
    last = (~fn.col("has_stats")) & fn.col("topic").rlike(r"-partition-\d+$")
    rows = topics.select(
        "namespace", "topic", "has_stats", (fn.col("publishers") + fn.col("consumers")).alias("sessions"), *_RATES,
        "boundaries", last.alias("last"), (~fn.col("topic").startswith("persistent://")).alias("transient"),
    )  # fmt: skip
    return rows.sortWithinPartitions("namespace", "last", "transient", "topic").drop("last", "transient")


def mixed_producers(topics: DataFrame, listed: DataFrame, publishers: DataFrame) -> DataFrame:
    """Topics with producers of several client versions: ``namespace`` and ``members``, partition by partition.

    The ``members`` of a row have one name up to ``-partition-``, which what follows need not be the number of. Each has
    its ``topic`` and the ``client_versions`` of its producers.
    """
    # Whatever a partition's number is, it has no hyphen (``engine.names.partition_index``).
    stem = fn.regexp_replace("topic", "-partition-[^-]+$", "").alias("stem")
    several = publishers.select(stem, "client_version").distinct().groupBy("stem").count().where("count > 1")
    every = topics.select("namespace", "topic").union(listed.where("not is_parent").select("namespace", "topic"))
    there = every.select("namespace", "topic", stem).join(several, "stem", "left_semi").distinct()
    versions = publishers.select("topic", "client_version", stem).join(several, "stem", "left_semi")
    by_topic = versions.groupBy("topic").agg(fn.sort_array(fn.collect_set("client_version")).alias("client_versions"))
    known = fn.coalesce("client_versions", fn.array().cast("array<string>")).alias("client_versions")
    members = fn.sort_array(fn.collect_list(fn.struct("topic", known))).alias("members")
    return there.join(by_topic, "topic", "left").groupBy("namespace", "stem").agg(members).drop("stem")
