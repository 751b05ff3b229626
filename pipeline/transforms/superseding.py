"""Keep the best of several answers about one topic, and list the others in the quarantine."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from pipeline.schemas import QUARANTINE, TOPICS

_BROKER_STATS: Final = "broker-stats"


def repeated_topics(topics: DataFrame, files: DataFrame) -> DataFrame:
    """Topics that are in more than one file: ``topic``, ``best_file``, and ``known_bundle`` and ``known_broker``.

    Statistics of a topic are better than broker-stats, which cut decimals and lack the active consumer; of two
    equal kinds the later file is better. Bundle and broker come from the best answer that names one. ``files``:
    ``file``, ``position``.
    """
    ranked = topics.join(fn.broadcast(files), "file").withColumn(
        "_rank", fn.struct((fn.col("kind") != _BROKER_STATS).alias("exact"), "position")
    )
    grouped = ranked.groupBy("topic").agg(
        fn.count("*").alias("_answers"),
        fn.max_by("file", "_rank").alias("best_file"),
        fn.max_by("bundle", fn.when(fn.col("bundle").isNotNull(), fn.col("_rank"))).alias("known_bundle"),
        fn.max_by("broker", fn.when(fn.col("broker").isNotNull(), fn.col("_rank"))).alias("known_broker"),
    )
    return grouped.where("_answers > 1").drop("_answers")


def with_members(topics: DataFrame, files: DataFrame) -> DataFrame:
    """``files`` with a row for each member of a file of many answers, which has the position of its file."""
    names = topics.select("file").distinct()
    whole = names.join(fn.broadcast(files), "file")
    members = names.join(files.select("file"), "file", "left_anti").withColumnRenamed("file", "member")
    named = members.withColumn("file", fn.substring_index("member", ": ", 1))
    return whole.unionByName(named.join(fn.broadcast(files), "file").selectExpr("member as file", "position"))


def only_best(table: DataFrame, twice: DataFrame) -> DataFrame:
    """The rows of a table that belong to the best answer about their topic; it has ``topic`` and ``file``."""
    best = twice.select("topic", "best_file")
    joined = table.join(best, "topic", "left").where("best_file is null or best_file = file")
    return joined.select(*table.columns)


def best_topics(topics: DataFrame, twice: DataFrame) -> DataFrame:
    """``only_best`` of the topics, with bundle and broker from another answer where the best one lacks them."""
    joined = topics.join(twice, "topic", "left").where("best_file is null or best_file = file")
    filled = joined.withColumn("bundle", fn.coalesce("bundle", "known_bundle"))
    return filled.withColumn("broker", fn.coalesce("broker", "known_broker")).select(*TOPICS.names)


def superseded_topics(topics: DataFrame, twice: DataFrame) -> DataFrame:
    """Rows of the quarantine: one for each answer about a topic that is not the best."""
    losers = topics.join(twice.select("topic", "best_file"), "topic").where("best_file <> file")
    reason = fn.concat(fn.lit("a better or later answer is in "), fn.col("best_file"))
    return _quarantine(losers, fn.concat(fn.lit('$["'), fn.col("topic"), fn.lit('"]')), "topics", fn.lit(1), reason)


def superseded_parts(table: DataFrame, twice: DataFrame, name: str) -> DataFrame:
    """Rows of the quarantine: one for each file with replaced topics, and how many rows of a table they had."""
    losers = table.join(twice.select("topic", "best_file"), "topic").where("best_file <> file")
    counted = losers.groupBy("file").agg(fn.count("*").alias("_rows"))
    reason = fn.lit("they belong to topics that a better or later answer describes")
    return _quarantine(counted, fn.lit("$"), name, fn.col("_rows"), reason)


def _quarantine(rows: DataFrame, place: object, table: str, count: object, reason: object) -> DataFrame:
    columns = {
        "file": fn.col("file"),
        "place": place,
        "line": fn.lit(None).cast("int"),
        "column": fn.lit(None).cast("int"),
        "table": fn.lit(table),
        "rows": count,
        "kind": fn.lit("superseded"),
        "reason": reason,
        "advice": fn.lit("nothing has to be done"),
    }
    cells = [columns[name].cast(kind).alias(name) for name, kind, _ in QUARANTINE.fields]  # type: ignore[attr-defined]
    return rows.select(*cells)


def claimed_twice(topics: DataFrame) -> DataFrame:
    """Bundles of which two brokers list topics: ``bundle`` (full name) and ``listed``, each broker with its files."""
    placed = topics.where("bundle is not null and broker is not null")
    named = placed.select(
        fn.concat_ws("/", "namespace", "bundle").alias("bundle"), fn.struct("broker", "file").alias("one")
    )
    grouped = named.groupBy("bundle").agg(fn.sort_array(fn.collect_set("one")).alias("listed"))
    return grouped.where("size(array_distinct(listed.broker)) > 1").orderBy("bundle")
