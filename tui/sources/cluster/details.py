"""What only topics in trouble are asked for: positions of cursors, and the limits in force."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

from engine.admin.facts import TopicFacts
from engine.admin.requests import TOPIC_POLICIES
from engine.errors import Rejection
from engine.names import TopicName, parse_topic_name
from tui.sources.cluster import paths


def topics_with_backlog(loaded: Mapping[str, TopicFacts], asked: Sequence[str], most: int) -> list[TopicName]:
    """Topics and partitions in which messages wait, the most first; at most so many of them."""
    waiting = [name for name in asked if name in loaded and loaded[name].msg_backlog_entries > 0]
    waiting.sort(key=lambda name: (-loaded[name].msg_backlog_entries, name))
    parsed = (parse_topic_name(name) for name in waiting)
    return list(islice((name for name in parsed if not isinstance(name, Rejection)), most))


def requests(topics: Sequence[TopicName]) -> list[tuple[str, str]]:
    """Pairs of a topic and what is asked of it; the limits are those of the partitioned topic."""
    found = [(str(name), paths.of_topic(name, "internalStats")) for name in topics if name.domain == "persistent"]
    parents = dict.fromkeys(name.partitioned_topic for name in topics if name.domain == "persistent")
    for parent in parents:
        name = parse_topic_name(parent)
        if not isinstance(name, Rejection):
            found += [(parent, f"{paths.of_topic(name, policy)}?applied=true") for policy in TOPIC_POLICIES]
    return found
