"""A consumer's messages a second are what its own subscription sends it."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from typing import Any

import numpy as np
import pytest

from engine.admin.snapshot import read_answers
from engine.cluster.commands import AddConsumer, KillConsumer, RemoveTopic
from engine.cluster.journal.invariants import faults
from engine.cluster.state import ClusterState
from engine.cluster.tables.loads import LoadTable
from engine.cluster.tables.topics import TopicTable
from engine.cluster.timeline import Timeline
from engine.errors import InputError
from engine.scenarios.opening import FleetPart, open_fleet_part, open_snapshot
from engine.views.failover.dashboard import dashboard_view, partitions_of
from engine.views.failover.explanations import explain_topic
from engine.views.failover.slice import slice_of
from tests.engine.scenarios.recordings import RECORDINGS
from tests.journal_bytes import parse_state, serialise_state

TOPIC = "persistent://t/n/x"
RATES = (100.0, 200.0, 194.67)


def statistics(partitions: int = 3, *, others: float = 49.0) -> dict[str, Any]:
    """Partitions that ``billing`` reads at RATES, and another subscription at ``others`` times that."""

    def consumer(name: str, rate: float) -> dict[str, Any]:
        return {
            "consumerName": name,
            "msgRateOut": rate,
            "msgThroughputOut": rate * 10,
            "unackedMessages": 7 if rate else 0,
            "connectedSince": f"2026-01-01T00:00:0{name}Z",
        }

    def partition(index: int) -> dict[str, Any]:
        rate = RATES[index % 3]
        active = ("0", "1")[index % 2]
        reported = [consumer(name, rate if name == active else 0.0) for name in ("0", "1")]
        billing = {
            "type": "Failover",
            "activeConsumerName": active,
            "consumers": reported,
            "msgRateOut": rate,
            "msgThroughputOut": rate * 10,
            "msgBacklog": 3,
        }
        audit = {"type": "Shared", "consumers": [consumer("9", rate * others)], "msgRateOut": rate * others}
        more = {"audit": audit} if others else {}
        return {
            "msgRateIn": rate,
            "msgThroughputIn": rate * 10,
            "msgRateOut": rate * (1 + others),
            "msgThroughputOut": rate * (1 + others) * 10,
            "subscriptions": {"billing": billing, **more},
        }

    every = {f"{TOPIC}-partition-{index}": partition(index) for index in range(partitions)}
    return {"metadata": {"partitions": partitions}, "subscriptions": {}, "partitions": every}


def opened(**how: Any) -> ClusterState:
    return open_snapshot(read_answers(json.dumps({TOPIC: statistics(**how)}).encode())).state


def shown(timeline: Timeline) -> dict[str, float | None]:
    return {row.name: row.msgs_per_sec for row in dashboard_view(timeline).consumers}


@pytest.mark.parametrize("others", [0.0, 1.0, 49.0])
def test_a_consumers_rate_is_that_of_its_own_subscription(others: float) -> None:
    timeline = Timeline.start(opened(others=others))
    assert shown(timeline) == pytest.approx({"0": 294.67, "1": 200.0})
    assert dashboard_view(timeline).foot.msgs_per_sec == pytest.approx(494.67)
    first = dashboard_view(timeline).consumers[0].consumer_id
    assert [row.msgs_per_sec for row in partitions_of(timeline, 0, first)] == [194.67, 100.0]


def test_the_rates_move_with_the_topics() -> None:
    state = opened()
    timeline, refusal = Timeline.start(state).submit(
        KillConsumer("billing", state.subscriptions[0].consumers[0].consumer_id)
    )
    assert refusal is None
    assert shown(timeline) == pytest.approx({"1": 494.67})
    timeline, refusal = timeline.submit(AddConsumer("billing", "0"))
    assert refusal is None
    assert shown(timeline) == pytest.approx({"0": 294.67, "1": 200.0})
    # Partitions 0 and 2 have moved; of another subscription's messages nothing is at risk.
    assert dashboard_view(timeline).events[-1].unacked_at_risk == 14
    timeline, refusal = timeline.submit(RemoveTopic(TOPIC))
    assert refusal is None and not timeline.state.subscriptions[0].loads
    assert not faults(timeline.state)


def test_what_waits_of_a_topic_is_that_of_the_subscription() -> None:
    state = opened()
    explanation = explain_topic(slice_of(state, state.subscriptions[0]), f"{TOPIC}-partition-0")
    assert (explanation.unacked_messages, explanation.backlog_entries) == (7, 3)


def test_own_rates_are_written_down_and_read_back() -> None:
    state = opened()
    assert state.subscriptions[0].loads
    assert parse_state(serialise_state(state)) == state
    plain = json.loads(serialise_state(state))
    plain["subscriptions"][0]["loads"] = [{"partition": f"{TOPIC}-partition-0", "load": {"msg_rate_out": -1.0}}]
    with pytest.raises(InputError, match="negative"):
        parse_state(json.dumps(plain).encode())


def test_many_partitions_have_the_rates_of_few() -> None:
    count = 2_001
    snapshot = read_answers(json.dumps({TOPIC: statistics(count)}).encode())
    state = open_fleet_part(FleetPart(snapshot)).state
    assert isinstance(state.topics, TopicTable)
    (billing,) = state.subscriptions
    assert isinstance(billing.loads, LoadTable)
    now = slice_of(state, billing)
    expected = np.array([RATES[index % 3] for index in now.topics.index.tolist()])
    assert np.allclose(now.msgs_per_sec, expected)
    assert np.allclose(now.bytes_per_sec, expected * 10)
    assert set(now.unacked.tolist()) == {7}
    again = parse_state(serialise_state(state))
    assert np.allclose(slice_of(again, again.subscriptions[0]).msgs_per_sec, expected)


def test_recorded_rates_of_consumers_are_the_ones_shown() -> None:
    folder = RECORDINGS / "pip392-flag-on"
    (path,) = folder.glob("01-partitioned-stats.json.gz")
    reported: Counter[str] = Counter()
    for topic in json.loads(gzip.decompress(path.read_bytes())).values():
        for partition in topic["partitions"].values():
            for consumer in partition["subscriptions"]["billing"]["consumers"]:
                reported[consumer["consumerName"]] += consumer["msgRateOut"]
    timeline = Timeline.start(open_snapshot(read_answers(path, folder / "scenario.json.gz")).state)
    assert sum(reported.values()) > 0
    assert shown(timeline) == pytest.approx(dict(reported))


def test_a_rate_that_no_answer_has_stays_unknown_in_a_saved_state() -> None:
    printed = statistics()
    del printed["partitions"][f"{TOPIC}-partition-1"]["msgRateIn"]
    state = open_snapshot(read_answers(json.dumps({TOPIC: printed}).encode())).state
    load = state.loads[f"{TOPIC}-partition-1"]
    assert (load.msg_rate_in, load.msg_rate_out is None) == (None, False)
    assert not faults(state)
    again = parse_state(serialise_state(state))
    assert again == state
    assert again.loads[f"{TOPIC}-partition-1"].msg_rate_in is None
    printed["partitions"][f"{TOPIC}-partition-1"]["msgRateIn"] = 0.0
    silent = open_snapshot(read_answers(json.dumps({TOPIC: printed}).encode())).state
    assert silent.loads != state.loads, "0 and unknown are two things"
