"""Which topics a recording is about: those its steps name, those its answers name, and a name where nothing does."""

from __future__ import annotations

import re

from engine.admin.kinds import AnswerKind
from engine.admin.namespaces import decode_hash_positions, decode_topic_list
from engine.admin.naming import Naming, naming_of
from engine.admin.text import raw_object
from engine.admin.topics import decode_broker_stats_topics, decode_named_stats, decode_partitioned_stats
from engine.names import NON_PERSISTENT, PERSISTENT, partition_name
from tests.lab.recording import Answer, Recording

_UNKNOWN_NAMESPACE = "unknown/unknown"


def topics_of_scenario(recording: Recording) -> list[str]:
    """Full names of the topics whose dispatchers the steps are about."""
    bases = [recording.topic] if recording.topic else []
    if not bases:
        asked = (
            answer.request
            for step in recording.steps
            for answer in step.answers
            if answer.request.what in ("stats", "partitioned-stats")
        )
        bases = list(dict.fromkeys(re.sub(r"-partition-\d+$", "", request.topic) for request in asked))
    if not recording.partitions:
        return bases
    return [partition_name(base, index) for base in bases for index in range(recording.partitions)]


def invented_name(answer: Answer) -> str:
    """A name for a topic that nothing names; its partition, if the file name has one, is kept for the modulo.

    Only statistics of non-persistent topics have a rate of dropped messages.
    """
    found = re.search(r"partition-(\d+)", answer.file)
    stem = re.sub(r"[/\s]", "_", answer.file)
    domain = NON_PERSISTENT if "msgDropRate" in raw_object(answer.data, answer.file)[0] else PERSISTENT
    return f"{domain}://{_UNKNOWN_NAMESPACE}/{stem}" + (f"-partition-{found[1]}" if found else "")


def known_names(recording: Recording) -> Naming:
    """The names in a folder without a scenario, to tell what its files are about; none of a scenario, which says so."""
    names: set[str] = set()
    if not recording.has_scenario:
        for step in recording.steps:
            for answer in step.answers:
                names |= _names_in(answer)
    return naming_of({}, names)


def _names_in(answer: Answer) -> set[str]:
    match answer.kind:
        case AnswerKind.PARTITIONED_STATS:
            return set(decode_partitioned_stats(answer.data).good)
        case AnswerKind.NAMED_STATS:
            return set(decode_named_stats(answer.data).good)
        case AnswerKind.BROKER_STATS_TOPICS:
            return set(decode_broker_stats_topics(answer.data).good.topics)
        case AnswerKind.HASH_POSITIONS:
            positions = decode_hash_positions(answer.data).good
            return set(positions.positions) if positions else set()
        case AnswerKind.TOPIC_LIST:
            return set(decode_topic_list(answer.data).good)
    return set()
