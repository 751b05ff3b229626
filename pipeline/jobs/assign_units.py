"""Prepare the units of the job ``assign``: their lists before and after the change, and the rules of their brokers.

Units come from Spark in files, and go to a file, some thousand at a time: the driver's memory does not grow with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

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
from engine.errors import InputError
from engine.failover.bulk import Changes, ConsumerList
from engine.hashing import utf16_order
from pipeline.clusters import Reported
from pipeline.runs import Draft
from pipeline.schemas import CONSUMER_SETS, SUBSCRIPTIONS
from pipeline.storage import Place, for_arrow
from pipeline.tables import parts_in
from pipeline.transforms.subscriptions import UNIT
from pipeline.transforms.units import UNITS, FleetUnits


@dataclass
class Units:
    """What is known about all units together."""

    rules: Mapping[str, RulesInForce]
    """By cluster."""
    count: int = 0
    slots: int = 0
    with_priority_levels: int = 0
    in_no_brokers_order: int = 0
    unknown_lists: set[tuple[str, str]] = field(default_factory=set)
    """Keys of ``Changes.lists`` that no unit had so far."""
    unknown_names: set[str] = field(default_factory=set)
    """Consumers to remove that no unit had so far."""
    lost_sets: set[int] = field(default_factory=set)
    """Consumer sets that units refer to and the import lacks."""


def prepare_units(
    draft: Draft, source: Place, changes: Changes, rules: Mapping[str, RulesInForce]
) -> tuple[FleetUnits, Units]:
    """Write ``UNITS`` from the parts of ``units_of`` in the folder ``source``.

    Raises ``InputError`` where a consumer set is missing, or a consumer that is to be removed.
    """
    units = Units(rules, unknown_lists=set(changes.lists), unknown_names=set(changes.kill))
    with draft.writer((UNITS,)) as parts:
        for rows in _row_groups(source):
            parts.write(UNITS, UNITS.columns_of([_prepared(row, changes, units) for row in _tuples(rows)]))
    if units.lost_sets:
        raise InputError(
            f"{SUBSCRIPTIONS.name} refers to {len(units.lost_sets):,} consumer sets that {CONSUMER_SETS.name} lacks; "
            "run import again"
        )
    missing = [name for name in changes.kill if name in units.unknown_names]
    if missing:
        raise InputError(f"no Failover subscription has a consumer called {missing[0]!r}, so it cannot be removed")
    in_force = {cluster: (each.behaviour, each.consistent_hashing) for cluster, each in rules.items()}
    return FleetUnits(next(iter(draft.working.parts(UNITS)), draft.work), in_force), units


def _prepared(row: tuple[Any, ...], changes: Changes, units: Units) -> tuple[object, ...]:
    """A row of ``UNITS``, after it was counted."""
    *key, topic, names, actives = row
    cluster, namespace, subscription, consumer_set = key
    if names is None:
        units.lost_sets.add(consumer_set)
    before = list_of(names or ())
    if observed := _observed(actives):
        now = units.rules[cluster]
        levels = levels_of(before.names, observed, consistent_hashing=now.consistent_hashing, behaviour=now.behaviour)
        before = ConsumerList(before.names, levels)
    after = None if changes.nothing else changes.after((namespace, subscription, consumer_set, cluster), before)
    number, start = units.count, units.slots
    units.count += 1
    units.slots += len((after or before).names) + 1
    units.with_priority_levels += any(before.levels)
    units.in_no_brokers_order += not any(before.levels) and _unsorted(before.names)
    units.unknown_lists -= {(namespace, subscription), ("", subscription)}
    units.unknown_names.difference_update(before.names)
    new = (None, None) if after is None else (after.names, after.levels)
    return (number, *key, topic, start, units.slots, before.names, before.levels, *new)


def _unsorted(names: Sequence[str]) -> bool:
    return any(utf16_order(after) < utf16_order(before) for before, after in pairwise(names))


def rules_by_cluster(
    source: Place, known: Reported, *, release: ReleaseBehaviour | None, flag: bool | None
) -> dict[str, RulesInForce]:
    """The release and the flag of each cluster, from what its own brokers reported.

    The evidence is the first ``MOST_OBSERVED`` lists of a cluster with observed active consumers: 2 MB each at most.
    """
    evidence: dict[str, list[ObservedActives]] = {}
    for rows in _row_groups(source):
        here = [evidence.setdefault(cluster, []) for cluster in pc.unique(rows["cluster"]).to_pylist()]
        if all(len(own) >= MOST_OBSERVED for own in here):
            continue
        for cluster, *_, names, actives in _tuples(rows.filter(pc.is_valid(rows["actives"]))):
            if len(evidence[cluster]) < MOST_OBSERVED:
                seen = {(topic, index): active for topic, index, active in _observed(actives)}
                evidence[cluster].append(ObservedActives(tuple(names or ()), seen))
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


def _observed(actives: Iterable[Mapping[str, Any]] | None) -> list[ObservedActive]:
    return [(row["topic"], row["partition_index"], row["active"]) for row in actives or ()]


def _tuples(rows: Any) -> Iterator[tuple[Any, ...]]:
    return zip(*(rows[name].to_pylist() for name in (*UNIT, "topic", "names", "actives")), strict=True)


def _row_groups(source: Place) -> Iterator[Any]:
    for part in parts_in(source):
        with pq.ParquetFile(for_arrow(part)) as parquet:
            for number in range(parquet.num_row_groups):
                yield parquet.read_row_group(number)
