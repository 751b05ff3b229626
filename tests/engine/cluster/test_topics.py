"""Topics come, grow and go; regex subscriptions follow."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

from msgspec import structs

from engine.cluster.commands import AddConsumer, AddTopic, RemoveTopic, RepartitionTopic
from engine.cluster.decide import decide
from engine.cluster.events import NamespaceSeen, TopicAdded
from engine.cluster.owners import active_consumers, partition_names
from engine.cluster.state import ClusterState, Subscription
from engine.cluster.tables.topics import Load, Topic
from engine.config import BrokerSettings
from engine.failover.model import Consumer
from tests.engine.cluster.support import AUDIT, ORDERS, after, cluster, refusal


def test_the_first_topic_of_a_namespace_brings_its_default_bundles() -> None:
    state = ClusterState(settings=BrokerSettings(defaultNumberOfNamespaceBundles=2))

    assert decide(state, AddTopic("x", 3)) == (
        NamespaceSeen("public/default", (0, 0x80000000, 0xFFFFFFFF)),
        TopicAdded("persistent://public/default/x", 3, ()),
    )


def test_a_broker_that_cannot_make_bundles_refuses_the_first_topic() -> None:
    for count in (0, -4):
        state = ClusterState(settings=BrokerSettings(defaultNumberOfNamespaceBundles=count))
        assert refusal(state, AddTopic("x")).status == 400


def test_a_regex_subscription_takes_a_new_topic_of_its_namespace() -> None:
    state = after(cluster(), AddTopic("persistent://shop/eu/new", 2), AddTopic("persistent://shop/us/new"))

    assert state.subscriptions[0].topics == (ORDERS, AUDIT, "persistent://shop/eu/new")


def test_a_subscription_of_fixed_topics_takes_none() -> None:
    state = cluster()
    fixed = structs.replace(state, subscriptions=(replace(state.subscriptions[0], accepts_new_topics=False),))

    assert after(fixed, AddTopic("shop/eu/new")).subscriptions == fixed.subscriptions


def test_a_regex_over_persistent_topics_does_not_see_a_non_persistent_one() -> None:
    """``RegexSubscriptionMode.PersistentOnly`` is the default; a subscription that has one was declared otherwise."""
    state = cluster()
    both = replace(state.subscriptions[0], key="all", name="all", topics=(), consumers=())
    there = "non-persistent://shop/eu/there"
    state = structs.replace(
        state,
        topics={**state.topics, there: Topic(there)},
        subscriptions=(*state.subscriptions, replace(both, topics=(there,))),
    )

    assert decide(state, AddTopic("non-persistent://shop/eu/new")) == (
        TopicAdded("non-persistent://shop/eu/new", 0, ("all",)),
    )


def test_one_name_with_two_sets_of_consumers_takes_a_topic_once() -> None:
    state = cluster()
    twin = Subscription("billing#2", "billing", "shop/eu", (), (Consumer(3, "x"),))
    state = structs.replace(state, subscriptions=(*state.subscriptions, twin), next_consumer_id=4)

    assert decide(state, AddTopic("shop/eu/new")) == (TopicAdded("persistent://shop/eu/new", 0, ("billing",)),)


def test_consumers_that_a_limit_keeps_out_do_not_join_a_new_topic() -> None:
    state = cluster(settings=BrokerSettings(maxConsumersPerTopic=4))
    small = Subscription("small", "small", "shop/eu", (), (Consumer(3, "x"),))
    large = Subscription("large", "large", "shop/eu", (), (Consumer(4, "x"), Consumer(5, "y")))
    state = structs.replace(state, subscriptions=(*state.subscriptions, large, small), next_consumer_id=6)

    assert decide(state, AddTopic("shop/eu/new")) == (TopicAdded("persistent://shop/eu/new", 0, ("billing", "small")),)
    lowered = structs.replace(state, settings=BrokerSettings(maxConsumersPerSubscription=1))
    assert decide(lowered, AddTopic("shop/eu/new")) == (TopicAdded("persistent://shop/eu/new", 0, ("small",)),)


def test_deleting_a_topic_takes_its_partitions_statistics_and_places_along() -> None:
    loads = {f"{ORDERS}-partition-0": Load(1.0), AUDIT: Load(2.0)}
    state = after(cluster(loads=loads), RemoveTopic("shop/eu/orders"))

    assert state.topics == {AUDIT: Topic(AUDIT)}
    assert state.loads == {AUDIT: Load(2.0)}
    assert [*partition_names(state, state.subscriptions[0])] == [AUDIT]


def test_a_name_like_a_partition_may_stand_alone_and_then_bars_the_partitioned_topic() -> None:
    """Every name has one dispatcher: ``x`` with two partitions and a stray ``x-partition-1`` exclude each other."""
    state = after(cluster(), AddTopic("shop/eu/x-partition-1"), AddTopic("shop/eu/y-partition-7"))

    assert refusal(state, AddTopic("shop/eu/x", 2)).status == 409
    state = after(state, AddTopic("shop/eu/x", 1), AddTopic("shop/eu/y", 7))
    assert refusal(state, RepartitionTopic("shop/eu/x", 2)).status == 409
    assert refusal(state, RepartitionTopic("shop/eu/y", 8)).status == 409


def test_F11_partitions_and_consumers_grow_in_either_order() -> None:
    """3 -> 4 partitions with 3 -> 4 consumers: each of four has one partition, whichever grew first."""
    grow = (RepartitionTopic(ORDERS, 4), AddConsumer("billing", "d"))
    outcomes = [after(cluster(partitions=3), *order) for order in permutations(grow)]

    for state in outcomes:
        active = active_consumers(state, state.subscriptions[0])
        assert [active[name].name for name in Topic(ORDERS, 4).partition_names()] == ["a", "b", "c", "d"]
    assert outcomes[0] == outcomes[1]
