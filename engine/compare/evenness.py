"""How evenly one subscription's work falls on its consumers, as a handful of numbers that can be compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.cluster.owners import (
    active_ids,
    columns_of,
    dispatch_order,
    places_in,
    rules_of,
    runs_of,
    sums_by_modulo,
    sums_of_runs,
)
from engine.cluster.partitions import PartitionColumns, traffic
from engine.cluster.state import ClusterState, Subscription, behaviour_in
from engine.failover.choose import Rule, cohort, rule_in_force
from engine.memo import Remembered


@dataclass(frozen=True, slots=True)
class Evenness:
    """The work of the consumers that can be active; standbys count nowhere.

    ``items`` are partitions (slots of a Key_Shared subscription), ``owned`` those that somebody has, ``busiest`` those
    of the consumer with most of them; ``msgs_per_sec`` is what all get, ``busiest_msgs_per_sec`` the most that one gets
    (in a Key_Shared subscription messages of known keys, not a rate). ``max_over_mean_*`` is the largest divided by the
    mean, 0.0 where there is nothing to divide. ``idle`` consumers have nothing.
    """

    consumers: int
    items: int
    owned: int
    busiest: int
    idle: int
    max_over_mean: float
    msgs_per_sec: float
    busiest_msgs_per_sec: float
    max_over_mean_rate: float


def evenness_of(counts: NDArray[np.int64], rates: NDArray[np.float64], items: int) -> Evenness:
    """The numbers for items and messages per second of each consumer: (c,) each.

    >>> even = evenness_of(np.array([4, 2, 0]), np.array([1.0, 5.0, 0.0]), 6)
    >>> even.max_over_mean, even.max_over_mean_rate, even.idle
    (2.0, 2.5, 1)
    """
    size, owned, rate = len(counts), int(counts.sum()), float(rates.sum())
    busiest, fastest = int(counts.max(initial=0)), float(rates.max(initial=0.0))
    return Evenness(
        consumers=size,
        items=items,
        owned=owned,
        busiest=busiest,
        idle=int(np.count_nonzero(counts == 0)),
        max_over_mean=busiest * size / owned if owned else 0.0,
        msgs_per_sec=rate,
        busiest_msgs_per_sec=fastest,
        max_over_mean_rate=fastest * size / rate if rate > 0 else 0.0,
    )


NO_EVENNESS = evenness_of(np.zeros(0, dtype=np.int64), np.zeros(0), 0)
"""Of a subscription that a state does not have."""

_evenness: Remembered[Evenness] = Remembered()
_shares: Remembered[tuple[NDArray[np.int64], NDArray[np.float64]]] = Remembered()


def evenness(state: ClusterState, subscription: Subscription) -> Evenness:
    """The evenness of a Failover subscription. O(partitions) once, less by modulo."""
    counts, rates = shares(state, subscription)

    def compute() -> Evenness:
        columns = columns_of(state, subscription)
        size = _candidates(state, columns, subscription)
        return evenness_of(counts[:size], rates[:size], len(columns))

    return _evenness.get((counts, rates, subscription.consumers), (), compute)


def shares(state: ClusterState, subscription: Subscription) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Active partitions, and messages per second that go out, by place in the dispatcher's order: (c,) each.

    O(partitions) once; on the ring neighbours have one owner, so whole runs are added up.
    """
    columns = columns_of(state, subscription)
    flow = traffic(columns, state.loads, subscription.loads).msgs_per_sec
    ids = active_ids(state, subscription)

    def compute() -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        order = dispatch_order(subscription.consumers)
        if order and rules_of(state, columns) == {Rule.MODULO}:
            return sums_by_modulo(columns.index, flow, len(cohort(order)), len(order))
        runs = runs_of(ids)
        return sums_of_runs(runs, places_in(order, runs.owner), flow, len(order))

    return _shares.get((ids, flow, subscription.consumers), (), compute)


def _candidates(state: ClusterState, columns: PartitionColumns, subscription: Subscription) -> int:
    """How many consumers can be active: the first in the dispatcher's order."""
    order = dispatch_order(subscription.consumers)
    behaviour = behaviour_in(state)
    if columns.without and rule_in_force(-1, consistent_hashing=False, behaviour=behaviour) is Rule.FIRST_CONNECTED:
        return len(order)  # levels play no part for such a topic
    return len(cohort(order))
