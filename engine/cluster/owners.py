"""The active consumer of each partition of a subscription, as arrays.

On the ring they are cut at its points, by the modulo rule it is one look-up by partition index. Results are cached by
the identity of their inputs.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from engine.cluster.partitions import (
    ActiveConsumers,
    Ids,
    PartitionColumns,
    PartitionNames,
    partition_columns,
)
from engine.cluster.state import ClusterState, Subscription, behaviour_in
from engine.config import ReleaseBehaviour
from engine.failover.bulk_ring import NOBODY
from engine.failover.choose import Rule, cohort, rule_in_force, sort_consumers
from engine.failover.model import Consumer
from engine.failover.ring import failover_ring
from engine.memo import Remembered


class Runs(Struct, frozen=True, eq=False):
    """Neighbours in hash order that have one owner: ``start`` and ``length`` of each run, and its ``owner``: (r,)."""

    start: NDArray[np.int64]
    length: NDArray[np.int64]
    owner: Ids


_owners: Remembered[NDArray[np.int32]] = Remembered()
_orders: Remembered[tuple[Consumer, ...]] = Remembered()
_by_modulo: Remembered[NDArray[np.int32]] = Remembered()
_by_index: Remembered[tuple[NDArray[np.int64], NDArray[np.float64]]] = Remembered()
_runs: Remembered[Runs] = Remembered()


def owner_ids(
    columns: PartitionColumns, consumers: tuple[Consumer, ...], *, consistent_hashing: bool, behaviour: ReleaseBehaviour
) -> NDArray[np.int32]:
    """The id of each partition's active consumer, -1 for nobody: (n,) int32 beside ``columns``, read-only.

    The same as ``engine.failover.choose.choose_many``. O(n) for the modulo rule; on the ring O(p log p + n) for p
    points.
    """

    def compute() -> NDArray[np.int32]:
        ids = _owner_ids(columns, consumers, consistent_hashing, behaviour)
        ids.setflags(write=False)
        return ids

    return _owners.get((columns, consumers), (consistent_hashing, behaviour), compute)


def dispatch_order(consumers: tuple[Consumer, ...]) -> tuple[Consumer, ...]:
    """``sort_consumers``, cached."""
    return _orders.get((consumers,), (), lambda: sort_consumers(consumers))


def places_by_modulo(columns: PartitionColumns, size: int) -> NDArray[np.int32]:
    """Partition index modulo the size of the cohort, for partitions that all have an index: (n,) int32, read-only.

    O(n) once per size; free where no index is that high.
    """
    if columns.highest < size:
        return columns.index

    def compute() -> NDArray[np.int32]:
        places: NDArray[np.int32] = columns.index % np.int32(size)
        places.setflags(write=False)
        return places

    return _by_modulo.get((columns,), (size,), compute)


def runs_of(owners: Ids) -> Runs:
    """The runs of an array of owners. O(n) once."""

    def compute() -> Runs:
        if not len(owners):
            none = np.zeros(0, dtype=np.int64)
            return Runs(none, none, owners)
        start = np.concatenate(([0], np.flatnonzero(owners[1:] != owners[:-1]) + 1))
        return Runs(start, np.diff(start, append=len(owners)), owners[start])

    return _runs.get((owners,), (), compute)


def sums_of_runs(
    runs: Runs, places: Ids, weights: NDArray[np.float64], size: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """How many partitions each of ``size`` places has, and the sum of their weights.

    ``places`` has the place of each run: (r,), -1 for none. In hash order neighbours have one owner, so whole runs are
    added up. O(n) additions.

    >>> runs = runs_of(np.array([1, 1, -1, 0], np.int32))
    >>> sums_of_runs(runs, runs.owner, np.array([1.0, 2.0, 4.0, 8.0]), 2)
    (array([1, 2]), array([8., 3.]))
    """
    if not len(runs.start):
        return np.zeros(size, dtype=np.int64), np.zeros(size)
    heads = places.astype(np.int64) + 1
    counts = np.bincount(heads, weights=runs.length, minlength=size + 1)
    sums = np.bincount(heads, weights=np.add.reduceat(weights, runs.start), minlength=size + 1)
    return counts[1:].astype(np.int64), sums[1:].astype(np.float64)


def sums_by_modulo(
    index: NDArray[np.integer], weights: NDArray[np.float64], cohort_size: int, size: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The same under the modulo rule for ``index`` (n,), 0 or more. O(n) once per traffic, then O(highest index).

    >>> sums_by_modulo(np.array([0, 1, 2, 2]), np.array([1.0, 2.0, 4.0, 8.0]), 2, 3)
    (array([3, 1, 0]), array([13.,  2.,  0.]))
    """

    def compute() -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        counts = np.bincount(index).astype(np.int64, copy=False)
        return counts, np.bincount(index, weights=weights).astype(np.float64, copy=False)

    counts, sums = _by_index.get((index, weights), (), compute)
    places = np.arange(len(counts)) % cohort_size
    return (
        np.bincount(places, weights=counts, minlength=size).astype(np.int64),
        np.bincount(places, weights=sums, minlength=size).astype(np.float64, copy=False),
    )


def _owner_ids(
    columns: PartitionColumns, consumers: tuple[Consumer, ...], consistent_hashing: bool, behaviour: ReleaseBehaviour
) -> NDArray[np.int32]:
    if not consumers:
        return np.full(len(columns), NOBODY, dtype=np.int32)
    leading = cohort(dispatch_order(consumers))
    ids = np.array([consumer.consumer_id for consumer in leading], dtype=np.int32)

    def by(index: int) -> NDArray[np.int32]:
        rule = rule_in_force(index, consistent_hashing=consistent_hashing, behaviour=behaviour)
        if rule is Rule.RING:
            ring = failover_ring(tuple(consumer.name for consumer in leading))
            return ids[ring.owners_of_sorted(columns.hash)]
        if rule is Rule.FIRST_CONNECTED:
            return np.full(len(columns), consumers[0].consumer_id, dtype=np.int32)
        if columns.highest <= 0:
            return np.full(len(columns), ids[0], dtype=np.int32)
        return ids.take(places_by_modulo(columns, len(ids)), mode="clip")

    if not columns.without:
        return by(0)
    return np.where(columns.index < 0, by(-1), by(0)) if columns.with_index else by(-1)


def places_in(order: tuple[Consumer, ...], ids: Ids) -> NDArray[np.int32]:
    """(n,) the position of each id in the dispatcher's order, -1 for nobody."""
    places = np.full(max((consumer.consumer_id for consumer in order), default=-1) + 2, -1, dtype=np.int32)
    places[[consumer.consumer_id for consumer in order]] = np.arange(len(order), dtype=np.int32)
    return places[ids]  # nobody (-1) is the last one


def in_connect_order(consumers: tuple[Consumer, ...], some: tuple[Consumer, ...]) -> tuple[Consumer, ...]:
    """Some of the consumers, in the order in which all connected."""
    ids = {consumer.consumer_id for consumer in some}
    return tuple(consumer for consumer in consumers if consumer.consumer_id in ids)


NEW_PARTITION: Final = -2
"""The owner before of a partition that did not exist."""


_active: Remembered[ActiveConsumers] = Remembered()


def columns_of(state: ClusterState, subscription: Subscription) -> PartitionColumns:
    """The partitions of a subscription in columns. O(n log n) once."""
    return partition_columns(state.topics, subscription)


def partition_names(state: ClusterState, subscription: Subscription) -> PartitionNames:
    """The names that have a dispatcher in a subscription, in hash order."""
    return columns_of(state, subscription).names


def rules_of(state: ClusterState, columns: PartitionColumns) -> frozenset[Rule]:
    """The rules that decide for these partitions: two where topics without partitions go by another rule."""
    flag, behaviour = state.settings.activeConsumerFailoverConsistentHashing, behaviour_in(state)
    kinds = [*([0] if columns.with_index else []), *([-1] if columns.without else [])]
    return frozenset(rule_in_force(kind, consistent_hashing=flag, behaviour=behaviour) for kind in kinds)


def active_ids(state: ClusterState, subscription: Subscription) -> NDArray[np.int32]:
    """The id of the active consumer beside ``columns_of``, -1 for nobody (see ``owners.owner_ids``)."""
    behaviour = behaviour_in(state)
    flag = state.settings.activeConsumerFailoverConsistentHashing and behaviour.knows_failover_consistent_hashing
    columns = columns_of(state, subscription)
    return owner_ids(columns, subscription.consumers, consistent_hashing=flag, behaviour=behaviour)


def active_consumers(state: ClusterState, subscription: Subscription) -> ActiveConsumers:
    """Partition name -> its active consumer, None for all while nobody is connected; in hash order."""
    ids, names = active_ids(state, subscription), partition_names(state, subscription)
    consumers = subscription.consumers
    return _active.get((ids, names, consumers), (), lambda: ActiveConsumers(names, ids, consumers))
