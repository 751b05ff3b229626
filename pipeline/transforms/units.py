"""The units of the job ``assign``: subscriptions of a cluster with one list of consumers, before and after a change.

Rows of topics carry only the number of their unit, and the tasks that get them read the lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import msgspec
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
from engine.views.fleet.tables import declared
from pipeline.clusters import Reported
from pipeline.runs import Parts
from pipeline.transforms.subscriptions import UNIT

UNITS: Final = declared(
    "units", "Exists only during a run of assign: its units.", """
    number bigint Of the unit.
    cluster, namespace, subscription
    consumer_set bigint
    names array<string>
    levels array<bigint>
    new_names array<string>
    new_levels array<bigint>
    """,
)  # fmt: skip


class UnitAccount(msgspec.Struct):
    """What a task says of its units; ``lost`` are the consumer sets that are not there, with their clusters."""

    partitions: int = 0
    with_priority_levels: int = 0
    in_no_brokers_order: int = 0
    lost: set[tuple[str, int]] = set()


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


@dataclass(frozen=True)
class UnitWork:
    """Rows of ``UNITS`` from those of ``units_of``; ``rules`` are those of each cluster."""

    changes: Changes
    rules: Mapping[str, RulesInForce]

    def __call__(self, batches: Iterator[Any], parts: Parts) -> UnitAccount:
        account = UnitAccount()
        for batch in batches:
            rows = [self._row(row, account) for row in batch.to_pylist()]
            parts.write(UNITS, UNITS.columns_of(rows))
        return account

    def _row(self, row: Mapping[str, Any], account: UnitAccount) -> tuple[object, ...]:
        if row["names"] is None:
            account.lost.add((row["cluster"], row["consumer_set"]))
        before = list_of(row["names"] or ())
        if observed := _observed(row["actives"]):
            now = self.rules[row["cluster"]]
            flag = now.consistent_hashing
            levels = levels_of(before.names, observed, consistent_hashing=flag, behaviour=now.behaviour)
            before = ConsumerList(before.names, levels)
        key = (row["namespace"], row["subscription"], row["consumer_set"], row["cluster"])
        after = before if self.changes.nothing else self.changes.after(key, before)
        account.partitions += row["partitions"]
        account.with_priority_levels += any(before.levels)
        account.in_no_brokers_order += not any(before.levels) and not _is_sorted(before.names)
        lists = (before.names, before.levels, after.names, after.levels)
        return (*(row[name] for name in ("number", *UNIT)), *lists)


def _is_sorted(names: Sequence[str]) -> bool:
    return all(utf16_order(before) <= utf16_order(after) for before, after in pairwise(names))


def _observed(actives: Iterable[Mapping[str, Any]] | None) -> list[ObservedActive]:
    return [(row["topic"], row["partition_index"], row["active"]) for row in actives or ()]


def consumer_lists(rows: Any, names: str, levels: str) -> list[ConsumerList]:
    """Two columns of ``UNITS`` as the engine takes them."""
    pairs = zip(rows[names].to_pylist(), rows[levels].to_pylist(), strict=True)
    return [ConsumerList(tuple(listed), tuple(each)) for listed, each in pairs]
