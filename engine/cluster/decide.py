"""Decide on a command: its events, or the refusal. The decisions about a subject are in its own module.

``decide`` reads the state and nothing else, so the same command on the same state always has the same outcome.

The rules of Key_Shared and of producers are imported with the first command about them: many sessions have none.
"""

from __future__ import annotations

from engine.cluster.bundles import split_bundle
from engine.cluster.commands import (
    Acknowledge,
    AddConsumer,
    AddTopic,
    Command,
    KillConsumer,
    PassTime,
    ProducerCommand,
    RemoveTopic,
    RenameConsumer,
    RepartitionTopic,
    RouteKeys,
    ScalableCommand,
    SendKeys,
    SetPriorityLevel,
    SetRelease,
    SetSetting,
    ShareKeys,
    SplitBundle,
    SubscribeKeyShared,
)
from engine.cluster.consumers import (
    add_consumer,
    kill_consumer,
    rename_consumer,
    set_priority_level,
)
from engine.cluster.events import Event
from engine.cluster.keys.state import KeySubscription
from engine.cluster.settings import set_release, set_setting
from engine.cluster.state import ClusterState, find_key_subscription
from engine.cluster.topics import add_topic, remove_topic, repartition_topic
from engine.errors import Rejection
from engine.scalable.model import TOPIC_SCHEME


def decide(state: ClusterState, command: Command) -> tuple[Event, ...] | Rejection:
    """The events of a command in order, or why it is refused.

    An empty tuple is an acceptance that changes nothing (a setting set to the value it has, a consumer renamed to its
    own name); the timeline adds no step for it. A command is carried out whole or not at all.

    >>> decide(ClusterState(), SetSetting("activeConsumerFailoverConsistentHashing", "TRUE"))
    (SettingChanged(name='activeConsumerFailoverConsistentHashing', text='true'),)
    >>> decide(ClusterState(), SetSetting("activeConsumerFailoverConsistentHashing", "false"))
    ()
    >>> decide(ClusterState(), KillConsumer("billing", 0)).error
    'SubscriptionNotFound'
    """
    match command:
        case AddConsumer() | KillConsumer() | RenameConsumer() | SetPriorityLevel():
            keys = find_key_subscription(state, command.subscription)
            return _of_consumers(state, command) if keys is None else _of_key_consumers(state, keys, command)
        case SubscribeKeyShared() | ShareKeys() | RouteKeys() | SendKeys() | Acknowledge() | PassTime():
            return _of_keys(state, command)
        case SetSetting():
            return set_setting(state, command)
        case SetRelease():
            return set_release(state, command)
        case AddTopic():
            if command.topic.startswith(TOPIC_SCHEME):
                from engine.cluster.scalable.decide import add_scalable_topic

                return add_scalable_topic(state, command)
            return add_topic(state, command)
        case RemoveTopic():
            if command.topic.startswith(TOPIC_SCHEME):
                from engine.cluster.scalable.decide import remove_scalable_topic

                return remove_scalable_topic(state, command)
            return remove_topic(state, command)
        case RepartitionTopic():
            return repartition_topic(state, command)
        case SplitBundle():
            return split_bundle(state, command)
        case _ if isinstance(command, ScalableCommand):
            from engine.cluster.scalable.decide import decide_scalable

            return decide_scalable(state, command)
        case _:
            return _of_producers(state, command)


ConsumerCommand = AddConsumer | KillConsumer | RenameConsumer | SetPriorityLevel


def _of_consumers(state: ClusterState, command: ConsumerCommand) -> tuple[Event, ...] | Rejection:
    match command:
        case AddConsumer():
            return add_consumer(state, command)
        case KillConsumer():
            return kill_consumer(state, command)
        case RenameConsumer():
            return rename_consumer(state, command)
        case SetPriorityLevel():
            return set_priority_level(state, command)


def _of_key_consumers(
    state: ClusterState, keys: KeySubscription, command: ConsumerCommand
) -> tuple[Event, ...] | Rejection:
    from engine.cluster.keys.decide import add_key_consumer, kill_key_consumer, rename_key_consumer

    match command:
        case AddConsumer():
            return add_key_consumer(state, keys, command)
        case KillConsumer():
            return kill_key_consumer(keys, command)
        case RenameConsumer():
            return rename_key_consumer(state, keys, command)
        case SetPriorityLevel():
            message = "priority levels play no part in Key_Shared"
            return Rejection("IllegalArgumentException", message, "priority_level")


def _of_keys(
    state: ClusterState, command: SubscribeKeyShared | ShareKeys | RouteKeys | SendKeys | Acknowledge | PassTime
) -> tuple[Event, ...] | Rejection:
    from engine.cluster.keys.decide import acknowledge_keys, pass_time, route_keys, send_keys
    from engine.cluster.keys.subscriptions import share_keys, subscribe_key_shared

    match command:
        case SubscribeKeyShared():
            return subscribe_key_shared(state, command)
        case ShareKeys():
            return share_keys(state, command)
        case RouteKeys():
            return route_keys(state, command)
        case SendKeys():
            return send_keys(state, command)
        case Acknowledge():
            return acknowledge_keys(state, command)
        case PassTime():
            return pass_time(state, command)


def _of_producers(state: ClusterState, command: ProducerCommand) -> tuple[Event, ...] | Rejection:
    from engine.cluster.producers.decide import decide_producers

    return decide_producers(state, command)
