"""Turn statistics of topics into rows: a sound document as a whole, any other topic by topic."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from engine.admin.facts import TopicFacts
from engine.admin.kinds import AnswerKind
from engine.admin.text import WHOLE_CHECK_BYTES, child, malformed, value_problem
from engine.admin.topics import (
    decode_broker_stats_topics,
    decode_named_stats,
    decode_partitioned_stats,
    decode_topic_stats,
    without_nulls,
)
from engine.errors import Problem
from pipeline.reading.rows import BAD, PublisherWire, Rows, quarantine_row
from pipeline.reading.sound import take_sound_document


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
