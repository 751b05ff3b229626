"""Decode publishers and sums of partitioned statistics, and the aggregate of a broker.

This is separate from topic statistics and decoded on request: opening a cluster does not need it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

import msgspec

from engine.admin.earlier import EarlierAnswers, EarlierParts, remembered
from engine.admin.facts import ConsumerFacts, Count, Counter, Rate
from engine.admin.text import child, raw_object, value_problem, without_nulls
from engine.errors import Decoded, Problem
from engine.names import partition_index
from engine.routing.publishers import PublisherStats, grouped
from engine.routing.stats import ConsumerStats, SubscriptionStats, TopicStats

_AGGREGATE: Final = frozenset({"msgRateIn", "publishers"})
"""Members of an answer with an aggregate; an answer with neither has only partitions."""


class PublisherFacts(
    msgspec.Struct,
    frozen=True,
    rename={
        "producer_name": "producerName",
        "access_mode": "accessMode",
        "supports_partial_producer": "supportsPartialProducer",
        "msg_rate_in_msgs_per_sec": "msgRateIn",
        "msg_throughput_in_bytes_per_sec": "msgThroughputIn",
        "average_msg_size_bytes": "averageMsgSize",
    },
):
    """One publisher as reported; an entry of the aggregate may have no name, and has no access mode."""

    producer_name: str | None = None
    access_mode: str | None = None
    supports_partial_producer: bool | None = None
    msg_rate_in_msgs_per_sec: Rate = 0.0
    msg_throughput_in_bytes_per_sec: Rate = 0.0
    average_msg_size_bytes: Rate = 0.0

    @property
    def stats(self) -> PublisherStats:
        """The part that is added up."""
        return PublisherStats(
            self.producer_name,
            bool(self.supports_partial_producer),
            self.msg_rate_in_msgs_per_sec,
            self.msg_throughput_in_bytes_per_sec,
            self.average_msg_size_bytes,
        )


class _SubscriptionWire(msgspec.Struct):
    msgRateOut: Rate = 0.0
    msgThroughputOut: Rate = 0.0
    msgBacklog: Count = 0
    unackedMessages: Count = 0
    msgOutCounter: Counter = 0
    bytesOutCounter: Counter = 0
    consumers: tuple[ConsumerFacts, ...] = ()


class _TopicWire(msgspec.Struct):
    msgRateIn: Rate = 0.0
    msgThroughputIn: Rate = 0.0
    msgRateOut: Rate = 0.0
    msgThroughputOut: Rate = 0.0
    bytesInCounter: Counter = 0
    msgInCounter: Counter = 0
    bytesOutCounter: Counter = 0
    msgOutCounter: Counter = 0
    averageMsgSize: Rate = 0.0
    storageSize: Count = 0
    backlogSize: Count = 0
    publishers: tuple[PublisherFacts, ...] = ()
    subscriptions: dict[str, _SubscriptionWire] = {}


_WIRE: Final = msgspec.json.Decoder(_TopicWire)


@dataclass(frozen=True, slots=True)
class PublishedTopic:
    """One partition, or the aggregate: ``publishers`` as listed, and the sums in ``stats``."""

    publishers: tuple[PublisherFacts, ...]
    stats: TopicStats


@dataclass(frozen=True, slots=True)
class PublishedPartitions:
    """A partitioned topic. ``partitions`` by full name in the order of their index; ``aggregate`` None if unreadable.

    ``whole`` is True where every partition of the answer could be read, so that the aggregate can be recomputed.
    """

    aggregate: PublishedTopic | None
    partitions: Mapping[str, PublishedTopic] = field(default_factory=lambda: MappingProxyType({}))
    whole: bool = True


def publishers_of(data: bytes, source: str, earlier: EarlierAnswers | None) -> Decoded[PublishedPartitions]:
    """The same as :func:`decode_publishers` of an answer that may have been decoded before."""
    return remembered(earlier, "publishers", source, data, lambda parts: decode_publishers(data, source, earlier=parts))


def decode_publishers(
    data: bytes, source: str = "", path: str = "$", earlier: EarlierParts | None = None
) -> Decoded[PublishedPartitions]:
    """Decode the aggregate and the partitions of ``GET …/{topic}/partitioned-stats``. O(length).

    ``earlier``: partitions with the same bytes as there are not decoded again.

    Members without a partition index are left out: a broker without partitions lists the topic itself.
    """
    members, problems = raw_object(data, source, path)
    faults: list[Problem] = list(problems)
    aggregate = _topic(data, source, path, faults) if _AGGREGATE & members.keys() else None
    by_name: dict[str, PublishedTopic] = {}
    whole = True
    if "partitions" in members and bytes(members["partitions"]).strip() != b"null":
        inner = child(path, "partitions")
        partitions, more = raw_object(members["partitions"], source, inner)
        faults += more
        whole = not more
        for name in sorted(
            (partition for partition in partitions if partition_index(partition) >= 0), key=partition_index
        ):
            topic = earlier.get(name, partitions[name]) if earlier is not None else None
            if topic is None:
                topic = _topic(bytes(partitions[name]), source, child(inner, name), faults)
                if earlier is not None and topic is not None:
                    earlier.keep(name, partitions[name], topic)
            whole = whole and topic is not None
            if topic is not None:
                by_name[name] = topic
    return Decoded(PublishedPartitions(aggregate, MappingProxyType(by_name), whole), tuple(faults))


def decode_named_publishers(data: bytes, source: str = "") -> Decoded[Mapping[str, PublishedPartitions]]:
    """Decode an object of topic -> answer: the statistics of partitioned topics, by name. O(length)."""
    members, problems = raw_object(data, source)
    good: dict[str, PublishedPartitions] = {}
    faults: list[Problem] = list(problems)
    for name, raw in members.items():
        if b'"partitions"' in bytes(raw):
            decoded = decode_publishers(bytes(raw), source, child("$", name))
            good[name] = decoded.good
            faults += decoded.problems
    return Decoded(good, tuple(faults))


def _topic(data: bytes, source: str, path: str, problems: list[Problem]) -> PublishedTopic | None:
    try:
        wire = _decoded(data)
    except msgspec.ValidationError as fault:
        problems.append(value_problem(source, path, fault))
        return None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None  # reported where the answer is decoded for its consumers
    stats = TopicStats(
        msg_rate_in_msgs_per_sec=wire.msgRateIn,
        msg_throughput_in_bytes_per_sec=wire.msgThroughputIn,
        msg_rate_out_msgs_per_sec=wire.msgRateOut,
        msg_throughput_out_bytes_per_sec=wire.msgThroughputOut,
        bytes_in_counter=wire.bytesInCounter,
        msg_in_counter=wire.msgInCounter,
        bytes_out_counter=wire.bytesOutCounter,
        msg_out_counter=wire.msgOutCounter,
        average_msg_size_bytes=wire.averageMsgSize,
        storage_size_bytes=wire.storageSize,
        backlog_size_bytes=wire.backlogSize,
        publishers=grouped(entry.stats for entry in wire.publishers),
        subscriptions=MappingProxyType({name: _subscription(entry) for name, entry in wire.subscriptions.items()}),
    )
    return PublishedTopic(wire.publishers, stats)


def _decoded(data: bytes) -> _TopicWire:
    try:
        return _WIRE.decode(data)
    except msgspec.ValidationError as fault:
        if "got `null`" not in str(fault):
            raise
    return msgspec.convert(without_nulls(msgspec.json.decode(data)), type=_TopicWire)


def _subscription(wire: _SubscriptionWire) -> SubscriptionStats:
    return SubscriptionStats(
        msg_rate_out_msgs_per_sec=wire.msgRateOut,
        msg_throughput_out_bytes_per_sec=wire.msgThroughputOut,
        bytes_out_counter=wire.bytesOutCounter,
        msg_out_counter=wire.msgOutCounter,
        msg_backlog_entries=wire.msgBacklog,
        unacked_messages=wire.unackedMessages,
        consumers=tuple(
            ConsumerStats(
                consumer.name,
                consumer.msg_rate_out_msgs_per_sec or 0.0,
                consumer.msg_throughput_out_bytes_per_sec or 0.0,
                unacked_messages=consumer.unacked_messages or 0,
                available_permits=consumer.available_permits or 0,
            )
            for consumer in wire.consumers
        ),
    )
