"""What of a cluster is read: namespaces, topics by a pattern, and how far into the details.

Only topics in trouble are asked for positions of cursors and the limits in force.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import islice
from typing import Final

from engine.admin.facts import TopicFacts
from engine.admin.requests import TOPIC_POLICIES
from engine.errors import InputError, Rejection
from engine.names import TopicName, parse_topic_name, refuse_namespace
from tui.sources.cluster import paths

SYSTEM_NAMESPACES: Final = ("pulsar/system",)
_SYSTEM_TOPICS: Final = ("__", "healthcheck", "transaction_coordinator_assign")
MOST_DETAILS: Final = 100


@dataclass(frozen=True, slots=True)
class Scope:
    """``namespaces``: all without one. ``topic``: a pattern with ``*`` and ``?`` for full names or their last part.

    ``loads_topics``: ask also for statistics of topics that no broker has loaded, which makes brokers load them.
    ``skips_idle``: do not ask again of topics without subscriptions what the lists of loaded topics say already.
    ``details``: of how many topics with a backlog positions and limits are read.
    """

    namespaces: tuple[str, ...] = ()
    topic: str = ""
    loads_topics: bool = False
    skips_idle: bool = False
    details: int = MOST_DETAILS

    def has_topic(self, name: TopicName) -> bool:
        """Whether statistics of a topic or partition are wanted; those of the system's own never are."""
        if self.namespaces and name.namespace not in self.namespaces:
            return False
        if name.namespace in SYSTEM_NAMESPACES or name.local_name.startswith(_SYSTEM_TOPICS):
            return False
        if not self.topic:
            return True
        parent = name.partitioned_topic
        texts = (str(name), name.local_name, parent, parent.rpartition("/")[2])
        return any(fnmatchcase(text, self.topic) for text in texts)


def require_namespaces(names: tuple[str, ...]) -> None:
    """Raise ``InputError`` for a text that is not ``TENANT/NAME``."""
    for name in names:
        refusal = refuse_namespace(name)
        if isinstance(refusal, Rejection):
            raise InputError(f"--namespace {name}: {refusal.message}")


def topics_with_backlog(loaded: Mapping[str, TopicFacts], asked: Iterable[str], most: int) -> list[TopicName]:
    """Topics and partitions in which messages wait, the most first; at most so many of them."""
    waiting = [name for name in asked if name in loaded and loaded[name].msg_backlog_entries > 0]
    waiting.sort(key=lambda name: (-loaded[name].msg_backlog_entries, name))
    parsed = (parse_topic_name(name) for name in waiting)
    return list(islice((name for name in parsed if not isinstance(name, Rejection)), most))


def detail_requests(topics: Sequence[TopicName]) -> list[tuple[str, str]]:
    """Pairs of a topic and a request about it; the limits are those of the partitioned topic."""
    requests = [(str(name), paths.of_topic(name, "internalStats")) for name in topics if name.domain == "persistent"]
    parents = dict.fromkeys(name.partitioned_topic for name in topics if name.domain == "persistent")
    for parent in parents:
        name = parse_topic_name(parent)
        if not isinstance(name, Rejection):
            requests += [(parent, f"{paths.of_topic(name, policy)}?applied=true") for policy in TOPIC_POLICIES]
    return requests
