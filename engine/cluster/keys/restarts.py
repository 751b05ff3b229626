"""When the dispatcher of a Key_Shared subscription is made anew, and who comes back to the new one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from engine.cluster.keys.events import KeyConsumerJoined, KeyConsumerLeft, KeyDispatcherStarted, KeyEvent
from engine.cluster.keys.evolve import after, dispatcher_of, key_objection, refuse_join
from engine.cluster.keys.state import KeySubscription
from engine.cluster.state import ClusterState
from engine.config import BrokerSettings
from engine.errors import Rejection
from engine.keyshared.model import Consumer

RING_FLAG: Final = "subscriptionKeySharedUseConsistentHashing"
KEY_SETTINGS: Final = (
    RING_FLAG,
    "subscriptionKeySharedConsistentHashingReplicaPoints",
    "subscriptionKeySharedUseClassicPersistentImplementation",
    "keySharedLookAheadMsgInReplayThresholdPerConsumer",
    "keySharedLookAheadMsgInReplayThresholdPerSubscription",
    "keySharedUnblockingIntervalMs",
    "maxUnackedMessagesPerConsumer",
    "maxUnackedMessagesPerSubscription",
)
"""The broker's settings that a Key_Shared dispatcher reads when it is made."""


def restarts(
    state: ClusterState, settings: BrokerSettings, release: str, *, but: str = ""
) -> list[KeyEvent] | Rejection:
    """The broker comes back with these settings: whoever was connected connects again, in the same order.

    Subscriptions whose dispatcher would be the same in the same release are left alone, and ``but``. Refused where
    Pulsar would not take a setting: then no dispatcher of a subscription that is there could be made.
    """
    events: list[KeyEvent] = []
    for each in state.key_subscriptions:
        if each.key == but:
            continue
        start = started(
            state,
            each.key,
            settings=settings,
            release=release,
            declares=each.declares,
            points=each.points,
            ordered=not each.allow_out_of_order_delivery,
        )
        made = dispatcher_of(start)
        if isinstance(made, Rejection):
            return made
        latest = next((old for old in reversed(each.happened) if isinstance(old, KeyDispatcherStarted)), None)
        if latest is None or latest.release != start.release or dispatcher_of(latest) != made:
            events += restarted(each, start, each.consumers)
    return events


def started(
    state: ClusterState,
    key: str,
    *,
    settings: BrokerSettings | None = None,
    release: str | None = None,
    declares: bool = False,
    points: int = 0,
    ordered: bool = True,
) -> KeyDispatcherStarted:
    """The event of a dispatcher that starts in these circumstances, by default those of the state."""
    read = settings or state.settings
    known = tuple((name, read.text_of(name)) for name in KEY_SETTINGS)
    return KeyDispatcherStarted(key, declares, points, not ordered, release or state.release, known)


def restarted(
    subscription: KeySubscription, start: KeyDispatcherStarted, consumers: Iterable[Consumer]
) -> list[KeyEvent]:
    """The old dispatcher goes, the new one starts; a consumer that it does not take stays out, as with a broker.

    ``start`` must be a dispatcher that can be made.
    """
    events: list[KeyEvent] = [KeyConsumerLeft(subscription.key, each.consumer_id) for each in subscription.consumers]
    events.append(start)
    for event in events:
        subscription = after(subscription, event)
    for each in consumers:
        joined = KeyConsumerJoined(subscription.key, each.consumer_id, each.name, each.declared)
        if not key_objection(subscription, joined):
            subscription = after(subscription, joined)
            events.append(joined)
    return events


def accepted(subscription: KeySubscription, events: Sequence[KeyEvent]) -> tuple[KeyEvent, ...] | Rejection:
    """The events, if the selector takes every consumer that joins; else its refusal."""
    for event in events:
        if isinstance(event, KeyConsumerJoined):
            newcomer = Consumer(event.consumer_id, event.name, event.declared)
            refusal = refuse_join(subscription, newcomer)
            if refusal is not None:
                return refusal
        subscription = after(subscription, event)
    return tuple(events)
