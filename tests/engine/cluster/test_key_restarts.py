"""What makes the dispatcher of a Key_Shared subscription anew, who comes back, and what happens to its messages."""

from __future__ import annotations

from itertools import pairwise

import pytest

from engine.cluster.commands import (
    Acknowledge,
    AddConsumer,
    Command,
    KillConsumer,
    PassTime,
    SendKeys,
    SetRelease,
    SetSetting,
    ShareKeys,
    SubscribeKeyShared,
)
from engine.cluster.decide import decide
from engine.cluster.events import SettingChanged
from engine.cluster.keys.state import (
    KEY_SETTINGS,
    RING_FLAG,
    KeyConsumerJoined,
    KeyConsumerLeft,
    KeyDispatcherStarted,
    KeyTimePassed,
)
from engine.cluster.state import ClusterState
from engine.config import CLASSIC_KEY_SHARED
from engine.keyshared.autosplit import AutoSplitSelector
from engine.keyshared.delivery_state import OrderRule
from engine.keyshared.ring import RingSelector
from engine.keyshared.sticky import LegacyStickySelector
from tests.engine.cluster.key_states import KEY, key_cluster, shared, who
from tests.engine.cluster.support import ORDERS, after

OTHER = {
    RING_FLAG: "false",
    "subscriptionKeySharedConsistentHashingReplicaPoints": "7",
    "subscriptionKeySharedUseClassicPersistentImplementation": "true",
    "keySharedLookAheadMsgInReplayThresholdPerConsumer": "1",
    "keySharedLookAheadMsgInReplayThresholdPerSubscription": "1",
    "keySharedUnblockingIntervalMs": "99",
    "maxUnackedMessagesPerConsumer": "3",
    "maxUnackedMessagesPerSubscription": "5",
}


def starts(state: ClusterState, at: int = 0) -> int:
    return sum(isinstance(event, KeyDispatcherStarted) for event in state.key_subscriptions[at].happened)


@pytest.mark.parametrize("name", KEY_SETTINGS)
def test_a_setting_that_a_dispatcher_reads_brings_everybody_back_to_a_new_one_in_order(name: str) -> None:
    # The last line that has all of these settings.
    state = after(key_cluster("a", "b", "c"), SetRelease("4.2.5"), KillConsumer(KEY, 3), AddConsumer(KEY, "a"))
    changed = after(state, SetSetting(name, OTHER[name]))
    assert starts(changed) == starts(state) + 1
    assert who(changed) == who(state) == [(4, "b"), (5, "c"), (6, "a")]
    assert (name, OTHER[name]) in shared(changed).happened[-4].settings  # type: ignore[union-attr]
    assert shared(changed).delivery.terms != shared(state).delivery.terms or (
        shared(changed).delivery.selector != shared(state).delivery.selector
    )


def test_a_setting_that_the_release_ignores_brings_nobody_back() -> None:
    state = after(key_cluster("a", "b"), SetRelease("5.0.1"))
    changed = after(state, SetSetting(CLASSIC_KEY_SHARED, "true"))
    assert changed.settings.subscriptionKeySharedUseClassicPersistentImplementation
    assert changed.key_subscriptions == state.key_subscriptions


def test_every_limit_reaches_the_dispatcher() -> None:
    state = after(key_cluster("a"), *(SetSetting(name, OTHER[name]) for name in KEY_SETTINGS[3:]))
    terms = shared(state).delivery.terms
    assert (terms.look_ahead_per_consumer, terms.look_ahead, terms.unblocking_interval_ms) == (1, 1, 99)
    assert (terms.unacked_per_consumer, terms.unacked) == (3, 5)


@pytest.mark.parametrize(
    "command",
    [
        SetSetting("maxConsumersPerTopic", "50"),
        SetSetting("activeConsumerFailoverConsistentHashing", "true"),
        SetSetting(RING_FLAG, "true"),
    ],
    ids=repr,
)
def test_other_settings_leave_the_dispatcher_alone(command: Command) -> None:
    state = key_cluster("a", "b")
    assert shared(after(state, command)).delivery == shared(state).delivery


def test_points_of_a_ring_do_not_restart_a_subscription_that_has_none() -> None:
    state = key_cluster(mode="sticky")
    state = after(state, AddConsumer(KEY, "a", 0, ((0, 9),)))
    changed = after(state, SetSetting("subscriptionKeySharedConsistentHashingReplicaPoints", "7"))
    assert starts(changed) == starts(state)


def test_another_release_restarts_with_the_selector_and_the_order_it_has() -> None:
    state = after(key_cluster("a", "b"), SetRelease("2.11.0"))
    subscription = shared(state)
    assert isinstance(subscription.delivery.selector, RingSelector)
    assert subscription.delivery.selector.form.value == "name_i"
    assert subscription.delivery.terms.order is OrderRule.RECENTLY_JOINED
    assert [name for _, name in who(state)] == ["a", "b"]
    sticky = after(key_cluster("a", "b", mode="auto-split"), ShareKeys(KEY, "sticky"), SetRelease("4.0.0"))
    assert isinstance(shared(sticky).delivery.selector, LegacyStickySelector)
    assert [consumer.declared for consumer in shared(sticky).consumers] == [((0, 32_767),), ((32_768, 65_535),)]


def test_the_flag_restarts_every_automatic_subscription_and_declared_ones_stay() -> None:
    state = after(
        key_cluster("a", "b"),
        SubscribeKeyShared("second", ORDERS),
        AddConsumer("second", "x"),
        SubscribeKeyShared("third", ORDERS),
        ShareKeys("third", "sticky"),
    )
    outcome = decide(state, ShareKeys(KEY, "auto-split"))
    assert isinstance(outcome, tuple)
    assert outcome[0] == SettingChanged(RING_FLAG, "false")
    changed = after(state, ShareKeys(KEY, "auto-split"))
    assert [subscription.mode.value for subscription in changed.key_subscriptions] == [
        "auto-split",
        "auto-split",
        "sticky",
    ]
    assert [starts(changed, at) - starts(state, at) for at in range(3)] == [1, 1, 0]
    back = after(changed, ShareKeys("second", "consistent-auto-split"))
    assert [subscription.mode.value for subscription in back.key_subscriptions][:2] == ["consistent-auto-split"] * 2


def test_a_change_between_declared_modes_touches_no_setting() -> None:
    outcome = decide(key_cluster("a", "b"), ShareKeys(KEY, "sticky"))
    assert isinstance(outcome, tuple)
    assert [type(event) for event in outcome] == [
        KeyConsumerLeft,
        KeyConsumerLeft,
        KeyDispatcherStarted,
        KeyConsumerJoined,
        KeyConsumerJoined,
    ]
    declared = [event.declared for event in outcome if isinstance(event, KeyConsumerJoined)]
    assert declared == [((0, 32_767),), ((32_768, 65_535),)]


def test_sticky_parts_that_nobody_named_cover_every_slot_for_any_number() -> None:
    for count in (1, 3, 7):
        state = after(key_cluster(*(f"n{number}" for number in range(count))), ShareKeys(KEY, "sticky"))
        pieces = [piece for consumer in shared(state).consumers for piece in consumer.declared or ()]
        assert pieces[0][0] == 0 and pieces[-1][1] == 65_535
        assert all(later[0] == earlier[1] + 1 for earlier, later in pairwise(pieces))


def test_unacknowledged_messages_outlive_the_dispatcher_and_are_sent_again_to_who_comes_first() -> None:
    keys = tuple(f"k{number}" for number in range(30))
    state = after(key_cluster("a", "b"), SendKeys(KEY, keys), Acknowledge(KEY, None, None, 5))
    changed = after(state, ShareKeys(KEY, "auto-split"))
    delivery = shared(changed).delivery
    assert sorted(delivery.backlog) == list(range(5, 30))
    assert isinstance(delivery.selector, AutoSplitSelector)
    slots = delivery.selector.slots
    assert all(each.slot == slots.slot_of_key(each.key) for each in delivery.backlog.values())
    # The first one back is alone when it comes, so it gets them all; the second one's slots drain.
    assert {owner: len(positions) for owner, positions in delivery.pending.items()} == {3: 25, 4: 0}


def test_ranges_inside_the_gap_of_another_are_taken_by_the_earlier_form_too_and_by_the_current_one_again() -> None:
    state = key_cluster(mode="sticky")
    state = after(state, AddConsumer(KEY, "a", 0, ((0, 9), (100, 109))), AddConsumer(KEY, "b", 0, ((50, 59),)))
    earlier = after(state, SetRelease("4.0.0"))
    assert isinstance(shared(earlier).delivery.selector, LegacyStickySelector)
    again = after(earlier, SetRelease(state.release))
    assert shared(again).delivery.selector == shared(state).delivery.selector
    assert who(earlier) == who(again) == who(state)


def test_a_subscription_that_comes_later_has_the_time_of_the_others() -> None:
    state = after(key_cluster("a"), PassTime(700))
    outcome = decide(state, SubscribeKeyShared("late", ORDERS))
    assert isinstance(outcome, tuple) and outcome[-1] == KeyTimePassed("late", 700)
    assert [
        subscription.now_ms for subscription in after(state, SubscribeKeyShared("late", ORDERS)).key_subscriptions
    ] == [700, 700]
