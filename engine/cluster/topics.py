"""Topics: creating, growing and deleting them, the subscriptions that join, and the state after it.

The state keeps topics in columns, and an edit does not hash the other topics again. Source: ``PersistentTopicsBase``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from engine.bulk_hashing import ByteColumn, crc32_bulk, murmur3_bulk
from engine.bundles.boundaries import default_boundaries
from engine.cluster.commands import AddTopic, RemoveTopic, RepartitionTopic
from engine.cluster.events import Event, NamespaceSeen, TopicAdded, TopicRemoved, TopicRepartitioned
from engine.cluster.limits import refuse_long_name, refuse_partitions
from engine.cluster.state import ClusterState, behaviour_in
from engine.cluster.tables.loads import LoadTable
from engine.cluster.tables.texts import Texts
from engine.cluster.tables.topics import Load, Origin, Topic, TopicTable
from engine.errors import Rejection
from engine.names import (
    NON_PERSISTENT,
    PARTITION_SUFFIX,
    PERSISTENT,
    TopicName,
    has_blank_ends,
    parse_topic_name,
    partition_name,
)


def with_topic(topics: TopicTable, topic: Topic) -> TopicTable:
    """The table with one more topic at the end, or with other partitions of an existing one in its place."""
    place = topics.place(topic.name)
    return _appended(topics, topic) if place < 0 else _resized(topics, place, topic)


def without_topic(topics: TopicTable, name: str) -> TopicTable:
    """The table without one topic."""
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
    """A subscription's topics with one more."""
    return after.names if listed is before.names else (*listed, name)


def listed_without(before: TopicTable, after: TopicTable, listed: Sequence[str], name: str) -> Sequence[str]:
    """A subscription's topics without one."""
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
    """The hashes and the origin of all partitions, with other partitions in place of those of ``span``."""

    def put(old: NDArray[np.int64], new: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.concatenate((old[: span.start], new, old[span.stop :]))

    ring = put(topics.hash.astype(np.int64), murmur3_bulk(names)).astype(np.int32)
    numbers = put(topics.root_numbers, np.full(len(names), -1))
    return (ring, put(topics.crc32, crc32_bulk(names))), Origin(topics.root, numbers)


def add_topic(state: ClusterState, command: AddTopic) -> tuple[Event, ...] | Rejection:
    """Create a topic. Refusals: a bad name, a topic that exists (409), a number of partitions out of bounds (406).

    A broker since 5.0 refuses blanks at the ends of a name (412), but makes a topic without partitions all the same.

    The first topic of a namespace brings the namespace with ``defaultNumberOfNamespaceBundles`` bundles.
    """
    name = _read(command.topic)
    if isinstance(name, Rejection):
        return name
    refusal = (
        _refuse_partitions(state, command.partitions, least=0)
        or _refuse_partition_like(name, command.partitions)
        or _refuse_blank_ends(state, name, command.partitions)
        or _refuse_taken(state, name, range(command.partitions))
    )
    if refusal is not None:
        return refusal
    added = TopicAdded(name.complete, command.partitions, _joined(state, name))
    if name.namespace in state.namespaces:
        return (added,)
    boundaries = default_boundaries(state.settings.defaultNumberOfNamespaceBundles)
    if isinstance(boundaries, Rejection):
        return boundaries
    return (NamespaceSeen(name.namespace, boundaries), added)


def remove_topic(state: ClusterState, command: RemoveTopic) -> tuple[Event, ...] | Rejection:
    """Deletes a topic with all its partitions and takes it from every subscription, as with ``--force``."""
    topic = find_topic(state, command.topic)
    return topic if isinstance(topic, Rejection) else (TopicRemoved(topic.name),)


def repartition_topic(state: ClusterState, command: RepartitionTopic) -> tuple[Event, ...] | Rejection:
    """Add partitions; no event for as many as now.

    Refusals: unknown topic (404), not partitioned (409), fewer partitions, too many.

    The consumers of its subscriptions connect to the new partitions; limits lowered since do not count against them.
    """
    from engine.cluster.producers.evolve import refuse_growth

    topic = find_topic(state, command.topic)
    if isinstance(topic, Rejection):
        return topic
    if topic.partitions == 0:
        return Rejection("RestException", f"Topic is not partitioned topic: {topic.name}", "topic", 409)
    if command.partitions < topic.partitions:
        return Rejection(
            "NotSupportedException",
            f"not support shrink topic partitions: {topic.name} has {topic.partitions}, asked for {command.partitions}",
            "partitions",
        )
    name = _read(topic.name)
    assert isinstance(name, TopicName), f"the state holds a topic without a valid name: {topic.name!r}"
    refusal = _refuse_partitions(state, command.partitions, least=1, now=topic.partitions) or _refuse_taken(
        state, name, range(topic.partitions, command.partitions), growing=True
    )
    refusal = refusal or refuse_growth(state, topic.name, command.partitions)
    if refusal is not None:
        return refusal
    if command.partitions == topic.partitions:
        return ()
    routed: tuple[Event, ...] = ()
    if any(topic.name in subscription.topics for subscription in state.key_subscriptions):
        from engine.cluster.keys.subscriptions import repartitioned

        routed = repartitioned(state, topic.name, command.partitions)
    return (TopicRepartitioned(topic.name, command.partitions), *routed)


def _read(text: str) -> TopicName | Rejection:
    refusal = refuse_long_name(text, "topic")
    if refusal is not None:
        return refusal
    name = parse_topic_name(text)
    if isinstance(name, TopicName) and name.domain not in (PERSISTENT, NON_PERSISTENT):
        return Rejection(
            "UnsupportedTopicDomain",
            f"{name.domain}:// topics have no Failover dispatcher; use persistent:// or non-persistent://",
            "topic",
        )
    return name


def find_topic(state: ClusterState, text: str) -> Topic | Rejection:
    """The topic of that name, complete or not. Refusals: a bad name, an unknown topic (404), a partition (412)."""
    name = _read(text)
    if isinstance(name, Rejection):
        return name
    topic = state.topics.get(name.complete)
    if topic is not None:
        return topic
    parent = state.topics.get(name.partitioned_topic)
    if parent is not None and 0 <= name.partition_index < parent.partitions:
        return Rejection(
            "RestException",
            f"{name.complete} is a partition; name the partitioned topic {parent.name} instead",
            "topic",
            412,
        )
    return Rejection("RestException", f"Topic {name.complete} not found", "topic", 404)


def _refuse_partitions(state: ClusterState, partitions: int, *, least: int, now: int = 0) -> Rejection | None:
    if partitions < least:
        return Rejection("RestException", "Number of partitions should be more than 0", "partitions", 406)
    return refuse_partitions(state, partitions - now, partitions)


def _refuse_partition_like(name: TopicName, partitions: int) -> Rejection | None:
    """A partitioned topic may not look like a partition, since its own partitions would be ambiguous."""
    if partitions > 0 and PARTITION_SUFFIX in name.local_name:
        return Rejection(
            "RestException", f"Partitioned Topic Name should not contain '{PARTITION_SUFFIX}'", "topic", 412
        )
    return None


def _refuse_blank_ends(state: ClusterState, name: TopicName, partitions: int) -> Rejection | None:
    """Java's ``trim`` takes all characters up to the blank from both ends; clients trim what they are given."""
    if partitions == 0 or behaviour_in(state).blank_ends == "taken" or not has_blank_ends(name.local_name):
        return None
    return Rejection(
        "RestException",
        f"topic name {name.local_name!r} begins or ends with white space, which Pulsar's clients cut off",
        "topic",
        412,
    )


def _refuse_taken(state: ClusterState, name: TopicName, indices: range, *, growing: bool = False) -> Rejection | None:
    """A dispatcher's name is unique: the topic, its partitions and strays must not coincide."""
    if not growing and name.complete in state.topics:
        return Rejection("RestException", f"This topic already exists: {name.complete}", "topic", 409)
    parent = state.topics.get(name.partitioned_topic)
    if name.partition_index >= 0 and parent is not None and parent.partitions > 0:
        return Rejection(
            "RestException",
            f"{name.complete} is named like a partition of {parent.name}, which has {parent.partitions};"
            " ask for more partitions instead",
            "topic",
            409,
        )
    for index in indices:
        stray = partition_name(name.complete, index)
        if stray in state.topics:
            return Rejection("RestException", f"This topic already exists: {stray}", "topic", 409)
    return None


def _joined(state: ClusterState, name: TopicName) -> tuple[str, ...]:
    """The keys of the subscriptions that join a new topic, in the state's order.

    A regex subscription looks at persistent topics only unless ``RegexSubscriptionMode`` says otherwise, which shows in
    its having a non-persistent one. Of several consumer sets under one subscription name the first joins. A set whose
    consumers would exceed the topic's limits does not join.
    """
    free_on_topic = state.settings.maxConsumersPerTopic
    per_subscription = state.settings.maxConsumersPerSubscription
    named: set[str] = set()
    joined: list[str] = []
    for subscription in state.subscriptions:
        takes_new = subscription.accepts_new_topics and subscription.namespace == name.namespace
        if not takes_new or subscription.name in named:
            continue
        if name.domain == NON_PERSISTENT and not any(map(_is_non_persistent, subscription.topics)):
            continue
        named.add(subscription.name)
        size = len(subscription.consumers)
        if 0 < per_subscription < size or (state.settings.maxConsumersPerTopic > 0 and size > free_on_topic):
            continue
        free_on_topic -= size
        joined.append(subscription.key)
    return tuple(joined)


def _is_non_persistent(topic: str) -> bool:
    return topic.partition("://")[0].lower() == NON_PERSISTENT


def topic_objection(state: ClusterState, event: TopicAdded | TopicRemoved | TopicRepartitioned) -> str:
    """Say why a topic cannot come, grow or go like this, "" when it can."""
    from engine.cluster.producers.evolve import refuse_growth

    topic = state.topics.get(event.topic)
    if isinstance(event, TopicRemoved):
        return "" if topic is not None else f"there is no topic {event.topic!r}"
    if isinstance(event, TopicRepartitioned):
        if topic is None or topic.partitions == 0:
            return f"there is no partitioned topic {event.topic!r}"
        if event.partitions < topic.partitions:
            return f"{event.topic!r} cannot lose partitions"
        refusal = refuse_partitions(state, event.partitions - topic.partitions, event.partitions)
        refusal = refusal or refuse_growth(state, event.topic, event.partitions)
        return "" if refusal is None else refusal.message
    if topic is not None:
        return f"topic {event.topic!r} exists"
    unknown = set(event.subscriptions) - {subscription.key for subscription in state.subscriptions}
    if unknown:
        return f"there is no subscription {min(unknown)!r}"
    name = parse_topic_name(event.topic)
    if not isinstance(name, TopicName) or name.complete != event.topic:
        return f"{event.topic[:200]!r} is not a complete topic name"
    if name.namespace not in state.namespaces:
        return f"{event.topic!r} is in a namespace without bundles"
    refusal = refuse_partitions(state, event.partitions, event.partitions)
    if refusal is not None:
        return refusal.message
    return "" if event.partitions >= 0 else "a topic has no negative number of partitions"


def with_topic_event(state: ClusterState, event: TopicAdded | TopicRemoved | TopicRepartitioned) -> ClusterState:
    """Return the state after a topic came, grew or went. O(topics + statistics)."""
    from engine.cluster.producers.evolve import grown_producers

    match event:
        case TopicAdded():
            return _add_topic(state, event)
        case TopicRemoved():
            return _remove_topic(state, event)
        case TopicRepartitioned():
            topics = with_topic(state.topics, Topic(event.topic, event.partitions))
            return grown_producers(structs.replace(state, topics=topics), event.topic, event.partitions)


def _add_topic(state: ClusterState, event: TopicAdded) -> ClusterState:
    joined = frozenset(event.subscriptions)
    topics = with_topic(state.topics, Topic(event.topic, event.partitions))
    return structs.replace(
        state,
        topics=topics,
        subscriptions=tuple(
            replace(subscription, topics=listed_with(state.topics, topics, subscription.topics, event.topic))
            if subscription.key in joined
            else subscription
            for subscription in state.subscriptions
        ),
    )


def _remove_topic(state: ClusterState, event: TopicRemoved) -> ClusterState:
    from engine.cluster.keys.evolve import without_topic as keys_without

    gone = frozenset(state.topics[event.topic].partition_names())
    topics = without_topic(state.topics, event.topic)
    return structs.replace(
        state,
        topics=topics,
        subscriptions=tuple(
            replace(
                subscription,
                topics=listed_without(state.topics, topics, subscription.topics, event.topic),
                loads=without_loads(topics, subscription.loads, gone),
            )
            if subscription.topics is state.topics.names or event.topic in subscription.topics
            else subscription
            for subscription in state.subscriptions
        ),
        key_subscriptions=tuple(
            left
            for subscription in state.key_subscriptions
            if (left := keys_without(subscription, event.topic)) is not None
        ),
        producer_topics=tuple(topic for topic in state.producer_topics if topic.topic != event.topic),
    )
