"""The state after an event. What ``decide`` produced always fits; anything else is a broken assumption.

The fold of each subject is beside its decision, in the module of that subject. Those of Key_Shared and of producers are
imported with the first event about them.
"""

from __future__ import annotations

from engine.cluster.bundles import bundle_objection, with_bundle_event
from engine.cluster.consumers import consumer_objection, with_consumer_event
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
from engine.cluster.producers.state import ProducerTopicEvent
from engine.cluster.scalable.events import ScalableTopicEvent
from engine.cluster.settings import setting_objection, with_setting_event
from engine.cluster.state import ClusterState
from engine.cluster.topics import topic_objection, with_topic_event


def evolve(state: ClusterState, event: Event) -> ClusterState:
    """Return the next state; parts that an event does not touch are the same objects as before.

    O(consumers) for events of consumers, O(topics + statistics) for those of topics, O(1) for the rest.

    >>> evolve(ClusterState(), SettingChanged("maxConsumersPerTopic", "3")).settings.maxConsumersPerTopic
    3
    """
    reason = objection(state, event)
    assert not reason, f"{event} does not fit the state: {reason}"
    if isinstance(event, ProducerTopicEvent):
        from engine.cluster.producers.evolve import with_producer_event

        return with_producer_event(state, event)
    if isinstance(event, ScalableTopicEvent):
        from engine.cluster.scalable.evolve import with_scalable_event

        return with_scalable_event(state, event)
    match event:
        case ConsumerAdded() | ConsumerRemoved():
            return with_consumer_event(state, event)
        case SettingChanged() | ReleaseChanged():
            return with_setting_event(state, event)
        case TopicAdded() | TopicRemoved() | TopicRepartitioned():
            return with_topic_event(state, event)
        case NamespaceSeen() | BundleWasSplit():
            return with_bundle_event(state, event)
        case _:
            from engine.cluster.keys.evolve import with_key_event

            return with_key_event(state, event)


def objection(state: ClusterState, event: Event) -> str:
    """Say why an event from outside, as from a journal, cannot follow this state; "" when it can."""
    if isinstance(event, ProducerTopicEvent):
        from engine.cluster.producers.evolve import producer_event_objection

        return producer_event_objection(state, event)
    if isinstance(event, ScalableTopicEvent):
        from engine.cluster.scalable.evolve import scalable_event_objection

        return scalable_event_objection(state, event)
    match event:
        case ConsumerAdded() | ConsumerRemoved():
            return consumer_objection(state, event)
        case SettingChanged() | ReleaseChanged():
            return setting_objection(state, event)
        case TopicAdded() | TopicRemoved() | TopicRepartitioned():
            return topic_objection(state, event)
        case NamespaceSeen() | BundleWasSplit():
            return bundle_objection(state, event)
        case _:
            from engine.cluster.keys.evolve import key_event_objection

            return key_event_objection(state, event)
