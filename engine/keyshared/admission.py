"""Which consumers may join a subscription, and the selector that the first consumer determines.

Source: ``AbstractSubscription.checkForConsumerCompatibilityErrors``, the constructors of
``PersistentStickyKeyDispatcherMultipleConsumers`` and of its classic form.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from engine.config import CURRENT, BrokerSettings, ReleaseBehaviour
from engine.errors import Rejection
from engine.keyshared.autosplit import auto_split_selector
from engine.keyshared.delivery_state import DeliveryTerms, OrderRule
from engine.keyshared.model import Selector
from engine.keyshared.ring import RingForm, ring_selector
from engine.keyshared.sticky import legacy_sticky_selector, sticky_selector


class SubscriptionType(Enum):
    """``CommandSubscribe.SubType``, as Pulsar writes it."""

    EXCLUSIVE = "Exclusive"
    SHARED = "Shared"
    FAILOVER = "Failover"
    KEY_SHARED = "Key_Shared"


class KeySharedMode(Enum):
    """``KeySharedMode`` of the subscribe command; AUTO_SPLIT also when the client sent no key-shared data."""

    AUTO_SPLIT = "AUTO_SPLIT"
    STICKY = "STICKY"


@dataclass(frozen=True, slots=True)
class SubscriptionTerms:
    """What a consumer asks for when it subscribes; the last two count only for Key_Shared."""

    subscription_type: SubscriptionType = SubscriptionType.KEY_SHARED
    mode: KeySharedMode = KeySharedMode.AUTO_SPLIT
    allow_out_of_order_delivery: bool = False


def join_refusal(active: SubscriptionTerms | None, newcomer: SubscriptionTerms) -> Rejection | None:
    """Why a newcomer may not join consumers that are connected on the terms ``active``; None when it may.

    ``active`` is None when nobody is connected: then a newcomer of any kind replaces the idle dispatcher. Pulsar's
    SubscriptionBusy arrives at the client as ``ConsumerBusy``. The first difference counts: type, mode, ordering.

    >>> refusal = join_refusal(SubscriptionTerms(), SubscriptionTerms(subscription_type=SubscriptionType.SHARED))
    >>> refusal.error, refusal.message[-58:]
    ('ConsumerBusy', "is different than the connecting consumer's type 'Shared'.")
    """
    if active is None:
        return None
    if active.subscription_type is not newcomer.subscription_type:
        return _busy(
            f"Active subscription type of '{active.subscription_type.value}' is different than the connecting "
            f"consumer's type '{newcomer.subscription_type.value}'.",
            "subscription_type",
        )
    if active.subscription_type is not SubscriptionType.KEY_SHARED:
        return None
    if active.mode is not newcomer.mode:
        return _busy(
            f"Active subscription key_shared mode of '{active.mode.value}' is different than the connecting "
            f"consumer's key_shared mode '{newcomer.mode.value}'.",
            "mode",
        )
    if active.allow_out_of_order_delivery is not newcomer.allow_out_of_order_delivery:
        return _busy(
            "Active subscription allows out of order delivery while the connecting consumer does not allow it."
            if active.allow_out_of_order_delivery
            else "Active subscription does not allow out of order delivery while the connecting consumer allows it.",
            "allow_out_of_order_delivery",
        )
    return None


def selector_for(
    mode: KeySharedMode, settings: BrokerSettings, behaviour: ReleaseBehaviour = CURRENT
) -> Selector | Rejection:
    """The empty selector determined by the first consumer of a subscription.

    Refused only for a number of replica points below 1. A release before 4.0 ignores
    ``subscriptionKeySharedUseClassicPersistentImplementation``: it only has the classic dispatcher.
    """
    folds_zero = behaviour.key_shared_folds_slot_zero
    if mode is KeySharedMode.STICKY:
        if behaviour.sticky_gaps == "unserved":
            return sticky_selector()
        return legacy_sticky_selector(folds_zero=folds_zero)
    if not settings.subscriptionKeySharedUseConsistentHashing:
        return auto_split_selector(folds_zero=folds_zero)
    return ring_selector(
        RingForm(behaviour.key_shared_ring),
        points=settings.subscriptionKeySharedConsistentHashingReplicaPoints,
        classic=settings.subscriptionKeySharedUseClassicPersistentImplementation,
    )


def delivery_terms(
    terms: SubscriptionTerms, settings: BrokerSettings, behaviour: ReleaseBehaviour = CURRENT
) -> DeliveryTerms:
    """The order rule of a persistent topic, with the look-ahead and the delay of reads.

    Draining hashes apply only to AUTO_SPLIT in strict order outside the classic dispatcher. STICKY never drains; before
    4.0 it used the rule for recently joined consumers. Out-of-order delivery has no rule.
    """
    strict = not terms.allow_out_of_order_delivery
    classic = (
        behaviour.key_shared_order == "recently-joined"
        or settings.subscriptionKeySharedUseClassicPersistentImplementation
    )
    order = OrderRule.NONE
    if strict and classic:
        order = OrderRule.RECENTLY_JOINED
    elif strict and terms.mode is KeySharedMode.AUTO_SPLIT:
        order = OrderRule.DRAINING_HASHES
    return DeliveryTerms(
        order=order,
        takes_back=behaviour.draining_takes_back,
        keeps_slot_order=strict,
        ownerless_key=behaviour.ownerless_key,
        unblocking_interval_ms=settings.keySharedUnblockingIntervalMs,
        look_ahead_per_consumer=settings.keySharedLookAheadMsgInReplayThresholdPerConsumer,
        look_ahead=settings.keySharedLookAheadMsgInReplayThresholdPerSubscription,
        unacked_per_consumer=settings.maxUnackedMessagesPerConsumer,
        unacked=settings.maxUnackedMessagesPerSubscription,
    )


def _busy(difference: str, field: str) -> Rejection:
    return Rejection("ConsumerBusy", f"Subscription is of different type. {difference}", field=field)
