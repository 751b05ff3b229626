"""What follows from a state: active consumers, and the topics of a namespace with their traffic.

Nothing here is stored in the state. Every answer is remembered by the identity of the parts it was computed from, so
that a state which shares those parts with another one (``evolve`` copies only what it changes) is answered at once.
Answers are shared: do not change them.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.cluster.owners import owner_ids
from engine.cluster.partitions import (
    ActiveConsumers,
    PartitionColumns,
    PartitionNames,
    partition_columns,
)
from engine.cluster.state import ClusterState, Subscription, behaviour_in
from engine.failover.choose import Rule, rule_in_force
from engine.memo import Remembered

NEW_PARTITION: Final = -2
"""Stands for the owner before of a partition that was not there."""


_active: Remembered[ActiveConsumers] = Remembered()


def columns_of(state: ClusterState, subscription: Subscription) -> PartitionColumns:
    """The partitions of a subscription in columns. O(n log n) once."""
    return partition_columns(state.topics, subscription)


def partition_names(state: ClusterState, subscription: Subscription) -> PartitionNames:
    """The names that have a dispatcher in a subscription, in hash order."""
    return columns_of(state, subscription).names


def rules_of(state: ClusterState, columns: PartitionColumns) -> frozenset[Rule]:
    """The rules that decide for these partitions: of partitions and of topics without any there can be two."""
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
