"""From the tables of a whole fleet to one state: a subscription or a namespace, to look at and to change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from engine.bundles.boundaries import default_boundaries, namespace_bundles
from engine.cluster.bulk import LARGE_PARTITIONS
from engine.cluster.evolve import evolve
from engine.cluster.key_events import KeyConsumerJoined, KeySubscriptionCreated
from engine.cluster.key_restarts import started
from engine.cluster.large_topics import LargeLoads, LargeTopics
from engine.cluster.state import ClusterState, Load, Namespace, Subscription, Topic
from engine.config import CURRENT, BrokerSettings, behaviour_of
from engine.errors import InputError, Rejection
from engine.failover.model import Consumer
from engine.scenarios.opening import BUNDLES_ASSUMED, Opened
from engine.scenarios.subscriptions import FAILOVER, KEY_SHARED
from engine.views.model import Notice

LEVELS_UNKNOWN: Final = "levels-unknown"
ONE_TOPIC: Final = "one-topic"


@dataclass(frozen=True, slots=True)
class Dispatcher:
    """One subscription of one partition (or of a topic without partitions, ``partition_index`` -1).

    ``consumers`` are names in the dispatcher's order.
    """

    subscription: str
    type: str
    topic: str
    partitioned_topic: str
    partition_index: int
    consumers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FleetPart:
    """What a fleet's tables tell of one namespace, or of one subscription in it. ``boundaries``: () where untold."""

    namespace: str
    dispatchers: Sequence[Dispatcher]
    loads: Mapping[str, Load]
    boundaries: tuple[int, ...]
    consistent_hashing: bool
    release: str
    source: str


def open_fleet_part(part: FleetPart) -> Opened:
    """The part as a state. Dispatchers with one list of consumers make one subscription; those of other types are left.

    Raises ``InputError`` where nothing of it can be shown. O(dispatchers).
    """
    shown = [each for each in part.dispatchers if each.type in (FAILOVER, KEY_SHARED)]
    if not shown:
        kinds = ", ".join(sorted({each.type for each in part.dispatchers})) or "none"
        raise InputError(f"{part.source}: no Failover or Key_Shared subscription to show, only those of type {kinds}")
    notes: list[Notice] = []
    topics = _topics(shown)
    behaviour = behaviour_of(part.release)
    failover = _failover([each for each in shown if each.type == FAILOVER])
    if failover:
        notes.append(Notice(LEVELS_UNKNOWN, "a fleet's tables tell no priority levels; all consumers get level 0"))
    state = _in_columns(
        ClusterState(
            release=CURRENT.label if isinstance(behaviour, Rejection) else behaviour.label,
            settings=BrokerSettings(activeConsumerFailoverConsistentHashing=part.consistent_hashing),
            topics=topics,
            loads={name: load for name, load in part.loads.items() if name},
            subscriptions=failover,
            namespaces={part.namespace: Namespace(part.namespace, _boundaries(part, notes))},
            next_consumer_id=sum(len(each.consumers) for each in failover),
        )
    )
    state = _with_key_shared(state, [each for each in shown if each.type == KEY_SHARED], part.namespace, notes)
    return Opened(state, part.source, notes=tuple(notes))


def _topics(dispatchers: Iterable[Dispatcher]) -> dict[str, Topic]:
    counts: dict[str, int] = {}
    for each in dispatchers:
        name = each.partitioned_topic if each.partition_index >= 0 else each.topic
        counts[name] = max(counts.get(name, 0), each.partition_index + 1)
    return {name: Topic(name, count) for name, count in sorted(counts.items())}


def _failover(dispatchers: Sequence[Dispatcher]) -> tuple[Subscription, ...]:
    """One for each name and list of consumers; where partitions of a topic disagree, what most of them have counts."""
    votes: dict[tuple[str, str], Counter[tuple[str, ...]]] = {}
    for each in dispatchers:
        topic = each.partitioned_topic if each.partition_index >= 0 else each.topic
        votes.setdefault((each.subscription, topic), Counter())[each.consumers] += 1
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (name, topic), lists in sorted(votes.items()):
        groups.setdefault((name, lists.most_common(1)[0][0]), []).append(topic)
    found: list[Subscription] = []
    used: Counter[str] = Counter()
    next_id = 0
    for (name, names), topics in sorted(groups.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        used[name] += 1
        consumers = tuple(Consumer(next_id + at, each) for at, each in enumerate(names))
        next_id += len(names)
        key = name if used[name] == 1 else f"{name}#{used[name]}"
        found.append(Subscription(key, name, _namespace_of(topics[0]), tuple(topics), consumers))
    return tuple(found)


def _namespace_of(topic: str) -> str:
    return topic.partition("://")[2].rpartition("/")[0]


def _boundaries(part: FleetPart, notes: list[Notice]) -> tuple[int, ...]:
    if part.boundaries and not isinstance(namespace_bundles(part.namespace, part.boundaries), Rejection):
        return part.boundaries
    boundaries = default_boundaries(BrokerSettings().defaultNumberOfNamespaceBundles)
    assert not isinstance(boundaries, Rejection), boundaries
    notes.append(
        Notice(BUNDLES_ASSUMED, f"no table tells the bundles of {part.namespace}; {len(boundaries) - 1} are assumed")
    )
    return boundaries


def _in_columns(state: ClusterState) -> ClusterState:
    """The state with its topics in columns, where they are many."""
    if sum(max(topic.partitions, 1) for topic in state.topics.values()) < LARGE_PARTITIONS:
        return state
    topics = LargeTopics.of(state.topics)
    every = tuple(state.topics)
    subscriptions = tuple(
        replace(each, topics=topics.names) if each.topics == every else each for each in state.subscriptions
    )
    return replace(state, topics=topics, loads=LargeLoads.of(topics, state.loads), subscriptions=subscriptions)


def _with_key_shared(
    state: ClusterState, dispatchers: Sequence[Dispatcher], namespace: str, notes: list[Notice]
) -> ClusterState:
    """Each Key_Shared subscription on the first of its topics: its keys are chosen anew, so one shows what all do."""
    taken = {each.key for each in state.subscriptions}
    named: dict[str, list[Dispatcher]] = {}
    for each in dispatchers:
        named.setdefault(each.subscription, []).append(each)
    for name, rows in sorted(named.items()):
        first = rows[0]
        topic = first.partitioned_topic if first.partition_index >= 0 else first.topic
        key = next(text for text in (name, *(f"{name}#{at}" for at in range(2, len(taken) + 3))) if text not in taken)
        taken.add(key)
        state = evolve(state, KeySubscriptionCreated(key, name, namespace, (topic,)))
        state = evolve(state, started(state, key))
        for consumer in first.consumers:
            state = evolve(state, KeyConsumerJoined(key, state.next_consumer_id, consumer))
        if len(rows) > 1:
            notes.append(Notice(ONE_TOPIC, f"{name} has {len(rows)} topics or partitions; it is shown on {topic}"))
    return state
