"""Collect the rows of the tables while files are read, and count what was read and what was set aside."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from engine.admin.facts import ConsumerFacts, Count, Rate, SubscriptionFacts, TopicFacts
from engine.errors import Problem
from engine.names import PARTITION_SUFFIX
from pipeline.schemas import TOPICS

Row = tuple[Any, ...]
BAD: Final = "bad"
NOTE: Final = "note"
SUPERSEDED: Final = "superseded"
# The engine's words for problems that lose nothing.
_NOTES: Final = ("the later one counts", "was read without", "was converted", "changed while it was being read")


def consumer_set_id(names: Sequence[str]) -> int:
    """Return a 64-bit number for a list of names, the same in every task; the job checks that no two lists share one.

    >>> consumer_set_id(["a", "b"]) == consumer_set_id(["ab"])
    False
    """
    digest = hashlib.blake2b(digest_size=8)
    for name in names:
        data = name.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(4, "little") + data)
    return int.from_bytes(digest.digest(), "little", signed=True)


def quarantine_row(problem: Problem, table: str, rows: int = 0, kind: str = NOTE) -> Row:
    """Return one row of the quarantine; ``rows`` of ``table`` were set aside for this problem."""
    place = problem.path or "$"
    return (problem.source, place, problem.line, problem.column, table, rows, kind, problem.reason, problem.advice)


def is_note(problem: Problem) -> bool:
    """Whether a problem of the engine reports a repair, not a loss."""
    return any(words in problem.reason for words in _NOTES)


class PublisherWire(msgspec.Struct, gc=False):
    """A publisher by Pulsar's exact names, of which the engine reads less."""

    producerName: str = ""
    producerId: Count = 0
    accessMode: str = ""
    address: str = ""
    connectedSince: str = ""
    clientVersion: str = ""
    msgRateIn: Rate = 0.0
    msgThroughputIn: Rate = 0.0
    averageMsgSize: Rate = 0.0


@dataclass
class Rows:
    """The rows of some files. ``counts`` is the number of rows that the answers have by table, good or not.

    ``tables`` are rows in columns (``pyarrow.Table``), which come before the others; ``namespaces`` are theirs.
    """

    topics: list[Row] = field(default_factory=list)
    subscriptions: list[Row] = field(default_factory=list)
    consumers: list[Row] = field(default_factory=list)
    publishers: list[Row] = field(default_factory=list)
    boundary_lists: list[Row] = field(default_factory=list)
    bundle_reports: list[Row] = field(default_factory=list)
    brokers: list[Row] = field(default_factory=list)
    listed: list[Row] = field(default_factory=list)
    settings: list[Row] = field(default_factory=list)
    answers: list[Row] = field(default_factory=list)
    load_answers: list[Row] = field(default_factory=list)
    answer_bytes: int = 0
    quarantine: list[Row] = field(default_factory=list)
    sets: dict[tuple[str, ...], int] = field(default_factory=dict)
    tables: dict[str, list[Any]] = field(default_factory=dict)
    namespaces: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)

    def topic(self, facts: TopicFacts, bundle: str | None, broker: str | None) -> None:
        """Add one topic with its subscriptions and their consumers."""
        name, source = facts.name, facts.source
        parent = partitioned_topic(name, facts.partition_index)
        self.topics.append(
            (name, facts.domain, facts.namespace, parent, facts.partition_index, bundle, broker,
             facts.msg_rate_in_msgs_per_sec, facts.msg_rate_out_msgs_per_sec, facts.msg_throughput_in_bytes_per_sec,
             facts.msg_throughput_out_bytes_per_sec, facts.storage_size_bytes, facts.backlog_size_bytes,
             facts.publishers, sum(len(subscription.consumers) for subscription in facts.subscriptions), facts.kind,
             source)
        )  # fmt: skip
        for subscription in facts.subscriptions:
            self._subscription((name, facts.namespace, parent, facts.partition_index), subscription, source)

    def _subscription(self, topic: tuple[str, str, str, int], facts: SubscriptionFacts, source: str) -> None:
        number = self.set_of(tuple([consumer.name for consumer in facts.consumers]))
        self.counts["subscriptions"] += 1
        self.subscriptions.append(
            (facts.name, *topic, facts.type, len(facts.consumers), number, facts.active_consumer_name,
             facts.msg_rate_out_msgs_per_sec, facts.msg_throughput_out_bytes_per_sec,
             facts.msg_backlog_entries, facts.unacked_messages, source)
        )  # fmt: skip
        self._consumers(topic[0], facts.name, facts.consumers, source)

    def _consumers(self, topic: str, subscription: str, consumers: Sequence[ConsumerFacts], source: str) -> None:
        self.counts["consumers"] += len(consumers)
        for place, facts in enumerate(consumers):
            ranges = [{"start": start, "end": end} for start, end in facts.key_hash_ranges]
            self.consumers.append(
                (subscription, topic, place, facts.name, facts.address, facts.connected_since, facts.client_version,
                 facts.msg_rate_out_msgs_per_sec, facts.msg_throughput_out_bytes_per_sec, facts.unacked_messages,
                 facts.available_permits, ranges, source)
            )  # fmt: skip

    def publisher(self, topic: str, place: int, facts: PublisherWire, source: str) -> None:
        """One publisher of one topic."""
        self.publishers.append(
            (topic, place, facts.producerName, facts.producerId, facts.accessMode, facts.address,
             facts.connectedSince, facts.clientVersion, facts.msgRateIn, facts.msgThroughputIn, facts.averageMsgSize,
             source)
        )  # fmt: skip

    def set_aside(self, table: str, problems: Iterable[Problem], rows: int, source: str) -> None:
        """Add the problems of one answer to the quarantine, with exactly ``rows`` rows of ``table`` charged to them.

        A problem at a place inside the answer is charged before one that concerns the whole answer.
        """
        ordered = sorted(problems, key=lambda problem: (is_note(problem), problem.path in ("", "$")))
        for problem in ordered:
            charged = min(rows, 0 if is_note(problem) else 1)
            rows -= charged
            self.quarantine.append(
                quarantine_row(problem, table, charged, NOTE if not charged and is_note(problem) else BAD)
            )
        if rows:
            rest = Problem(source, "$", f"{rows} more were set aside", "record the answer again, whole")
            self.quarantine.append(quarantine_row(rest, table, rows, BAD))

    def set_of(self, names: tuple[str, ...]) -> int:
        """Return the number of a list of consumer names, and keep the list for its table."""
        number = self.sets.get(names)
        if number is None:
            number = self.sets[names] = consumer_set_id(names)
        return number

    def topic_names(self) -> list[str]:
        """The names of all topics, from columns and from rows."""
        in_columns = [name for table in self.tables.get(TOPICS.name, ()) for name in table["topic"].to_pylist()]
        return [*in_columns, *(str(row[0]) for row in self.topics)]


def namespace_of(topic: str) -> str:
    """The namespace in a full topic name.

    >>> namespace_of("persistent://public/default/orders")
    'public/default'
    """
    return topic.rpartition("/")[0].partition("://")[2]


def partitioned_topic(name: str, index: int) -> str:
    """Return the parent of a partition, or the topic itself if it is not a partition."""
    return name.rpartition(PARTITION_SUFFIX)[0] if index >= 0 else name
