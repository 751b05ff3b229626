"""Topics, readers, lists and bundles of a namespace come together as one sorted run of rows."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.testing import assertDataFrameEqual

from pipeline.schemas import BROKERS, BUNDLE_REPORTS, BUNDLES, LISTED, PUBLISHERS, SUBSCRIPTIONS, TOPICS, Table
from pipeline.transforms.bundle_topics import (
    boundaries_of_namespaces,
    mixed_producers,
    owners_of_namespaces,
    topics_by_namespace,
)

A, B, C, D = (f"persistent://t/n/{name}" for name in "abcd")


def frame(spark: SparkSession, table: Table, *rows: dict[str, object]) -> DataFrame:
    zero = {"string": "", "int": 0, "bigint": 0, "double": 0.0, "boolean": False}
    values = [tuple(row.get(name, zero[kind]) for name, kind, _ in table.fields) for row in rows]
    return spark.createDataFrame(values, table.ddl)


def test_each_topic_is_there_once_behind_what_is_known_of_its_namespace(spark: SparkSession) -> None:
    topics = frame(
        spark, TOPICS,
        {"topic": B, "namespace": "t/n", "bundle": "0x00000000_0xffffffff", "broker": "b:1", "publishers": 2,
         "msg_rate_in": 1.5},
        {"topic": A, "namespace": "t/n", "bundle": None, "broker": None, "msg_rate_out": 2.5},
    )  # fmt: skip
    readers = [
        {"topic": B, "namespace": "t/n", "consumers": 3, "consumer_set": 1},
        {"topic": B, "namespace": "t/n", "consumers": 4, "consumer_set": 2},
        # Nobody knows this topic: it is not in the result.
        {"topic": D, "namespace": "t/n", "consumers": 9},
    ]
    names = [
        {"topic": A, "namespace": "t/n"},
        {"topic": C, "namespace": "t/n"},
        {"topic": D, "namespace": "t/n", "is_parent": True},
    ]
    known = spark.createDataFrame(
        [("t/empty", [0, 4294967295]), ("t/n", [0, 7, 4294967295])], "namespace string, boundaries array<bigint>"
    )
    rows = topics_by_namespace(
        topics, frame(spark, SUBSCRIPTIONS, *readers), frame(spark, LISTED, *names), known
    ).coalesce(1)
    expected = [
        ("t/empty", None, None, None, False, 0, 0, 0.0, 0.0, [0, 4294967295]),
        ("t/n", None, None, None, False, 0, 0, 0.0, 0.0, [0, 7, 4294967295]),
        ("t/n", A, None, None, True, 0, 0, 0.0, 2.5, []),
        ("t/n", B, "t/n/0x00000000_0xffffffff", "b:1", True, 2, 7, 1.5, 0.0, []),
        ("t/n", C, None, None, False, 0, 0, 0.0, 0.0, []),
    ]
    columns = (
        "namespace", "topic", "told_bundle", "broker", "has_stats", "publishers", "consumers", "msg_rate_in",
        "msg_rate_out", "boundaries",
    )  # fmt: skip
    result = [tuple(row) for row in rows.select(*columns).collect()]
    assert sorted(result, key=repr) == sorted(expected, key=repr)
    assert [row[1] for row in result if row[0] == "t/n"] == [None, A, B, C]


def test_bounds_ascend_and_the_newer_report_owns_a_bundle(spark: SparkSession) -> None:
    bundles = frame(
        spark, BUNDLES,
        {"namespace": "t/n", "lower": 7, "upper": 4294967295},
        {"namespace": "t/n", "lower": 0, "upper": 7},
    )  # fmt: skip
    bounds = spark.createDataFrame([("t/n", [0, 7, 4294967295])], "namespace string, boundaries array<bigint>")
    assertDataFrameEqual(boundaries_of_namespaces(bundles), bounds)
    reports = [
        {"namespace": "t/n", "bundle": bundle, "broker": broker}
        for bundle, broker in (("t/n/x", "old:1"), ("t/n/x", "new:1"), ("t/n/y", "a:1"), ("t/n/y", "silent:1"))
    ]
    brokers = frame(spark, BROKERS, {"broker": "old:1", "last_update_ms": 5}, {"broker": "new:1", "last_update_ms": 6})
    expected = spark.createDataFrame(
        [("t/n", [("t/n/x", "new:1"), ("t/n/y", "silent:1")])],
        "namespace string, owners array<struct<bundle:string,broker:string>>",
    )
    assertDataFrameEqual(owners_of_namespaces(frame(spark, BUNDLE_REPORTS, *reports), brokers), expected)


def test_only_topics_with_producers_of_several_versions_are_judged_with_all_their_partitions(
    spark: SparkSession,
) -> None:
    def part(name: str, number: object) -> str:
        return f"persistent://t/n/{name}-partition-{number}"

    loaded = [part("mixed", 0), part("mixed", 1), part("same", 0), part("same", 1), A, B]
    versions = [
        (part("mixed", 0), "java"), (part("mixed", 1), "cpp"), (part("mixed", 1), "cpp"), (part("same", 0), "java"),
        (part("same", 1), "java"), (A, "java"), (B, "java"), (B, "cpp"),
    ]  # fmt: skip
    # Only a list names the last partition; a list of partitioned topics names none.
    names = [
        {"topic": part("mixed", 2), "namespace": "t/n"},
        {"topic": part("mixed", 0), "namespace": "t/n"},
        {"topic": part("mixed", 9), "namespace": "t/n", "is_parent": True},
    ]
    rows = mixed_producers(
        frame(spark, TOPICS, *({"topic": name, "namespace": "t/n"} for name in loaded)),
        frame(spark, LISTED, *names),
        frame(spark, PUBLISHERS, *({"topic": name, "client_version": version} for name, version in versions)),
    )
    mixed = [(part("mixed", 0), ["java"]), (part("mixed", 1), ["cpp"]), (part("mixed", 2), [])]
    expected = [("t/n", mixed), ("t/n", [(B, ["cpp", "java"])])]
    kinds = "namespace string, members array<struct<topic:string,client_versions:array<string>>>"
    assertDataFrameEqual(rows, spark.createDataFrame(expected, kinds))
