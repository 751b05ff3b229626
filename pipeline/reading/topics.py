"""Take statistics of topics: a sound ``broker-stats`` document as a whole, any other topic by topic."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

import msgspec

from engine.admin.facts import NOT_REPORTED, TopicFacts
from engine.admin.kinds import AnswerKind
from engine.admin.text import child, malformed, value_problem, without_nulls
from engine.admin.topic_wire import sound_topics
from engine.admin.topics import (
    BROKER_STATS,
    decode_broker_stats_topics,
    decode_named_stats,
    decode_partitioned_stats,
    decode_topic_stats,
)
from engine.errors import Problem
from pipeline.reading.rows import BAD, Rows, quarantine_row
from pipeline.reading.topic_columns import PublisherWire, TopicsRead, TopicWithPublishers


def take_broker_stats(rows: Rows, data: bytes, source: str, broker: str, *, by_name: bool = False) -> None:
    """Take ``broker-stats/topics`` of one broker, which is the file's own name if ``by_name``. O(length)."""
    if take_sound_document(rows, data, source, broker):
        return
    decoded = decode_broker_stats_topics(data, source, publishers=True)
    good = decoded.good
    if by_name and _is_cut(decoded.problems):
        broker = ""  # half a file may be a copy under another name: it is no proof of a broker
    bundles = [good.places[name].bundle for name in good.topics]
    read = topics_read(rows, good.topics.values(), bundles, broker or None)
    _take(rows, read, decoded.problems, _rows_lost(decoded.problems, decoded.set_aside), source)


def take_named(rows: Rows, kind: AnswerKind, data: bytes, source: str) -> None:
    """Take statistics that name their topics: partitioned ones, or an object of name -> answer."""
    decode = decode_partitioned_stats if kind is AnswerKind.PARTITIONED_STATS else decode_named_stats
    decoded = decode(data, source, publishers=True)
    read = topics_read(rows, decoded.good.values())
    _take(rows, read, decoded.problems, _rows_lost(decoded.problems, decoded.set_aside), source)


def take_one(rows: Rows, data: bytes, topic: str, source: str) -> None:
    """Take statistics of one topic, whose full name is ``topic``."""
    decoded = decode_topic_stats(data, topic, source, publishers=True)
    read = topics_read(rows, [decoded.good] if decoded.good is not None else [])
    _take(rows, read, decoded.problems, decoded.set_aside, source)


def _take(rows: Rows, read: TopicsRead, problems: Sequence[Problem], lost: int, source: str) -> None:
    rows.add_topics(read)
    rows.counts["topics"] += lost
    rows.set_aside("topics", problems, lost, source)


def _rows_lost(problems: Sequence[Problem], set_aside: int) -> int:
    """Return how many topics are missing; a text cut short loses an unknown number, counted as at least one."""
    return max(set_aside, 1) if _is_cut(problems) else set_aside


def _is_cut(problems: Sequence[Problem]) -> bool:
    return any(problem.line is not None for problem in problems)


def topics_read(
    rows: Rows, topics: Collection[TopicFacts], bundles: Sequence[str | None] = (), broker: str | None = None
) -> TopicsRead:
    """Topics that were decoded one by one; their bad publishers go to the quarantine of ``rows``."""
    count = len(topics)
    return TopicsRead(
        [facts.name for facts in topics],
        [facts.domain for facts in topics],
        [facts.namespace for facts in topics],
        [facts.partition_index for facts in topics],
        [*bundles] or [None] * count,
        [broker] * count,
        [facts.kind for facts in topics],
        [facts.source for facts in topics],
        [_wire_of(rows, facts) for facts in topics],
    )


def _wire_of(rows: Rows, facts: TopicFacts) -> TopicWithPublishers:
    return TopicWithPublishers(
        msgRateIn=facts.msg_rate_in_msgs_per_sec,
        msgRateOut=facts.msg_rate_out_msgs_per_sec,
        msgThroughputIn=facts.msg_throughput_in_bytes_per_sec,
        msgThroughputOut=facts.msg_throughput_out_bytes_per_sec,
        storageSize=facts.storage_size_bytes,
        backlogSize=facts.backlog_size_bytes,
        producerCount=facts.publishers,
        subscriptions={subscription.name: subscription for subscription in facts.subscriptions},
        publishers=NOT_REPORTED if facts.publishers is None else tuple(_publishers(rows, facts)),
    )


def _publishers(rows: Rows, facts: TopicFacts) -> Iterable[PublisherWire | None]:
    """The publishers of a topic, which the engine only counts, None for a bad one."""
    for place, raw in enumerate(facts.publisher_entries):
        publisher = _publisher(raw, f"{child('$', facts.name)}.publishers[{place}]", facts.source)
        if isinstance(publisher, Problem):
            rows.quarantine.append(quarantine_row(publisher, "publishers", 1, BAD))
        yield publisher if isinstance(publisher, PublisherWire) else None


def _publisher(raw: msgspec.Raw, path: str, source: str) -> PublisherWire | Problem:
    try:
        return msgspec.convert(without_nulls(msgspec.json.decode(raw)) or {}, type=PublisherWire)
    except msgspec.ValidationError as fault:
        return value_problem(source, path, fault)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        return malformed(bytes(raw), source, fault, path)


_DOCUMENT: Final = msgspec.json.Decoder(dict[str, dict[str, dict[str, dict[str, TopicWithPublishers]]]])


def take_sound_document(rows: Rows, data: bytes, source: str, broker: str) -> bool:
    """Take the whole document at once; return False, with nothing taken, if any part needs the careful reader."""
    topics = sound_topics(data, _DOCUMENT)
    if topics is None:
        return False
    count = len(topics.names)
    rows.add_topics(
        TopicsRead(
            topics.names, topics.domains, topics.namespaces, topics.partition_indices, [*topics.bundles],
            [broker or None] * count, [BROKER_STATS] * count, [source] * count, topics.wires,
        )
    )  # fmt: skip
    return True
