"""Merge a round of new dumps into the tables of all earlier ones: the later answer about a thing counts.

Spark compares and merges: the driver holds the moment of each file, and nothing for each topic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from pipeline.reading.rows import BAD
from pipeline.runs import Draft
from pipeline.schemas import (
    ANSWERS,
    BROKER_HISTORY,
    BROKERS,
    BUNDLE_REPORTS,
    BUNDLES,
    CONSUMER_SETS,
    CONSUMERS,
    FILES,
    IMBALANCE_HISTORY,
    LISTED,
    PUBLISHERS,
    QUARANTINE,
    SETTINGS,
    SUBSCRIPTION_LOADS,
    SUBSCRIPTIONS,
    TOPICS,
    Table,
)
from pipeline.tables import Tables
from pipeline.transforms.worst import exact_sum

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ABOUT: Final[Mapping[Table, tuple[Table, str] | None]] = {
    TOPICS: (TOPICS, "topic"),
    SUBSCRIPTIONS: (TOPICS, "topic"),
    CONSUMERS: (TOPICS, "topic"),
    PUBLISHERS: (TOPICS, "topic"),
    LISTED: (LISTED, "topic"),
    BUNDLES: (BUNDLES, "namespace"),
    BUNDLE_REPORTS: (BROKERS, "broker"),
    BROKERS: (BROKERS, "broker"),
    SETTINGS: (SETTINGS, "name"),
    CONSUMER_SETS: (CONSUMER_SETS, "consumer_set"),
    ANSWERS: (ANSWERS, "namespace"),
    FILES: None,
    QUARANTINE: None,
}
"""What the rows of a table are about: a new value in that table and column, of the same cluster,
replaces the old rows about it. None: rows
about files, which are never replaced."""
_ORDER: Final = ("cluster", "namespace", "topic", "subscription", "broker", "name", "consumer_set", "file", "position")
"""Rows are sorted by those of these columns that their table has; readers of one namespace pass over the others."""
_BROKER: Final = ("cluster", "broker")
HISTORIES: Final = (IMBALANCE_HISTORY, BROKER_HISTORY)


def merge(spark: SparkSession, draft: Draft, fresh: Tables, moments: Mapping[str, int], *, late: bool) -> None:
    """Merge the tables of an import of one round into those that ``draft`` has from all rounds before.

    ``moments``: file -> epoch milliseconds. ``late``: of the round only the rows about its files count.
    """
    if not draft.has(FILES):
        draft.adopt(fresh)
    else:
        before = Tables(draft.root, paths=dict(draft.paths))
        _Merge(spark, before, fresh, moments, late).write(draft)
    draft.fill(*ABOUT)


@dataclass(frozen=True)
class _Merge:
    spark: SparkSession
    before: Tables
    fresh: Tables
    moments: Mapping[str, int]
    late: bool

    def write(self, draft: Draft) -> None:
        # Four tables have rows about topics.
        topics = self._things(TOPICS, "topic").unionByName(self._gone().withColumn("late", fn.lit(False))).persist()
        try:
            for table, about in ABOUT.items():
                if self._changes(table):
                    things = topics if about == ABOUT[TOPICS] else self._things(*about) if about else None
                    draft.write_frame(table, self._merged(table, things))
        finally:
            topics.unpersist()

    def _changes(self, table: Table) -> bool:
        """Whether the round has rows of a table, or about the same things as rows before."""
        about = ABOUT[table]
        if about is not None and self.late:
            return False
        replaces = about is not None and self.before.check(table) and self.fresh.check(about[0])
        return bool(replaces or self.fresh.check(table))

    def _merged(self, table: Table, things: DataFrame | None) -> DataFrame:
        before, fresh = (tables.load(self.spark, table, with_stamp=True) for tables in (self.before, self.fresh))
        columns = before.columns
        if things is not None:  # a join puts its columns first
            key = things.columns[:2]
            before = before.join(things.where("not late"), key, "left_anti")
            fresh = fresh.join(things.where("late"), key, "left_anti")
        order = (name for name in _ORDER if name in table.names)
        return before.unionByName(fresh).select(*columns).sortWithinPartitions(*order)

    def _things(self, table: Table, column: str) -> DataFrame:
        """The things that a round is about, and whether it is too ``late`` for each: the rows before are later."""
        before, fresh = (
            self._with_moments(table, tables).groupBy("cluster", column).agg(fn.max("moment").alias("moment"))
            for tables in (self.before, self.fresh)
        )
        later = fn.coalesce(fn.col("before.moment") > fn.col("fresh.moment"), fn.lit(False))
        both = fresh.alias("fresh").join(before.alias("before"), ["cluster", column], "left")
        return both.select("cluster", column, later.alias("late"))

    def _gone(self) -> DataFrame:
        """Topics that their broker listed before and does not list in this round.

        A dump with quarantined rows may lack topics that exist, so it removes none.
        """
        fresh = self._with_moments(TOPICS, self.fresh)
        spoilt = self.fresh.load(self.spark, QUARANTINE).where(fn.col("kind") == BAD).select("file").distinct()
        damaged = fresh.join(spoilt, "file", "left_semi").select(*_BROKER).distinct()
        whole = fresh.where("kind = 'broker-stats'").join(damaged, [*_BROKER], "left_anti")
        listing = whole.where("broker is not null").groupBy(*_BROKER).agg(fn.max("moment").alias("listed"))
        before = self._with_moments(TOPICS, self.before).join(fn.broadcast(listing), [*_BROKER])
        earlier = before.where("moment <= listed").select("cluster", "topic")
        return earlier.join(fresh.select("cluster", "topic"), ["cluster", "topic"], "left_anti")

    def _with_moments(self, table: Table, tables: Tables) -> DataFrame:
        """Rows with the moment of their file; for a member of a file of many answers, that of this file."""
        rows = tables.load(self.spark, table)
        if "file" not in table.names:
            return rows.withColumn("moment", fn.lit(0).cast("bigint"))
        moments = fn.broadcast(moments_frame(self.spark, self.moments))
        whole = moments.withColumnsRenamed({"file": "whole", "moment": "moment_of_whole"})
        rows = rows.withColumn("whole", _whole(fn.col("file")))
        rows = rows.join(moments, "file", "left").join(whole, "whole", "left")
        return rows.withColumn("moment", fn.coalesce("moment", "moment_of_whole", fn.lit(0)))


def _whole(file: Column) -> Column:
    return fn.split_part(file, fn.lit(": "), fn.lit(1))


def moments_frame(spark: SparkSession, moments: Mapping[str, int]) -> DataFrame:
    return spark.createDataFrame(list(moments.items()), "file string, moment bigint")


def moments_in_use(spark: SparkSession, merged: Tables, moments: Mapping[str, int]) -> dict[str, int]:
    """The moments of those files that rows in merged tables come from."""
    about_files = {about[0] for about in ABOUT.values() if about is not None and "file" in about[0].names}
    files = reduce(DataFrame.union, [merged.load(spark, table).select("file").distinct() for table in about_files])
    names = files.select(fn.explode(fn.array("file", _whole(fn.col("file")))).alias("file"))
    return dict(moments_frame(spark, moments).join(names, "file", "left_semi").collect())


def imbalance_rows(spark: SparkSession, batch: int, assigned: Tables) -> DataFrame:
    """Rows of ``imbalance_history`` from the ``subscription_loads`` of an assignment: those of the rule in force."""
    loads = assigned.load(spark, SUBSCRIPTION_LOADS).where("in_force")
    return loads.withColumn("batch", fn.lit(batch).cast("bigint")).select(*IMBALANCE_HISTORY.names)


def broker_rows(spark: SparkSession, batch: int, tables: Tables) -> DataFrame:
    """Rows of ``broker_history`` from merged topics; topics without a known broker are left out."""
    owned = tables.load(spark, TOPICS).where("broker is not null").groupBy(*_BROKER)
    sums = owned.agg(fn.count("*").alias("topics"), *(exact_sum(name).alias(name) for name in BROKER_HISTORY.names[4:]))
    return sums.withColumn("batch", fn.lit(batch).cast("bigint")).select(*BROKER_HISTORY.names)
