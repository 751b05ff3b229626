"""Changes of settings and of the release: the decision, and the state after it."""

from __future__ import annotations

from difflib import get_close_matches

from msgspec.structs import replace

from engine.cluster.commands import (
    SetRelease,
    SetSetting,
)
from engine.cluster.events import Event, ReleaseChanged, SettingChanged
from engine.cluster.keys.state import KEY_SETTINGS
from engine.cluster.limits import refuse_long_name
from engine.cluster.state import ClusterState
from engine.config import DEFAULTS, BrokerSettings, behaviour_of, setting_value
from engine.errors import Rejection


def set_setting(state: ClusterState, command: SetSetting) -> tuple[Event, ...] | Rejection:
    """Change a setting; no event for the value it has.

    Refusals: UnknownSetting (with the nearest name), IllegalArgumentException.

    Where a Key_Shared dispatcher reads it, all its consumers connect again to a new dispatcher; a value with which none
    can be made is refused while there is such a subscription.

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
    from engine.cluster.keys.subscriptions import restarts

    restarted = restarts(state, changed, state.release)
    return restarted if isinstance(restarted, Rejection) else (event, *restarted)


def set_release(state: ClusterState, command: SetRelease) -> tuple[Event, ...] | Rejection:
    """Change the release; no event for the one in force. Refusal: UnknownVersion."""
    refusal = refuse_long_name(command.version, "version")
    if refusal is not None:
        return refusal
    behaviour = behaviour_of(command.version)
    if isinstance(behaviour, Rejection):
        return behaviour
    if behaviour.label == state.release:
        return ()
    from engine.cluster.keys.subscriptions import restarts

    restarted = restarts(state, state.settings, behaviour.label)
    return restarted if isinstance(restarted, Rejection) else (ReleaseChanged(behaviour.label), *restarted)


def setting_objection(state: ClusterState, event: SettingChanged | ReleaseChanged) -> str:
    """Say why a setting cannot change like this, "" when it can. A release that no rule knows is taken."""
    if isinstance(event, ReleaseChanged):
        return ""
    value = setting_value(event.name, event.text)
    return str(value) if isinstance(value, Rejection) else ""


def with_setting_event(state: ClusterState, event: SettingChanged | ReleaseChanged) -> ClusterState:
    """Return the state with the new setting or release."""
    if isinstance(event, ReleaseChanged):
        return replace(state, release=event.version)
    settings = state.settings.with_setting(event.name, event.text)
    assert isinstance(settings, BrokerSettings), settings
    state = replace(state, settings=settings)
    if not state.producer_topics:
        return state
    from engine.cluster.producers.evolve import limited_producers

    return limited_producers(state)
