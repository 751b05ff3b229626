"""What a forecast sums up: when it is quiet, how often it unloads, how even brokers are, what a move takes along."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace

import pytest

from engine.balance.ahead.model import (
    AheadCycle,
    AheadMove,
    Evenness,
    LoadWorld,
    ShedAhead,
    ShedStart,
    Spread,
    Trail,
    WrittenReports,
    evenness,
    share_of,
)
from engine.balance.brokers import BrokerLoad, ResourceUsage, report_of
from engine.balance.leadership.shedding import SheddingCycle
from engine.balance.limits import BundleStats
from engine.balance.settings import LoadSettings
from engine.load_rules import CURRENT_LOAD_RULES, LoadRules
from tests.engine.balance.shedding_world import broker, name, stats

NAN = math.nan
MOVE = AheadMove(name(1), "b:1", "b:2", {"b:2": 1.0}, 1, 10.0, 10.0, returns=False, producers=0, consumers=0)
BEFORE = Evenness(Spread(9.0, 9.0), Spread(9.0, 9.0), Spread(9.0, 9.0))


def even(value: float) -> Evenness:
    return replace(BEFORE, usage=Spread(value, value))


def forecast(cycles: int, moves: Collection[int], interval_ms: int = 60_000) -> ShedAhead:
    """So many cycles, of which these move a bundle each, as often as they are listed."""
    return ShedAhead(
        ShedStart(()),
        tuple(
            AheadCycle(
                number, number * interval_ms, SheddingCycle(), (MOVE,) * list(moves).count(number), {}, even(number)
            )
            for number in range(1, cycles + 1)
        ),
        BEFORE,
        (),
    )


def test_a_start_draws_by_seed_0_from_the_reports_of_a_modular_leader_unless_others_are_given() -> None:
    start = ShedStart(())
    assert (start.seed, start.load_manager, start.from_metrics, start.policies, start.state) == (
        0, "modular", False, None, None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("cycles", "moves", "expected"),
    [
        (0, (), 0), (1, (), 0), (3, (), 0),
        (1, (1,), None), (2, (1,), 1), (3, (1,), 1), (3, (3,), None), (4, (3,), 3),
        (4, (1, 3), None), (5, (1, 3), 3), (6, (1, 3), 3),
        (8, (1, 2, 5), 5), (7, (1, 2, 5), None), (8, (1, 4, 5), 5), (7, (1, 4, 5), None),
    ],
)  # fmt: skip
def test_quiet_is_as_long_as_the_longest_time_between_two_moves_before(
    cycles: int, moves: tuple[int, ...], expected: int | None
) -> None:
    assert forecast(cycles, moves).quiet_after == expected


@pytest.mark.parametrize(
    ("cycles", "moves", "interval_ms", "expected"),
    [(0, (), 60_000, 0.0), (4, (), 60_000, 0.0), (1, (1,), 60_000, 60.0), (4, (1, 3, 3), 60_000, 45.0),
     (3, (1,), 7_200_000, 1 / 6)],
)  # fmt: skip
def test_unloads_an_hour_are_those_of_all_cycles_by_their_time(
    cycles: int, moves: tuple[int, ...], interval_ms: int, expected: float
) -> None:
    result = forecast(cycles, moves, interval_ms)
    assert len(result.moves) == len(moves)
    assert result.unloads_per_hour == pytest.approx(expected, rel=1e-12)


def test_the_evenness_at_the_end_is_that_of_the_last_cycle_and_without_one_that_of_before() -> None:
    assert [forecast(cycles, ()).after.usage.max_over_mean for cycles in (0, 1, 3)] == [9.0, 1.0, 3.0]


def test_how_even_brokers_are_by_hand() -> None:
    """Usages of 20, 40 and 60 percent; traffic 1, 1 and 4: its mean is 2 and its variance 2."""
    loads = [
        broker("b:1", 20, [stats(name(1), 1.0, 10.0)]),
        broker("b:2", 40, [stats(name(2), 1.0, 10.0)]),
        broker("b:3", 60, [stats(name(3), 4.0, 40.0)]),
    ]
    result = evenness(loads, LoadSettings(), CURRENT_LOAD_RULES)
    assert (result.usage.max_over_mean, result.usage.deviation_over_mean) == pytest.approx(
        (1.5, math.sqrt(800 / 3) / 40)
    )
    for spread in (result.msgs, result.bytes):
        assert (spread.max_over_mean, spread.deviation_over_mean) == pytest.approx((2.0, math.sqrt(2) / 2))


def test_brokers_without_load_have_no_evenness_and_what_is_not_finite_is_left_out() -> None:
    def spread_of(*rates: float) -> tuple[float, float]:
        loads = [BrokerLoad(f"b:{at}", msg_rate_in=rate) for at, rate in enumerate(rates)]
        msgs = evenness(loads, LoadSettings(), CURRENT_LOAD_RULES).msgs
        return msgs.max_over_mean, msgs.deviation_over_mean

    for none in ((), (0.0, 0.0), (NAN, math.inf), (-1.0, -1.0)):
        assert spread_of(*none) == pytest.approx((NAN, NAN), nan_ok=True)
    assert spread_of(1.0, 3.0, NAN, math.inf) == pytest.approx((1.5, 0.5))
    assert spread_of(0.1, 0.3) == pytest.approx((1.5, 0.5))


@pytest.mark.parametrize(("counts", "expected"), [(True, 1.5), (False, 1.0)])
def test_heap_memory_counts_for_evenness_where_the_release_lets_it(counts: bool, expected: float) -> None:
    loads = [
        BrokerLoad(f"b:{at}", ResourceUsage(10, 100), memory=ResourceUsage(used, 100))
        for at, used in ((1, 10), (2, 30))
    ]
    settings = LoadSettings(loadBalancerMemoryResourceWeight=1.0)
    rules = LoadRules(heap_memory_counts=counts)
    assert evenness(loads, settings, rules).usage.max_over_mean == pytest.approx(expected)


def test_a_share_is_at_most_the_whole_and_nothing_of_nothing() -> None:
    assert [share_of(*each) for each in ((1.0, 4.0), (5.0, 4.0), (0.1, 0.4), (1.0, 0.0), (1.0, -1.0), (1.0, NAN))] == [
        0.25, 1.0, 0.25, 0.0, 0.0, 0.0,
    ]  # fmt: skip


MOVED = BundleStats(name(1), 3, 6, 2, 40.0, 20.0, 400.0, 100.0)
STAYS = BundleStats(name(2), 5, 1, 1, 60.0, 30.0, 400.0, 900.0)
THERE = BundleStats(name(3), 2, 1, 1, 1.0, 2.0, 3.0, 4.0)
FULL = report_of(
    "b:1", [MOVED, STAYS], cpu=ResourceUsage(90.0, 200.0), memory=ResourceUsage(50.0, 100.0),
    direct_memory=ResourceUsage(36.0, 100.0), bandwidth_in=ResourceUsage(80.0, 1_000.0),
    bandwidth_out=ResourceUsage(70.0, 1_000.0), load_average=0.4,
)  # fmt: skip
TAKER = report_of(
    "b:2", [THERE], cpu=ResourceUsage(1.0, 400.0), memory=ResourceUsage(7.0, 100.0),
    direct_memory=ResourceUsage(2.0, 50.0), bandwidth_in=ResourceUsage(3.0, 500.0),
    bandwidth_out=ResourceUsage(4.0, 500.0), load_average=0.1,
)  # fmt: skip


def test_a_bundle_takes_its_traffic_and_its_share_of_its_brokers_use_along() -> None:
    """500 of 1,800 bytes/s, 400 of 800 of those that come in and 100 of 1,000 of those that go out."""
    world = LoadWorld.of([FULL, TAKER, broker("b:3", 5)])
    assert (MOVED.bytes_per_sec, FULL.bytes_per_sec) == (500.0, 1800.0)
    after = world.moved(name(1), "b:1", "b:2").loads
    gave, took = after["b:1"], after["b:2"]
    assert after["b:3"] is world.loads["b:3"] and list(after) == ["b:1", "b:2", "b:3"]
    used = [
        [(each.usage, each.limit) for each in (
            load.cpu, load.memory, load.direct_memory, load.bandwidth_in, load.bandwidth_out,
        )]
        for load in (gave, took)
    ]  # fmt: skip
    assert [usage for load in used for usage, _ in load] == pytest.approx(
        [90 - 25, 50, 36 - 10, 80 - 40, 70 - 7, 1 + 25, 7, 2 + 10, 3 + 40, 4 + 7]
    )
    assert [limit for load in used for _, limit in load] == [200, 100, 100, 1000, 1000, 400, 100, 50, 500, 500]
    traffic = [
        (load.msg_rate_in, load.msg_rate_out, load.throughput_in_bytes_per_sec, load.throughput_out_bytes_per_sec)
        for load in (gave, took)
    ]
    assert traffic == [(60.0, 30.0, 400.0, 900.0), (41.0, 22.0, 403.0, 104.0)]
    assert [(load.topics, load.load_average) for load in (gave, took)] == [(5, None), (5, None)]
    assert (gave.bundles, gave.stats) == ((name(2),), (STAYS,))
    assert (took.bundles, took.stats) == ((name(3), name(1)), (THERE, MOVED))


def test_a_broker_that_reports_less_than_its_bundles_is_left_with_nothing() -> None:
    small = replace(FULL, msg_rate_in=1.0, msg_rate_out=1.0, throughput_in_bytes_per_sec=1.0,
                    throughput_out_bytes_per_sec=1.0, topics=1)  # fmt: skip
    gave = LoadWorld.of([small, TAKER]).moved(name(1), "b:1", "b:2").loads["b:1"]
    assert (gave.msgs_per_sec, gave.bytes_per_sec, gave.topics) == (0.0, 0.0, 0)
    assert [each.usage for each in (gave.cpu, gave.direct_memory, gave.bandwidth_in, gave.bandwidth_out)] == [0.0] * 4


def test_a_bundle_goes_nowhere_if_it_stays_or_its_broker_is_unknown() -> None:
    world = LoadWorld.of([FULL, TAKER])
    assert world.moved(name(1), "b:1", "b:1") is world
    assert world.moved(name(1), "b:1", "b:9") is world


def test_who_has_a_bundle_and_what_is_reported_of_it() -> None:
    """A broker may still report what another has taken over; a bundle that nobody has is with whom is said."""
    world = LoadWorld.of([FULL, TAKER])
    assert [world.owner_of(name(at), "b:1") for at in (1, 3, 9)] == ["b:1", "b:2", "b:1"]
    assert world.stats_of(name(1), "b:1") is MOVED
    assert world.stats_of(name(3), "b:1") == BundleStats(name(3))


def test_a_report_is_written_once_it_has_changed_enough_since_the_last_one_or_is_old() -> None:
    """More than 10 percent, or more than 15 minutes after the last that was written."""
    first = BrokerLoad("b:1", msg_rate_in=100.0)
    other = BrokerLoad("b:2", msg_rate_in=100.0)
    reports = WrittenReports(LoadSettings(), CURRENT_LOAD_RULES, {"b:1": first, "b:2": other})

    def write(minute: int, *rates: float) -> tuple[int, list[float]]:
        loads = {each: BrokerLoad(each, msg_rate_in=rate) for each, rate in zip(("b:1", "b:2"), rates, strict=True)}
        return reports.write(loads, minute * 60_000), [load.msg_rate_in for load in reports.last.values()]

    assert write(1, 105.0, 105.0) == (0, [100.0, 100.0])
    assert write(2, 111.0, 110.0) == (1, [111.0, 100.0])
    assert write(3, 122.0, 111.5) == (1, [111.0, 111.5]), "since the last written one, not since the last look"
    assert write(15, 112.0, 112.0) == (0, [111.0, 111.5])
    assert write(18, 112.0, 112.0) == (1, [112.0, 111.5])
    assert write(19, 130.0, 130.0) == (2, [130.0, 130.0])
    assert reports.write(reports.last.copy(), 10**9) == 0, "nobody has another load"


def test_the_first_report_of_a_forecast_is_as_old_as_the_forecast() -> None:
    load = BrokerLoad("b:1", msg_rate_in=100.0)
    now = {"b:1": replace(load, msg_rate_in=101.0)}
    for at_ms, written in ((900_000, 0), (900_001, 1)):
        assert WrittenReports(LoadSettings(), CURRENT_LOAD_RULES, {"b:1": load}).write(now, at_ms) == written


def test_a_report_is_written_for_the_usage_that_the_release_looks_at() -> None:
    """The weighted one gives direct memory no weight; the plain one is the highest of all."""
    before = BrokerLoad("b:1", ResourceUsage(10, 100), direct_memory=ResourceUsage(10, 100))
    after = replace(before, direct_memory=ResourceUsage(60, 100))
    written = [
        WrittenReports(LoadSettings(), rules, {"b:1": before}).write({"b:1": after}, 60_000)
        for rules in (LoadRules(overload_usage="weighted"), LoadRules(overload_usage="unweighted"))
    ]
    assert written == [0, 1]


def test_a_bundle_returns_to_any_broker_that_it_has_left_and_another_bundle_does_not() -> None:
    trail = Trail()
    goes = [("x", "b:1", "b:2"), ("y", "b:3", "b:1"), ("x", "b:2", "b:3"), ("x", "b:3", "b:1"), ("y", "b:1", None)]
    assert [trail.goes(*goe) for goe in goes] == [False, False, False, True, False]
