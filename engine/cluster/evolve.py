"""The state after an event. What ``decide`` produced always fits; anything else is a broken assumption."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from engine.bundles.boundaries import namespace_bundles
from engine.cluster.events import (
    BundleWasSplit,
    ConsumerAdded,
    ConsumerRemoved,
    Event,
    NamespaceSeen,
    ReleaseChanged,
    SettingChanged,
    TopicAdded,
    TopicRemoved,
    TopicRepartitioned,
)
from engine.cluster.keys.evolve import after, created, key_objection
from engine.cluster.keys.evolve import without_topic as keys_without
from engine.cluster.keys.state import KeyConsumerJoined, KeyEvent, KeySubscriptionCreated
from engine.cluster.limits import IDS, INT_32, refuse_partitions
from engine.cluster.producers.evolve import (
    grown_producers,
    producer_event_objection,
    refuse_growth,
    with_producer_event,
)
from engine.cluster.producers.state import ProducerTopicEvent
from engine.cluster.state import BundleSplit, ClusterState, Namespace, Subscription
from engine.cluster.tables.edits import listed_with, listed_without, with_topic, without_loads, without_topic
from engine.cluster.tables.topics import Topic
from engine.config import BrokerSettings
from engine.errors import Rejection
from engine.failover.model import Consumer
from engine.names import TopicName, parse_topic_name, refuse_namespace, refuse_subscription


def evolve(state: ClusterState, event: Event) -> ClusterState:
    """The next state; parts that an event does not touch are the same objects as before.

    O(consumers) for events of consumers, O(topics + statistics) for those of topics, O(1) for the rest.

    >>> evolve(ClusterState(), SettingChanged("maxConsumersPerTopic", "3")).settings.maxConsumersPerTopic
    3
    """
    reason = objection(state, event)
    assert not reason, f"{event} does not fit the state: {reason}"
    if isinstance(event, ProducerTopicEvent):
        return with_producer_event(state, event)
    match event:
        case ConsumerAdded():
            newcomer = Consumer(event.consumer_id, event.name, event.priority_level)
            return replace(
                state,
                subscriptions=_with_consumers(
                    state, event.subscription, (*_consumers(state, event.subscription), newcomer)
                ),
                next_consumer_id=event.consumer_id + 1,
            )
        case ConsumerRemoved():
            rest = tuple(
                each for each in _consumers(state, event.subscription) if each.consumer_id != event.consumer_id
            )
            return replace(state, subscriptions=_with_consumers(state, event.subscription, rest))
        case SettingChanged():
            settings = state.settings.with_setting(event.name, event.text)
            assert isinstance(settings, BrokerSettings), settings
            return replace(state, settings=settings)
        case ReleaseChanged():
            return replace(state, release=event.version)
        case TopicAdded():
            return _add_topic(state, event)
        case TopicRemoved():
            return _remove_topic(state, event)
        case TopicRepartitioned():
            topics = with_topic(state.topics, Topic(event.topic, event.partitions))
            grown = grown_producers(state, event.topic, event.partitions)
            return replace(state, topics=topics, producer_topics=grown)
        case NamespaceSeen():
            seen = Namespace(event.namespace, event.boundaries)
            return replace(state, namespaces={**state.namespaces, event.namespace: seen})
        case BundleWasSplit():
            old = state.namespaces[event.namespace]
            made = BundleSplit(event.lower, event.upper, event.cuts, event.algorithm)
            new = replace(old, splits=(*old.splits, made))
            return replace(state, namespaces={**state.namespaces, event.namespace: new})
        case KeySubscriptionCreated():
            return replace(state, key_subscriptions=(*state.key_subscriptions, created(event)))
        case _:
            return _with_key_event(state, event)


def objection(state: ClusterState, event: Event) -> str:
    """Why an event cannot follow this state, "" when it can. For events that come from outside, as from a journal."""
    if isinstance(event, ProducerTopicEvent):
        return producer_event_objection(state, event)
    match event:
        case ConsumerAdded():
            if all(each.key != event.subscription for each in state.subscriptions):
                return f"there is no subscription {event.subscription!r}"
            if event.consumer_id not in IDS or event.priority_level not in INT_32:
                return f"the id {event.consumer_id} or the level {event.priority_level} does not fit into 32 bits"
            return "" if event.consumer_id >= state.next_consumer_id else f"the id {event.consumer_id} was used before"
        case ConsumerRemoved():
            connected = any(each.consumer_id == event.consumer_id for each in _consumers(state, event.subscription))
            return "" if connected else f"consumer {event.consumer_id} of {event.subscription!r} is not connected"
        case SettingChanged():
            changed = state.settings.with_setting(event.name, event.text)
            return str(changed) if isinstance(changed, Rejection) else ""
        case ReleaseChanged():
            return ""
        case TopicAdded() | TopicRemoved() | TopicRepartitioned():
            return _topic_objection(state, event)
        case NamespaceSeen():
            if event.namespace in state.namespaces:
                return f"namespace {event.namespace!r} has bundles already"
            refusal = refuse_namespace(event.namespace)
            bundles = refusal or namespace_bundles(event.namespace, event.boundaries)
            return str(bundles) if isinstance(bundles, Rejection) else ""
        case BundleWasSplit():
            return _split_objection(state, event)
        case _:
            return _key_event_objection(state, event)


def _topic_objection(state: ClusterState, event: TopicAdded | TopicRemoved | TopicRepartitioned) -> str:
    topic = state.topics.get(event.topic)
    if isinstance(event, TopicRemoved):
        return "" if topic is not None else f"there is no topic {event.topic!r}"
    if isinstance(event, TopicRepartitioned):
        if topic is None or topic.partitions == 0:
            return f"there is no partitioned topic {event.topic!r}"
        if event.partitions < topic.partitions:
            return f"{event.topic!r} cannot lose partitions"
        refusal = refuse_partitions(state, event.partitions - topic.partitions, event.partitions)
        refusal = refusal or refuse_growth(state, event.topic, event.partitions)
        return "" if refusal is None else refusal.message
    if topic is not None:
        return f"topic {event.topic!r} exists"
    unknown = set(event.subscriptions) - {each.key for each in state.subscriptions}
    if unknown:
        return f"there is no subscription {min(unknown)!r}"
    name = parse_topic_name(event.topic)
    if not isinstance(name, TopicName) or name.complete != event.topic:
        return f"{event.topic[:200]!r} is not a complete topic name"
    if name.namespace not in state.namespaces:
        return f"{event.topic!r} lies in a namespace without bundles"
    refusal = refuse_partitions(state, event.partitions, event.partitions)
    if refusal is not None:
        return refusal.message
    return "" if event.partitions >= 0 else "a topic has no negative number of partitions"


def _split_objection(state: ClusterState, event: BundleWasSplit) -> str:
    namespace = state.namespaces.get(event.namespace)
    if namespace is None:
        return f"there is no namespace {event.namespace!r}"
    if (event.lower, event.upper) not in pairwise(namespace.boundaries):
        return f"{event.lower:#010x}_{event.upper:#010x} is no bundle of {event.namespace}"
    edges = (event.lower, *event.cuts, event.upper)
    if not event.cuts or any(left >= right for left, right in pairwise(edges)):
        return "the cuts do not lie inside the bundle in ascending order"
    return ""


def _key_event_objection(state: ClusterState, event: KeyEvent) -> str:
    known = next((each for each in state.key_subscriptions if each.key == event.subscription), None)
    if isinstance(event, KeySubscriptionCreated):
        if known is not None or any(each.key == event.subscription for each in state.subscriptions):
            return f"subscription {event.subscription!r} exists"
        refusal = refuse_subscription(event.name) or refuse_namespace(event.namespace)
        if refusal is not None:
            return refusal.message
        unknown = [topic for topic in event.topics if topic not in state.topics]
        return f"there is no topic {unknown[0]!r}" if unknown else ""
    if known is None:
        return f"there is no Key_Shared subscription {event.subscription!r}"
    return key_objection(known, event)


def _with_key_event(state: ClusterState, event: KeyEvent) -> ClusterState:
    next_id = state.next_consumer_id
    if isinstance(event, KeyConsumerJoined):
        next_id = max(next_id, event.consumer_id + 1)
    return replace(
        state,
        key_subscriptions=tuple(
            after(each, event) if each.key == event.subscription else each for each in state.key_subscriptions
        ),
        next_consumer_id=next_id,
    )


def _consumers(state: ClusterState, key: str) -> tuple[Consumer, ...]:
    return next((each.consumers for each in state.subscriptions if each.key == key), ())


def _with_consumers(state: ClusterState, key: str, consumers: tuple[Consumer, ...]) -> tuple[Subscription, ...]:
    return tuple(replace(each, consumers=consumers) if each.key == key else each for each in state.subscriptions)


def _add_topic(state: ClusterState, event: TopicAdded) -> ClusterState:
    joined = frozenset(event.subscriptions)
    topics = with_topic(state.topics, Topic(event.topic, event.partitions))
    return replace(
        state,
        topics=topics,
        subscriptions=tuple(
            replace(each, topics=listed_with(state.topics, topics, each.topics, event.topic))
            if each.key in joined
            else each
            for each in state.subscriptions
        ),
    )


def _remove_topic(state: ClusterState, event: TopicRemoved) -> ClusterState:
    gone = frozenset(state.topics[event.topic].partition_names())
    topics = without_topic(state.topics, event.topic)
    return replace(
        state,
        topics=topics,
        subscriptions=tuple(
            replace(
                each,
                topics=listed_without(state.topics, topics, each.topics, event.topic),
                loads=without_loads(topics, each.loads, gone),
            )
            if each.topics is state.topics.names or event.topic in each.topics
            else each
            for each in state.subscriptions
        ),
        key_subscriptions=tuple(
            left for each in state.key_subscriptions if (left := keys_without(each, event.topic)) is not None
        ),
        producer_topics=tuple(each for each in state.producer_topics if each.topic != event.topic),
    )
