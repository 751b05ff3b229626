"""Where does it go, and why: names are understood as people type them, and the answer is the screen's own."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from engine.cluster.state import ClusterState
from engine.cluster.tables.topics import Load, Topic
from engine.cluster.timeline import Timeline
from engine.errors import Rejection
from engine.failover.choose import Rule
from engine.hashing import crc32_hash, murmur3_32
from engine.scenarios.embedded import embedded_default
from engine.views.failover.dashboard import dashboard_view, partitions_of, topic_explanation
from engine.views.failover.explanations import TopicExplanation
from tests.engine.views.states import cluster, topic_name


def explained(timeline: Timeline, text: str) -> TopicExplanation:
    explanation = topic_explanation(timeline, 0, text)
    assert isinstance(explanation, TopicExplanation), explanation
    return explanation


def refused(timeline: Timeline, text: str) -> Rejection:
    explanation = topic_explanation(timeline, 0, text)
    assert isinstance(explanation, Rejection), explanation
    return explanation


SEVERAL = cluster(["a", "b"], {"orders": 3, "single": 1, "plain": 0, "plain-eu": 0})


@pytest.mark.parametrize(
    ("text", "topic", "matched"),
    [
        (topic_name("orders-partition-2"), topic_name("orders-partition-2"), "name"),
        (topic_name("single"), topic_name("single-partition-0"), "topic"),
        ("t/n/plain", topic_name("plain"), "name"),
        ("t/n/single", topic_name("single-partition-0"), "topic"),
        ("plain", topic_name("plain"), "local name"),
        ("single", topic_name("single-partition-0"), "local name"),
        ("orders-partition-0", topic_name("orders-partition-0"), "local name"),
        ("orders-partition-1", topic_name("orders-partition-1"), "local name"),
        ("ingle", topic_name("single-partition-0"), "part"),
        ("  plain-eu ", topic_name("plain-eu"), "local name"),
    ],
)
def test_a_name_is_understood_as_people_type_it(text: str, topic: str, matched: str) -> None:
    explanation = explained(Timeline.start(SEVERAL), text)
    assert (explanation.topic, explanation.matched) == (topic, matched)


@pytest.mark.parametrize("text", ["orders", topic_name("orders"), "t/n/orders", "n/or", "lain"])
def test_a_text_that_means_several_partitions_names_them(text: str) -> None:
    result = refused(Timeline.start(SEVERAL), text)
    assert result.error == "Ambiguous" and "persistent://t/n/" in result.message


def test_a_local_name_with_and_without_partitions_means_neither() -> None:
    state = cluster(["a", "b"], {"orders": 1})
    other = "non-persistent://t/n/orders"
    both = structs.replace(
        state,
        topics={**state.topics, other: Topic(other, 0)},
        subscriptions=(replace(state.subscriptions[0], topics=(topic_name("orders"), other)),),
    )
    assert refused(Timeline.start(both), "orders").error == "Ambiguous"
    assert explained(Timeline.start(both), "orders-partition-0").topic == topic_name("orders-partition-0")


def test_a_name_with_a_slip_gets_the_nearest() -> None:
    result = refused(Timeline.start(SEVERAL), "plan-eu")
    assert result.error == "NotFound" and "did you mean" in result.message and "plain-eu" in result.message


def test_nothing_and_nothing_to_find_are_refused() -> None:
    assert refused(Timeline.start(SEVERAL), "  ").field == "topic"
    assert "has no topics" in refused(Timeline.start(ClusterState()), "x").message


def test_the_explanation_is_the_answer_on_screen_for_every_topic_of_the_scene() -> None:
    timeline = Timeline.start(embedded_default().state)
    for consumer in dashboard_view(timeline).consumers:
        for row in partitions_of(timeline, 0, consumer.consumer_id):
            explanation = explained(timeline, row.name)
            assert explanation.active_consumer == consumer.name and explanation.bundle == row.bundle
            assert explanation.bundle_hash == crc32_hash(row.name)
            assert explanation.why is not None and explanation.why.rule is Rule.MODULO
            assert explanation.other is not None and explanation.other.rule is Rule.RING
            assert explanation.other.topic_hash.value == murmur3_32(row.name) == row.topic_hash


def test_nobody_connected_is_no_reason_to_fail() -> None:
    explanation = explained(Timeline.start(cluster([], {"x": 0})), "x")
    assert explanation.why is None and explanation.active_consumer == "" and explanation.bundle


def test_F03_a_topic_without_partitions_has_one_answer_for_both_values_of_the_flag() -> None:
    explanation = explained(Timeline.start(SEVERAL), "plain")
    assert explanation.why is not None and explanation.other is not None
    assert (
        explanation.why.rule is explanation.other.rule is Rule.RING
        and explanation.why.active == explanation.other.active
    )


def test_a_consumers_name_is_distinguished_from_a_topics() -> None:
    embedded = Timeline.start(embedded_default().state)
    assert "billing-0 is a consumer, and topics are explained" in refused(embedded, "billing-0").message


def test_a_topic_of_another_subscription_names_that_subscription() -> None:
    here, there = cluster(["a"], {"orders": 1}), cluster(["b"], {"bills": 2})
    both = structs.replace(
        here,
        topics={**here.topics, **there.topics},
        subscriptions=(*here.subscriptions, replace(there.subscriptions[0], key="other", name="other")),
    )
    assert "subscription 'other' has it" in refused(Timeline.start(both), "bills-partition-1").message


def test_a_hand_over_without_reported_unacknowledged_messages_is_bounded_by_the_backlog() -> None:
    state = cluster(["a", "b"], {"orders": 1})
    name = topic_name("orders-partition-0")
    backlog = structs.replace(state, loads={name: Load(msg_rate_out=5.0, unacked_messages=0, backlog_entries=40)})
    explanation = explained(Timeline.start(backlog), name)
    assert explanation.sent_again_at_most == 40
    nothing = explained(Timeline.start(structs.replace(state, loads={name: Load(msg_rate_out=5.0)})), name)
    assert nothing.sent_again_at_most == 0
    assert explained(Timeline.start(state), name).sent_again_at_most == 1
