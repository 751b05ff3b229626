"""What partitioned statistics tell of publishers and sums: each partition, and the aggregate a broker made of them.

Decoded on request and by itself: most readers do not want it, and the hot path of topic statistics stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final

import msgspec

from engine.admin.facts import ConsumerFacts, Count, Counter, Decoded, Rate
from engine.admin.files import AnswerFile, read_files
from engine.admin.kinds import AnswerKind, recognise
from engine.admin.reading import MAX_INPUT_BYTES, Intake
from engine.admin.snapshot import STANDARD_INPUT
from engine.admin.text import child, plain_json, raw_object, value_problem
from engine.admin.topics import without_nulls
from engine.errors import Problem
from engine.names import partition_index
from engine.routing.publishers import PublisherStats, grouped
from engine.routing.stats import ConsumerStats, SubscriptionStats, TopicStats

_AGGREGATE: Final = frozenset({"msgRateIn", "publishers"})
"""Members that an answer with an aggregate has; without both it is partitions only."""


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
    """One publisher as statistics show it; an entry of the aggregate may have no name, and has no access mode."""

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


@dataclass(frozen=True, slots=True)
class PublishedTopic:
    """One partition, or the aggregate: ``publishers`` as listed, ``stats`` all that is added up (in both)."""

    publishers: tuple[PublisherFacts, ...]
    stats: TopicStats


@dataclass(frozen=True, slots=True)
class PublishedPartitions:
    """A partitioned topic. ``partitions`` by full name in the order of their index; no aggregate: none to be read.

    ``whole``: every partition the answer holds could be read, so that its aggregate can be made again.
    """

    aggregate: PublishedTopic | None
    partitions: Mapping[str, PublishedTopic] = field(default_factory=lambda: MappingProxyType({}))
    whole: bool = True


def decode_publishers(data: bytes, source: str = "", path: str = "$") -> Decoded[PublishedPartitions]:
    """``GET …/{topic}/partitioned-stats``: the aggregate and its partitions. O(length).

    Members of partitions that do not stand for an index are left out: a broker that finds none shows the topic itself.
    """
    members, problems = raw_object(data, source, path)
    found: list[Problem] = list(problems)
    aggregate = _topic(data, source, path, found) if _AGGREGATE & members.keys() else None
    by_name: dict[str, PublishedTopic] = {}
    whole = True
    if "partitions" in members and bytes(members["partitions"]).strip() != b"null":
        inner = child(path, "partitions")
        partitions, more = raw_object(members["partitions"], source, inner)
        found += more
        whole = not more
        for name in sorted((each for each in partitions if partition_index(each) >= 0), key=partition_index):
            one = _topic(bytes(partitions[name]), source, child(inner, name), found)
            whole = whole and one is not None
            if one is not None:
                by_name[name] = one
    return Decoded(PublishedPartitions(aggregate, MappingProxyType(by_name), whole), tuple(found))


def decode_named_publishers(data: bytes, source: str = "") -> Decoded[Mapping[str, PublishedPartitions]]:
    """An object of topic -> answer: those that are statistics of partitioned topics, by name. O(length)."""
    members, problems = raw_object(data, source)
    good: dict[str, PublishedPartitions] = {}
    found: list[Problem] = list(problems)
    for name, raw in members.items():
        if b'"partitions"' in bytes(raw):
            decoded = decode_publishers(bytes(raw), source, child("$", name))
            good[name] = decoded.good
            found += decoded.problems
    return Decoded(good, tuple(found))


def _topic(data: bytes, source: str, path: str, problems: list[Problem]) -> PublishedTopic | None:
    try:
        wire = msgspec.convert(without_nulls(msgspec.json.decode(data)), type=_TopicWire)
    except msgspec.ValidationError as fault:
        problems.append(value_problem(source, path, fault))
        return None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None  # told where the answer is decoded for its consumers
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
        publishers=grouped(each.stats for each in wire.publishers),
        subscriptions=MappingProxyType({name: _subscription(each) for name, each in wire.subscriptions.items()}),
    )
    return PublishedTopic(wire.publishers, stats)


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
                each.name,
                each.msg_rate_out_msgs_per_sec,
                each.msg_throughput_out_bytes_per_sec,
                unacked_messages=each.unacked_messages,
                available_permits=each.available_permits,
            )
            for each in wire.consumers
        ),
    )


@dataclass(frozen=True, slots=True)
class ClientFacts:
    """``client_versions``: full name of a topic or partition -> those of its producers, as brokers print them.

    ``load_manager_class`` is ``loadManagerClassName``, "" where settings are told without it, None without settings.
    """

    client_versions: Mapping[str, frozenset[str]] = field(default_factory=lambda: MappingProxyType({}))
    load_manager_class: str | None = None


class _Publisher(msgspec.Struct):
    clientVersion: str | None = None


class _Topic(msgspec.Struct):
    publishers: tuple[_Publisher, ...] = ()
    partitions: dict[str, msgspec.Raw] | None = None


_LOAD_MANAGER = "loadManagerClassName"
_FAULTS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_ONE = msgspec.json.Decoder(_Topic)
_RAW = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LOADED = msgspec.json.Decoder(dict[str, dict[str, dict[str, dict[str, msgspec.Raw]]]])


def client_facts(*sources: str | Path | bytes | AnswerFile, limit_bytes: int = MAX_INPUT_BYTES) -> ClientFacts:
    """Folders, files and raw answers. What cannot be understood is passed over: ``read_answers`` tells of it.

    Answers about a single topic do not name it, and are left out. Raises ``InputError`` as ``read_answers`` does for
    what cannot be read at all. O(bytes).
    """
    versions: dict[str, frozenset[str]] = {}
    manager: str | None = None
    files = _files(sources, Intake(limit_bytes))
    for kind, data in (answer for file in files for answer in _answers(file.name, file.data)):
        if kind in (AnswerKind.RUNTIME_CONFIGURATION, AnswerKind.SCENARIO):
            told = load_manager_class(kind, data)
            # What is named counts more than what is left out.
            manager = told or manager or told
        elif kind in (AnswerKind.PARTITIONED_STATS, AnswerKind.NAMED_STATS, AnswerKind.BROKER_STATS_TOPICS):
            versions.update(_versions(kind, data))
    return ClientFacts(MappingProxyType(versions), manager)


def _files(sources: tuple[str | Path | bytes | AnswerFile, ...], intake: Intake) -> Iterator[AnswerFile]:
    for source in sources:
        if isinstance(source, bytes):
            yield AnswerFile(STANDARD_INPUT, source)
        elif isinstance(source, AnswerFile):
            yield source
        else:
            yield from read_files(Path(source), intake).files


def _answers(name: str, data: bytes) -> Iterator[tuple[AnswerKind, bytes]]:
    text, _ = plain_json(data, name)
    kind = recognise(name, text)
    if kind is not AnswerKind.MANY:
        yield kind, text
        return
    for inner, raw in _members(text).items():
        yield recognise(inner, bytes(raw)), bytes(raw)


def load_manager_class(kind: AnswerKind, data: bytes) -> str | None:
    """``loadManagerClassName`` of a runtime configuration or a scenario; as ``ClientFacts`` has it. O(length)."""
    members = _members(data)
    if kind is AnswerKind.SCENARIO:
        if "broker_settings" not in members:
            return None
        members = _members(members["broker_settings"])
    try:
        return msgspec.json.decode(members[_LOAD_MANAGER], type=str) if _LOAD_MANAGER in members else ""
    except _FAULTS:
        return ""


def _versions(kind: AnswerKind, data: bytes) -> Iterator[tuple[str, frozenset[str]]]:
    if kind is AnswerKind.PARTITIONED_STATS:
        yield from _of_topic("", data)
    elif kind is AnswerKind.NAMED_STATS:
        for name, raw in _members(data).items():
            yield from _of_topic(name, raw)
    else:
        try:
            loaded = _LOADED.decode(data)
        except _FAULTS:
            return
        for bundles in loaded.values():
            for domains in bundles.values():
                for topics in domains.values():
                    for name, raw in topics.items():
                        yield from _of_topic(name, raw)


def _of_topic(name: str, raw: msgspec.Raw | bytes) -> Iterator[tuple[str, frozenset[str]]]:
    try:
        topic = _ONE.decode(raw)
    except _FAULTS:
        return
    if topic.partitions:
        for partition, inner in topic.partitions.items():
            yield from _of_topic(partition, inner)
    elif name:
        found = frozenset(each.clientVersion for each in topic.publishers if each.clientVersion)
        if found:
            yield name, found


def _members(data: msgspec.Raw | bytes) -> dict[str, msgspec.Raw]:
    try:
        return _RAW.decode(data)
    except _FAULTS:
        return {}
