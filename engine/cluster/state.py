"""The state of one cluster as a value: who is subscribed to what, the settings in force, the bundles and the traffic.

Everything that can be computed (active consumers, ring shares, bundle of a topic) is left out of the state; the rules
of ``engine.failover`` and ``engine.bundles`` derive it. So two equal states give equal screens.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec import Struct, structs

from engine.bundles.boundaries import NamespaceBundles, namespace_bundles
from engine.cluster.keys.state import KeySubscription
from engine.cluster.producers.state import ProducerTopic
from engine.cluster.scalable.state import ScalableTopic
from engine.cluster.tables.loads import LoadTable
from engine.cluster.tables.topics import NOTHING_REPORTED, Load, TopicTable
from engine.config import CURRENT, BrokerSettings, ReleaseBehaviour, behaviour_of
from engine.errors import Rejection
from engine.failover.model import Consumer
from engine.producer_limit import ProducerLimit, limit_of


@dataclass(frozen=True, slots=True)
class Subscription:
    """One Failover subscription over a set of topics whose dispatchers all have the same consumers.

    ``key`` names it uniquely ("billing", "billing#2" where the same name has other consumers elsewhere). ``consumers``
    are in connect order; ``topics`` are names of the state's topics: the column of its table where they are all of
    them. ``accepts_new_topics`` is true for a regex subscription: a topic that is added to its namespace joins it.
    ``loads`` is, by partition name, what was reported of
    this subscription where it differs from the whole topic's (other subscriptions read the topic too): what goes out to
    its own consumers. What is published is the topic's, and not in them.
    """

    key: str
    name: str
    namespace: str
    topics: Sequence[str]
    consumers: tuple[Consumer, ...]
    accepts_new_topics: bool = True
    loads: Mapping[str, Load] = field(default_factory=lambda: NOTHING_REPORTED, hash=False)


class BundleSplit(Struct, frozen=True):
    """One split that was carried out: the parent ``[lower, upper)``, the cuts inside it, the algorithm's exact name."""

    lower: int
    upper: int
    cuts: tuple[int, ...]
    algorithm: str


class Namespace(Struct, frozen=True):
    """A namespace's bundle boundaries as first seen, and the splits since, in order."""

    name: str
    initial_boundaries: tuple[int, ...]
    splits: tuple[BundleSplit, ...] = ()

    @property
    def boundaries(self) -> tuple[int, ...]:
        """The boundaries now: the first ones and all cuts, ascending."""
        cuts = [cut for split in self.splits for cut in split.cuts]
        return tuple(sorted([*self.initial_boundaries, *cuts]))


class ClusterState(Struct, frozen=True):
    """Everything the model knows at one step.

    ``topics`` is keyed by topic name, ``loads`` by partition name (a partition without an entry has no statistics, as
    on a broker that has not loaded it), ``namespaces`` by ``tenant/namespace``. Topics and loads are columns side by
    side; any other mapping is put into columns, without the loads of names that are not partitions.
    ``next_consumer_id`` makes ids unique over the whole history, so that a consumer that returns under its old name is
    another one. ``subscriptions`` are of type Failover, ``key_subscriptions`` of type Key_Shared; no key is in
    both. ``producer_topics`` are the partitioned topics whose producers count. ``producer_policies`` has the
    ``maxProducersPerTopic`` of namespaces (``tenant/namespace``) and of topics that have one of their own.
    ``scalable_topics`` are those of Pulsar 5, ``topic://…``, which are in none of the other tables.
    """

    release: str = CURRENT.label
    settings: BrokerSettings = msgspec.field(default_factory=BrokerSettings)
    topics: TopicTable = msgspec.field(default_factory=lambda: TopicTable.of(()))
    loads: LoadTable = msgspec.field(default_factory=lambda: LoadTable.of(TopicTable.of(()), {}))
    subscriptions: tuple[Subscription, ...] = ()
    key_subscriptions: tuple[KeySubscription, ...] = ()
    producer_topics: tuple[ProducerTopic, ...] = ()
    producer_policies: Mapping[str, int] = msgspec.field(default_factory=dict)
    scalable_topics: tuple[ScalableTopic, ...] = ()
    namespaces: Mapping[str, Namespace] = msgspec.field(default_factory=dict)
    next_consumer_id: int = 0

    def __post_init__(self) -> None:
        topics = TopicTable.of(self.topics)
        structs.force_setattr(self, "topics", topics)
        structs.force_setattr(self, "loads", LoadTable.of(topics, self.loads))


NO_STATISTICS = Load()
"""The load that a partition without statistics has in sums."""


def behaviour_in(state: ClusterState) -> ReleaseBehaviour:
    """The release of a state; a label that no rule knows behaves like the current release."""
    behaviour = behaviour_of(state.release)
    return CURRENT if isinstance(behaviour, Rejection) else behaviour


def dispatched_load(state: ClusterState, subscription: Subscription, name: str) -> Load:
    """What goes out to the consumers of one subscription from a partition, zeros where nothing was reported.

    A topic without numbers of its own subscriptions is taken to have this one alone.
    """
    own = subscription.loads.get(name)
    return own if own is not None else state.loads.get(name, NO_STATISTICS)


def bundles_of(state: ClusterState, namespace: str) -> NamespaceBundles:
    """The bundles of a namespace that the state knows, splits included."""
    bundles = namespace_bundles(namespace, state.namespaces[namespace].boundaries)
    assert not isinstance(bundles, Rejection), f"{namespace} has invalid boundaries: {bundles}"
    return bundles


def consumers_of(state: ClusterState, key: str) -> list[tuple[int, str]]:
    """(id, name) of the consumers of a subscription of either type; empty for an unknown one."""
    for subscription in state.subscriptions:
        if subscription.key == key:
            return [(consumer.consumer_id, consumer.name) for consumer in subscription.consumers]
    for shared in state.key_subscriptions:
        if shared.key == key:
            return [(consumer.consumer_id, consumer.name) for consumer in shared.consumers]
    return []


def subscription_keys(state: ClusterState) -> list[str]:
    """The keys of all subscriptions: Failover first, then Key_Shared."""
    return [
        *(subscription.key for subscription in state.subscriptions),
        *(subscription.key for subscription in state.key_subscriptions),
    ]


def producer_topic_names(state: ClusterState) -> list[str]:
    """The topics whose producers count, in the state's order."""
    return [topic.topic for topic in state.producer_topics]


def find_producer_topic(state: ClusterState, topic: str) -> ProducerTopic | None:
    """The producers of the topic of that complete name, None where none count. O(topics with producers)."""
    return next((producers for producers in state.producer_topics if producers.topic == topic), None)


def find_scalable_topic(state: ClusterState, topic: str) -> ScalableTopic | None:
    """The scalable topic of that complete name (``topic://…``), None where there is none. O(scalable topics)."""
    return next((one for one in state.scalable_topics if one.topic == topic), None)


def scalable_topic_names(state: ClusterState) -> list[str]:
    """The scalable topics, in the state's order."""
    return [topic.topic for topic in state.scalable_topics]


def producer_limit(state: ClusterState, topic: str) -> ProducerLimit:
    """How many producers each partition of a topic takes, and who says so."""
    return limit_of(topic, state.producer_policies, state.settings.maxProducersPerTopic)


def find_key_subscription(state: ClusterState, key: str) -> KeySubscription | None:
    """The Key_Shared subscription of that key, None when it is of another type or not there. O(subscriptions)."""
    return next((subscription for subscription in state.key_subscriptions if subscription.key == key), None)


def shown_places(state: ClusterState) -> tuple[str, ...]:
    """All that a screen can show in the order of ``n``.

    Subscriptions, Failover first, then topics with producers, then scalable topics.
    """
    return (*subscription_keys(state), *producer_topic_names(state), *scalable_topic_names(state))


def producer_topics_meant(state: ClusterState) -> list[str]:
    """The topics that a command without a topic can mean: those with producers, else all that are partitioned."""
    return producer_topic_names(state) or [topic.name for topic in state.topics.values() if topic.partitions]


def producers_named(topic: ProducerTopic, name: str) -> list[int]:
    """The numbers of the producers that show this name, closed ones included. O(producers)."""
    return [producer.number for producer in topic.producers.producers if producer.producer_name == name]
