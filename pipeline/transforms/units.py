"""The units of the job ``assign``: subscriptions of a cluster with one list of consumers, before and after a change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as fn

from engine.admin.inference import (
    MOST_OBSERVED,
    ObservedActive,
    ObservedActives,
    RulesInForce,
    levels_of,
    list_of,
    rules_in_force,
)
from engine.config import ReleaseBehaviour
from engine.failover.bulk import Changes, ConsumerList
from engine.hashing import utf16_order
from pipeline.clusters import Reported
from pipeline.schemas import declared
from pipeline.transforms.subscriptions import UNIT

UNITS = declared(
    "units", "The units of a run.", """
    cluster, namespace, subscription
    consumer_set bigint
    topic
    partitions
    names array<string>?
    levels array<bigint>
    new_names array<string>
    new_levels array<bigint>
    in_order boolean
    """,
)  # fmt: skip
"""``names`` are empty where the set is missing; ``in_order``: as brokers sort them."""


def rules_by_cluster(
    units: DataFrame, known: Reported, *, release: ReleaseBehaviour | None, flag: bool | None
) -> dict[str, RulesInForce]:
    """The release and the flag of each cluster in ``units_of``, from what its own brokers reported.

    The evidence is the first ``MOST_OBSERVED`` lists of a cluster with observed active consumers: 2 MB each at most.
    """
    place = fn.row_number().over(Window.partitionBy("cluster").orderBy(fn.isnull("actives"), *UNIT))
    evidence: dict[str, list[ObservedActives]] = {}
    for row in units.withColumn("place", place).where(fn.col("place") <= MOST_OBSERVED).orderBy("place").collect():
        own = evidence.setdefault(row.cluster, [])
        if row.actives:
            seen = {(topic, index): active for topic, index, active in _observed(row.actives)}
            own.append(ObservedActives(tuple(row.names or ()), seen))
    return {
        cluster: rules_in_force(
            own,
            known.releases.get(cluster, ()),
            known.flags_of(cluster),
            given_release=release,
            given_flag=flag,
            inferred=known.inferred.get(cluster),
        )
        for cluster, own in sorted(evidence.items())
    }


def prepared(units: DataFrame, changes: Changes, rules: Mapping[str, RulesInForce]) -> DataFrame:
    """Rows of ``UNITS`` from those of ``units_of``."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            yield from UNITS.columns_of([_prepared(row, changes, rules) for row in batch.to_pylist()]).to_batches()

    return units.mapInArrow(run, UNITS.ddl)


def _prepared(row: Mapping[str, Any], changes: Changes, rules: Mapping[str, RulesInForce]) -> tuple[object, ...]:
    before = list_of(row["names"] or ())
    if observed := _observed(row["actives"]):
        now = rules[row["cluster"]]
        levels = levels_of(before.names, observed, consistent_hashing=now.consistent_hashing, behaviour=now.behaviour)
        before = ConsumerList(before.names, levels)
    key = (row["namespace"], row["subscription"], row["consumer_set"], row["cluster"])
    after = before if changes.nothing else changes.after(key, before)
    in_order = any(before.levels) or _is_sorted(before.names)
    lists = (row["names"], before.levels, after.names, after.levels)
    return (*(row[name] for name in (*UNIT, "topic", "partitions")), *lists, in_order)


def _is_sorted(names: Sequence[str]) -> bool:
    return all(utf16_order(before) <= utf16_order(after) for before, after in pairwise(names))


def _observed(actives: Iterable[Mapping[str, Any]] | None) -> list[ObservedActive]:
    return [(row["topic"], row["partition_index"], row["active"]) for row in actives or ()]


def consumer_lists(rows: Any, names: str, levels: str) -> list[ConsumerList]:
    """Two columns of ``UNITS`` as the engine takes them."""
    pairs = zip(rows[names].to_pylist(), rows[levels].to_pylist(), strict=True)
    return [ConsumerList(tuple(listed), tuple(each)) for listed, each in pairs]
