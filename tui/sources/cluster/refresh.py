"""What a refresh keeps of the reading before, and how it sees that something else has to be read again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from engine.admin.earlier import EarlierAnswers
from engine.admin.facts import BrokerStats, Place, TopicFacts
from engine.errors import Rejection
from engine.names import PARTITION_SUFFIX, TopicName
from tui.sources.cluster import paths
from tui.sources.cluster.outcomes import Answer, Gap
from tui.sources.cluster.rounds import Key, StatisticsRequest, is_large

_CHANGES_OFTEN: Final = ("/stats", "/partitioned-stats", "/internalStats")
_IN_A_NAMESPACE: Final = re.compile(r"/admin/v2/(?:namespaces|persistent|non-persistent)/([^/]+)/([^/?]+)")


@dataclass(frozen=True, slots=True)
class Plan:
    """The topics to ask about, for as long as the lists of topics and of loaded ones stay the same.

    ``asked`` are topics and partitions with their parsed names, ``in_scope`` how many exist, loaded or not, ``counts``
    the numbers of partitions.
    """

    in_scope: int
    asked: Mapping[str, TopicName]
    counts: Mapping[str, int]


@dataclass(slots=True)
class Earlier:
    """What the reading before knew; the next one changes it. ``answers``, by request and broker, may be kept.

    ``loaded`` are the brokers' lists of topics, by broker; ``decoded`` is what need not be decoded again. ``names`` are
    parsed names of topics. ``statistics`` are the topics of ``plan`` with more to say than the lists, and the requests
    for them. ``read_ms`` is when each request was last made, in epoch milliseconds; ``gaps`` are the requests for
    statistics without an answer. ``changed`` are topics, without partitions, whose consumers differ between the
    brokers' lists and the statistics read before. ``measures``: whether a broker's metrics have its usage.
    """

    answers: Mapping[tuple[str, str], Answer] = field(default_factory=dict)
    loaded: dict[str, BrokerStats] = field(default_factory=dict)
    decoded: EarlierAnswers = field(default_factory=EarlierAnswers)
    names: dict[str, TopicName | Rejection] = field(default_factory=dict)
    plan: Plan | None = None
    statistics: tuple[list[str], list[StatisticsRequest]] | None = None
    read_ms: dict[Key, int] = field(default_factory=dict)
    gaps: dict[Key, Gap] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)
    measures: dict[str, bool] = field(default_factory=dict)

    @property
    def is_large(self) -> bool:
        """Whether there is so much to ask about topics that it is read in rounds."""
        return self.statistics is not None and is_large(self.statistics[1])


def changes_rarely(path: str) -> bool:
    """Whether a refresh may keep an answer: releases, settings, namespaces, bundles, lists of topics, policies.

    >>> [changes_rarely(f"/admin/v2/{path}") for path in ("tenants", "brokers/c", "persistent/t/n/x/stats")]
    [True, False, False]
    >>> changes_rarely("/admin/v2/scalable/t/n/x")
    False
    """
    is_list_of_brokers = path.startswith(f"{paths.BROKERS}/") and path.count("/") == paths.BROKERS.count("/") + 1
    if path in (paths.VERSION, paths.RUNTIME, paths.DYNAMIC):
        return True
    return not (
        is_list_of_brokers
        or path == paths.BROKERS
        or path.startswith((paths.OF_ONE_BROKER, paths.SCALABLE))
        or path.endswith(_CHANGES_OFTEN)
    )


def namespace_in(path: str) -> str:
    """The path of the namespace that a request is about, "" for none.

    >>> namespace_in("/admin/v2/persistent/t/n/x/partitions"), namespace_in("/admin/v2/namespaces/t")
    ('/admin/v2/namespaces/t/n', '')
    """
    match = _IN_A_NAMESPACE.match(path)
    return "" if match is None else f"/admin/v2/namespaces/{match[1]}/{match[2]}"


def group_of(path: str) -> str:
    """Requests with the same group are made again together: the lists of a namespace have to agree.

    >>> group_of("/admin/v2/persistent/t/n"), group_of("/admin/v2/persistent/t/n/x/partitions")
    ('/admin/v2/namespaces/t/n', '/admin/v2/persistent/t/n/x/partitions')
    """
    return path if path.endswith("/partitions") else namespace_in(path)


def namespaces_that_differ(
    before: Mapping[str, Mapping[str, Place]], now: Mapping[str, Mapping[str, Place]]
) -> set[str]:
    """The namespaces with topics that are loaded at one of two times only, or in other bundles or by other brokers."""
    differ: set[str] = set()
    for broker in before.keys() | now.keys():
        one, other = before.get(broker, {}), now.get(broker, {})
        if one is not other:
            differ.update(place.namespace for topic, place in one.items() if other.get(topic) != place)
            differ.update(place.namespace for topic, place in other.items() if topic not in one)
    return differ


def topics_with_other_consumers(before: BrokerStats, now: BrokerStats) -> set[str]:
    """The topics, without partitions, that have other subscriptions or consumers than before."""
    changed = set()
    for text, topic in now.topics.items():
        known = before.topics.get(text)
        if known is not None and known is not topic and _consumers_of(known) != _consumers_of(topic):
            changed.add(text.rpartition(PARTITION_SUFFIX)[0] if topic.partition_index >= 0 else text)
    return changed


def _consumers_of(topic: TopicFacts) -> list[tuple[str, list[tuple[str, str]]]]:
    return [
        (subscription.name, [(consumer.name, consumer.connected_since) for consumer in subscription.consumers])
        for subscription in topic.subscriptions
    ]
