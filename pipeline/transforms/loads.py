"""Loads of consumers and of subscriptions, as sums over ``assignments``.

A consumer that is in several units of one subscription is one consumer. Equal names in one list are different
consumers: the first, the second …. Topics of one subscription name may have different consumers, and a consumer cannot
get partitions of a topic that it does not read. So besides max/mean a consumer is compared with its even share: the
sum, over all lists it is in, of their mean.

Example: ``a`` and ``b`` read four partitions, of which ``a`` has three; ``c`` alone reads eight others. Max/mean is 2:
eight over a mean of four. But ``c`` has its even share, and ``a`` has 3 where 2 are even: max/even is 1.5.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as fn

from engine.failover.bulk_policies import Policy
from pipeline.schemas import CONSUMER_LOADS, SUBSCRIPTION_LOADS
from pipeline.transforms.subscriptions import SUBSCRIPTION, UNIT

_OF_UNIT: Final = (*UNIT, "policy")
_OF_SUBSCRIPTION: Final = (*SUBSCRIPTION, "policy")
SUMMED: Final = ("partitions", "idle", "moved", "least_moved")
_COUNTS: Final = ("held", "moved", "before")
_RATES: Final = ("msg_rate_out", "msg_throughput_out")
_MILLION: Final = 1e6
"""Rates are added in whole millionths: the sum does not depend on the order. A rate beyond 10^12 is ignored, since no
broker has it."""


def _held(assignments: DataFrame, policies: Sequence[Policy]) -> DataFrame:
    """What each place in a list of consumers has under each policy, and had ``before``; nobody's place is -1."""

    def counted(policy: str, position: str, *, before: bool) -> Column:
        held = fn.lit(0 if before else 1)
        return fn.struct(
            fn.lit(policy).alias("policy"), fn.col(position).alias("position"), held.alias("held"),
            (fn.lit(0) if before else fn.col(f"{policy}_moved").cast("int")).alias("moved"),
            (fn.lit(1) - held).alias("before"),
        )  # fmt: skip

    both = [
        counted(policy.value, "position_before" if before else f"{policy.value}_position", before=before)
        for policy in policies
        for before in (False, True)
    ]
    rows = assignments.select(*UNIT, *_RATES, fn.inline(fn.array(*both)))
    micros = (fn.round(fn.col(name) * _MILLION).try_cast("bigint") * fn.col("held") for name in _RATES)
    rates = (fn.try_sum(micro).alias(name) for name, micro in zip(_RATES, micros, strict=True))
    return rows.groupBy(*_OF_UNIT, "position").agg(*(fn.sum(name).alias(name) for name in _COUNTS), *rates)


def consumers_of(units: DataFrame, assignments: DataFrame, policies: Sequence[Policy]) -> DataFrame:
    """The different consumers of each subscription under each policy, and one row for nobody, with no ``consumer``."""
    everyone = fn.posexplode(fn.concat("new_names", fn.array(fn.lit(None).cast("string"))))
    named = fn.explode(fn.array(*(fn.lit(policy.value) for policy in policies))).alias("policy")
    listed = units.select(*UNIT, "topic", named, "new_names").select(
        *_OF_UNIT, "topic", everyone.alias("position", "consumer")
    )
    someone, held = fn.col("consumer").isNotNull(), fn.col("held")
    unit = Window.partitionBy(*_OF_UNIT)
    equals = Window.partitionBy(*_OF_UNIT, "consumer").orderBy("position")
    places = (
        listed.withColumns({"position": fn.when(someone, fn.col("position")).otherwise(-1)})
        .join(_held(assignments, policies), [*_OF_UNIT, "position"], "left")
        .fillna(0, [*_COUNTS, *_RATES])
        .repartition(*SUBSCRIPTION)
        .withColumns({
            "number": fn.row_number().over(equals),
            "size": fn.count("consumer").over(unit),
            "active": fn.count_if(someone & (held > 0)).over(unit),
            "share": fn.when(someone, fn.avg(fn.when(someone, held)).over(unit)),
            "mean_rate": fn.avg(fn.when(someone, fn.col("msg_rate_out"))).over(unit),
        })
        .withColumns({
            "spare": fn.when(someone, fn.greatest(fn.round(fn.col("mean_rate") - fn.col("msg_rate_out")), fn.lit(0.0))),
            "ratio": fn.when(fn.col("share") > 0, held / fn.col("share")).otherwise(0.0),
        })
    )  # fmt: skip
    # Of lists where the consumer has equally much, the first one.
    uneven = fn.max(fn.struct("ratio", fn.bitwise_not("consumer_set").alias("list"), "topic", "size", "active"))
    shares = fn.aggregate(fn.array_sort(fn.collect_list("share")), fn.lit(0.0), lambda total, share: total + share)
    return places.groupBy(*_OF_SUBSCRIPTION, "consumer", "number").agg(
        *(fn.try_sum(name).alias(name) for name in (*_COUNTS, *_RATES)), fn.sum("spare").alias("spare"),
        shares.alias("even"), uneven.alias("uneven"), fn.count("*").alias("lists"),
    )  # fmt: skip


def _per_second(names: Sequence[str]) -> dict[str, Column]:
    return {name: fn.col(name) / _MILLION for name in names}


def consumer_loads(consumers: DataFrame) -> DataFrame:
    """Rows of ``consumer_loads`` from those of ``consumers_of``."""
    rows = (
        consumers.where("consumer is not null").withColumnRenamed("held", "partitions").withColumns(_per_second(_RATES))
    )
    return rows.sortWithinPartitions(*_OF_SUBSCRIPTION, "consumer", "number").select(*CONSUMER_LOADS.names)


def subscription_loads(consumers: DataFrame, ringed: Collection[str]) -> DataFrame:
    """Rows of ``subscription_loads`` from those of ``consumers_of``; ``ringed``: the clusters on the ring."""
    someone, held, even = fn.col("consumer").isNotNull(), fn.col("held"), fn.col("even")
    over_even = fn.when(someone & (even > 0), held / even)

    def of_someone(column: Column) -> Column:
        return fn.when(someone, column)

    sums = consumers.groupBy(*_OF_SUBSCRIPTION).agg(
        fn.sum("held").alias("partitions"), fn.count("consumer").alias("consumers"),
        fn.count_if(someone & (held == 0)).alias("idle"),
        fn.max(of_someone(held)).alias("max_partitions"), fn.sum(of_someone(held)).alias("held"),
        fn.max(of_someone(fn.col("msg_rate_out"))).alias("max_msg_rate_out"),
        fn.try_sum(of_someone(fn.col("msg_rate_out"))).alias("mean_msg_rate_out"),
        fn.sum("moved").alias("moved"), fn.sum(fn.greatest(fn.col("before") - held, fn.lit(0))).alias("least_moved"),
        fn.max(over_even).alias("max_over_even"), fn.sum("spare").alias("spare_msg_rate"),
        fn.max(fn.when(~someone, fn.col("lists"))).alias("lists"),
        fn.max(fn.when(over_even.isNotNull(), fn.struct(over_even.alias("over_even"), "uneven"))).alias("worst"),
    )  # fmt: skip
    worst = fn.col("worst.uneven")
    # fmt: off
    rows = sums.withColumns({
        **_per_second(("max_msg_rate_out", "mean_msg_rate_out", "spare_msg_rate")),
        "mean_partitions": fn.try_divide("held", "consumers"),
    }).withColumns({
        "mean_msg_rate_out": fn.try_divide("mean_msg_rate_out", "consumers"),
        "in_force": (fn.col("policy") == Policy.FLAG_ON.value) == fn.col("cluster").isin([*ringed]),
        "worst_topic": worst["topic"], "worst_consumers": worst["size"], "worst_active": worst["active"],
    }).withColumns({
        "max_over_mean": fn.try_divide("max_partitions", "mean_partitions"),
        "max_over_mean_rate": fn.try_divide("max_msg_rate_out", "mean_msg_rate_out"),
    }).fillna(0, ["max_partitions", "mean_partitions", "max_msg_rate_out", "mean_msg_rate_out", "spare_msg_rate"])
    # fmt: on
    columns = (fn.col(column.name).cast(column.kind).alias(column.name) for column in SUBSCRIPTION_LOADS.columns)
    return rows.sortWithinPartitions(*_OF_SUBSCRIPTION).select(*columns)


def agreement_of(assignments: DataFrame) -> DataFrame:
    """How many active consumers the brokers of each cluster ``reported``, and how many are ``agreeing``."""
    shown = fn.col("reported_active_consumer")
    agreeing = fn.count_if(fn.equal_null(shown, "active_before")).alias("agreeing")
    return assignments.where(shown.isNotNull()).groupBy("cluster").agg(fn.count("*").alias("reported"), agreeing)


def totals_of(loads: DataFrame) -> DataFrame:
    """Sums over ``subscription_loads`` by policy, and whether it is in force."""
    worst = fn.max("max_over_even").alias("worst_max_over_even")
    return loads.groupBy("policy", "in_force").agg(*(fn.sum(name).alias(name) for name in SUMMED), worst)
