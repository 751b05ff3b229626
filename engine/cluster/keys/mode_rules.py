"""What a change of the way keys are shared takes: everybody stops, and comes back in the other mode."""

from __future__ import annotations

from engine.cluster.commands import ShareKeys
from engine.cluster.consumer_rules import short
from engine.cluster.events import Event, SettingChanged
from engine.cluster.keys.evolve import dispatcher_of
from engine.cluster.keys.nodes import declared_by, nodes_of
from engine.cluster.keys.restarts import RING_FLAG, restarted, restarts, started
from engine.cluster.keys.rules import find_key_subscription, no_key_subscription
from engine.cluster.keys.state import SharingMode
from engine.cluster.state import ClusterState
from engine.config import BrokerSettings
from engine.errors import Rejection
from engine.keyshared.model import Consumer


def share_keys(state: ClusterState, command: ShareKeys) -> tuple[Event, ...] | Rejection:
    """Refusals: SubscriptionNotFound, an unknown mode, points below 1 or too few for a node. The mode it has: nothing.

    STICKY ranges that nobody named are equal parts of the 65536 slots in the order of joining.
    """
    subscription = find_key_subscription(state, command.subscription)
    if subscription is None:
        return no_key_subscription(state, command.subscription)
    modes = {mode.value: mode for mode in SharingMode}
    mode = modes.get(command.mode)
    if mode is None:
        return Rejection("UnknownMode", f"{short(command.mode)} is no mode; known: {', '.join(modes)}", "mode")
    points = command.points if mode is SharingMode.CONSISTENT_STICKY else 0
    if mode is subscription.mode and points == subscription.points:
        return ()
    if mode is SharingMode.CONSISTENT_STICKY and points < 1:
        return Rejection("InvalidPoints", f"a node needs 1 point or more, not {command.points}", "points")
    ranges = declared_by(mode, points, len(subscription.consumers))
    if isinstance(ranges, Rejection):
        return ranges
    flag = _flag_changed(state, mode)
    settings = flag or state.settings
    start = started(
        state,
        subscription.key,
        settings=settings,
        declares=mode.declares,
        points=points,
        ordered=not subscription.allow_out_of_order_delivery,
    )
    made = dispatcher_of(start)
    if isinstance(made, Rejection):
        return made
    others = restarts(state, settings, state.release, but=subscription.key) if flag is not None else []
    if isinstance(others, Rejection):
        return others
    consumers = [
        Consumer(each.consumer_id, each.name, declared)
        for each, declared in zip(nodes_of(subscription), ranges, strict=True)
    ]
    changed = [SettingChanged(RING_FLAG, settings.text_of(RING_FLAG))] if flag is not None else []
    return (*changed, *restarted(subscription, start, consumers), *others)


def _flag_changed(state: ClusterState, mode: SharingMode) -> BrokerSettings | None:
    """The settings with the flag that decides between the automatic modes; None where it stays as it is."""
    ring = mode is SharingMode.CONSISTENT_AUTO_SPLIT
    if mode.declares or state.settings.subscriptionKeySharedUseConsistentHashing is ring:
        return None
    changed = state.settings.with_setting(RING_FLAG, "true" if ring else "false")
    assert isinstance(changed, BrokerSettings), changed
    return changed
