"""The topics of a namespace of a large state, in columns, as a simulation of balancing takes them."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.balance.topic_columns import TopicColumns
from engine.bundles.load_columns import LoadColumns, PickedNames, Rows
from engine.cluster.partitions import large_loads, large_topics, partition_columns
from engine.cluster.remember import Remembered
from engine.cluster.state import ClusterState
from engine.cluster.topic_table import LoadTable, NumberedNames, TopicTable
from engine.names import NON_PERSISTENT, partition_name

LONGEST_NAME: Final = 512
"""In bytes; names are sorted in a table as wide as the longest one."""

_loads: Remembered[LoadColumns | None] = Remembered()
_sessions: Remembered[NDArray[np.int64]] = Remembered()


def large_balance_topics(state: ClusterState, namespace: str, growth: float) -> TopicColumns | None:
    """``facts.topic_loads`` of a namespace with sessions and growth; None for a small state, and for odd names.

    O(n log n) once, in whole columns or a chunk of names at a time, so that other threads go on meanwhile.
    """
    topics = large_topics(state)
    if topics is None:
        return None
    rates = large_loads(topics, state.loads)
    loads = _loads.get((state.topics, state.loads), (namespace,), lambda: _listed(topics, rates, namespace))
    if loads is None:
        return None
    connected = _sessions.get(
        (state.topics, state.subscriptions, state.key_subscriptions, state.producer_topics),
        (),
        lambda: _connected(state, topics),
    )
    return TopicColumns(loads, connected[:, loads.names.rows], np.full(len(loads), growth))


def _listed(topics: TopicTable, loads: LoadTable, namespace: str) -> LoadColumns | None:
    """What a broker lists first comes first, persistent before non-persistent, each group by name."""
    every = topics.topic_of(np.arange(topics.partition_count))
    wanted = [number for number, name in enumerate(topics.namespaces) if name == namespace and name]
    inside = np.isin(topics.namespace_no, wanted)[every]
    names = _names(topics)
    if names is None:
        return None
    numbers = np.flatnonzero(inside)
    names = names[inside]
    known = np.ones(len(numbers), dtype=np.bool_) if loads.known is None else loads.known[numbers]
    metadata_only = (topics.partitions[every[numbers]] > 0) & ~known
    by_name = np.argsort(names, kind="stable")
    if len(names) and bool((names[by_name[1:]] == names[by_name[:-1]]).any()):
        return None
    groups = 2 * metadata_only + _non_persistent(names)
    order = by_name[np.argsort(groups[by_name], kind="stable")]
    rows = numbers[order]
    source = NumberedNames(topics, np.arange(topics.partition_count, dtype=np.int32))
    return LoadColumns(PickedNames(source, rows), topics.crc32[rows], loads.rates[:, rows], known[order])


def _names(topics: TopicTable) -> NDArray[np.bytes_] | None:
    """The names of all partitions in UTF-8, whose order is that of the texts; None where a table cannot hold them."""
    column = topics.names.column
    if not len(topics) or not bool(column.data.all()):
        return None  # a table takes a zero byte at the end of a name for none
    widest = int(np.diff(column.offsets).max()) + len(partition_name("", 2**31))
    if widest > LONGEST_NAME:
        return None
    names = np.empty(topics.partition_count, dtype=f"S{widest}")
    at = 0
    for chunk in topics.partition_name_chunks():
        names[at : at + len(chunk)] = [name.encode("utf-8", "surrogatepass") for name in chunk]
        at += len(chunk)
    return names


def _non_persistent(names: NDArray[np.bytes_]) -> NDArray[np.bool_]:
    """Whether each name is of the other domain, in whatever case its letters are."""
    domain = NON_PERSISTENT.encode()
    found = np.zeros(len(names), dtype=np.bool_)
    if names.itemsize < len(domain):
        return found
    letters = names.view(np.uint8).reshape(len(names), names.itemsize)[:, : len(domain)]
    likely = ((letters | 0x20) == np.frombuffer(domain, dtype=np.uint8)).all(axis=1)
    for row in np.flatnonzero(likely).tolist():
        found[row] = bytes(names[row]).decode("utf-8", "surrogatepass").partition("://")[0].lower() == NON_PERSISTENT
    return found


def _connected(state: ClusterState, topics: TopicTable) -> NDArray[np.int64]:
    """Producers and consumers of each partition, over all subscriptions: (2, n)."""
    found = np.zeros((2, topics.partition_count), dtype=np.int64)
    for each in state.producer_topics:
        for index, objects in enumerate(each.producers.topic.connected):
            number = topics.partition_number(partition_name(each.topic, index))
            if number >= 0:
                found[0, number] += len(objects)
    for subscription in state.subscriptions:
        _add(found[1], partition_columns(topics, subscription).numbers, len(subscription.consumers))
    for keyed in state.key_subscriptions:
        places = np.array([topics.place(name) for name in keyed.topics], dtype=np.int64)
        for low, past in zip(topics.first[places].tolist(), topics.first[places + 1].tolist(), strict=True):
            found[1, low:past] += len(keyed.consumers)
    return found


def _add(counts: NDArray[np.int64], numbers: Rows | NDArray[np.int32], each: int) -> None:
    """A topic that a subscription names twice counts twice."""
    counts += np.bincount(numbers, minlength=len(counts)) * each
