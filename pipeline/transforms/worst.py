"""Subscriptions and namespaces of a fleet, the worst first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from engine.lint.model import Severity
from engine.views.fleet.summary import unknown_of
from engine.views.fleet.tables import WORST_NAMESPACES, WORST_SUBSCRIPTIONS, Table
from pipeline.clusters import ByCluster
from pipeline.transforms.bundle_topics import NAMESPACE
from pipeline.transforms.owners import MILLION, MOST_PER_SEC
from pipeline.transforms.subscriptions import SUBSCRIPTION

RATES: Final = ("msg_rate_in", "msg_rate_out", "msg_throughput_in", "msg_throughput_out")
SIZES: Final = ("storage_size_bytes", "backlog_size_bytes")
TO_SPLIT_COUNT: Final = "bundles_to_split"
TO_SPLIT: Final = "chosen"
"""The outcome in the modular load manager's verdict on a bundle that it would split."""


def known_sums(rates: Iterable[str], counts: Iterable[str]) -> Iterator[Column]:
    """Sums of the numbers that are known, null where none is, and of how many rows each lacks its number.

    Rates in whole millionths: so the sum does not depend on the order.
    """
    for name in (*rates, *counts):
        yield fn.count_if(fn.isnull(name)).alias(unknown_of(name))
    for name in rates:
        is_possible = fn.abs(name) < MOST_PER_SEC
        millionths = fn.when(is_possible, fn.rint(fn.col(name) * MILLION)).cast("bigint")
        yield (fn.try_sum(millionths) / MILLION).alias(name)
    for name in counts:
        yield fn.sum(name).alias(name)


def _without_rows(rows: DataFrame, counted: str, names: Iterable[str]) -> DataFrame:
    """The sums of what has no rows to sum, and so no ``counted`` ones, are 0."""
    nothing = fn.isnull(counted)
    return rows.withColumns({
        name: fn.when(nothing, 0).otherwise(fn.col(name)) for of in names for name in (of, unknown_of(of))
    })  # fmt: skip


def failover_units(loads: DataFrame) -> DataFrame:
    """Rows of ``subscription_loads`` under the policy in force, in the form of ``worst_subscriptions``."""
    return loads.where("in_force").select(
        *SUBSCRIPTION, fn.lit("Failover").alias("type"), "policy", "partitions", "consumers", "idle",
        "busiest_over_average_rate", "moved", "least_moved", fn.lit(None).cast("string").alias("verdict"),
        "busiest_over_average", "lists", "spare_msg_rate", "worst_topic", "worst_consumers", "worst_active",
        "improvable",
    )  # fmt: skip


def key_units(spreads: DataFrame, traffic: DataFrame, modes: ByCluster[str]) -> DataFrame:
    """Rows of ``key_spreads`` in the mode in force in their cluster, in the form of ``worst_subscriptions``.

    Without a trace there are no messages to count, so the columns about unevenness are empty.
    """
    in_force = fn.col("policy") == modes.default
    for cluster, mode in modes.values.items():
        in_force = fn.when(fn.col("cluster") == cluster, fn.col("policy") == mode).otherwise(in_force)
    dispatchers = traffic.groupBy(*SUBSCRIPTION).agg(fn.sum("dispatchers").alias("dispatchers"))
    rows = spreads.where(in_force).join(dispatchers, [*SUBSCRIPTION], "left")
    zero, nothing = fn.lit(0).cast("bigint"), fn.lit(None).cast("bigint")
    return rows.select(
        *SUBSCRIPTION, fn.lit("Key_Shared").alias("type"), "policy",
        fn.coalesce("dispatchers", zero).alias("partitions"), "consumers",
        fn.when(fn.col("keys") > 0, fn.col("idle")).otherwise(zero).alias("idle"),
        fn.col("busiest_over_average").alias("busiest_over_average_rate"), zero.alias("moved"),
        zero.alias("least_moved"),
        fn.when(fn.col("keys") > 0, fn.col("verdict")).alias("verdict"), "busiest_over_average",
        fn.lit(1).cast("bigint").alias("lists"), fn.lit(0.0).alias("spare_msg_rate"),
        fn.lit(None).cast("string").alias("worst_topic"), nothing.alias("worst_consumers"),
        nothing.alias("worst_active"),
        fn.coalesce(fn.col("busiest_over_average") > fn.col("best_busiest_over_average"), fn.lit(False))
        .alias("improvable"),
    )  # fmt: skip


def _finding_counts(findings: DataFrame, by: list[str]) -> DataFrame:
    return findings.groupBy(*by).agg(
        fn.count("*").alias("findings"), fn.max_by("severity", "severity_level").alias("worst_severity")
    )


def traffic_of(subscriptions: DataFrame) -> DataFrame:
    """Of each subscription and type, how many topics and partitions it has (``dispatchers``), and the sums of their
    message rates and backlogs."""
    return subscriptions.groupBy(*SUBSCRIPTION, "type").agg(
        fn.count("*").alias("dispatchers"), *known_sums(["msg_rate_out"], ["msg_backlog_entries"])
    )  # fmt: skip


def worst_subscriptions(units: DataFrame, traffic: DataFrame, findings: DataFrame) -> DataFrame:
    """Rows of ``worst_subscriptions``: units with their traffic and the number of their findings.

    First come those that an error stops so that nothing shows how even they are, then those that a better spread exists
    for, then by ``busiest_over_average`` (which unrelated consumers of one subscription name do not raise), the spare
    message rate, idle consumers, partitions and name.
    """
    counted = _finding_counts(findings.where("subscription <> ''"), [*SUBSCRIPTION])
    rows = units.join(counted, [*SUBSCRIPTION], "left")
    rows = rows.join(traffic, [*SUBSCRIPTION, "type"], "left").fillna(0, ["findings"])
    # A unit without a dispatcher has no traffic, one whose dispatchers report none has unknown traffic.
    rows = _without_rows(rows, "dispatchers", ("msg_rate_out", "msg_backlog_entries"))
    blocked = fn.equal_null("worst_severity", fn.lit(Severity.ERROR.label)) & fn.isnull("busiest_over_average")
    order = (
        fn.desc(blocked), fn.desc("improvable"), fn.desc_nulls_last("busiest_over_average"),
        fn.desc("spare_msg_rate"), fn.desc("idle"),
        fn.desc("partitions"), *SUBSCRIPTION, "type",
    )  # fmt: skip
    return _sorted(rows, order, WORST_SUBSCRIPTIONS)


def worst_namespaces(
    topics: DataFrame, traffic: DataFrame, worst: DataFrame, bundles: DataFrame, findings: DataFrame
) -> DataFrame:
    """Rows of ``worst_namespaces``: the sums of topics, the worst subscription, bundles and findings of each."""
    parted = fn.col("partition_index") >= 0
    sums = topics.groupBy(*NAMESPACE).agg(
        fn.count("*").alias("topics"), *known_sums(RATES, SIZES),
        fn.count_distinct(fn.when(parted, fn.col("partitioned_topic"))).alias("partitioned_topics"),
    )  # fmt: skip
    names = traffic.groupBy(*NAMESPACE).agg(fn.count_distinct("subscription").alias("subscriptions"))
    # The first one in the order of ``worst_subscriptions``.
    ranked = fn.struct(
        (~fn.col("improvable")).alias("even"),
        (-fn.coalesce("busiest_over_average", fn.lit(0.0))).alias("less"), (-fn.col("spare_msg_rate")).alias("spare"),
        (-fn.col("idle")).alias("busy"),
        (-fn.col("partitions")).alias("small"), fn.col("subscription").alias("name"),
        "busiest_over_average",
    )  # fmt: skip
    uneven = worst.groupBy(*NAMESPACE).agg(
        fn.min(ranked).alias("ranked"), fn.sum("idle").alias("idle")
    )  # fmt: skip
    uneven = uneven.select(
        *NAMESPACE, "idle", fn.col("ranked.even").alias("even"),
        fn.col("ranked.busiest_over_average").alias("worst_busiest_over_average"),
        fn.when(fn.isnotnull("ranked.busiest_over_average"), fn.col("ranked.name")).alias("worst_subscription"),
    )  # fmt: skip
    cut = fn.count_if(fn.col("outcome") == TO_SPLIT)
    held = bundles.groupBy(*NAMESPACE).agg(fn.count("*").alias("bundles"), cut.alias(TO_SPLIT_COUNT))
    counted = _finding_counts(findings.where("namespace <> ''"), [*NAMESPACE])
    rows = held.join(sums, [*NAMESPACE], "full")
    for more in (names, uneven, counted):
        rows = rows.join(more, [*NAMESPACE], "left")
    counts = ["topics", "partitioned_topics", "subscriptions", "bundles", "bundles_to_split", "idle", "findings"]
    rows = _without_rows(rows, "topics", (*RATES, *SIZES))
    order = (
        fn.asc_nulls_last("even"),
        fn.desc_nulls_last("worst_busiest_over_average"),
        fn.desc("findings"),
        fn.desc_nulls_last("msg_rate_out"),
        *NAMESPACE,
    )
    return _sorted(rows.fillna(0, counts), order, WORST_NAMESPACES)


def _sorted(rows: DataFrame, order: Iterable[Column | str], table: Table) -> DataFrame:
    """The columns of a table, sorted in one task: to sort in several, Spark would compute the rows twice."""
    columns = (fn.col(column.name).cast(column.kind).alias(column.name) for column in table.columns)
    return rows.repartition(1).sortWithinPartitions(*order).select(*columns)
