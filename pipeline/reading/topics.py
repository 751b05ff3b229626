"""Turn statistics of topics into rows: a large, sound document as a whole, any other topic by topic.

A document of 200 MB has a million rows; making tuples and turning them back into columns takes longer than reading it.
So its rows go into columns directly; the topics of subscriptions, consumers and publishers are indices into its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.admin.facts import ConsumerFacts, SubscriptionFacts, TopicFacts
from engine.admin.kinds import AnswerKind
from engine.admin.text import WHOLE_CHECK_BYTES, child, malformed, value_problem
from engine.admin.topics import (
    BROKER_STATS,
    TopicWire,
    decode_broker_stats_topics,
    decode_named_stats,
    decode_partitioned_stats,
    decode_topic_stats,
    without_nulls,
)
from engine.errors import Problem, Rejection
from engine.names import (
    PARTITION_SUFFIX,
    parse_topic_name,
    partition_index,
    refuse_namespace,
    refuse_range,
    refuse_subscription,
)
from pipeline.batches import same_text
from pipeline.reading.rows import BAD, PublisherWire, Rows, namespace_of, partitioned_topic, quarantine_row
from pipeline.schemas import CONSUMERS, PUBLISHERS, SUBSCRIPTIONS, TOPICS, Table


def take_broker_stats(rows: Rows, data: bytes, source: str, broker: str, *, by_name: bool = False) -> None:
    """Take ``broker-stats/topics`` of one broker, which is the file's own name if ``by_name``. O(length)."""
    if len(data) > WHOLE_CHECK_BYTES and take_sound_document(rows, data, source, broker):
        return
    decoded = decode_broker_stats_topics(data, source, publishers=True)
    good = decoded.good
    lost = _rows_lost(decoded.problems, decoded.set_aside)
    rows.counts["topics"] += len(good.topics) + lost
    if by_name and _is_cut(decoded.problems):
        broker = ""  # half a file may be a copy under another name: it is no proof of a broker
    for name, facts in good.topics.items():
        rows.topic(facts, good.places[name].bundle, broker or None)
    rows.set_aside("topics", decoded.problems, lost, source)
    _take_publishers(rows, good.topics.values(), source)


def take_named(rows: Rows, kind: AnswerKind, data: bytes, source: str) -> None:
    """Take statistics that name their topics: partitioned ones, or an object of name -> answer."""
    decode = decode_partitioned_stats if kind is AnswerKind.PARTITIONED_STATS else decode_named_stats
    decoded = decode(data, source, publishers=True)
    lost = _rows_lost(decoded.problems, decoded.set_aside)
    rows.counts["topics"] += len(decoded.good) + lost
    for facts in decoded.good.values():
        rows.topic(facts, None, None)
    rows.set_aside("topics", decoded.problems, lost, source)
    _take_publishers(rows, decoded.good.values(), source)


def take_one(rows: Rows, data: bytes, topic: str, source: str) -> None:
    """Take statistics of one topic, whose full name is ``topic``."""
    decoded = decode_topic_stats(data, topic, source, publishers=True)
    rows.counts["topics"] += 1
    if decoded.good is not None:
        rows.topic(decoded.good, None, None)
    rows.set_aside("topics", decoded.problems, decoded.set_aside, source)
    _take_publishers(rows, (decoded.good,) if decoded.good is not None else (), source)


def _rows_lost(problems: Sequence[Problem], set_aside: int) -> int:
    """Return how many topics are missing; a text cut short loses an unknown number, counted as at least one."""
    return max(set_aside, 1) if _is_cut(problems) else set_aside


def _is_cut(problems: Sequence[Problem]) -> bool:
    return any(problem.line is not None for problem in problems)


def _take_publishers(rows: Rows, topics: Iterable[TopicFacts], source: str) -> None:
    """Take the publishers of the topics that were kept, one by one: the engine only counts them."""
    for facts in topics:
        rows.counts["publishers"] += len(facts.publisher_entries)
        for place, raw in enumerate(facts.publisher_entries):
            publisher = _publisher(raw, f"{child('$', facts.name)}.publishers[{place}]", source)
            if isinstance(publisher, Problem):
                rows.quarantine.append(quarantine_row(publisher, "publishers", 1, BAD))
            else:
                rows.publisher(facts.name, place, publisher, source)


def _publisher(raw: msgspec.Raw, path: str, source: str) -> PublisherWire | Problem:
    try:
        return msgspec.convert(without_nulls(msgspec.json.decode(raw)) or {}, type=PublisherWire)
    except msgspec.ValidationError as fault:
        return value_problem(source, path, fault)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        return malformed(bytes(raw), source, fault, path)


class TopicWithPublishers(TopicWire):
    """A topic whose publishers are decoded with it; used if the whole document is sound."""

    publishers: tuple[PublisherWire, ...] = ()  # type: ignore[assignment]


_Document = dict[str, dict[str, dict[str, dict[str, TopicWithPublishers]]]]
_DOCUMENT: Final = msgspec.json.Decoder(_Document)
_DOMAINS: Final = ("persistent", "non-persistent")
_PLAIN_NAME: Final = "^(non-)?persistent://[0-9A-Za-z_-]+/[0-9A-Za-z_-]+/[0-9A-Za-z_-]+$"


@dataclass(frozen=True)
class _Topics:
    """The topics of a document in columns."""

    names: list[str]
    bundles: list[str]
    wires: list[TopicWithPublishers]


def take_sound_document(rows: Rows, data: bytes, source: str, broker: str) -> bool:
    """Take the whole document at once; return False, with nothing taken, if any part needs the careful reader.

    Each name must appear once: one that appears twice, anywhere, could be a duplicate member. O(length).
    """
    try:
        document = _DOCUMENT.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    if any(map(refuse_namespace, document)) or any(
        refuse_range(bundle) for bundles in document.values() for bundle in bundles
    ):
        return False
    topics = _flat(document)
    if data.count(b"persistent://") != len(topics.names) or len(set(topics.names)) != len(topics.names):
        return False
    if not _all_names_good(topics.names):
        return False
    pairs = [(at, name, facts) for at, wire in enumerate(topics.wires) for name, facts in wire.subscriptions.items()]
    if any(map(refuse_subscription, {name for _, name, _ in pairs})):
        return False
    if any(_unreadable(facts) for _, _, facts in pairs):
        return False
    new_rows = Rows(sets=rows.sets)
    try:
        _add_all(new_rows, topics, pairs, source, broker)
    except (OverflowError, UnicodeEncodeError, pa.ArrowInvalid):  # a number of 100 digits
        return False
    for name, tables in new_rows.tables.items():
        rows.tables.setdefault(name, []).extend(tables)
    rows.namespaces |= new_rows.namespaces
    rows.counts.update(new_rows.counts)
    return True


def _flat(document: _Document) -> _Topics:
    entries = [
        (name, bundle, wire)
        for bundles in document.values()
        for bundle, domains in bundles.items()
        for domain in _DOMAINS
        for name, wire in domains.get(domain, {}).items()
    ]
    names, bundles, wires = zip(*entries, strict=True) if entries else ((), (), ())
    return _Topics(list(names), list(bundles), list(wires))


def _all_names_good(names: Sequence[str]) -> bool:
    try:
        plain = pc.match_substring_regex(pa.array(names, pa.string()), _PLAIN_NAME)
    except UnicodeEncodeError:  # a surrogate without its partner
        return False
    odd = np.flatnonzero(~np.asarray(plain, dtype=bool)).tolist()
    return all(_is_full_name(names[at]) for at in odd)


def _is_full_name(name: str) -> bool:
    domain, _, rest = name.partition("://")
    return domain in _DOMAINS and rest.count("/") == 2 and not isinstance(parse_topic_name(name), Rejection)


def _unreadable(facts: SubscriptionFacts) -> bool:
    return facts.type == "Key_Shared" and any(consumer.unreadable_range is not None for consumer in facts.consumers)


def _add_all(
    rows: Rows, topics: _Topics, pairs: Sequence[tuple[int, str, SubscriptionFacts]], source: str, broker: str
) -> None:
    names, wires = topics.names, topics.wires
    index = [partition_index(name) if PARTITION_SUFFIX in name else -1 for name in names]
    about = {
        "topic": pa.array(names, pa.string()),
        "namespace": _few([namespace_of(name) for name in names]),
        "partitioned_topic": pa.array(
            [partitioned_topic(name, at) if at >= 0 else name for name, at in zip(names, index, strict=True)]
        ),
        "partition_index": pa.array(index, pa.int32()),
    }
    count = [wire.producerCount if wire.producerCount is not None else len(wire.publishers) for wire in wires]
    consumers = [sum(len(facts.consumers) for facts in wire.subscriptions.values()) for wire in wires]
    columns = {
        **about,
        "domain": _few([name.partition("://")[0] for name in names]),
        "bundle": _few(topics.bundles),
        "broker": same_text(broker, len(names)),
        **_attributes(wires, TOPICS, _OF_TOPIC),
        "publishers": pa.array(count, pa.int32()),
        "consumers": pa.array(consumers, pa.int32()),
        "kind": same_text(BROKER_STATS, len(names)),
        "file": same_text(source, len(names)),
    }
    _add(rows, TOPICS, columns, len(names))
    rows.namespaces.update(about["namespace"].dictionary.to_pylist())
    _add_subscriptions(rows, about, pairs, source)
    _add_publishers(rows, about["topic"], wires, source)


def _add_subscriptions(
    rows: Rows, about: Mapping[str, Any], pairs: Sequence[tuple[int, str, SubscriptionFacts]], source: str
) -> None:
    place = pa.array([at for at, _, _ in pairs], pa.int32())
    names = _few([name for _, name, _ in pairs])
    facts = [subscription for _, _, subscription in pairs]
    sizes = [len(subscription.consumers) for subscription in facts]
    columns = {
        **{name: column.take(place) for name, column in about.items() if name != "topic"},
        "topic": pa.DictionaryArray.from_arrays(place, about["topic"]),
        "subscription": names,
        "type": _few([subscription.type for subscription in facts]),
        "consumers": pa.array(sizes, pa.int32()),
        "consumer_set": pa.array(
            [rows.set_of(tuple([consumer.name for consumer in subscription.consumers])) for subscription in facts],
            pa.int64(),
        ),
        "told_active_consumer": _few([subscription.active_consumer_name for subscription in facts]),
        **_attributes(facts, SUBSCRIPTIONS, _OF_SUBSCRIPTION),
        "file": same_text(source, len(facts)),
    }
    _add(rows, SUBSCRIPTIONS, columns, len(facts))
    owners = np.repeat(np.arange(len(facts)), sizes)
    consumers = [consumer for subscription in facts for consumer in subscription.consumers]
    columns = {
        "subscription": names.take(pa.array(owners)),
        "topic": columns["topic"].take(pa.array(owners)),
        "position": _positions(sizes),
        "key_hash_ranges": _ranges(consumers),
        **_attributes(consumers, CONSUMERS, _OF_CONSUMER),
        "file": same_text(source, len(consumers)),
    }
    _add(rows, CONSUMERS, columns, len(consumers))


def _add_publishers(rows: Rows, topics: Any, wires: Sequence[TopicWithPublishers], source: str) -> None:
    sizes = [len(wire.publishers) for wire in wires]
    publishers = [publisher for wire in wires for publisher in wire.publishers]
    columns = {
        "topic": pa.DictionaryArray.from_arrays(np.repeat(np.arange(len(wires), dtype=np.int32), sizes), topics),
        "position": _positions(sizes),
        **_attributes(publishers, PUBLISHERS, _OF_PUBLISHER),
        "file": same_text(source, len(publishers)),
    }
    _add(rows, PUBLISHERS, columns, len(publishers))


_Attributes = Mapping[str, str]
"""Column -> the attribute it is filled from."""
_OF_TOPIC: Final[_Attributes] = {
    "msg_rate_in": "msgRateIn",
    "msg_rate_out": "msgRateOut",
    "msg_throughput_in": "msgThroughputIn",
    "msg_throughput_out": "msgThroughputOut",
    "storage_size_bytes": "storageSize",
    "backlog_size_bytes": "backlogSize",
}
_OF_SUBSCRIPTION: Final[_Attributes] = {
    "msg_rate_out": "msg_rate_out_msgs_per_sec",
    "msg_throughput_out": "msg_throughput_out_bytes_per_sec",
    "msg_backlog_entries": "msg_backlog_entries",
    "unacked_messages": "unacked_messages",
}
_OF_CONSUMER: Final[_Attributes] = {
    "consumer": "name",
    "address": "address",
    "connected_since": "connected_since",
    "client_version": "client_version",
    "msg_rate_out": "msg_rate_out_msgs_per_sec",
    "msg_throughput_out": "msg_throughput_out_bytes_per_sec",
    "unacked_messages": "unacked_messages",
    "available_permits": "available_permits",
}
_OF_PUBLISHER: Final[_Attributes] = {
    "publisher": "producerName",
    "producer_id": "producerId",
    "access_mode": "accessMode",
    "address": "address",
    "connected_since": "connectedSince",
    "client_version": "clientVersion",
    "msg_rate_in": "msgRateIn",
    "msg_throughput_in": "msgThroughputIn",
    "average_msg_size": "averageMsgSize",
}


def _attributes(items: Sequence[object], table: Table, attributes: _Attributes) -> dict[str, Any]:
    kinds = {field.name: field.type for field in table.arrow}
    return {
        name: pa.array(list(map(attrgetter(attribute), items)), kinds[name]) for name, attribute in attributes.items()
    }


def _few(texts: Sequence[str | None]) -> Any:
    """Return texts with few distinct values as a dictionary array."""
    return pa.array(texts, pa.string()).dictionary_encode()


def _positions(sizes: Sequence[int]) -> Any:
    """Number the members of consecutive groups of these sizes from 0."""
    lengths = np.array(sizes, dtype=np.int64)
    first = np.repeat(np.cumsum(lengths) - lengths, lengths)
    return pa.array((np.arange(len(first)) - first).astype(np.int32))


def _ranges(consumers: Sequence[ConsumerFacts]) -> Any:
    kind = next(field.type for field in CONSUMERS.arrow if field.name == "key_hash_ranges")
    if not any(consumer.range_arrays or consumer.range_texts for consumer in consumers):
        return pa.ListArray.from_arrays(
            pa.array(np.zeros(len(consumers) + 1, dtype=np.int32)), pa.array([], kind.value_type)
        )
    ranges = [[{"start": start, "end": end} for start, end in consumer.key_hash_ranges] for consumer in consumers]
    return pa.array(ranges, kind)


def _add(rows: Rows, table: Table, columns: Mapping[str, Any], count: int) -> None:
    if count:
        arrays = [columns[name] for name in table.names]
        rows.tables.setdefault(table.name, []).append(pa.Table.from_arrays(arrays, names=list(table.names)))
    rows.counts[table.name] += count
