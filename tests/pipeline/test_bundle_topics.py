"""Topics, readers, lists and bundles of a namespace come together as one sorted run of rows."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.testing import assertDataFrameEqual

from engine.views.fleet.tables import BUNDLE_REPORTS, BUNDLES, LISTED, PUBLISHERS, TOPICS, Table
from pipeline.transforms.bundle_topics import boundaries_of, by_namespace, known_and_topics, mixed_producers, owners_of

A, B, C, D = (f"persistent://t/n/{name}" for name in "abcd")


def frame(spark: SparkSession, table: Table, *rows: dict[str, object]) -> DataFrame:
    zero = {"string": "", "int": 0, "bigint": 0, "double": 0.0, "boolean": False, "timestamp": None}
    values = [tuple(row.get(name, zero[kind]) for name, kind, _, _ in table.columns) for row in rows]
    return spark.createDataFrame(values, table.ddl)


def test_each_topic_is_there_once_behind_what_is_known_of_its_namespace(spark: SparkSession) -> None:
    topics = frame(
        spark, TOPICS,
        {"topic": B, "namespace": "t/n", "bundle": "0x00000000_0xffffffff", "broker": "b:1", "publishers": 2,
         "consumers": 7, "msg_rate_in": 1.5},
        {"topic": A, "namespace": "t/n", "bundle": None, "broker": None, "msg_rate_out": 2.5},
    )  # fmt: skip
    names = [
        {"topic": A, "namespace": "t/n"},
        {"topic": C, "namespace": "t/n"},
        {"topic": C, "namespace": "t/n", "file": "another"},
        {"topic": D, "namespace": "t/n", "is_parent": True},
    ]
    bundles = [
        {"namespace": "t/n", "lower": 7, "upper": 4294967295},
        {"namespace": "t/n", "lower": 0, "upper": 7},
        {"namespace": "t/empty", "lower": 0, "upper": 4294967295},
    ]
    reports = [{"namespace": "t/n", "range": "0x00000000_0x00000007", "broker": "b:2"}]
    rows = by_namespace(
        topics, frame(spark, LISTED, *names), frame(spark, BUNDLES, *bundles), frame(spark, BUNDLE_REPORTS, *reports)
    )
    _, known, topics = next(known_and_topics(iter(rows.coalesce(1).toArrow().to_batches())))
    columns = ("topic", "has_stats", "bundle", "broker", "publishers", "consumers", "msg_rate_in", "msg_rate_out")
    assert [tuple(row.values()) for row in topics.select(columns).to_pylist()] == [
        (A, True, None, None, 0, 0, 0.0, 2.5),
        (B, True, "0x00000000_0xffffffff", "b:1", 2, 7, 1.5, 0.0),
        (C, False, None, None, 0, 0, 0.0, 0.0),
    ]
    assert boundaries_of(known) == {"t/empty": (0, 4294967295), "t/n": (0, 7, 4294967295)}
    assert owners_of(known, {}) == {"t/n/0x00000000_0x00000007": "b:2"}


def test_the_newer_report_owns_a_bundle(spark: SparkSession) -> None:
    claims = [("x", "old:1"), ("x", "new:1"), ("y", "a:1"), ("y", "silent:1")]
    reports = [{"namespace": "t/n", "range": bundle, "broker": broker} for bundle, broker in claims]
    rows = by_namespace(
        frame(spark, TOPICS), None, frame(spark, BUNDLES), frame(spark, BUNDLE_REPORTS, *reports)
    ).toArrow()
    _, known, topics = next(known_and_topics(iter(rows.to_batches())))
    assert not topics.num_rows
    assert not boundaries_of(known)
    assert owners_of(known, {"old:1": 5, "new:1": 6}) == {"t/n/x": "new:1", "t/n/y": "silent:1"}


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
    expected = [("", "t/n", mixed), ("", "t/n", [(B, ["cpp", "java"])])]
    kinds = "cluster string, namespace string, members array<struct<topic:string,client_versions:array<string>>>"
    assertDataFrameEqual(rows, spark.createDataFrame(expected, kinds))
