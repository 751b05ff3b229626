"""Statistics of topics as a recording has them: decoded once, with the topic that each answer is about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from engine.admin.facts import Decoded, TopicFacts
from engine.admin.kinds import AnswerKind
from engine.admin.naming import Naming
from engine.admin.topics import decode_named_stats, decode_partitioned_stats, decode_topic_stats
from engine.errors import Problem
from engine.verify.names import invented_name
from engine.verify.recording import Answer


@dataclass(frozen=True, slots=True)
class Statistics:
    """Decoded statistics of one answer. ``named`` False: the answer's topic had to be invented."""

    topics: Mapping[str, TopicFacts]
    named: bool = True


def decode_statistics(answer: Answer, naming: Naming, problems: list[Problem]) -> Statistics | None:
    """None for an answer of another kind; what cannot be read is added to ``problems``."""
    if answer.kind is AnswerKind.TOPIC_STATS:
        topic = answer.request.topic or naming.topic(answer.file)
        one = decode_topic_stats(answer.data, topic or invented_name(answer), answer.file)
        problems += one.problems
        return Statistics({one.good.name: one.good} if one.good else {}, topic is not None)
    decoders: dict[AnswerKind, Callable[[bytes, str], Decoded[dict[str, TopicFacts]]]] = {
        AnswerKind.PARTITIONED_STATS: decode_partitioned_stats,
        AnswerKind.NAMED_STATS: decode_named_stats,
    }
    if answer.kind not in decoders:
        return None
    decoded = decoders[answer.kind](answer.data, answer.file)
    problems += decoded.problems
    return Statistics(decoded.good)
