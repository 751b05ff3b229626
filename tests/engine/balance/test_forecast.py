"""The forecast names the next split, its reason, its time, and four trees that differ where the algorithms do."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from engine.balance.settings import BalanceSettings
from engine.balance.splitting.forecast import Forecast, forecast
from engine.balance.splitting.start import BalanceStart, balance_start
from engine.balance.splitting.topics import BalancedTopic
from engine.bundles.boundaries import NamespaceBundles
from engine.bundles.loads import TopicLoad
from engine.config import (
    FLOW_OR_QPS_EQUALLY_DIVIDE,
    RANGE_EQUALLY_DIVIDE,
    SPECIFIED_POSITIONS_DIVIDE,
    SPLIT_ALGORITHMS,
    BrokerSettings,
    behaviour_of,
)
from engine.errors import Rejection

WHOLE = NamespaceBundles("t/n", (0, 0xFFFFFFFF))
LOW = [TopicLoad(f"persistent://t/n/{place}", 1000 * place, 12_000.0) for place in range(1, 5)]


def start_of(topics: list[TopicLoad], manager: str = "modular", **more: object) -> BalanceStart:
    settings = BrokerSettings(**more)  # type: ignore[arg-type]
    start = balance_start(WHOLE, topics, ["b:1", "b:2"], settings, load_manager=manager, change_events=False)  # type: ignore[arg-type]
    assert isinstance(start, BalanceStart), start
    return start


def coming(start: BalanceStart, cycles: int = 60) -> Forecast:
    result = forecast(start, cycles)
    assert isinstance(result, Forecast), result
    return result


def test_the_next_split_has_its_reason_its_excess_and_its_time() -> None:
    modular, extensible = coming(start_of(LOW)).next_split, coming(start_of(LOW, "extensible")).next_split
    assert modular is not None and extensible is not None
    assert (modular.cycle, modular.at_seconds) == (1, 900.0)
    assert (extensible.cycle, extensible.at_seconds) == (4, 240.0)
    for found in (modular, extensible):
        measure = found.attempt.measure
        assert measure is not None
        assert (found.attempt.reason, measure.over_by) == ("MsgRate", 18_000.0)


def test_the_times_follow_the_interval_settings() -> None:
    intervals = BalanceSettings(
        loadBalancerReportUpdateMaxIntervalMinutes=2,
        loadBalancerSplitIntervalMinutes=3,
    )
    for manager, seconds in (("modular", 120.0), ("extensible", 180.0)):
        start = start_of(LOW, manager)
        at_once = structs.replace(start.settings, loadBalancerNamespaceBundleSplitConditionHitCountThreshold=0)
        next_split = coming(replace(start, intervals=intervals, settings=at_once)).next_split
        assert next_split is not None and next_split.at_seconds == seconds


def test_B15_all_four_algorithms_are_shown_side_by_side() -> None:
    """Neighbouring hot topics at the bottom of the range: halving needs twenty rounds where flow needs one."""
    result = coming(start_of(LOW))
    assert [tree.algorithm for tree in result.trees] == list(SPLIT_ALGORITHMS)
    by_name = {tree.algorithm: tree for tree in result.trees}
    flow, halves = by_name[FLOW_OR_QPS_EQUALLY_DIVIDE], by_name[RANGE_EQUALLY_DIVIDE]
    assert flow.split_count == 1 and halves.split_count > 15
    assert flow.empty_bundles == 0 and halves.empty_bundles > 10
    assert by_name[SPECIFIED_POSITIONS_DIVIDE].split_count == 0
    assert all(tree.hottest.msgs_per_sec <= 30_000 for tree in (flow, halves))
    assert result.configured is halves
    assert any(loop.kind == "parts-nothing" for loop in result.loops)


def test_the_modular_one_shows_the_three_pieces_that_the_extensible_one_refuses() -> None:
    """12000 each: two topics fit a piece, five make three pieces."""
    five = [*LOW, TopicLoad("persistent://t/n/5", 5000, 12_000.0)]
    tree = {}
    for manager in ("modular", "extensible"):
        trees = coming(start_of(five, manager), 8).trees
        tree[manager] = next(tree for tree in trees if tree.algorithm == FLOW_OR_QPS_EQUALLY_DIVIDE)
    assert [len(tree[manager].shares) for manager in ("modular", "extensible")] == [3, 1]
    assert [loop.detail for loop in tree["extensible"].loops] == ["not-one-boundary"]


def test_when_nothing_comes_the_outlook_says_how_near_the_limits_are() -> None:
    calm = [TopicLoad("persistent://t/n/a", 1, 9_000.0), TopicLoad("persistent://t/n/b", 0x90000000, 12_000.0)]
    result = coming(start_of(calm), 5)
    assert (result.next_split, result.next_attempt) == (None, None)
    nearest = result.outlook[0].nearest_limit
    assert (nearest.reason, nearest.share_of_limit, nearest.over_by) == ("MsgRate", 0.7, -9_000.0)


def test_an_attempt_without_effect_comes_before_any_split() -> None:
    start = start_of(
        LOW,
        loadBalancerNamespaceBundleMaxTopics=3,
        loadBalancerNamespaceBundleMaxMsgRate=50_000,
        defaultNamespaceBundleSplitAlgorithm=FLOW_OR_QPS_EQUALLY_DIVIDE,
    )
    result = coming(start, 4)
    assert result.next_split is None
    assert result.next_attempt is not None and result.next_attempt.attempt.outcome == "no-change"


def test_a_release_without_flow_falls_back_to_halves_and_says_which_tree_is_configured() -> None:
    old = behaviour_of("2.11.0")
    assert not isinstance(old, Rejection)
    start = replace(start_of(LOW, defaultNamespaceBundleSplitAlgorithm=FLOW_OR_QPS_EQUALLY_DIVIDE), behaviour=old)
    assert coming(start, 3).configured.algorithm == RANGE_EQUALLY_DIVIDE


@pytest.mark.parametrize("cycles", [0, -1, 10_001])
def test_a_number_of_cycles_that_cannot_be_is_refused(cycles: int) -> None:
    result = forecast(start_of(LOW), cycles)
    assert isinstance(result, Rejection) and result.field == "cycles"


def test_one_cycle_is_a_forecast_and_shows_the_nearest_to_a_limit_first() -> None:
    halves = NamespaceBundles("t/n", (0, 0x80000000, 0xFFFFFFFF))
    topics = [TopicLoad("persistent://t/n/a", 1, 9_000.0), TopicLoad("persistent://t/n/b", 0x90000000, 12_000.0)]
    result = coming(replace(start_of(topics, "extensible"), bundles=halves), 1)
    assert [(load.bundle, load.nearest_limit.share_of_limit) for load in result.outlook] == [
        (halves[1], 0.4),
        (halves[0], 0.3),
    ]
    assert result.configured.hottest.bundle == halves[1]


def test_twenty_cycles_are_looked_ahead() -> None:
    result = forecast(start_of(LOW))
    assert isinstance(result, Forecast)
    assert (result.cycles, len(result.configured.balance.cycles)) == (20, 20)


def test_the_trees_hold_the_traffic_of_the_last_cycle() -> None:
    """Doubled twice by the third cycle; nothing is split."""
    growing = BalancedTopic(TopicLoad("persistent://t/n/a", 1, 10.0), growth_per_cycle=2.0)
    start = balance_start(WHOLE, [growing], ["b:1", "b:2"], BrokerSettings(), change_events=False)
    assert isinstance(start, BalanceStart)
    result = coming(start, 3)
    assert [[share.msgs_per_sec for share in tree.shares] for tree in result.trees] == [[40.0]] * 4


def test_the_tree_of_an_algorithm_that_the_release_does_not_know_shows_that_algorithm() -> None:
    old = behaviour_of("2.11.0")
    assert not isinstance(old, Rejection)
    trees = {tree.algorithm: tree for tree in coming(replace(start_of(LOW), behaviour=old), 3).trees}
    assert [split.cuts for _, split in trees[FLOW_OR_QPS_EQUALLY_DIVIDE].balance.splits] == [(2501,)]
