"""A classic topic as it would be once it is migrated to a scalable one, and who has to go before that."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from engine.admin.facts import Snapshot, TopicFacts
from engine.answer import about
from engine.cluster.state import ClusterState, find_producer_topic
from engine.errors import Rejection
from engine.names import PERSISTENT, TopicName, parse_topic_name, partitioned_name
from engine.routing.clients import JAVA_DEFAULT, KeyRouting, partition_of_bytes
from engine.scalable.dealing import deal
from engine.scalable.layout import migrated_layout
from engine.scalable.model import RING_SIZE, TOPIC_SCHEME, Layout, Segment, backing_topic
from engine.scalable.routing import hashes_of_key, router
from engine.text import counted, joined
from engine.views.scalable.answers import Point

KEYS_SHOWN: Final = 12
_MAJOR: Final = re.compile(r"\d{1,4}(?=\.\d)", re.ASCII)
"""Of a client's release, in what it says of itself: Pulsar-Java-v4.0.7."""


@dataclass(frozen=True, slots=True)
class MigratedSegment:
    id: Annotated[int, about("The segment's id.")]
    start: Annotated[int, about("Its first hash, 0 to 65535.")]
    end: Annotated[int, about("Its last hash.")]
    state: Annotated[Literal["ACTIVE", "SEALED"], about("SEALED: a partition of before, read to its end first.")]
    buckets: Annotated[int, about("Entry buckets: as many consumers of one subscription can share it.")]
    topic: Annotated[str, about("The topic with its messages; of a sealed one the partition.")]


@dataclass(frozen=True, slots=True)
class MigratedSubscription:
    name: Annotated[str, about("The subscription, which is kept.")]
    type: Annotated[str, about("Its type now, in Pulsar's word.")]
    backlog: Annotated[int | None, about("Entries that stay readable, in all partitions; null if unknown.")]
    consumers: Annotated[int, about("Names of consumers that are connected now.")]
    idle: Annotated[int, about("How many of so many STREAM consumers would have no segment and no bucket.")]


@dataclass(frozen=True, slots=True)
class ClassicClient:
    role: Annotated[Literal["producer", "consumer"], about("What it is connected as.")]
    name: Annotated[str | None, about("Its name; null of producers, of which only the number was read.")]
    subscription: Annotated[str | None, about("Of a consumer.")]
    version: Annotated[str | None, about("The client as it names itself; null where that was not read.")]
    connections: Annotated[int, about("To how many partitions; brokers count each.")]
    classic: Annotated[
        bool | None,
        about("True: a client before 5.0. null: statistics do not show whether it is a v5 client, which may stay."),
    ]


@dataclass(frozen=True, slots=True)
class MigratedKey:
    key: Annotated[str, about("The key; bytes that are not text as hex:…")]
    hash: Annotated[int, about("Its Murmur3 hash, 32 bit, unsigned.")]
    partition: Annotated[int | None, about("Its partition now; null where the client lets no key decide.")]
    segment: Annotated[int, about("The active segment it goes to then.")]
    place: Annotated[int, about("The place of this segment among the active ones, from 0.")]
    moves: Annotated[bool, about("Whether place and partition differ.")]


@dataclass(frozen=True, slots=True)
class MigrationView:
    format: Annotated[Literal["ringside.migration/1"], about("Changes when a member goes or changes its meaning.")]
    topic: Annotated[str, about("The classic topic.")]
    becomes: Annotated[str, about("The name of the scalable topic.")]
    partitions: Annotated[int, about("Its partitions; 0 for a topic without any.")]
    refused: Annotated[str | None, about("Why a broker refuses it now, without force; null if it does not.")]
    connections: Annotated[int, about("Connections that count against it: as many at most.")]
    clients: Annotated[tuple[ClassicClient, ...], about("Who is connected now.")]
    segments: Annotated[tuple[MigratedSegment, ...], about("All segments then: partitions, and active ones.")]
    subscriptions: Annotated[tuple[MigratedSubscription, ...], about("Subscriptions by name.")]
    hashing: Annotated[str, about("The client and hash that choose the partition of a key now.")]
    keys: Annotated[tuple[MigratedKey, ...], about("The keys that were given.")]
    request: Annotated[str, about("The admin request that migrates the topic. There is none that leads back.")]


@dataclass(frozen=True, slots=True)
class ClassicSubscription:
    """What is known of a subscription before. ``versions`` and connections are by consumer."""

    name: str
    type: str
    backlog: int | None
    versions: dict[str, str]
    connections: dict[str, int]


@dataclass(frozen=True, slots=True)
class ClassicTopic:
    """What is known of a topic before. ``producers`` are connections, None where they are unknown."""

    name: str
    partitions: int
    producers: int | None
    subscriptions: tuple[ClassicSubscription, ...]


def migration_view(
    topic: ClassicTopic, keys: Iterable[bytes] = (), routing: KeyRouting = JAVA_DEFAULT
) -> MigrationView | Rejection:
    """The topic once it is migrated. Refused: a name that is not persistent://, more partitions than hashes."""
    name = parse_topic_name(topic.name)
    if isinstance(name, Rejection):
        return name
    assert isinstance(name, TopicName), name
    if name.domain != PERSISTENT or name.partition_index >= 0:
        return Rejection(
            "NotFound", f"only a topic persistent://… is migrated, as a whole, not {topic.name!r}", "topic"
        )
    layout = migrated_layout(topic.name, topic.partitions)
    if isinstance(layout, Rejection):
        return layout
    becomes = f"{TOPIC_SCHEME}{name.namespace}/{name.local_name}"
    clients = _clients(topic)
    connections = sum(client.connections for client in clients)
    return MigrationView(
        format="ringside.migration/1",
        topic=topic.name,
        becomes=becomes,
        partitions=topic.partitions,
        refused=_refused(topic.name, connections),
        connections=connections,
        clients=clients,
        segments=tuple(_segment(becomes, one) for one in layout.segments.values()),
        subscriptions=tuple(_subscription(one, layout) for one in topic.subscriptions),
        hashing=f"{routing.family.name}, {routing.hashing}",
        keys=_keys(keys, layout, max(topic.partitions, 1), routing),
        request=f"POST /admin/v2/scalable/{becomes.removeprefix(TOPIC_SCHEME)}/migrate",
    )


def classic_topic(snapshot: Snapshot, name: str) -> ClassicTopic | None:
    """A topic as brokers reported it, all of its partitions together; None for one that is not in the answers."""
    found = [
        facts
        for full, facts in snapshot.topics.items()
        if full == name or (facts.partition_index >= 0 and partitioned_name(full) == name)
    ]
    if not found:
        return None
    partitions = max(facts.partition_index for facts in found) + 1
    counts = [facts.publishers for facts in found if facts.publishers is not None]
    return ClassicTopic(name, partitions, sum(counts) if counts else None, _subscriptions(found))


def classic_topic_of(state: ClusterState, name: str) -> ClassicTopic | None:
    """A topic of the simulation; backlogs and what clients say of themselves are not in it."""
    topic = state.topics.get(name)
    if topic is None:
        return None
    ways = max(topic.partitions, 1)
    consumers: dict[str, tuple[str, list[str]]] = {}
    for failover in state.subscriptions:
        if name in failover.topics:
            consumers[failover.name] = "Failover", [one.name for one in failover.consumers]
    for shared in state.key_subscriptions:
        if name in shared.topics:
            consumers[shared.name] = "Key_Shared", [one.name for one in shared.consumers]
    subscriptions = [
        ClassicSubscription(
            group, kind, None, dict.fromkeys(names, ""), {each: ways * names.count(each) for each in names}
        )
        for group, (kind, names) in sorted(consumers.items())
    ]
    producers = find_producer_topic(state, name)
    connected = sum(map(len, producers.producers.topic.connected)) if producers is not None else None
    return ClassicTopic(name, topic.partitions, connected, tuple(subscriptions))


def known_keys_of(state: ClusterState, name: str) -> tuple[bytes, ...]:
    """The keys that were sent to a topic of the simulation."""
    producers = find_producer_topic(state, name)
    sent = [key.encode("utf-8", "surrogatepass") for key in producers.keys] if producers is not None else []
    return (*sent, *(key for shared in state.key_subscriptions if name in shared.topics for key in shared.keys))


def routing_of(state: ClusterState, name: str) -> KeyRouting:
    """How the keys of a topic of the simulation find their partition: as its Key_Shared subscriptions say."""
    known = (shared.routing for shared in state.key_subscriptions if name in shared.topics)
    return next((one for one in known if one is not None), JAVA_DEFAULT)


def _subscriptions(partitions: Sequence[TopicFacts]) -> tuple[ClassicSubscription, ...]:
    found: dict[str, ClassicSubscription] = {}
    for facts in partitions:
        for one in facts.subscriptions:
            before = found.get(one.name, ClassicSubscription(one.name, one.type, None, {}, {}))
            names = [consumer.name for consumer in one.consumers]
            found[one.name] = ClassicSubscription(
                one.name,
                before.type if one.type == "None" else one.type,
                before.backlog if one.msg_backlog_entries is None else (before.backlog or 0) + one.msg_backlog_entries,
                before.versions | {consumer.name: consumer.client_version for consumer in one.consumers},
                before.connections | {each: before.connections.get(each, 0) + names.count(each) for each in names},
            )
    return tuple(found[name] for name in sorted(found))


def _clients(topic: ClassicTopic) -> tuple[ClassicClient, ...]:
    clients = [
        ClassicClient("consumer", name, one.name, version or None, one.connections[name], _is_classic(version))
        for one in topic.subscriptions
        for name, version in sorted(one.versions.items())
    ]
    if topic.producers:
        clients.append(ClassicClient("producer", None, None, None, topic.producers, None))
    return tuple(clients)


def _is_classic(version: str) -> bool | None:
    major = _MAJOR.search(version)
    return True if major is not None and int(major[0]) < 5 else None


def _refused(topic: str, connections: int) -> str | None:
    if not connections:
        return None
    return (
        f"{connections} legacy v4 client connection(s) still attached to {topic};"
        " disconnect them (or all clients are V5) before migrating, or retry with force=true"
    )


def _segment(topic: str, segment: Segment) -> MigratedSegment:
    piece = segment.hash_range
    name = backing_topic(topic, segment)
    state: Literal["ACTIVE", "SEALED"] = "ACTIVE" if segment.active else "SEALED"
    return MigratedSegment(segment.segment_id, piece.start, piece.end, state, segment.buckets, name)


def _subscription(one: ClassicSubscription, layout: Layout) -> MigratedSubscription:
    sealed = [segment.segment_id for segment in layout.segments.values() if not segment.active]
    dealt = deal(layout, one.versions, sealed)
    idle = sum(1 for grants in dealt.grants.values() if not grants)
    return MigratedSubscription(one.name, one.type, one.backlog, len(one.versions), idle)


def _keys(keys: Iterable[bytes], layout: Layout, partitions: int, routing: KeyRouting) -> tuple[MigratedKey, ...]:
    routes = router(layout.active())
    places = {segment.segment_id: at for at, segment in enumerate(routes.segments)}
    rows: list[MigratedKey] = []
    for key in dict.fromkeys(keys):
        hashes = hashes_of_key(key)
        segment = routes.of_hash(hashes.segment_hash)
        assert segment is not None, "the segments of a new layout tile the ring"
        place, partition = places[segment.segment_id], partition_of_bytes(key, routing, partitions)
        rows.append(MigratedKey(key_name(key), hashes.raw, partition, segment.segment_id, place, place != partition))
    return tuple(rows)


def key_name(key: bytes) -> str:
    """A key as text, bytes that are not one in hexadecimal.

    >>> key_name(b"k"), key_name(bytes([255]))
    ('k', 'hex:ff')
    """
    try:
        return key.decode("utf-8")
    except UnicodeDecodeError:
        return f"hex:{key.hex()}"


def migration_points(view: MigrationView) -> tuple[Point, ...]:
    """What the migration does, in sentences: the answer first."""
    active = [one for one in view.segments if one.state == "ACTIVE"]
    first = f"{view.topic} becomes {view.becomes}: {counted(len(active), 'active segment')}"
    sealed = len(view.segments) - len(active)
    points = [
        Point(
            "becomes", f"{first}, children of {counted(sealed, 'sealed one')} with the messages of before", main=True
        ),
        Point("no way back", "no request makes it classic again; the topics of before are terminated", bad=True),
        *_client_points(view),
    ]
    for one in view.subscriptions:
        backlog = "an unknown backlog" if one.backlog is None else counted(one.backlog, "entry")
        text = f"{one.name} is kept with {backlog}, and read to its end before the new segments"
        if one.idle:
            text += f"; of {counted(one.consumers, 'consumer')} {one.idle:,} would have no segment until it scales"
        points.append(Point("readable", text))
    points += [
        Point("consumers", "read the sealed segments first, by stream, queue and checkpoint consumers of a v5 client"),
        Point("classic", "clients before 5.0 get TopicTerminated from then on; v5 clients go on under the old name"),
        *_key_points(view),
        Point("request", view.request),
    ]
    return tuple(points)


def _client_points(view: MigrationView) -> list[Point]:
    if view.refused is None:
        return [Point("clients", "nobody is connected, so brokers do not refuse it")]
    old = [one for one in view.clients if one.classic]
    points = [Point("refused now", view.refused, bad=True)]
    if old:
        names = [f"{one.name} ({one.version})" for one in old]
        points.append(Point("old clients", f"of a release before 5.0: {joined(names, at_most=6)}"))
    open_ones = [one for one in view.clients if not one.classic]
    if open_ones:
        count = sum(one.connections for one in open_ones)
        text = f"{counted(count, 'connection')} of which statistics do not say whether v5 clients have them;"
        points.append(Point("others", f"{text} those of v5 clients may stay"))
    return points


def _key_points(view: MigrationView) -> list[Point]:
    count = sum(one.state == "ACTIVE" for one in view.segments)
    share = RING_SIZE // count / RING_SIZE
    points = [
        Point("keys", f"each partition's keys spread over all segments: about {share:.0%} of them to each")
    ] if count > 1 else []  # fmt: skip
    if view.keys:
        moved = sum(one.moves for one in view.keys)
        text = f"{moved:,} of {counted(len(view.keys), 'key')} would have another place ({view.hashing})"
        points.append(Point("moved", text))
    for one in view.keys[:KEYS_SHOWN]:
        before = "any partition" if one.partition is None else f"partition {one.partition}"
        points.append(Point("key", f"{one.key!r}: {before} → segment {one.segment}, place {one.place}"))
    if len(view.keys) > KEYS_SHOWN:
        points.append(Point("", f"and {len(view.keys) - KEYS_SHOWN:,} more"))
    return points
