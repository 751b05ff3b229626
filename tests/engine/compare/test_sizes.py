"""Numbers of consumers and partitions: each row is what a cluster of that size has."""

from __future__ import annotations

import pytest

from engine.cluster.grammar.reading import parse_command
from engine.cluster.state import ClusterState
from engine.cluster.timeline import Timeline
from engine.compare.sizes import Sizing, consumers_needed, grown, partitions_needed
from engine.compare.verdict import Goal, evenness
from engine.errors import Rejection
from tests.engine.views.states import cluster


def sized(found: Sizing | Rejection) -> Sizing:
    assert isinstance(found, Sizing), found
    return found


def consumers(state: ClusterState, goal: Goal, upto: int) -> Sizing:
    return sized(consumers_needed(state, state.subscriptions[0], goal, range(1, upto + 1)))


def test_by_modulo_divisors_are_even() -> None:
    state = cluster([f"c-{at}" for at in range(5)], {"x": 12}, rate=0.0)
    result = consumers(state, Goal(1.0), 12)
    assert [row.number for row in result.rows if row.good] == [1, 2, 3, 4, 6, 12]
    assert (result.now, result.smallest, result.largest) == (5, 1, 12)
    assert all(row.chance_high == 0.0 for row in result.rows)


def test_after_a_loss_another_number_counts() -> None:
    state = cluster([f"c-{at}" for at in range(5)], {"x": 12}, rate=0.0)
    result = consumers(state, Goal(1.0, survive=True), 12)
    assert [row.number for row in result.rows if row.good] == [2, 3, 4]


@pytest.mark.parametrize("flag", [False, True])
def test_each_row_is_what_a_cluster_of_that_size_has(flag: bool) -> None:
    state = cluster([f"c-{at}" for at in range(3)], {"x": 40}, flag=flag)
    for row in consumers(state, Goal(1.2, by_messages=True), 7).rows:
        same = cluster([f"c-{at}" for at in range(row.number)], {"x": 40}, flag=flag)
        even = evenness(same, same.subscriptions[0])
        assert row.max_over_mean == pytest.approx(even.max_over_mean_rate)
        assert row.busiest_msgs == pytest.approx(even.busiest_msgs_per_sec)
        assert row.idle == even.idle
        if flag:
            assert 1.0 <= row.chance_low <= row.chance_high


def test_a_rate_that_one_consumer_can_do() -> None:
    state = cluster(["a", "b"], {"x": 4})  # 1, 2, 3 and 4 messages a second
    result = consumers(state, Goal(9.0, busiest_msgs=4.0), 6)
    assert result.smallest == 4
    assert (result.hottest.endswith("partition-3"), result.hottest_share) == (True, 0.4)
    assert consumers(state, Goal(9.0, busiest_msgs=3.9), 6).smallest is None


def test_more_partitions_spread_a_topic() -> None:
    state = cluster([f"c-{at}" for at in range(6)], {"x": 1}, rate=600.0)
    result = sized(partitions_needed(state, state.subscriptions[0], Goal(1.0), range(1, 13)))
    assert [row.number for row in result.rows if row.good] == [6, 12]
    assert {row.number: round(row.busiest_msgs) for row in result.rows}[12] == 100


def test_what_cannot_be_sized_is_refused() -> None:
    nobody, nothing = cluster([], {"x": 1}), cluster(["a"], {})
    goal = Goal()
    assert isinstance(partitions_needed(nobody, nobody.subscriptions[0], goal, range(1, 2)), Rejection)
    assert isinstance(consumers_needed(nothing, nothing.subscriptions[0], goal, range(1, 2)), Rejection)
    one = cluster(["a"], {"x": 1})
    assert isinstance(consumers_needed(one, one.subscriptions[0], goal, range(201, 202)), Rejection)
    assert isinstance(partitions_needed(one, one.subscriptions[0], goal, range(10**7, 10**7 + 1)), Rejection)


def test_names_go_on_as_they_began() -> None:
    assert grown(["web-1", "web-7"], 4) == ["web-1", "web-7", "web-8", "web-9"]


def rated(*lines: str) -> Sizing:
    state = cluster([f"c-{at}" for at in range(3)], {"x": 3}, rate=0.0)
    timeline = Timeline.start(state, 0, "a test")
    for line in ("producer add", *lines):
        command = parse_command(line, timeline.state)
        assert not isinstance(command, Rejection), command
        timeline, refused = timeline.submit(command)
        assert refused is None, refused
    now = timeline.state
    return sized(partitions_needed(now, now.subscriptions[0], Goal(1.05, by_messages=True), range(3, 13)))


def test_partitions_divide_what_the_router_of_the_fast_producer_lets_them() -> None:
    spread = rated("producer rate all 900")
    assert [row.number for row in spread.rows if row.good] == [3, 6, 9, 12]
    assert spread.fastest is not None and (spread.fastest.msgs_per_sec, spread.fastest.partitions) == (900.0, 12)
    single = rated("producer add router single named fast", "producer rate fast 900", "producer rate #0 90")
    assert single.smallest is None and single.fastest is not None
    assert (single.fastest.name, single.fastest.msgs_per_sec, single.fastest.partitions) == ("fast", 900.0, 1)
    assert all(row.busiest_msgs >= 900.0 for row in single.rows)
    partial = rated("producer add lazy partial 6 above named fast", "producer rate fast 900")
    assert partial.fastest is not None and partial.fastest.partitions == 6
    assert partial.rows[0].good and all(row.max_over_mean <= 3 for row in partial.rows)


def test_without_rates_nobody_is_the_fast_producer() -> None:
    state = cluster(["a", "b"], {"x": 2})
    assert sized(partitions_needed(state, state.subscriptions[0], Goal(), range(2, 4))).fastest is None
