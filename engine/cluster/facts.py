"""What follows from a state: active consumers, and the topics of a namespace with their traffic.

Nothing here is stored in the state. Every answer is remembered by the identity of the parts it was computed from, so
that a state which shares those parts with another one (``evolve`` copies only what it changes) is answered at once.
Answers are shared: do not change them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.bundles.boundaries import NamespaceBundles, namespace_bundles
from engine.bundles.loads import TopicLoad, topic_load
from engine.cluster.owners import owner_ids
from engine.cluster.partitions import (
    ActiveConsumers,
    PartitionColumns,
    large_loads,
    large_topics,
    partition_columns,
)
from engine.cluster.remember import Remembered
from engine.cluster.state import ClusterState, Load, Subscription
from engine.cluster.topic_table import TopicTable
from engine.config import CURRENT, ReleaseBehaviour, behaviour_of
from engine.errors import Rejection
from engine.failover.choose import Choice, choose_many
from engine.failover.model import Consumer
from engine.names import NON_PERSISTENT, TopicName, parse_topic_name, partition_index

NEW_PARTITION: Final = -2
"""Stands for the owner before of a partition that was not there."""

NO_STATISTICS = Load()
"""What a partition without statistics counts as in sums."""

_names: Remembered[Sequence[str]] = Remembered()
_choices: Remembered[tuple[Choice, ...]] = Remembered()
_active: Remembered[Mapping[str, Consumer | None]] = Remembered()
_loads: Remembered[Mapping[str, Load]] = Remembered()
_topic_loads: Remembered[tuple[TopicLoad, ...]] = Remembered()


def behaviour_in(state: ClusterState) -> ReleaseBehaviour:
    """The release of a state; a label that no rule knows behaves like the current release."""
    behaviour = behaviour_of(state.release)
    return CURRENT if isinstance(behaviour, Rejection) else behaviour


def columns_of(state: ClusterState, subscription: Subscription) -> PartitionColumns | None:
    """The partitions of a subscription of a large state in columns; None for a state of plain values."""
    topics = large_topics(state)
    return None if topics is None else partition_columns(topics, subscription)


def active_ids(state: ClusterState, subscription: Subscription, columns: PartitionColumns) -> NDArray[np.int32]:
    """The id of the active consumer beside ``columns``, -1 for nobody (see ``owners.owner_ids``)."""
    behaviour = behaviour_in(state)
    flag = state.settings.activeConsumerFailoverConsistentHashing and behaviour.knows_failover_consistent_hashing
    return owner_ids(columns, subscription.consumers, consistent_hashing=flag, behaviour=behaviour)


def partition_names(state: ClusterState, subscription: Subscription) -> Sequence[str]:
    """The names that have a dispatcher in a subscription, topic by topic in its order; by hash in a large state."""
    columns = columns_of(state, subscription)
    if columns is not None:
        return columns.names
    return _names.get(
        (subscription.topics, state.topics),
        (),
        lambda: tuple(name for topic in subscription.topics for name in state.topics[topic].partition_names()),
    )


def choices(state: ClusterState, subscription: Subscription) -> tuple[Choice, ...]:
    """The broker's choice for each of ``partition_names``, in parallel; empty when nobody is connected.

    Each choice names the rule in force and the sorted list it was made from. O(n log n + t log n) for n consumers and
    t partitions, O(1) when nothing it depends on has changed.
    """
    names = partition_names(state, subscription)
    behaviour = behaviour_in(state)
    flag = state.settings.activeConsumerFailoverConsistentHashing and behaviour.knows_failover_consistent_hashing
    return _choices.get(
        (names, subscription.consumers),
        (flag, behaviour.nonpartitioned_failover),
        lambda: tuple(
            choose_many(
                subscription.consumers,
                [(name, partition_index(name)) for name in names],
                consistent_hashing=flag,
                behaviour=behaviour,
            )
        ),
    )


def active_consumers(state: ClusterState, subscription: Subscription) -> Mapping[str, Consumer | None]:
    """Partition name -> its active consumer, None for all while nobody is connected. Order of ``partition_names``."""
    columns = columns_of(state, subscription)
    if columns is not None:
        return ActiveConsumers(columns.names, active_ids(state, subscription, columns), subscription.consumers)
    names = partition_names(state, subscription)
    chosen = choices(state, subscription)

    def compute() -> Mapping[str, Consumer | None]:
        if not chosen:
            return dict.fromkeys(names)
        return {name: choice.active for name, choice in zip(names, chosen, strict=True)}

    return _active.get((names, chosen), (), compute)


def dispatched_load(state: ClusterState, subscription: Subscription, name: str) -> Load:
    """What goes out to the consumers of one subscription from a partition, zeros where nothing was reported.

    A topic without numbers of its own subscriptions is taken to have this one alone.
    """
    own = subscription.loads.get(name)
    return own if own is not None else state.loads.get(name, NO_STATISTICS)


def partition_loads(state: ClusterState) -> Mapping[str, Load]:
    """The traffic of every partition of every topic, by name; zeros where there are no statistics."""
    return _loads.get(
        (state.topics, state.loads),
        (),
        lambda: {
            name: state.loads.get(name, NO_STATISTICS)
            for topic in state.topics.values()
            for name in topic.partition_names()
        },
    )


def topic_loads(state: ClusterState, namespace: str) -> tuple[TopicLoad, ...]:
    """What a split of a bundle of this namespace looks at (``getOwnedTopicListForNamespaceBundle``).

    First what the broker lists (topics that are not partitioned, partitions with statistics; persistent before
    non-persistent), then the partitions known from metadata alone, each group in the order of names. O(t log t).
    """
    return _topic_loads.get((state.topics, state.loads), (namespace,), lambda: _compute_topic_loads(state, namespace))


def _large_topic_loads(state: ClusterState, topics: TopicTable, namespace: str) -> tuple[TopicLoad, ...]:
    """``topic_loads`` from columns: one pass over the partitions of the namespace instead of a search for each."""
    loads = large_loads(topics, state.loads)
    every = topics.topic_of(np.arange(topics.partition_count))
    wanted = [number for number, name in enumerate(topics.namespaces) if name == namespace and name]
    numbers = np.flatnonzero(np.isin(topics.namespace_no, wanted)[every])
    known = np.ones(len(numbers), dtype=np.bool_) if loads.known is None else loads.known[numbers]
    metadata_only = (topics.partitions[every[numbers]] > 0) & ~known
    if len(numbers) == topics.partition_count:
        names = [name for chunk in topics.partition_name_chunks() for name in chunk]
    else:
        names = [topics.partition_name(number) for number in numbers.tolist()]
    rows = zip(names, topics.crc32[numbers].tolist(), *loads.rates[:, numbers].tolist(), known.tolist(), strict=True)
    found = [TopicLoad(*row) for row in rows]
    apart = [*map(_is_non_persistent, names)]
    if not metadata_only.any() and not any(apart):
        return tuple(found[at] for at in sorted(range(len(found)), key=names.__getitem__))
    ranks = list(zip(metadata_only.tolist(), apart, names, strict=True))
    return tuple(found[at] for at in sorted(range(len(found)), key=ranks.__getitem__))


def _is_non_persistent(name: str) -> bool:
    return name.partition("://")[0].lower() == NON_PERSISTENT


def _compute_topic_loads(state: ClusterState, namespace: str) -> tuple[TopicLoad, ...]:
    topics = large_topics(state)
    if topics is not None:
        return _large_topic_loads(state, topics, namespace)
    ranked: list[tuple[bool, bool, str]] = []
    for topic in state.topics.values():
        name = parse_topic_name(topic.name)
        if not isinstance(name, TopicName) or name.namespace != namespace:
            continue
        for partition in topic.partition_names():
            metadata_only = topic.partitions > 0 and partition not in state.loads
            ranked.append((metadata_only, name.domain == NON_PERSISTENT, partition))
    found: list[TopicLoad] = []
    for _, _, partition in sorted(ranked):
        load = state.loads.get(partition)
        if load is None:
            found.append(topic_load(partition, has_stats=False))
            continue
        found.append(
            topic_load(
                partition,
                load.msg_rate_in,
                load.msg_rate_out,
                load.throughput_in_bytes_per_sec,
                load.throughput_out_bytes_per_sec,
            )
        )
    return tuple(found)


def bundles_of(state: ClusterState, namespace: str) -> NamespaceBundles:
    """The bundles of a namespace that the state knows, splits included."""
    bundles = namespace_bundles(namespace, state.namespaces[namespace].boundaries)
    assert not isinstance(bundles, Rejection), f"{namespace} has invalid boundaries: {bundles}"
    return bundles
