"""A topic more, less, or with more partitions, among topics in columns: the others are not hashed again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.bulk_hashing import ByteColumn, crc32_bulk, murmur3_bulk
from engine.cluster.tables.loads import LoadTable
from engine.cluster.tables.texts import Texts
from engine.cluster.tables.topics import Load, Origin, Topic, TopicTable
from engine.names import TopicName, parse_topic_name


def with_topic(topics: TopicTable, topic: Topic) -> TopicTable:
    """These and one more (as the last one), or with other partitions (in its place)."""
    place = topics.place(topic.name)
    return _appended(topics, topic) if place < 0 else _resized(topics, place, topic)


def without_topic(topics: TopicTable, name: str) -> TopicTable:
    """These but one."""
    place = topics.place(name)
    column = topics.names.column
    low, high = int(column.offsets[place]), int(column.offsets[place + 1])
    offsets = np.delete(column.offsets.astype(np.int64), place)
    offsets[place:] = offsets[place:] - (high - low)
    names = Texts(ByteColumn(offsets, np.delete(column.data, slice(low, high))))
    kept = np.ones(topics.partition_count, dtype=np.bool_)
    kept[int(topics.first[place]) : int(topics.first[place + 1])] = False
    return TopicTable(
        names,
        np.delete(topics.partitions, place),
        topics.namespaces,
        np.delete(topics.namespace_no, place),
        hashes=(topics.hash[kept], topics.crc32[kept]),
        origin=Origin(topics.root, topics.root_numbers[kept]),
    )


def without_loads(topics: TopicTable, loads: Mapping[str, Load], gone: frozenset[str]) -> Mapping[str, Load]:
    """The statistics of a subscription without those of some partitions; ``topics`` are those that are left."""
    if isinstance(loads, LoadTable):
        return LoadTable.of(topics, loads)
    return loads if gone.isdisjoint(loads) else {name: load for name, load in loads.items() if name not in gone}


def listed_with(before: TopicTable, after: TopicTable, listed: Sequence[str], name: str) -> Sequence[str]:
    """A subscription's topics and one more."""
    return after.names if listed is before.names else (*listed, name)


def listed_without(before: TopicTable, after: TopicTable, listed: Sequence[str], name: str) -> Sequence[str]:
    """A subscription's topics but one."""
    return after.names if listed is before.names else tuple(topic for topic in listed if topic != name)


def _appended(topics: TopicTable, topic: Topic) -> TopicTable:
    column, data = topics.names.column, topic.name.encode("utf-8", "surrogatepass")
    names = Texts(
        ByteColumn(
            np.append(column.offsets.astype(np.int64), int(column.offsets[-1]) + len(data)),
            np.concatenate((column.data, np.frombuffer(data, dtype=np.uint8))),
        )
    )
    parsed = parse_topic_name(topic.name)
    namespace = parsed.namespace if isinstance(parsed, TopicName) else ""
    namespaces = topics.namespaces if namespace in topics.namespaces else (*topics.namespaces, namespace)
    hashes, origin = _put(topics, topic.partition_names(), slice(topics.partition_count, topics.partition_count))
    return TopicTable(
        names,
        np.append(topics.partitions, np.int32(topic.partitions)),
        namespaces,
        np.append(topics.namespace_no, np.int32(namespaces.index(namespace))),
        hashes=hashes,
        origin=origin,
    )


def _resized(topics: TopicTable, place: int, topic: Topic) -> TopicTable:
    partitions = topics.partitions.copy()
    partitions[place] = topic.partitions
    kept = min(int(topics.partitions[place]), topic.partitions)
    span = slice(int(topics.first[place]) + kept, int(topics.first[place + 1]))
    hashes, origin = _put(topics, topic.partition_names()[kept:], span)
    return TopicTable(topics.names, partitions, topics.namespaces, topics.namespace_no, hashes=hashes, origin=origin)


def _put(
    topics: TopicTable, names: Sequence[str], span: slice
) -> tuple[tuple[NDArray[np.int32], NDArray[np.int64]], Origin]:
    """Both hashes and the origin, with other partitions in place of those of ``span``."""

    def put(old: NDArray[np.int64], new: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.concatenate((old[: span.start], new, old[span.stop :]))

    ring = put(topics.hash.astype(np.int64), murmur3_bulk(names)).astype(np.int32)
    numbers = put(topics.root_numbers, np.full(len(names), -1))
    return (ring, put(topics.crc32, crc32_bulk(names))), Origin(topics.root, numbers)
