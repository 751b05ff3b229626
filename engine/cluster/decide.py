"""What a command leads to: the events, or the refusal. The parent of all decisions: those of a subject
are in its own module, those of the broker's settings here.

``decide`` reads the state and nothing else, so the same command on the same state has the same outcome for ever.
"""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches

from engine.cluster.bundles import split_bundle
from engine.cluster.commands import (
    Acknowledge,
    AddConsumer,
    AddTopic,
    Command,
    KillConsumer,
    PassTime,
    RemoveTopic,
    RenameConsumer,
    RepartitionTopic,
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
    refuse_long_name,
    rename_consumer,
    set_priority_level,
)
from engine.cluster.events import Event, ReleaseChanged, SettingChanged
from engine.cluster.keys.consumers import add_key_consumer, kill_key_consumer, rename_key_consumer
from engine.cluster.keys.messages import acknowledge_keys, pass_time, send_keys
from engine.cluster.keys.subscriptions import KEY_SETTINGS, restarts, share_keys, subscribe_key_shared
from engine.cluster.producers.commands import ProducerCommand
from engine.cluster.producers.decide import decide_producers
from engine.cluster.state import ClusterState, find_key_subscription
from engine.cluster.topics import add_topic, remove_topic, repartition_topic
from engine.config import DEFAULTS, behaviour_of
from engine.errors import Rejection


def decide(state: ClusterState, command: Command) -> tuple[Event, ...] | Rejection:
    """The events of a command in their order, or why it is refused.

    An empty tuple is an acceptance that changes nothing (a setting set to the value it has, a consumer renamed to its
    own name); the timeline adds no step for it. A command is carried out whole or not at all.

    >>> decide(ClusterState(), SetSetting("activeConsumerFailoverConsistentHashing", "TRUE"))
    (SettingChanged(name='activeConsumerFailoverConsistentHashing', text='true'),)
    >>> decide(ClusterState(), SetSetting("activeConsumerFailoverConsistentHashing", "false"))
    ()
    >>> decide(ClusterState(), KillConsumer("billing", 0)).error
    'SubscriptionNotFound'
    """
    if isinstance(command, ProducerCommand):
        return decide_producers(state, command)
    match command:
        case AddConsumer() | KillConsumer() | RenameConsumer() | SetPriorityLevel():
            return _of_consumers(state, command)
        case SubscribeKeyShared() | ShareKeys() | SendKeys() | Acknowledge():
            return _of_keys(state, command)
        case SetSetting():
            return set_setting(state, command)
        case SetRelease():
            return set_release(state, command)
        case AddTopic():
            return add_topic(state, command)
        case RemoveTopic():
            return remove_topic(state, command)
        case RepartitionTopic():
            return repartition_topic(state, command)
        case SplitBundle():
            return split_bundle(state, command)
        case PassTime():
            return pass_time(state, command)


def _of_keys(
    state: ClusterState, command: SubscribeKeyShared | ShareKeys | SendKeys | Acknowledge
) -> tuple[Event, ...] | Rejection:
    match command:
        case SubscribeKeyShared():
            return subscribe_key_shared(state, command)
        case ShareKeys():
            return share_keys(state, command)
        case SendKeys():
            return send_keys(state, command)
        case Acknowledge():
            return acknowledge_keys(state, command)


def _of_consumers(
    state: ClusterState, command: AddConsumer | KillConsumer | RenameConsumer | SetPriorityLevel
) -> tuple[Event, ...] | Rejection:
    keys = find_key_subscription(state, command.subscription)
    match command:
        case AddConsumer():
            return add_consumer(state, command) if keys is None else add_key_consumer(state, keys, command)
        case KillConsumer():
            return kill_consumer(state, command) if keys is None else kill_key_consumer(keys, command)
        case RenameConsumer():
            return rename_consumer(state, command) if keys is None else rename_key_consumer(state, keys, command)
        case SetPriorityLevel():
            if keys is None:
                return set_priority_level(state, command)
            message = "priority levels play no part in Key_Shared"
            return Rejection("IllegalArgumentException", message, "priority_level")


def set_setting(state: ClusterState, command: SetSetting) -> tuple[Event, ...] | Rejection:
    """Refusals: UnknownSetting (with the nearest name), IllegalArgumentException. The value it has: nothing.

    Where a Key_Shared dispatcher reads it, all consumers of that subscription come back to a new one; a value that it
    cannot be made with is refused while there is such a subscription.

    A limit below the number of connected consumers disconnects nobody, as on a broker: it counts at the next connect.
    """
    refusal = refuse_long_name(command.text, "text")
    if refusal is not None:
        return refusal
    changed = state.settings.with_setting(command.name, command.text)
    if isinstance(changed, Rejection):
        near = get_close_matches(command.name[:100], DEFAULTS, n=1)
        if command.name not in DEFAULTS and near and "did you mean" not in changed.message:
            return replace(changed, message=f"{changed.message}; did you mean {near[0]}?")
        return changed
    if changed == state.settings:
        return ()
    event = SettingChanged(command.name, changed.text_of(command.name))
    if command.name not in KEY_SETTINGS:
        return (event,)
    restarted = restarts(state, changed, state.release)
    return restarted if isinstance(restarted, Rejection) else (event, *restarted)


def set_release(state: ClusterState, command: SetRelease) -> tuple[Event, ...] | Rejection:
    """Refusal: UnknownVersion. The release in force: nothing."""
    refusal = refuse_long_name(command.version, "version")
    if refusal is not None:
        return refusal
    behaviour = behaviour_of(command.version)
    if isinstance(behaviour, Rejection):
        return behaviour
    if behaviour.label == state.release:
        return ()
    restarted = restarts(state, state.settings, behaviour.label)
    return restarted if isinstance(restarted, Rejection) else (ReleaseChanged(behaviour.label), *restarted)
