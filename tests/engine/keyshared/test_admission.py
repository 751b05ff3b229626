"""Who may join whom, and which selector and order rule the settings and the release bring about."""

from __future__ import annotations

import pytest

from engine.config import BrokerSettings, ReleaseBehaviour, behaviour_of
from engine.errors import Rejection
from engine.keyshared.admission import (
    KeySharedMode,
    SubscriptionTerms,
    SubscriptionType,
    delivery_terms,
    join_refusal,
    selector_for,
)
from engine.keyshared.autosplit import AutoSplitSelector
from engine.keyshared.delivery_state import DeliveryTerms, OrderRule
from engine.keyshared.ring import RingSelector
from engine.keyshared.sticky import LegacyStickySelector, StickySelector
from tests.engine.keyshared.selectors import accepted

PLAIN = SubscriptionTerms()
STICKY = SubscriptionTerms(mode=KeySharedMode.STICKY)
LOOSE = SubscriptionTerms(allow_out_of_order_delivery=True)
SHARED = SubscriptionTerms(SubscriptionType.SHARED)
DIFFERENT = "Subscription is of different type. Active subscription "


def release(version: str) -> ReleaseBehaviour:
    return accepted(behaviour_of(version))


@pytest.mark.parametrize(
    ("active", "newcomer", "field", "text"),
    [
        (
            SHARED,
            PLAIN,
            "subscription_type",
            "type of 'Shared' is different than the connecting consumer's type 'Key_Shared'.",
        ),
        (
            STICKY,
            LOOSE,
            "mode",
            "key_shared mode of 'STICKY' is different than the connecting consumer's key_shared mode 'AUTO_SPLIT'.",
        ),
        (
            LOOSE,
            PLAIN,
            "allow_out_of_order_delivery",
            "allows out of order delivery while the connecting consumer does not allow it.",
        ),
        (
            PLAIN,
            LOOSE,
            "allow_out_of_order_delivery",
            "does not allow out of order delivery while the connecting consumer allows it.",
        ),
    ],
)
def test_a_newcomer_of_another_kind_is_refused_by_the_first_difference(
    active: SubscriptionTerms, newcomer: SubscriptionTerms, field: str, text: str
) -> None:
    refusal = join_refusal(active, newcomer)
    assert refusal is not None
    assert (refusal.error, refusal.field, refusal.message) == ("ConsumerBusy", field, DIFFERENT + text)
    assert join_refusal(None, newcomer) is None
    assert join_refusal(active, active) is None


def test_mode_and_ordering_count_only_for_key_shared() -> None:
    assert join_refusal(SHARED, SubscriptionTerms(SubscriptionType.SHARED, KeySharedMode.STICKY, True)) is None


def test_settings_and_mode_decide_the_selector() -> None:
    plain, halving = BrokerSettings(), BrokerSettings(subscriptionKeySharedUseConsistentHashing=False)
    assert isinstance(selector_for(KeySharedMode.AUTO_SPLIT, plain), RingSelector)
    assert isinstance(selector_for(KeySharedMode.AUTO_SPLIT, halving), AutoSplitSelector)
    assert isinstance(selector_for(KeySharedMode.STICKY, halving), StickySelector)
    assert isinstance(selector_for(KeySharedMode.STICKY, plain, release("4.0.6")), LegacyStickySelector)
    assert accepted(selector_for(KeySharedMode.AUTO_SPLIT, plain)).slots.high == 65_535
    old = accepted(selector_for(KeySharedMode.AUTO_SPLIT, halving, release("3.3.6")))
    assert (old.slots.slot(65_536), accepted(selector_for(KeySharedMode.AUTO_SPLIT, halving)).slots.slot(65_536)) == (
        0,
        1,
    )


@pytest.mark.parametrize(("version", "slot"), [("3.3.6", 0), ("4.0.6", 1), ("4.0.7", 1)])
def test_a_sticky_selector_folds_slot_zero_since_4_0(version: str, slot: int) -> None:
    assert accepted(selector_for(KeySharedMode.STICKY, BrokerSettings(), release(version))).slots.slot(65_536) == slot


def test_every_limit_of_the_broker_gets_into_the_terms() -> None:
    settings = BrokerSettings(
        keySharedUnblockingIntervalMs=1,
        keySharedLookAheadMsgInReplayThresholdPerConsumer=2,
        keySharedLookAheadMsgInReplayThresholdPerSubscription=3,
        maxUnackedMessagesPerConsumer=4,
        maxUnackedMessagesPerSubscription=5,
    )
    terms = delivery_terms(PLAIN, settings)
    assert (terms.unblocking_interval_ms, terms.look_ahead_per_consumer, terms.look_ahead) == (1, 2, 3)
    assert (terms.unacked_per_consumer, terms.unacked) == (4, 5)


def test_no_points_is_refused_by_the_name_of_the_setting() -> None:
    settings = BrokerSettings(subscriptionKeySharedConsistentHashingReplicaPoints=0)
    refusal = selector_for(KeySharedMode.AUTO_SPLIT, settings)
    assert isinstance(refusal, Rejection)
    assert "subscriptionKeySharedConsistentHashingReplicaPoints is 0" in refusal.message


def test_terms_of_which_nothing_is_said_are_those_of_a_broker_that_is_not_configured() -> None:
    assert delivery_terms(PLAIN, BrokerSettings()) == DeliveryTerms()


@pytest.mark.parametrize(
    ("version", "last_slot", "order"),
    [
        ("3.3.6", 2_147_483_647, OrderRule.RECENTLY_JOINED),
        ("4.0.0", 2_147_483_646, OrderRule.RECENTLY_JOINED),
        ("4.2.5", 2_147_483_646, OrderRule.RECENTLY_JOINED),
        ("5.0.0-M1", 2_147_483_646, OrderRule.RECENTLY_JOINED),
        ("5.0.0", 65_535, OrderRule.DRAINING_HASHES),
        ("5.0.1", 65_535, OrderRule.DRAINING_HASHES),
    ],
)
def test_the_classic_dispatcher_can_be_chosen_in_4_x_only(version: str, last_slot: int, order: OrderRule) -> None:
    """Before there is no other one, and since 5.0 it is gone: the setting is ignored."""
    settings = BrokerSettings(subscriptionKeySharedUseClassicPersistentImplementation=True)
    assert accepted(selector_for(KeySharedMode.AUTO_SPLIT, settings, release(version))).slots.high == last_slot
    assert delivery_terms(PLAIN, settings, release(version)).order is order


def test_draining_is_for_auto_split_in_strict_order_outside_the_classic_dispatcher() -> None:
    plain = BrokerSettings()
    assert delivery_terms(PLAIN, plain).order is OrderRule.DRAINING_HASHES
    assert delivery_terms(STICKY, plain).order is OrderRule.NONE
    assert delivery_terms(LOOSE, plain).order is OrderRule.NONE
    assert delivery_terms(STICKY, plain, release("3.0.2")).order is OrderRule.RECENTLY_JOINED
    assert not delivery_terms(LOOSE, plain).keeps_slot_order
    assert not delivery_terms(PLAIN, plain, release("4.0.6")).takes_back
