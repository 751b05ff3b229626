"""What the doctor needs from answers in addition to the opened state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from engine.admin.client_facts import ClientFacts
from engine.admin.facts import Snapshot
from engine.admin.moments import Moment, combined
from engine.admin.scalable import ScalableFacts
from engine.bundles.boundaries import FULL_LOWER_BOUND, FULL_UPPER_BOUND, NamespaceBundles
from engine.bundles.plan import LoadManager
from engine.cluster.state import ClusterState
from engine.config import behaviour_of
from engine.errors import Rejection
from engine.keyshared.model import Consumer
from engine.lint.doctor import lint_scalable
from engine.lint.model import Finding, NamespaceCase, OneBucket, ProducedTopic, World
from engine.lint.opened import Reported, ReportedRanges, key_case, scalable_case
from engine.lint.rules import keys, producers
from engine.names import PARTITION_SUFFIX, TopicName, namespace_of, parse_topic_name, partition_index
from engine.producer_limit import limit_of
from engine.scalable.statistics import SegmentSubscription, bare_name
from engine.scenarios.key_subscriptions import KeyGroup, gather_keys, key_subscriptions_of
from engine.scenarios.opening import producer_policies, topics_of
from engine.scenarios.scalable_topics import scalable_topics_of
from engine.views.scalable.view import Dealt, dealt_subscriptions

_MANAGERS: Final[Mapping[str, LoadManager]] = {
    "ModularLoadManagerImpl": "modular",
    "SimpleLoadManagerImpl": "simple",
    "ExtensibleLoadManagerImpl": "extensible",
}


def reported_facts(snapshot: Snapshot, state: ClusterState, clients: ClientFacts) -> Reported:
    """Collect what a snapshot reports besides ``state``, which was opened from it. O(topics + consumers)."""
    return Reported(
        known_bundles=_known_bundles(snapshot),
        sessions={
            name: facts.publishers + sum(len(subscription.consumers) for subscription in facts.subscriptions)
            for name, facts in snapshot.topics.items()
            if facts.publishers is not None
        },
        client_versions=_by_parent(clients.client_versions),
        producers=_producers(snapshot),
        load_manager=load_manager_of(clients.load_manager_class),
        shedder=_class_name(snapshot, "loadBalancerLoadSheddingStrategy"),
        placement=_class_name(snapshot, "loadBalancerLoadPlacementStrategy"),
        configuration=snapshot.configuration,
        unexplained=_overlapping(snapshot, state),
        retention_minutes=_retention(snapshot),
        one_bucket={name: shares for name, facts in snapshot.scalable.items() if (shares := one_bucket(facts))},
    )


def scalable_findings(moments: Sequence[Moment], world: World, namespace: str) -> Iterator[Finding]:
    """What the rules about scalable topics find in one namespace, without the rest of the state."""
    snapshot = combined(moments)
    topics, _ = scalable_topics_of(snapshot, moments[-1].at_ms)
    retention = _retention(snapshot).get(namespace)
    for topic in topics:
        if namespace_of(topic.topic) == namespace:
            shares = one_bucket(snapshot.scalable[topic.topic])
            yield from lint_scalable(scalable_case(topic, world, retention, shares))


def one_bucket(facts: ScalableFacts) -> tuple[OneBucket, ...]:
    """The shared segments of a topic of which the consumer with bucket 0 gets all messages, by reported rates.

    The rate of a consumer on a segment is in the segment's statistics; those of the topic add up over its segments, and
    tell it only where a consumer has one.
    """
    layout, statistics = facts.layout(), facts.statistics
    if layout is None or statistics is None:
        return ()
    found: list[OneBucket] = []
    for one in dealt_subscriptions(statistics, layout):
        for segment_id, owners in one.owners.items():
            names = tuple(dict.fromkeys(name for name in owners if name is not None))
            if len(names) < 2:
                continue
            rates = _rates(facts, one, segment_id)
            known = [rates.get(name) for name in names]
            if known[0] and not any(rate is None or rate for rate in known[1:]):
                found.append(OneBucket(one.name, segment_id, names[0], len(names), known[0]))
    return tuple(found)


def _rates(facts: ScalableFacts, one: Dealt, segment_id: int) -> dict[str, float]:
    """What consumers get of a segment by their names, where it is known."""
    closer = facts.segments.get(segment_id)
    if closer is not None:
        consumers = closer.subscriptions.get(one.name, SegmentSubscription()).consumers
        return {bare_name(consumer.consumerName, segment_id): consumer.msgRateOut for consumer in consumers}
    reported = one.reported.consumers
    return {consumer.consumerName: consumer.msgRateOut for consumer in reported if consumer.segmentIds == (segment_id,)}


def _retention(snapshot: Snapshot) -> dict[str, int]:
    """The minutes that policies of namespaces keep messages."""
    policies = ((name, members.get("retention_policies")) for name, members in snapshot.namespace_policies.items())
    times = ((name, policy.get("retentionTimeInMinutes")) for name, policy in policies if isinstance(policy, dict))
    return {name: minutes for name, minutes in times if isinstance(minutes, int)}


def partitioned_findings(snapshot: Snapshot, world: World, namespace: str) -> Iterator[Finding]:
    """What the rules about partitions as wholes find in one namespace, without the rest of the state.

    A row of a table of a fleet is about one partition. O(topics + dispatchers x consumers).
    """
    topics = tuple(topic for topic in topics_of(snapshot) if namespace_of(topic.name) == namespace)
    groups = [group for group in gather_keys(snapshot, topics) if group.partitions]
    opened, _ = key_subscriptions_of(groups, world.settings, world.behaviour, set(), 1)
    for subscription in opened:
        yield from keys.HASH_RESONANCE.check(key_case(world, subscription))
    most, policies = world.settings.maxProducersPerTopic, producer_policies(snapshot, world.behaviour)
    if most > 0 or policies:
        counts, unknown = _producers(snapshot), frozenset[str]()
        produced = tuple(
            ProducedTopic(name, topic.partitions, unknown, counts[name], limit_of(name, policies, most))
            for topic in topics
            if (name := topic.name) in counts
        )
        whole = NamespaceBundles(namespace, (FULL_LOWER_BOUND, FULL_UPPER_BOUND))
        yield from producers.FULL.check(NamespaceCase(world, whole, (), frozenset(), (), produced))


def load_manager_of(class_name: str | None) -> LoadManager | None:
    """The load manager by its class; the modular one where settings leave it at its default, None where there are none.

    >>> load_manager_of("org.apache.pulsar.broker.loadbalance.extensions.ExtensibleLoadManagerImpl")
    'extensible'
    >>> load_manager_of(""), load_manager_of(None), load_manager_of("com.example.Mine")
    ('modular', None, None)
    """
    return "modular" if class_name == "" else _MANAGERS.get((class_name or "").rpartition(".")[2])


def _class_name(snapshot: Snapshot, setting: str) -> str:
    return snapshot.configuration.get(setting, "").rpartition(".")[2]


def _known_bundles(snapshot: Snapshot) -> dict[str, frozenset[str]]:
    known = {name: frozenset(bundles.ranges) for name, bundles in snapshot.bundles.items()}
    listed: dict[str, set[str]] = {}
    for topic, text in snapshot.bundle_of_topic.items():
        parsed = parse_topic_name(topic)
        if isinstance(parsed, TopicName) and parsed.namespace not in known:
            listed.setdefault(parsed.namespace, set()).add(text)
    return known | {name: frozenset(texts) for name, texts in listed.items()}


def _by_parent(versions: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    bundles: dict[str, frozenset[str]] = {}
    for name, those in versions.items():
        parent = name.rpartition(PARTITION_SUFFIX)[0] if partition_index(name) >= 0 else name
        bundles[parent] = bundles.get(parent, frozenset()) | those
    return bundles


def _producers(snapshot: Snapshot) -> dict[str, tuple[int, ...]]:
    counts: dict[str, list[int]] = {}
    for name, facts in snapshot.topics.items():
        parent = name.rpartition(PARTITION_SUFFIX)[0] if facts.partition_index >= 0 else name
        if facts.publishers is not None:
            counts.setdefault(parent, []).append(facts.publishers)
    return {name: tuple(those) for name, those in counts.items()}


def _overlapping(snapshot: Snapshot, state: ClusterState) -> tuple[ReportedRanges, ...]:
    """Key_Shared subscriptions in whose answers two consumers have one slot.

    Where rings share points, before 3.0.7 and 3.3.2, that is as it should be.
    """
    behaviour = behaviour_of(state.release)
    if isinstance(behaviour, Rejection) or behaviour.key_shared_ring in ("name_i", "name_nul_i"):
        return ()
    groups = gather_keys(snapshot, tuple(state.topics.values()))
    return tuple(_reported(group) for group in groups if _overlaps(group))


def _overlaps(group: KeyGroup) -> bool:
    pieces = sorted(piece for consumer in group.consumers for piece in consumer.key_hash_ranges)
    return any(left[1] >= right[0] for left, right in pairwise(pieces))


def _reported(group: KeyGroup) -> ReportedRanges:
    consumers = tuple(
        Consumer(at, consumer.name, consumer.key_hash_ranges) for at, consumer in enumerate(group.consumers)
    )
    return ReportedRanges(group.namespace, group.name, min(group.topics), len(group.topics), consumers)
