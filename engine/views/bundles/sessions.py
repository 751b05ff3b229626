"""Producers and consumers that are connected to each partition, over all subscriptions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine.cluster.partitions import partition_columns
from engine.cluster.remember import Remembered
from engine.cluster.state import ClusterState
from engine.names import partition_name

_sessions: Remembered[NDArray[np.int64]] = Remembered()


def sessions_of(state: ClusterState) -> NDArray[np.int64]:
    """Producers and consumers of each partition by the numbers of the table of topics: (2, n)."""
    parts = (state.topics, state.subscriptions, state.key_subscriptions, state.producer_topics)
    return _sessions.get(parts, (), lambda: _count(state))


def _count(state: ClusterState) -> NDArray[np.int64]:
    topics = state.topics
    producers, consumers = found = np.zeros((2, topics.partition_count), dtype=np.int64)
    for each in state.producer_topics:
        for index, objects in enumerate(each.producers.topic.connected):
            number = topics.partition_number(partition_name(each.topic, index))
            if number >= 0:
                producers[number] += len(objects)
    for subscription in state.subscriptions:
        consumers[partition_columns(topics, subscription).numbers] += len(subscription.consumers)
    for keyed in state.key_subscriptions:
        places = topics.places(keyed.topics)
        consumers[topics.numbers_of(places[places >= 0])] += len(keyed.consumers)
    return found
