"""Decide on a command: its events, or the refusal. The decisions about a subject are in its own module.

``decide`` reads the state and nothing else, so the same command on the same state always has the same outcome.

The rules of Key_Shared and of producers are imported with the first command about them: many sessions have none.
"""

from __future__ import annotations

from engine.cluster import commands
from engine.cluster.bundles import split_bundle
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


def decide(state: ClusterState, command: commands.Command) -> tuple[Event, ...] | Rejection:
    """The events of a command in order, or why it is refused.

    An empty tuple is an acceptance that changes nothing (a setting set to the value it has, a consumer renamed to its
    own name); the timeline adds no step for it. A command is carried out whole or not at all.

    >>> decide(ClusterState(), commands.SetSetting("activeConsumerFailoverConsistentHashing", "TRUE"))
    (SettingChanged(name='activeConsumerFailoverConsistentHashing', text='true'),)
    >>> decide(ClusterState(), commands.SetSetting("activeConsumerFailoverConsistentHashing", "false"))
    ()
    >>> decide(ClusterState(), commands.KillConsumer("billing", 0)).error
    'SubscriptionNotFound'
    """
    match command:
        case commands.AddConsumer() | commands.KillConsumer() | commands.RenameConsumer() | commands.SetPriorityLevel():
            keys = find_key_subscription(state, command.subscription)
            return _of_consumers(state, command) if keys is None else _of_key_consumers(state, keys, command)
        case (
            commands.SubscribeKeyShared()
            | commands.ShareKeys()
            | commands.RouteKeys()
            | commands.SendKeys()
            | commands.Acknowledge()
            | commands.PassTime()
        ):
            return _of_keys(state, command)
        case commands.SetSetting():
            return set_setting(state, command)
        case commands.SetRelease():
            return set_release(state, command)
        case commands.AddTopic():
            if command.topic.startswith(TOPIC_SCHEME):
                from engine.cluster.scalable.decide import add_scalable_topic

                return add_scalable_topic(state, command)
            return add_topic(state, command)
        case commands.RemoveTopic():
            if command.topic.startswith(TOPIC_SCHEME):
                from engine.cluster.scalable.decide import remove_scalable_topic

                return remove_scalable_topic(state, command)
            return remove_topic(state, command)
        case commands.RepartitionTopic():
            return repartition_topic(state, command)
        case commands.SplitBundle():
            return split_bundle(state, command)
        case _ if isinstance(command, commands.ScalableCommand):
            from engine.cluster.scalable.decide import decide_scalable

            return decide_scalable(state, command)
        case _:
            return _of_producers(state, command)


ConsumerCommand = commands.AddConsumer | commands.KillConsumer | commands.RenameConsumer | commands.SetPriorityLevel


def _of_consumers(state: ClusterState, command: ConsumerCommand) -> tuple[Event, ...] | Rejection:
    match command:
        case commands.AddConsumer():
            return add_consumer(state, command)
        case commands.KillConsumer():
            return kill_consumer(state, command)
        case commands.RenameConsumer():
            return rename_consumer(state, command)
        case commands.SetPriorityLevel():
            return set_priority_level(state, command)


def _of_key_consumers(
    state: ClusterState, keys: KeySubscription, command: ConsumerCommand
) -> tuple[Event, ...] | Rejection:
    from engine.cluster.keys.decide import add_key_consumer, kill_key_consumer, rename_key_consumer

    match command:
        case commands.AddConsumer():
            return add_key_consumer(state, keys, command)
        case commands.KillConsumer():
            return kill_key_consumer(keys, command)
        case commands.RenameConsumer():
            return rename_key_consumer(state, keys, command)
        case commands.SetPriorityLevel():
            message = "priority levels play no part in Key_Shared"
            return Rejection("IllegalArgumentException", message, "priority_level")


def _of_keys(
    state: ClusterState,
    command: commands.SubscribeKeyShared
    | commands.ShareKeys
    | commands.RouteKeys
    | commands.SendKeys
    | commands.Acknowledge
    | commands.PassTime,
) -> tuple[Event, ...] | Rejection:
    from engine.cluster.keys.decide import acknowledge_keys, pass_time, route_keys, send_keys
    from engine.cluster.keys.subscriptions import share_keys, subscribe_key_shared

    match command:
        case commands.SubscribeKeyShared():
            return subscribe_key_shared(state, command)
        case commands.ShareKeys():
            return share_keys(state, command)
        case commands.RouteKeys():
            return route_keys(state, command)
        case commands.SendKeys():
            return send_keys(state, command)
        case commands.Acknowledge():
            return acknowledge_keys(state, command)
        case commands.PassTime():
            return pass_time(state, command)


def _of_producers(state: ClusterState, command: commands.ProducerCommand) -> tuple[Event, ...] | Rejection:
    from engine.cluster.producers.decide import decide_producers

    return decide_producers(state, command)
