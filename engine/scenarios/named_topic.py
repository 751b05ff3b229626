"""A topic and consumers by their names alone, before either of them exists."""

from __future__ import annotations

from collections.abc import Sequence

from engine.bundles.boundaries import default_boundaries
from engine.cluster.state import ClusterState, Namespace, Subscription
from engine.cluster.tables.loads import LoadTable
from engine.cluster.tables.topics import NOTHING_REPORTED, Topic, TopicTable
from engine.config import CURRENT, behaviour_of, default_settings
from engine.errors import InputError, Rejection
from engine.failover.model import Consumer
from engine.names import TopicName, parse_topic_name
from engine.scenarios.opening import Opened
from engine.scenarios.synthetic import MAX_CONSUMERS, MAX_PARTITIONS_IN_ALL
from engine.text import counted

SUBSCRIPTION = "planned"


def named_topic(
    topic: str, partitions: int | None, consumers: Sequence[str], *, release: str = CURRENT.label
) -> Opened:
    """A cluster of one topic with one Failover subscription, in a namespace as the release makes it by default.

    ``topic`` is any form that Pulsar takes; the name of a partition stands for its topic with so many partitions at
    least. ``consumers`` join in this order, all at priority level 0. ``partitions`` None: as many as the name says.
    Raises ``InputError`` for a name that Pulsar refuses, and for numbers beyond their limits.

    >>> named_topic("orders-partition-3", None, ["a", "b"]).state.topics["persistent://public/default/orders"].partitions
    4
    """
    behaviour = behaviour_of(release)
    if isinstance(behaviour, Rejection):
        raise InputError(behaviour.message)
    parsed = parse_topic_name(topic)
    if not isinstance(parsed, TopicName):
        raise InputError(f"{topic!r}: {parsed.message}")
    least = parsed.partition_index + 1
    count = least if partitions is None else partitions
    if not least <= count <= MAX_PARTITIONS_IN_ALL:
        raise InputError(f"partitions is {count}: give {least} to {MAX_PARTITIONS_IN_ALL}")
    if len(consumers) > MAX_CONSUMERS:
        raise InputError(f"{len(consumers)} consumers: give {MAX_CONSUMERS} at most")
    settings = default_settings(behaviour)
    boundaries = default_boundaries(settings.defaultNumberOfNamespaceBundles)
    assert not isinstance(boundaries, Rejection), boundaries
    table = TopicTable.of([Topic(parsed.partitioned_topic, count)])
    state = ClusterState(
        release=behaviour.label,
        settings=settings,
        topics=table,
        loads=LoadTable.of(table, NOTHING_REPORTED),
        subscriptions=(
            Subscription(
                key=SUBSCRIPTION,
                name=SUBSCRIPTION,
                namespace=parsed.namespace,
                topics=table.names,
                consumers=tuple(Consumer(at, name) for at, name in enumerate(consumers)),
            ),
        ),
        namespaces={parsed.namespace: Namespace(parsed.namespace, boundaries)},
        next_consumer_id=len(consumers),
    )
    return Opened(state, f"planned: {parsed.partitioned_topic}, {counted(len(consumers), 'consumer')}")
