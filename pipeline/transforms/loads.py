"""Loads of consumers and of subscriptions, from the sums that tasks made of their assignments (``owners.HELD``).

A consumer that is in several units of one subscription is one consumer. Equal names in one list are different
consumers: the first, the second …. Topics of one subscription name may have different consumers, and a consumer cannot
get partitions of a topic that it does not read. So a consumer is compared with its even share: the sum, over all lists
it is in, of their mean. Of one list that is busiest ÷ average (``engine.compare.verdict.evenness_of``).

Example: ``a`` and ``b`` read four partitions, of which ``a`` has three; ``c`` alone reads eight others. Eight over a
mean of four is 2. But ``c`` has its even share, and ``a`` has 3 where 2 are even: busiest ÷ average is 1.5.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as fn

from engine.failover.bulk_policies import Policy
from engine.views.fleet.tables import CONSUMER_LOADS, SUBSCRIPTION_LOADS
from pipeline.transforms.owners import MILLION
from pipeline.transforms.subscriptions import SUBSCRIPTION, UNIT

_OF_UNIT: Final = ("number", "policy")
_OF_SUBSCRIPTION: Final = (*SUBSCRIPTION, "policy")
_COUNTS: Final = ("held", "moved", "before")
_RATES: Final = ("msg_rate_out", "msg_throughput_out")


def _held(held: DataFrame, policies: Sequence[Policy]) -> DataFrame:
    """What each place in the list of a unit has under each policy, and had ``before``; nobody's place is -1."""

    def counted(policy: str) -> Iterator[Column]:
        partitions, zero, name = fn.col("partitions"), fn.lit(0).cast("bigint"), fn.lit(policy).alias("policy")
        rates = [fn.col(rate).try_cast("bigint").alias(rate) for rate in _RATES]
        moved = fn.when(fn.col(f"{policy}_moved"), partitions).otherwise(zero)
        now = (partitions.alias("held"), moved.alias("moved"), zero.alias("before"), *rates)
        yield fn.struct(name, fn.col(f"{policy}_position").alias("position"), *now)
        nothing = (zero.alias(rate) for rate in _RATES)
        was = (zero.alias("held"), zero.alias("moved"), partitions.alias("before"), *nothing)
        yield fn.struct(name, fn.col("position_before").alias("position"), *was)

    both = [column for policy in policies for column in counted(policy.value)]
    rows = held.select("number", fn.inline(fn.array(*both)))
    return rows.groupBy(*_OF_UNIT, "position").agg(*(fn.try_sum(name).alias(name) for name in (*_COUNTS, *_RATES)))


def consumers_of(units: DataFrame, held: DataFrame, policies: Sequence[Policy]) -> DataFrame:
    """The different consumers of each subscription under each policy, and one row for nobody, with no ``consumer``."""
    everyone = fn.posexplode(fn.concat("new_names", fn.array(fn.lit(None).cast("string"))))
    named = fn.explode(fn.array(*(fn.lit(policy.value) for policy in policies))).alias("policy")
    first = held.groupBy("number").agg(fn.min("topic").alias("topic"))
    listed = (
        units.join(first, "number", "left")
        .select("number", *UNIT, "topic", named, "new_names")
        .select(*_OF_UNIT, *UNIT, "topic", everyone.alias("position", "consumer"))
    )
    someone, has = fn.col("consumer").isNotNull(), fn.col("held")
    unit = Window.partitionBy(*_OF_UNIT)
    equals = Window.partitionBy(*_OF_UNIT, "consumer").orderBy("position")
    places = (
        listed.withColumns({"position": fn.when(someone, fn.col("position")).otherwise(-1)})
        .join(_held(held, policies), [*_OF_UNIT, "position"], "left")
        .fillna(0, [*_COUNTS, *_RATES])
        .repartition(*SUBSCRIPTION)
        .withColumns({
            "number": fn.row_number().over(equals),
            "size": fn.count("consumer").over(unit),
            "active": fn.count_if(someone & (has > 0)).over(unit),
            "share": fn.when(someone, fn.avg(fn.when(someone, has)).over(unit)),
            "mean_rate": fn.avg(fn.when(someone, fn.col("msg_rate_out"))).over(unit),
        })
        .withColumns({
            "spare": fn.when(someone, fn.greatest(fn.round(fn.col("mean_rate") - fn.col("msg_rate_out")), fn.lit(0.0))),
            "ratio": fn.when(fn.col("share") > 0, has / fn.col("share")).otherwise(0.0),
        })
    )  # fmt: skip
    # Of lists where the consumer has equally much, the first one.
    uneven = fn.max(fn.struct("ratio", fn.bitwise_not("consumer_set").alias("list"), "topic", "size", "active"))
    shares = fn.aggregate(fn.array_sort(fn.collect_list("share")), fn.lit(0.0), lambda total, share: total + share)
    return places.groupBy(*_OF_SUBSCRIPTION, "consumer", "number").agg(
        *(fn.try_sum(name).alias(name) for name in (*_COUNTS, *_RATES)), fn.sum("spare").alias("spare"),
        shares.alias("even"), fn.sum(fn.ceil("share")).alias("whole"), uneven.alias("uneven"),
        fn.count("*").alias("lists"),
    )  # fmt: skip


def _per_second(names: Sequence[str]) -> dict[str, Column]:
    return {name: fn.col(name) / MILLION for name in names}


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
        fn.max(over_even).alias("busiest_over_average"),
        # No partition can be divided: the standby of a topic with one partition makes nothing worse.
        fn.coalesce(fn.max(someone & (held > fn.col("whole"))), fn.lit(False)).alias("improvable"),
        fn.sum("spare").alias("spare_msg_rate"),
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
        "busiest_over_average_rate": fn.try_divide("max_msg_rate_out", "mean_msg_rate_out"),
    }).fillna(0, ["max_partitions", "mean_partitions", "max_msg_rate_out", "mean_msg_rate_out", "spare_msg_rate"])
    # fmt: on
    columns = (fn.col(column.name).cast(column.kind).alias(column.name) for column in SUBSCRIPTION_LOADS.columns)
    return rows.sortWithinPartitions(*_OF_SUBSCRIPTION).select(*columns)
