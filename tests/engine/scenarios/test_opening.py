"""Opening what brokers printed: subscriptions put together, and inferences that are right and reported."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.admin.snapshot import read_answers
from engine.cluster.journal.invariants import faults
from engine.cluster.owners import active_consumers
from engine.errors import InputError
from engine.failover.choose import choose
from engine.failover.model import Consumer
from engine.scenarios.opening import Opened, open_path, open_snapshot
from tests.engine.scenarios.recordings import RECORDINGS, opened, recorded_actives

FLAG_OFF, FLAG_ON = "pip392-flag-off", "pip392-flag-on"


def by_name(found: Opened, subscription: int = 0) -> dict[str, str]:
    chosen = active_consumers(found.state, found.state.subscriptions[subscription])
    return {topic: consumer.name if consumer else "" for topic, consumer in chosen.items()}


def partition(consumers: list[str], active: str | None, kind: str = "Failover", **more: Any) -> dict[str, Any]:
    results: dict[str, Any] = {"type": kind, "consumers": [{"consumerName": name} for name in consumers], **more}
    if active is not None:
        results["activeConsumerName"] = active
    return {"msgRateIn": 1.0, "msgRateOut": 2.0, "publishers": [], "subscriptions": {"sub": results}}


def answers(topics: dict[str, dict[str, Any]], **files: Any) -> Opened:
    return open_snapshot(read_answers(json.dumps({"stats.json": topics, **files}).encode()))


def codes(found: Opened) -> list[str]:
    return [note.code for note in found.notes]


@pytest.mark.parametrize("recording", [FLAG_OFF, FLAG_ON])
@pytest.mark.parametrize("step", [1, 2, 3])
def test_an_opened_recording_gives_every_active_consumer_the_broker_named(recording: str, step: int) -> None:
    result = opened(recording, step)
    recorded = recorded_actives(recording, step)
    assert len(recorded) == 100
    assert by_name(result) == recorded
    assert not faults(result.state)
    assert "differs-from-record" not in codes(result)


@pytest.mark.parametrize(("recording", "flag"), [(FLAG_OFF, False), (FLAG_ON, True)])
def test_without_a_configuration_the_flag_is_inferred_from_the_active_consumers(recording: str, flag: bool) -> None:
    snapshot = open_snapshot(read_answers(RECORDINGS / recording / "01-partitioned-stats.json.gz"))
    assert snapshot.state.settings.activeConsumerFailoverConsistentHashing is flag
    assert {"flag-inferred", "release-assumed", "bundles-assumed"} <= set(codes(snapshot))
    assert snapshot.state.release == "4.2"
    assert by_name(snapshot) == recorded_actives(recording, 1)


def test_as_many_voices_for_modulo_as_for_the_ring_leave_the_flag_at_its_default() -> None:
    order = (Consumer(0, "a"), Consumer(1, "b"))
    names = [f"persistent://t/n/{at}-partition-1" for at in range(40)]
    # Index 1 is b's by modulo; where the ring says a, the two rules differ.
    split = [name for name in names if choose(order, name, 1, consistent_hashing=True).active.name == "a"][:2]  # type: ignore[union-attr]
    first, second = partition(["a", "b"], "b"), partition(["a", "b"], "a")
    second["subscriptions"]["other"] = second["subscriptions"].pop("sub")
    tie = answers(dict(zip(split, (first, second), strict=True)))
    assert not tie.state.settings.activeConsumerFailoverConsistentHashing
    ring_only = answers({split[1]: second})
    assert ring_only.state.settings.activeConsumerFailoverConsistentHashing


def test_consumers_stand_in_connect_order_not_in_the_dispatchers_order() -> None:
    consumers = [
        {"consumerName": "a", "connectedSince": "2026-01-01T00:00:09.5Z"},
        {"consumerName": "b", "connectedSince": "2026-01-01T00:00:01Z"},
        {"consumerName": "c", "connectedSince": "2026-01-01T00:00:01.5Z"},
    ]
    topic = partition([], "a")
    topic["subscriptions"]["sub"]["consumers"] = consumers
    result = answers({"persistent://t/n/x-partition-0": topic})
    assert [(consumer.name, consumer.consumer_id) for consumer in result.state.subscriptions[0].consumers] == [
        ("b", 0),
        ("c", 1),
        ("a", 2),
    ]


def test_one_name_with_other_consumers_is_another_subscription_with_its_own_key() -> None:
    result = answers(
        {
            "persistent://t/n/x": partition(["a", "b"], "a"),
            "persistent://t/n/y": partition(["a", "b"], "b"),
            "persistent://t/n/z": partition(["c"], "c"),
        }
    )
    assert [
        (subscription.key, subscription.name, len(subscription.topics)) for subscription in result.state.subscriptions
    ] == [
        ("sub", "sub", 2),
        ("sub#2", "sub", 1),
    ]
    ids = [consumer.consumer_id for subscription in result.state.subscriptions for consumer in subscription.consumers]
    assert ids == [0, 1, 2] and result.state.next_consumer_id == 3
    assert [subscription.accepts_new_topics for subscription in result.state.subscriptions] == [True, False]


def test_priority_levels_are_inferred_from_the_order_and_reported() -> None:
    topics = {f"persistent://t/n/x-partition-{at}": partition(["c", "a", "b"], "c") for at in range(4)}
    result = answers(topics)
    assert {consumer.name: consumer.priority_level for consumer in result.state.subscriptions[0].consumers} == {
        "c": 0,
        "a": 1,
        "b": 1,
    }
    assert "priorities-inferred" in codes(result)
    assert set(by_name(result).values()) == {"c"}


def test_before_3_0_the_order_of_a_topic_without_partitions_says_nothing_about_levels() -> None:
    scenario = {"scenario": "s", "steps": [], "pulsar_version": "2.11.0"}
    result = answers({"persistent://t/n/x": partition(["z", "a"], "z")}, **{"scenario.json": scenario})
    assert result.state.release == "2.11.0"
    assert [consumer.priority_level for consumer in result.state.subscriptions[0].consumers] == [0, 0]
    assert by_name(result) == {"persistent://t/n/x": "z"}


def test_an_active_consumer_that_no_rule_gives_is_reported_and_the_rest_is_kept() -> None:
    scenario = {"scenario": "s", "steps": [], "broker_settings": {"activeConsumerFailoverConsistentHashing": "false"}}
    topics = {f"persistent://t/n/x-partition-{at}": partition(["a", "b"], name) for at, name in enumerate("ba")}
    result = answers(topics, **{"scenario.json": scenario})
    assert {"record-unexplained", "differs-from-record"} <= set(codes(result))
    assert by_name(result) == {"persistent://t/n/x-partition-0": "a", "persistent://t/n/x-partition-1": "b"}


def test_other_types_are_counted_and_left_out() -> None:
    result = answers(
        {
            "persistent://t/n/x": partition(["a"], None, "Shared"),
            "persistent://t/n/y": partition(["a"], "a", "Exclusive"),
            "persistent://t/n/z": partition([], None, "None"),
        }
    )
    assert result.state.subscriptions == () and len(result.state.topics) == 3
    (note,) = [note for note in result.notes if note.code == "other-types"]
    assert "1 Exclusive, 1 without consumers, 1 Shared" in note.text


def test_partitions_that_disagree_about_the_consumers_go_with_the_most() -> None:
    topics = {f"persistent://t/n/x-partition-{at}": partition(["a", "b"], "ab"[at % 2]) for at in range(3)}
    topics["persistent://t/n/x-partition-3"] = partition(["a"], "a")
    result = answers(topics)
    assert [consumer.name for consumer in result.state.subscriptions[0].consumers] == ["a", "b"]
    assert "unequal-partitions" in codes(result)


def test_bundles_come_from_broker_stats_where_no_list_tells_them() -> None:
    stats = {"t/n": {"0x00000000_0x40000000": {"persistent": {"persistent://t/n/a": {"subscriptions": {}}}}}}
    snapshot = open_snapshot(read_answers(json.dumps(stats).encode()))
    assert snapshot.state.namespaces["t/n"].initial_boundaries == (0, 0x40000000, 0xFFFFFFFF)


def test_unacknowledged_messages_of_a_failover_subscription_are_found_at_its_consumers() -> None:
    topic = partition(["a"], "a", unackedMessages=0)
    topic["subscriptions"]["sub"]["consumers"][0]["unackedMessages"] = 7
    result = answers({"persistent://t/n/x": topic})
    assert result.state.loads["persistent://t/n/x"].unacked_messages == 7


def test_a_topic_that_has_partitions_of_its_name_beside_it_is_named() -> None:
    stats = partition(["a", "b"], None)
    both = answers({"persistent://t/n/x": stats, "persistent://t/n/x-partition-0": stats})
    assert "hidden-topics" in codes(both)
    assert [topic.partitions for topic in both.state.topics.values()] == [1]
    assert "hidden-topics" not in codes(answers({"persistent://t/n/y": stats, "persistent://t/n/x-partition-0": stats}))


def test_nothing_usable_is_an_input_error_that_says_what_to_give() -> None:
    with pytest.raises(InputError, match="topic statistics"):
        open_snapshot(read_answers(json.dumps({"persistent://t/n/x": {"subscriptions": 3}}).encode()))


def test_a_path_that_is_not_there_is_an_input_error() -> None:
    with pytest.raises(InputError, match="does not exist"):
        open_path("no/such/folder")
