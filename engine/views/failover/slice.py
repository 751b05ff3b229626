"""One subscription of one state, with the data that panels share: active consumers, traffic, moves.

The rules are those of ``engine.failover``; this module keeps their answers in arrays.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from engine.cluster.moves import Difference, aligned, difference
from engine.cluster.owners import (
    NEW_PARTITION,
    active_ids,
    columns_of,
    dispatch_order,
    places_by_modulo,
    places_in,
    rules_of,
    runs_of,
)
from engine.cluster.partitions import Ids, PartitionColumns, traffic
from engine.cluster.state import ClusterState, Subscription, behaviour_in
from engine.config import ReleaseBehaviour
from engine.failover.choose import Rule, cohort
from engine.failover.model import Consumer
from engine.failover.ring import FailoverRing, failover_ring
from engine.memo import Remembered
from engine.views.failover.model import RuleInForce


class Owners(Struct, frozen=True, eq=False):
    """The active consumers of a set of topics: ``active`` holds positions in ``order``, -1 for nobody.

    ``order`` is the dispatcher's sorted list, its first ``cohort_size`` take part. ``rules`` are the rules that decide
    at least one partition (or would, where there is no partition yet). ``ids`` says the same as ``active`` in ids.
    """

    order: tuple[Consumer, ...]
    cohort_size: int
    active: Ids
    ids: Ids
    rules: frozenset[Rule]


class Slice(Struct, frozen=True, eq=False):
    """The data of the panels. Rates are those that go out to the consumers, parallel to ``topics.names``; where
    ``unknown``, unless it is None, no statistics have them and 0 is computed with; ``unacked_unknown`` likewise.
    """

    state: ClusterState
    subscription: Subscription
    behaviour: ReleaseBehaviour
    topics: PartitionColumns
    owners: Owners
    msgs_per_sec: NDArray[np.float64]
    bytes_per_sec: NDArray[np.float64]
    unacked: NDArray[np.int64]
    unknown: NDArray[np.bool_] | None
    unacked_unknown: NDArray[np.bool_] | None

    @property
    def order(self) -> tuple[Consumer, ...]:
        return self.owners.order

    @property
    def ring(self) -> FailoverRing | None:
        """The ring of the cohort; it exists (muted) while modulo decides too. None without consumers."""
        if not self.owners.order:
            return None
        cohort_ = self.owners.order[: self.cohort_size]
        return _rings.get((self.owners,), (), lambda: failover_ring(tuple(consumer.name for consumer in cohort_)))

    @property
    def cohort_size(self) -> int:
        return self.owners.cohort_size

    @property
    def rule(self) -> RuleInForce:
        """The rule in force, for the status line."""
        if not self.owners.order:
            return RuleInForce.NOBODY
        if len(self.owners.rules) > 1:
            return RuleInForce.MIXED
        return _RULES[next(iter(self.owners.rules))]

    @property
    def ring_decides(self) -> bool:
        """Whether the ring names the active consumer of any partition shown."""
        return bool(self.owners.order) and Rule.RING in self.owners.rules

    @property
    def levels_count(self) -> bool:
        """Whether priority levels decide for all partitions; before 3.0 they do not for topics without partitions."""
        return Rule.FIRST_CONNECTED not in self.owners.rules


_owners: Remembered[Owners] = Remembered()
_rings: Remembered[FailoverRing] = Remembered()
_RULES = {
    Rule.MODULO: RuleInForce.MODULO,
    Rule.RING: RuleInForce.RING,
    Rule.FIRST_CONNECTED: RuleInForce.FIRST_CONNECTED,
}


NO_SUBSCRIPTION = Subscription("", "", "", (), ())
"""An empty subscription, for states without a Failover subscription."""


def subscription_at(state: ClusterState, index: int) -> Subscription:
    """The subscription of that place, the last one past the end; ``NO_SUBSCRIPTION`` where there is none."""
    if not state.subscriptions:
        return NO_SUBSCRIPTION
    return state.subscriptions[min(max(index, 0), len(state.subscriptions) - 1)]


def slice_by_key(state: ClusterState, key: str) -> Slice | None:
    """The slice of the subscription with that key; None when the state has none."""
    match = next((subscription for subscription in state.subscriptions if subscription.key == key), None)
    return slice_of(state, match) if match else slice_of(state, NO_SUBSCRIPTION) if not key else None


def slice_of(state: ClusterState, subscription: Subscription) -> Slice:
    """The slice of one subscription of this state.

    O(n log n + t) for n consumers and t partitions; what its parts depend on is remembered by identity.
    """
    columns = columns_of(state, subscription)
    ids = active_ids(state, subscription)
    flow = traffic(columns, state.loads, subscription.loads)
    flag = state.settings.activeConsumerFailoverConsistentHashing
    behaviour = behaviour_in(state)

    def owners() -> Owners:
        order = dispatch_order(subscription.consumers)
        size = len(cohort(order))
        rules = rules_of(state, columns)
        if order and rules == {Rule.MODULO}:
            return Owners(order, size, places_by_modulo(columns, size), ids, rules)
        runs = runs_of(ids)
        active = np.repeat(places_in(order, runs.owner), runs.length)
        active.setflags(write=False)
        return Owners(order, size, active, ids, rules)

    return Slice(
        state=state,
        subscription=subscription,
        behaviour=behaviour,
        topics=columns,
        owners=_owners.get((ids, columns, subscription.consumers), (flag, behaviour), owners),
        msgs_per_sec=flow.msgs_per_sec,
        bytes_per_sec=flow.bytes_per_sec,
        unacked=flow.unacked,
        unknown=flow.unknown,
        unacked_unknown=flow.unacked_unknown,
    )


class Changes(Struct, frozen=True, eq=False):
    """``moved`` is parallel to the partitions now; ``gained`` and ``lost`` count partitions by consumer id.

    A partition has moved when it had an active consumer before and has another one now (``moves``). Gains and
    losses count more: partitions that came, went, were taken up or left alone. So before + gained - lost = now.
    """

    moved: NDArray[np.bool_]
    gained: Mapping[int, int]
    lost: Mapping[int, int]


def changes_between(before: Slice | None, now: Slice) -> Changes:
    """The changes of the last step; none without a step before. O(t) for t partitions."""
    count = len(now.topics)
    if before is None:
        return Changes(np.zeros(count, dtype=np.bool_), {}, {})
    ids_now, ids_before = now.owners.ids, before.owners.ids
    if ids_now is ids_before:
        return Changes(np.zeros(count, dtype=np.bool_), {}, {})
    if before.topics is now.topics:
        return _changes_in_bulk(difference(ids_before, ids_now))
    alignment = aligned(before.topics.names, now.topics.names)
    earlier = np.append(ids_before, NEW_PARTITION).astype(np.int64)[alignment.place]
    gone = ids_before[alignment.gone]
    different = np.flatnonzero(earlier != ids_now)
    old, new = earlier[different], ids_now[different]
    moved: NDArray[np.bool_] = np.zeros(count, dtype=np.bool_)
    moved[different] = (old >= 0) & (new >= 0)
    return Changes(moved, _counts(new), _counts(np.concatenate((old, gone)).astype(np.int64)))


def _changes_in_bulk(changed: Difference) -> Changes:
    gained, lost = (dict(enumerate(counts.tolist())) for counts in (changed.gained, changed.lost))
    return Changes(changed.moved, gained, lost)


def _counts(ids: Ids) -> dict[int, int]:
    values, counts = np.unique(ids[ids >= 0], return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))
