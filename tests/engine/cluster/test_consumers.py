"""Connecting and leaving, with the limits of the broker."""

from __future__ import annotations

from dataclasses import replace

from msgspec import structs

from engine.cluster.commands import AddConsumer, KillConsumer, RenameConsumer, SetPriorityLevel
from engine.cluster.decide import decide
from engine.cluster.events import ConsumerAdded, ConsumerRemoved
from engine.cluster.owners import active_consumers
from engine.cluster.state import Subscription
from engine.config import BrokerSettings
from engine.failover.model import Consumer
from tests.engine.cluster.support import AUDIT, ORDERS, after, cluster, refusal


def test_a_newcomer_stands_last_with_an_id_that_was_never_used() -> None:
    state = after(cluster(), KillConsumer("billing", 2), AddConsumer("billing", "c", 7))

    assert state.subscriptions[0].consumers == (Consumer(0, "a"), Consumer(1, "b"), Consumer(3, "c", 7))
    assert state.next_consumer_id == 4


def test_renaming_is_a_leave_and_a_connect() -> None:
    assert decide(cluster(), RenameConsumer("billing", 0, "z")) == (
        ConsumerRemoved("billing", 0),
        ConsumerAdded("billing", 3, "z", 0),
    )


def test_another_level_is_a_leave_and_a_connect_under_the_same_name() -> None:
    assert decide(cluster(), SetPriorityLevel("billing", 0, 4)) == (
        ConsumerRemoved("billing", 0),
        ConsumerAdded("billing", 3, "a", 4),
    )


def test_the_limit_of_a_subscription_refuses_one_more() -> None:
    state = cluster(settings=BrokerSettings(maxConsumersPerSubscription=3))

    refused = refusal(state, AddConsumer("billing", "d"))

    assert refused.error == "ConsumerBusy"
    assert refused.message.startswith("Subscription reached max consumers limit")
    assert len(decide(after(state, KillConsumer("billing", 0)), AddConsumer("billing", "d"))) == 1


def test_the_limit_of_a_topic_counts_the_consumers_of_all_its_subscriptions() -> None:
    state = cluster(settings=BrokerSettings(maxConsumersPerTopic=4))
    other = Subscription("audit", "audit", "shop/eu", (AUDIT,), (Consumer(3, "x"),))
    state = structs.replace(state, subscriptions=(*state.subscriptions, other), next_consumer_id=4)

    refused = refusal(state, AddConsumer("billing", "d"))

    assert refused.error == "ConsumerBusy"
    assert refused.message.startswith("Topic reached max consumers limit")
    assert AUDIT in refused.message and ORDERS not in refused.message
    apart = structs.replace(state, subscriptions=(state.subscriptions[0], replace(other, topics=())))
    assert len(decide(apart, AddConsumer("billing", "d"))) == 1, "only consumers of the same topic count"


def test_the_topic_is_asked_before_the_subscription() -> None:
    """``addConsumerToSubscription`` looks at the topic first, so with both limits reached its text is the answer."""
    state = cluster(settings=BrokerSettings(maxConsumersPerTopic=3, maxConsumersPerSubscription=3))

    assert refusal(state, AddConsumer("billing", "d")).field == "maxConsumersPerTopic"


def test_limits_of_zero_and_less_are_no_limits() -> None:
    state = cluster(settings=BrokerSettings(maxConsumersPerTopic=0, maxConsumersPerSubscription=-1))

    assert len(decide(state, AddConsumer("billing", "d"))) == 1


def test_a_limit_that_is_reached_lets_a_consumer_come_back_and_a_lower_one_does_not() -> None:
    for name in ("maxConsumersPerSubscription", "maxConsumersPerTopic"):
        full = cluster(settings=structs.replace(BrokerSettings(), **{name: 3}))
        lowered = cluster(settings=structs.replace(BrokerSettings(), **{name: 2}))

        assert len(decide(full, RenameConsumer("billing", 0, "z"))) == 2
        assert refusal(lowered, RenameConsumer("billing", 0, "z")).error == "ConsumerBusy"
        assert refusal(lowered, SetPriorityLevel("billing", 0, 1)).error == "ConsumerBusy"


def test_F07_all_leave_then_one_returns_and_is_active_everywhere() -> None:
    emptied = after(cluster(), *(KillConsumer("billing", number) for number in range(3)))
    assert set(active_consumers(emptied, emptied.subscriptions[0]).values()) == {None}

    state = after(emptied, AddConsumer("billing", "a"))

    assert set(active_consumers(state, state.subscriptions[0]).values()) == {Consumer(3, "a")}


def test_F08_a_lower_level_takes_over_only_when_the_higher_one_is_gone() -> None:
    state = after(cluster(["a"]), AddConsumer("billing", "standby", 1))
    assert {consumer.name for consumer in active_consumers(state, state.subscriptions[0]).values() if consumer} == {"a"}

    state = after(state, KillConsumer("billing", 0))

    assert {consumer.name for consumer in active_consumers(state, state.subscriptions[0]).values() if consumer} == {
        "standby"
    }


def test_F13_equal_names_do_not_stall() -> None:
    """Under the ring the later one of equal names owns everything; when it leaves the earlier one does."""
    state = cluster(["same", "same"], settings=BrokerSettings(activeConsumerFailoverConsistentHashing=True))
    assert set(active_consumers(state, state.subscriptions[0]).values()) == {Consumer(1, "same")}

    state = after(state, KillConsumer("billing", 1))

    assert set(active_consumers(state, state.subscriptions[0]).values()) == {Consumer(0, "same")}
