"""Make the cases that the rules judge from a state and from what answers report beyond it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import replace

from engine.bundles.boundaries import FULL_LOWER_BOUND, FULL_UPPER_BOUND, NamespaceBundles, namespace_bundles
from engine.bundles.plan import LoadManager
from engine.cluster.bundles import topic_loads
from engine.cluster.keys.state import KeySubscription
from engine.cluster.scalable.state import ScalableTopic
from engine.cluster.state import ClusterState, behaviour_in, producer_limit
from engine.errors import Rejection
from engine.keyshared.model import Consumer as KeyConsumer
from engine.lint.model import KeyCase, NamespaceCase, OneBucket, ProducedTopic, ScalableCase, SubscriptionCase, World
from engine.names import namespace_of


@dataclass(frozen=True, slots=True)
class ReportedRanges:
    """Consumers of a Key_Shared subscription with the ranges that brokers report as ``declared``; as in ``KeyCase``."""

    namespace: str
    name: str
    topic: str
    topics: int
    consumers: tuple[KeyConsumer, ...]


@dataclass(frozen=True, slots=True)
class Reported:
    """What answers may report and a state does not keep.

    ``known_bundles``: namespace -> the range texts that answers list, None when they list all bundles of the state.
    ``sessions``: name of topic or partition -> producers + consumers. ``client_versions``: topic without partition
    suffix -> those of its producers; ``producers`` likewise -> how many each partition has. ``configuration``: settings
    as texts. ``unexplained``: subscriptions whose reported ranges no selector gives. ``retention_minutes``: namespace
    -> that of its policies. ``one_bucket``: scalable topic -> shared segments of which one consumer gets all messages.
    """

    known_bundles: Mapping[str, frozenset[str]] | None = None
    sessions: Mapping[str, int] = field(default_factory=dict)
    client_versions: Mapping[str, frozenset[str]] = field(default_factory=dict)
    producers: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    load_manager: LoadManager | None = None
    shedder: str = ""
    placement: str = ""
    configuration: Mapping[str, str] = field(default_factory=dict)
    unexplained: tuple[ReportedRanges, ...] = ()
    retention_minutes: Mapping[str, int] = field(default_factory=dict)
    one_bucket: Mapping[str, tuple[OneBucket, ...]] = field(default_factory=dict)


NOTHING_REPORTED: Final = Reported()
"""Nothing is known beyond the state: all its bundles count."""


def world_of(state: ClusterState, reported: Reported) -> World:
    return World(
        state.settings,
        behaviour_in(state),
        reported.load_manager,
        reported.shedder,
        reported.placement,
        reported.configuration,
        bool(state.topics or state.namespaces),
        bool(state.scalable_topics),
    )


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


def key_cases(state: ClusterState, world: World, reported: Reported, namespace: str | None = None) -> Iterator[KeyCase]:
    """The Key_Shared subscriptions with topics, then those whose reported ranges no selector gives."""
    for key_subscription in state.key_subscriptions:
        if key_subscription.topics and namespace in (None, key_subscription.namespace):
            yield key_case(world, key_subscription)
    for other in reported.unexplained:
        if namespace in (None, other.namespace):
            yield KeyCase(world, other.namespace, other.name, other.topic, other.topics, other.consumers)


def key_case(world: World, subscription: KeySubscription) -> KeyCase:
    """A Key_Shared subscription with topics."""
    return KeyCase(
        world,
        subscription.namespace,
        subscription.name,
        min(subscription.topics),
        len(subscription.topics),
        subscription.consumers,
        subscription.delivery.selector,
        subscription.keys,
        subscription.partitions,
    )


def namespace_cases(
    state: ClusterState, world: World, reported: Reported, namespace: str | None = None
) -> Iterator[NamespaceCase]:
    """The namespaces with topics or bundles. O(t log t) for t partitions in all."""
    for name in dict.fromkeys((*state.namespaces, *filter(None, state.topics.namespaces))):
        if namespace not in (None, name):
            continue
        bundles = _bundles(state, name)
        known = reported.known_bundles
        unlisted = frozenset[str]() if bundles is None else None
        loads, sessions = topic_loads(state, name), reported.sessions
        yield NamespaceCase(
            world,
            bundles or NamespaceBundles(name, (FULL_LOWER_BOUND, FULL_UPPER_BOUND)),
            loads,
            unlisted if known is None or bundles is None else known.get(name, frozenset()),
            tuple(sessions.get(topic, 0) for topic in loads.names) if sessions else (),
            _produced(state, name, reported),
        )


def scalable_cases(
    state: ClusterState, world: World, reported: Reported, namespace: str | None = None
) -> Iterator[ScalableCase]:
    """The scalable topics."""
    for topic in state.scalable_topics:
        own = namespace_of(topic.topic)
        if namespace in (None, own):
            yield scalable_case(topic, world, reported.retention_minutes.get(own), reported.one_bucket.get(topic.topic))


def scalable_case(
    topic: ScalableTopic, world: World, retention_minutes: int | None, one_bucket: Sequence[OneBucket] | None
) -> ScalableCase:
    running = topic.running
    return ScalableCase(
        world,
        topic.topic,
        running.layout,
        running.settings,
        {name: (group.kind, len(group.names)) for name, group in running.groups.items()},
        retention_minutes,
        tuple(one_bucket or ()),
    )


def unfit_bundles(state: ClusterState) -> tuple[Rejection, ...]:
    """Why the boundaries of a namespace make no bundles, for each where they do not: its bundles are not judged."""
    return tuple(
        replace(bundles, message=f"{name}: {bundles.message}")
        for name, space in state.namespaces.items()
        if isinstance(bundles := namespace_bundles(name, space.boundaries), Rejection)
    )


def _bundles(state: ClusterState, namespace: str) -> NamespaceBundles | None:
    if namespace not in state.namespaces:
        return None
    bundles = namespace_bundles(namespace, state.namespaces[namespace].boundaries)
    return None if isinstance(bundles, Rejection) else bundles


def _produced(state: ClusterState, namespace: str, reported: Reported) -> tuple[ProducedTopic, ...]:
    limited = state.settings.maxProducersPerTopic > 0 or bool(state.producer_policies)
    if not reported.client_versions and not limited:
        return ()
    return tuple(
        ProducedTopic(
            topic.name,
            topic.partitions,
            reported.client_versions.get(topic.name, frozenset()),
            reported.producers.get(topic.name, ()),
            producer_limit(state, topic.name),
        )
        for topic in state.topics.listed()
        if topic.name in (reported.producers if limited else reported.client_versions)
        and namespace_of(topic.name) == namespace
    )
