"""Statistics of topics, decoded with the name of the topic that an answer is about."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from engine.admin.facts import Decoded, TopicFacts
from engine.admin.kinds import AnswerKind
from engine.admin.publishers import PublishedPartitions, decode_named_publishers, decode_publishers
from engine.admin.text import raw_object
from engine.admin.topics import decode_named_stats, decode_partitioned_stats, decode_topic_stats
from engine.errors import Problem
from engine.names import NON_PERSISTENT, PARTITION_SUFFIX, PERSISTENT

_UNKNOWN_NAMESPACE: Final = "unknown/unknown"
_MANY_TOPICS: Final[Mapping[AnswerKind, Callable[[bytes, str], Decoded[dict[str, TopicFacts]]]]] = {
    AnswerKind.PARTITIONED_STATS: decode_partitioned_stats,
    AnswerKind.NAMED_STATS: decode_named_stats,
}


@dataclass(frozen=True, slots=True)
class Statistics:
    """The topics of one answer by full name; ``named`` is False where nothing says which topic it is about."""

    topics: Mapping[str, TopicFacts]
    named: bool
    problems: tuple[Problem, ...]


def decode_statistics(data: bytes, file: str, kind: AnswerKind, topic: str | None) -> Statistics | None:
    """The topics of an answer that holds statistics; None for another kind. ``topic``: what it is about, if known."""
    if kind is AnswerKind.TOPIC_STATS:
        one = decode_topic_stats(data, topic or placeholder_name(data, file), file)
        return Statistics({one.good.name: one.good} if one.good else {}, topic is not None, one.problems)
    if kind not in _MANY_TOPICS:
        return None
    many = _MANY_TOPICS[kind](data, file)
    return Statistics(many.good, True, many.problems)


def placeholder_name(data: bytes, file: str) -> str:
    """A name for a topic that nothing names; the partition that the file name may have is kept for the modulo.

    Only statistics of non-persistent topics have a rate of dropped messages.
    """
    match = re.search(r"partition-(\d+)", file)
    stem = re.sub(r"[/\s]", "_", file)
    domain = NON_PERSISTENT if "msgDropRate" in raw_object(data, file)[0] else PERSISTENT
    return f"{domain}://{_UNKNOWN_NAMESPACE}/{stem}" + (f"-partition-{match[1]}" if match else "")


def decode_aggregates(
    data: bytes, file: str, kind: AnswerKind, topic: str | None
) -> Decoded[Mapping[str, PublishedPartitions]]:
    """The partitioned topics of an answer with their aggregates, by name; none in statistics of a single topic."""
    if kind is AnswerKind.NAMED_STATS:
        return decode_named_publishers(data, file)
    if kind is not AnswerKind.PARTITIONED_STATS:
        return Decoded({})
    one = decode_publishers(data, file)
    names = (name.rpartition(PARTITION_SUFFIX)[0] for name in one.good.partitions)
    return Decoded({topic or next(names, file): one.good}, one.problems)
