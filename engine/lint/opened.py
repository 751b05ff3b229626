"""From a state, and what answers tell besides, to the cases the rules look at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from engine.bundles.boundaries import FULL_LOWER_BOUND, FULL_UPPER_BOUND, NamespaceBundles, namespace_bundles
from engine.bundles.plan import LoadManager
from engine.cluster.bundles import topic_loads
from engine.cluster.state import ClusterState, behaviour_in
from engine.errors import Rejection
from engine.keyshared.model import Consumer as KeyConsumer
from engine.lint.model import KeyCase, NamespaceCase, ProducedTopic, SubscriptionCase, World


@dataclass(frozen=True, slots=True)
class ReportedRanges:
    """Consumers of a Key_Shared subscription with the ranges that brokers report as ``declared``; as in ``KeyCase``."""

    namespace: str
    name: str
    topic: str
    topics: int
    consumers: tuple[KeyConsumer, ...]


@dataclass(frozen=True, slots=True)
class Told:
    """What a state does not keep, and answers may tell.

    ``known_bundles``: namespace -> the range texts that were told, None when the state's bundles are all told.
    ``sessions``: name of topic or partition -> producers + consumers. ``client_versions``: topic without partition
    suffix -> those of its producers. ``unexplained``: subscriptions whose reported ranges no selector gives.
    """

    known_bundles: Mapping[str, frozenset[str]] | None = None
    sessions: Mapping[str, int] = field(default_factory=dict)
    client_versions: Mapping[str, frozenset[str]] = field(default_factory=dict)
    load_manager: LoadManager | None = None
    shedder: str = ""
    placement: str = ""
    unexplained: tuple[ReportedRanges, ...] = ()


NOTHING_TOLD: Final = Told()
"""A state that stands for itself: all its bundles count, nothing more is known."""


def world_of(state: ClusterState, told: Told) -> World:
    return World(state.settings, behaviour_in(state), told.load_manager, told.shedder, told.placement)


def subscription_cases(state: ClusterState, world: World, namespace: str | None = None) -> Iterator[SubscriptionCase]:
    """The Failover subscriptions with topics. O(topics of them)."""
    for subscription in state.subscriptions:
        if not subscription.topics or namespace not in (None, subscription.namespace):
            continue
        partitioned = int((state.topics.partitions[state.topics.places(subscription.topics)] > 0).sum())
        alone = len(subscription.topics) - partitioned
        first = min(subscription.topics)
        yield SubscriptionCase(
            world, subscription.namespace, subscription.name, first, subscription.consumers, partitioned, alone
        )


def key_cases(state: ClusterState, world: World, told: Told, namespace: str | None = None) -> Iterator[KeyCase]:
    """The Key_Shared subscriptions with topics, then those whose reported ranges no selector gives."""
    for key_subscription in state.key_subscriptions:
        if key_subscription.topics and namespace in (None, key_subscription.namespace):
            first, selector = min(key_subscription.topics), key_subscription.delivery.selector
            yield KeyCase(
                world,
                key_subscription.namespace,
                key_subscription.name,
                first,
                len(key_subscription.topics),
                key_subscription.consumers,
                selector,
                key_subscription.keys,
            )
    for other in told.unexplained:
        if namespace in (None, other.namespace):
            yield KeyCase(world, other.namespace, other.name, other.topic, other.topics, other.consumers)


def namespace_cases(
    state: ClusterState, world: World, told: Told, namespace: str | None = None
) -> Iterator[NamespaceCase]:
    """The namespaces with topics or bundles. O(t log t) for t partitions in all."""
    for name in dict.fromkeys((*state.namespaces, *filter(None, state.topics.namespaces))):
        if namespace not in (None, name):
            continue
        bundles = _bundles(state, name)
        known = told.known_bundles
        untold = frozenset[str]() if bundles is None else None
        yield NamespaceCase(
            world,
            bundles or NamespaceBundles(name, (FULL_LOWER_BOUND, FULL_UPPER_BOUND)),
            tuple(topic_loads(state, name)),
            untold if known is None or bundles is None else known.get(name, frozenset()),
            told.sessions,
            _produced(state, name, told),
        )


def unfit_bundles(state: ClusterState) -> tuple[Rejection, ...]:
    """Why the boundaries of a namespace make no bundles, for each where they do not: its bundles are not judged."""
    return tuple(
        replace(made, message=f"{name}: {made.message}")
        for name, space in state.namespaces.items()
        if isinstance(made := namespace_bundles(name, space.boundaries), Rejection)
    )


def _bundles(state: ClusterState, namespace: str) -> NamespaceBundles | None:
    if namespace not in state.namespaces:
        return None
    made = namespace_bundles(namespace, state.namespaces[namespace].boundaries)
    return None if isinstance(made, Rejection) else made


def namespace_of(topic: str) -> str:
    """The namespace of a topic's complete name.

    >>> namespace_of("persistent://t/n/x")
    't/n'
    """
    return "/".join(topic.partition("://")[2].split("/", 2)[:2])


def _produced(state: ClusterState, namespace: str, told: Told) -> tuple[ProducedTopic, ...]:
    if not told.client_versions:
        return ()
    return tuple(
        ProducedTopic(topic.name, topic.partitions, told.client_versions[topic.name])
        for topic in state.topics.listed()
        if topic.name in told.client_versions and namespace_of(topic.name) == namespace
    )
