"""Turn statistics of topics into rows: a sound document as a whole, any other topic by topic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from engine.admin.facts import TopicFacts
from engine.admin.kinds import AnswerKind
from engine.admin.salvage import salvage_broker_stats, salvage_topics
from engine.admin.text import WHOLE_CHECK_BYTES, child, malformed, raw_object, value_problem
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


class OnlyPublishers(msgspec.Struct):
    publishers: tuple[msgspec.Raw, ...] | None = None


_LEVELS: Final = msgspec.json.Decoder(dict[str, dict[str, dict[str, dict[str, msgspec.Raw]]]])
_RAW_OBJECT: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ONLY_PUBLISHERS: Final = msgspec.json.Decoder(OnlyPublishers)
_DOMAINS: Final = ("persistent", "non-persistent")


def take_broker_stats(rows: Rows, data: bytes, source: str, broker: str, *, by_name: bool = False) -> None:
    """Take ``broker-stats/topics`` of one broker, which is the file's own name if ``by_name``. O(length)."""
    if len(data) > WHOLE_CHECK_BYTES and take_sound_document(rows, data, source, broker):
        return
    decoded = decode_broker_stats_topics(data, source)
    good = decoded.good
    lost = _rows_lost(decoded.problems, decoded.set_aside)
    rows.counts["topics"] += len(good.topics) + lost
    if by_name and _is_cut(decoded.problems):
        broker = ""  # half a file may be a copy under another name: it is no proof of a broker
    for name, facts in good.topics.items():
        rows.topic(facts, good.places[name].bundle, broker or None)
    rows.set_aside("topics", decoded.problems, lost, source)
    _take_publishers(rows, _raw_of_broker_stats(data), good.topics, source)


def take_named(rows: Rows, kind: AnswerKind, data: bytes, source: str) -> None:
    """Take statistics that name their topics: partitioned ones, or an object of name -> answer."""
    decode = decode_partitioned_stats if kind is AnswerKind.PARTITIONED_STATS else decode_named_stats
    decoded = decode(data, source)
    lost = _rows_lost(decoded.problems, decoded.set_aside)
    rows.counts["topics"] += len(decoded.good) + lost
    for facts in decoded.good.values():
        rows.topic(facts, None, None)
    rows.set_aside("topics", decoded.problems, lost, source)
    _take_publishers(rows, _raw_of_named(data), decoded.good, source)


def take_one(rows: Rows, data: bytes, topic: str, source: str) -> None:
    """Take statistics of one topic, whose full name is ``topic``."""
    decoded = decode_topic_stats(data, topic, source)
    rows.counts["topics"] += 1
    if decoded.good is not None:
        rows.topic(decoded.good, None, None)
    rows.set_aside("topics", decoded.problems, decoded.set_aside, source)
    _take_publishers(rows, {topic: data}, {} if decoded.good is None else {topic: decoded.good}, source)


def _rows_lost(problems: Sequence[Problem], set_aside: int) -> int:
    """Return how many topics are missing; a text cut short loses an unknown number, counted as at least one."""
    return max(set_aside, 1) if _is_cut(problems) else set_aside


def _is_cut(problems: Sequence[Problem]) -> bool:
    return any(problem.line is not None for problem in problems)


def _raw_of_broker_stats(data: bytes) -> dict[str, bytes | msgspec.Raw]:
    try:
        document = _LEVELS.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {name: raw for _, _, name, raw in salvage_broker_stats(data)[0]}
    return {
        name: raw
        for bundles in document.values()
        for domains in bundles.values()
        for domain in _DOMAINS
        for name, raw in domains.get(domain, {}).items()
    }


def _raw_of_named(data: bytes) -> dict[str, bytes | msgspec.Raw]:
    members, _ = raw_object(data, "", check_names=False)
    if not members:
        return dict(salvage_topics(data))
    raw_topics: dict[str, bytes | msgspec.Raw] = {}
    for name, raw in members.items():
        if name == "partitions":
            raw_topics |= _members(raw)
        elif "://" in name:
            inner = _members(raw)
            raw_topics |= _members(inner["partitions"]) if "partitions" in inner else {name: raw}
    return raw_topics


def _members(raw: bytes | msgspec.Raw) -> dict[str, bytes | msgspec.Raw]:
    try:
        return dict(_RAW_OBJECT.decode(raw))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}


def _take_publishers(
    rows: Rows, raw_topics: dict[str, bytes | msgspec.Raw], good: Mapping[str, TopicFacts], source: str
) -> None:
    """Take the publishers of the topics that were kept, one by one: the engine only counts them."""
    for name in good:
        if name not in raw_topics:
            continue
        try:
            members = _ONLY_PUBLISHERS.decode(raw_topics[name]).publishers or ()
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        rows.counts["publishers"] += len(members)
        for place, raw in enumerate(members):
            publisher = _publisher(raw, f"{child('$', name)}.publishers[{place}]", source)
            if isinstance(publisher, Problem):
                rows.quarantine.append(quarantine_row(publisher, "publishers", 1, BAD))
            else:
                rows.publisher(name, place, publisher, source)


def _publisher(raw: msgspec.Raw, path: str, source: str) -> PublisherWire | Problem:
    try:
        return msgspec.convert(without_nulls(msgspec.json.decode(raw)) or {}, type=PublisherWire)
    except msgspec.ValidationError as fault:
        return value_problem(source, path, fault)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        return malformed(bytes(raw), source, fault, path)
