"""Statistics of topics as a recording has them: decoded once, with the topic that each answer is about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from engine.admin.facts import Decoded, TopicFacts
from engine.admin.keyshared import KeySharedFacts, decode_key_shared, decode_key_shared_partitions
from engine.admin.kinds import AnswerKind
from engine.admin.naming import Naming
from engine.admin.topics import decode_named_stats, decode_partitioned_stats, decode_topic_stats
from engine.errors import Problem
from tests.lab.names import invented_name
from tests.lab.recording import Answer


@dataclass(frozen=True, slots=True)
class Statistics:
    """Decoded statistics of one answer. ``named`` False: the answer's topic had to be invented.

    ``key_shared``: topic -> subscription -> what only Key_Shared has; empty unless it was asked for.
    """

    topics: Mapping[str, TopicFacts]
    named: bool = True
    key_shared: Mapping[str, Mapping[str, KeySharedFacts]] = field(default_factory=dict)


def decode_statistics(
    answer: Answer, naming: Naming, problems: list[Problem], *, key_shared: bool = False
) -> Statistics | None:
    """None for an answer of another kind; what cannot be read is added to ``problems``."""
    found = _decoded(answer, naming, problems)
    if found is None or not key_shared:
        return found
    by_topic: Mapping[str, Mapping[str, KeySharedFacts]]
    if answer.kind is AnswerKind.TOPIC_STATS:
        one = decode_key_shared(answer.data, answer.file)
        problems += one.problems
        by_topic = dict.fromkeys(found.topics, one.good)
    else:
        many = decode_key_shared_partitions(answer.data, answer.file)
        problems += many.problems
        by_topic = many.good
    return replace(found, key_shared=by_topic)


def _decoded(answer: Answer, naming: Naming, problems: list[Problem]) -> Statistics | None:
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
