"""How much there is to compute for a command."""

from __future__ import annotations

from engine.cluster.commands import (
    AddConsumer,
    AddProducers,
    AddTopic,
    Command,
    KillConsumer,
    SendByProducers,
    SetProducerRate,
    SetRelease,
    SetSetting,
    ShareKeys,
    SplitBundle,
)
from engine.cluster.effort import effort_of, pieces_of
from engine.cluster.keys.state import POINTS_SETTING
from engine.cluster.producers.state import ProducerPlan
from engine.cluster.timeline import Timeline
from engine.scenarios.synthetic import synthetic_producers
from tests.tui.key_scenes import in_mode
from tests.tui.screens_under_test import NAMESPACE, cluster


def test_points_count_for_every_consumer_that_has_them() -> None:
    state = in_mode("auto-split", consumers=4)
    assert pieces_of(state) == 0
    assert effort_of(state, AddConsumer("orders", "new")) == 0
    assert effort_of(state, ShareKeys("orders", "consistent-sticky", 1_000)) == 4_000
    assert effort_of(state, ShareKeys("unknown", "consistent-sticky", 1_000)) == 0
    assert effort_of(state, SetSetting(POINTS_SETTING, "1000")) == 4_000


def test_where_all_consumers_reconnect_each_meets_those_before_it() -> None:
    state = in_mode("auto-split", consumers=40)
    halved: tuple[Command, ...] = (ShareKeys("orders", "sticky"), ShareKeys("orders", "auto-split"))
    assert {effort_of(state, command) for command in halved} == {40 * 40}
    on_a_ring: tuple[Command, ...] = (
        ShareKeys("orders", "consistent-auto-split"),
        SetSetting("subscriptionKeySharedUseConsistentHashing", "true"),
        SetRelease("4.0.14"),
    )
    assert {effort_of(state, command) for command in on_a_ring} == {40 * 100}
    assert effort_of(state, SetSetting("maxConsumersPerTopic", "7")) == 0


def test_where_clients_declare_ranges_for_their_number_one_more_or_less_lets_all_reconnect() -> None:
    timeline = Timeline.start(in_mode("auto-split", consumers=40))
    for command in (AddConsumer("orders", "new"), KillConsumer("orders", 0)):
        assert effort_of(timeline.state, command) == 0
    timeline, refused = timeline.submit(ShareKeys("orders", "consistent-sticky", 7))
    assert refused is None
    for command in (AddConsumer("orders", "new"), KillConsumer("orders", 0)):
        assert effort_of(timeline.state, command) - pieces_of(timeline.state) == 40 * 40


def test_what_a_subscription_has_counts_for_every_later_step() -> None:
    timeline = Timeline.start(in_mode("auto-split", consumers=4))
    timeline, refused = timeline.submit(ShareKeys("orders", "consistent-sticky", 500))
    assert refused is None
    (subscription,) = timeline.state.key_subscriptions
    declared = sum(len(consumer.declared or ()) for consumer in subscription.consumers)
    assert pieces_of(timeline.state) == declared > 1_000
    assert effort_of(timeline.state, AddConsumer("orders", "new")) == declared + 4 * 500
    assert pieces_of(in_mode("consistent-auto-split", consumers=4)) == 400


def test_producers_count_for_every_partition_that_they_may_open() -> None:
    state = synthetic_producers(ProducerPlan(count=5, lazy=True, batching=False), 40).state
    topic, opened = state.producer_topics[0].topic, 5
    assert pieces_of(state) == opened, "a lazy producer opens one partition"
    assert effort_of(state, SetProducerRate(topic, None, 1.0)) == opened + 5 * 40
    assert effort_of(state, SetProducerRate(topic, 3, 1.0)) == opened + 40
    assert effort_of(state, AddProducers(topic, ProducerPlan(count=7))) == opened + 7 * 40
    assert effort_of(state, SendByProducers(topic, times=9)) == opened + 5 * 9
    assert effort_of(state, SetProducerRate("persistent://t/n/other", None, 1.0)) == opened


def test_partitions_that_producers_opened_count_for_every_later_step() -> None:
    timeline = Timeline.start(synthetic_producers(ProducerPlan(count=5), 40).state)
    topic = timeline.state.producer_topics[0].topic
    assert pieces_of(timeline.state) == 5 * 40
    assert effort_of(timeline.state, SendByProducers(topic, times=9)) == 5 * 40 + 5 * 9


def test_numbers_that_nobody_could_mean_are_no_effort() -> None:
    state = in_mode("auto-split", consumers=4)
    for text in ("", "-1", "x", "9" * 4_000):
        assert effort_of(state, SetSetting(POINTS_SETTING, text)) == 0


def test_partitions_count_where_they_are_made_and_where_they_are_cut() -> None:
    state = cluster(topics=12, partitions=3)
    assert effort_of(state, AddTopic(f"persistent://{NAMESPACE}/new", 5_000)) == 5_000
    assert effort_of(state, SplitBundle(NAMESPACE, "LARGEST")) == 12 + 36
