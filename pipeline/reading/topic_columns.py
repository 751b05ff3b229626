"""Columns of topics, their subscriptions, consumers and publishers, straight from what was decoded.

A document of 200 MB has a million rows; making tuples and turning them back into columns takes longer than reading it.
What many rows share, as the topic of consumers, is an index into its values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, starmap
from operator import attrgetter
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.admin.facts import NOT_REPORTED, ConsumerFacts, Count, NotReported, Rate
from engine.admin.topic_wire import TopicWire
from engine.names import partitioned_name
from engine.views.fleet.tables import CONSUMERS, PUBLISHERS, SUBSCRIPTIONS, TOPICS, Table
from pipeline.stamps import time_of_text

BY_TOPIC: Final = (TOPICS, SUBSCRIPTIONS, CONSUMERS, PUBLISHERS)
FEW: Final = (
    "cluster", "namespace", "bundle", "broker", "kind", "file", "domain", "subscription", "type",
    "reported_active_consumer",
)  # fmt: skip
"""Columns of these tables with so few different texts that each block can have all of them."""


class PublisherWire(msgspec.Struct, gc=False):
    """A publisher by Pulsar's exact names, of which the engine reads less."""

    producerName: str = ""
    producerId: Count = 0
    accessMode: str = ""
    address: str = ""
    connectedSince: str = ""
    clientVersion: str = ""
    msgRateIn: Rate | None = None
    msgThroughputIn: Rate | None = None
    averageMsgSize: Rate | None = None


class TopicWithPublishers(TopicWire):
    """A topic whose publishers are decoded with it, None for a bad one."""

    publishers: tuple[PublisherWire | None, ...] = NOT_REPORTED  # type: ignore[assignment]


@dataclass(frozen=True)
class TopicsRead:
    """What answers say of topics, in columns; ``kinds`` are the forms of the answers."""

    names: list[str] = field(default_factory=list)
    domains: list[str] = field(default_factory=list)
    namespaces: list[str] = field(default_factory=list)
    indices: list[int] = field(default_factory=list)
    bundles: list[str | None] = field(default_factory=list)
    brokers: list[str | None] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    wires: list[TopicWithPublishers] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.names)

    def extend(self, *columns: Sequence[Any]) -> None:
        """Add topics: a column for each of ours, in their order."""
        for own, more in zip(vars(self).values(), columns, strict=True):
            own.extend(more)


class Column(NamedTuple):
    """A column: ``values``, or those at ``places`` where rows share them."""

    name: str
    values: Any
    places: Any = None


def topic_columns(
    topics: TopicsRead, clusters: list[str], set_of: Callable[[str, tuple[str, ...]], int]
) -> Iterator[tuple[Table, Iterator[Column]]]:
    """The columns of each table that has a topic, made as they are taken.

    ``clusters`` are those of the topics; ``set_of`` numbers a list of consumers in one of them.
    """
    names, indices, files, wires = topics.names, topics.indices, topics.files, topics.wires
    parents = [partitioned_name(name) if at >= 0 else name for name, at in zip(names, indices, strict=True)]
    about = (
        Column("cluster", clusters),
        Column("topic", names, np.arange(len(names), dtype=np.int32)),
        Column("namespace", topics.namespaces),
        Column("partitioned_topic", parents),
        Column("partition_index", indices),
        Column("file", files),
    )
    counts = {
        "publishers": [wire.producers for wire in wires],
        "consumers": [sum(len(facts.consumers) for facts in wire.subscriptions.values()) for wire in wires],
    }
    own = {"domain": topics.domains, "bundle": topics.bundles, "broker": topics.brokers, **counts, "kind": topics.kinds}
    yield TOPICS, chain(about, starmap(Column, own.items()), _attributes(wires, _OF_TOPIC))

    pairs = [(at, name, facts) for at, wire in enumerate(wires) for name, facts in wire.subscriptions.items()]
    places, subscriptions, facts = zip(*pairs, strict=True) if pairs else ((), (), ())
    sizes = [len(subscription.consumers) for subscription in facts]
    connected = [
        None if isinstance(subscription.consumers, NotReported) else size
        for subscription, size in zip(facts, sizes, strict=True)
    ]
    sets = [
        set_of(clusters[at], tuple([consumer.name for consumer in subscription.consumers]))
        for at, subscription in zip(places, facts, strict=True)
    ]
    numbered = Column("subscription", subscriptions), Column("consumers", connected), Column("consumer_set", sets)
    shared = (column._replace(places=places) for column in about)
    yield SUBSCRIPTIONS, chain(shared, numbered, _attributes(facts, _OF_SUBSCRIPTION))

    owners, positions = _members(sizes)
    topic_of = np.array(places, dtype=np.int32)[owners]
    consumers = [consumer for subscription in facts for consumer in subscription.consumers]
    known = (
        Column("subscription", subscriptions, owners),
        Column("cluster", clusters, topic_of),
        Column("namespace", topics.namespaces, topic_of),
        Column("topic", names, topic_of),
        Column("file", files, topic_of),
        Column("position", positions),
        _ranges(consumers),
    )
    since = Column("connected_since", [time_of_text(consumer.connected_since) for consumer in consumers])
    yield CONSUMERS, chain(known, [since], _attributes(consumers, _OF_CONSUMER))

    topic_of, positions = _members([len(wire.publishers) for wire in wires])
    publishers = [publisher for wire in wires for publisher in wire.publishers]
    good = np.array([publisher is not None for publisher in publishers], dtype=bool)
    places = topic_of[good]
    shared = (column._replace(places=places) for column in about if column.name in PUBLISHERS.names)
    placed = Column("position", positions[good])
    sound = [publisher for publisher in publishers if publisher is not None]
    since = Column("connected_since", [time_of_text(publisher.connectedSince) for publisher in sound])
    yield PUBLISHERS, chain(shared, [placed, since], _attributes(sound, _OF_PUBLISHER))


def _members(sizes: Sequence[int]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The members of consecutive groups of these sizes: the number of the group of each, and its place in there."""
    lengths = np.array(sizes, dtype=np.int32)
    groups = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    first = np.cumsum(lengths, dtype=np.int32) - lengths
    return groups, np.arange(len(groups), dtype=np.int32) - np.repeat(first, lengths)


def _ranges(consumers: Sequence[ConsumerFacts]) -> Column:
    name = "key_hash_ranges"
    if not any(consumer.range_arrays or consumer.range_texts for consumer in consumers):
        return Column(name, [[]], np.zeros(len(consumers), dtype=np.int32))
    return Column(
        name, [[{"start": start, "end": end} for start, end in consumer.key_hash_ranges] for consumer in consumers]
    )


def _attributes(items: Sequence[object], attributes: Mapping[str, str]) -> Iterator[Column]:
    """Columns that are filled from the attributes of these names."""
    return (Column(name, list(map(attrgetter(attribute), items))) for name, attribute in attributes.items())


def table_of(table: Table, columns: Iterable[Column], shared: dict[str, tuple[Any, Any]]) -> Any:
    """A ``pyarrow.Table`` in which ``topic`` and the columns ``FEW`` are dictionaries.

    ``shared`` keeps arrays that another table can share. Raises what pyarrow raises for a value that no column holds.
    """
    arrays = {column.name: _array(table.arrow.field(column.name), column, shared) for column in columns}
    return pa.Table.from_arrays([arrays[name] for name in table.names], names=list(table.names))


def _array(field: Any, column: Column, shared: dict[str, tuple[Any, Any]]) -> Any:
    values, array = shared.get(field.name, (None, None))
    if values is not column.values:
        array = pa.array(column.values, field.type)
        if field.name in FEW:
            array = array.dictionary_encode()
    if column.places is None:
        return array
    shared[field.name] = column.values, array
    places = pa.array(column.places, pa.int32())
    return pa.DictionaryArray.from_arrays(places, array) if field.name == "topic" else array.take(places)


def rows_of_columns(table: Table, columns: Iterable[Column]) -> list[tuple[Any, ...]]:
    """The same as rows, for the few cases that are looked at one by one."""
    lists = {
        name: values if places is None else [values[place] for place in places] for name, values, places in columns
    }
    return list(zip(*(lists[name] for name in table.names), strict=True))


_OF_TOPIC: Final = {
    "msg_rate_in": "msgRateIn",
    "msg_rate_out": "msgRateOut",
    "msg_throughput_in": "msgThroughputIn",
    "msg_throughput_out": "msgThroughputOut",
    "storage_size_bytes": "storageSize",
    "backlog_size_bytes": "backlogSize",
}
_OF_SUBSCRIPTION: Final = {
    "type": "type",
    "reported_active_consumer": "active_consumer_name",
    "msg_rate_out": "msg_rate_out_msgs_per_sec",
    "msg_throughput_out": "msg_throughput_out_bytes_per_sec",
    "msg_backlog_entries": "msg_backlog_entries",
    "unacked_messages": "unacked_messages",
}
_OF_CONSUMER: Final = {
    "consumer": "name",
    "address": "address",
    "client_version": "client_version",
    "msg_rate_out": "msg_rate_out_msgs_per_sec",
    "msg_throughput_out": "msg_throughput_out_bytes_per_sec",
    "unacked_messages": "unacked_messages",
    "available_permits": "available_permits",
}
_OF_PUBLISHER: Final = {
    "publisher": "producerName",
    "producer_id": "producerId",
    "access_mode": "accessMode",
    "address": "address",
    "client_version": "clientVersion",
    "msg_rate_in": "msgRateIn",
    "msg_throughput_in": "msgThroughputIn",
    "average_msg_size": "averageMsgSize",
}
