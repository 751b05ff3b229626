"""Laws of balancing over time, of the flow curve and of occupancy, for inputs of every shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.balance.splitting.forecast import Forecast, forecast, simulate
from engine.balance.splitting.loops import find_loops
from engine.balance.splitting.model import Balance, BalanceCycle
from engine.balance.splitting.start import BalanceStart, balance_start
from engine.balance.splitting.topics import BalancedTopic
from engine.bundles.algorithms import FlowLimits
from engine.bundles.boundaries import BundleRange, NamespaceBundles
from engine.bundles.bulk_splits import flow_or_qps_as_proposed, flow_or_qps_equally_divide
from engine.bundles.curve import FlowCurve
from engine.bundles.loads import TopicLoad
from engine.bundles.occupancy import expected_occupancy
from engine.config import SPLIT_ALGORITHMS, BrokerSettings
from engine.errors import Rejection
from tests.engine.bundles.scalar_curve import flow_curve as scalar_curve

TOP = 0xFFFFFFFF
HASHES = st.one_of(
    st.sampled_from([0, 1, 2, 99, 100, 0x7FFFFFFF, 0x80000000, TOP - 1, TOP]), st.integers(0, 12), st.integers(0, TOP)
)
RATES = st.one_of(st.just(0.0), st.sampled_from([1.0, 50.0, 60.0, 61.0]), st.floats(0, 1e6, allow_subnormal=False))
FIRST_RATES = st.sampled_from([1.0, 1.0, 1.3])
GROWTH = st.sampled_from([1.0, 1.0, 1.0, 1.05, 1.5, 0.5])


@st.composite
def topics(draw: st.DrawFn, most: int = 12) -> list[BalancedTopic]:
    result = []
    for place in range(draw(st.integers(0, most))):
        rates = [draw(RATES) for _ in range(4)]
        load = TopicLoad(f"persistent://t/n/{place}", draw(HASHES), *rates, has_stats=draw(st.booleans()))
        result.append(BalancedTopic(load, draw(st.integers(0, 5)), draw(st.integers(0, 5)), draw(GROWTH)))
    return result


@st.composite
def starts(draw: st.DrawFn) -> BalanceStart:
    cuts = sorted(draw(st.sets(st.integers(1, TOP - 1), max_size=3)))
    start = balance_start(
        NamespaceBundles("t/n", (0, *cuts, TOP)),
        draw(topics()),
        [f"b:{place}" for place in range(draw(st.integers(1, 3)))],
        BrokerSettings(
            loadBalancerNamespaceBundleMaxTopics=draw(st.integers(1, 6)),
            loadBalancerNamespaceBundleMaxSessions=draw(st.sampled_from([0, 8, 1000])),
            loadBalancerNamespaceBundleMaxMsgRate=60,
            loadBalancerNamespaceMaximumBundles=draw(st.sampled_from([2, 4, 8])),
            defaultNamespaceBundleSplitAlgorithm=draw(st.sampled_from(SPLIT_ALGORITHMS)),
            loadBalancerAutoUnloadSplitBundlesEnabled=draw(st.booleans()),
            loadBalancerNamespaceBundleSplitConditionHitCountThreshold=draw(st.integers(0, 3)),
        ),
        load_manager=draw(st.sampled_from(["modular", "extensible"])),
        first_rate_factor=draw(FIRST_RATES),
    )
    assert isinstance(start, BalanceStart), start
    return start


def simulated(start: BalanceStart, cycles: int) -> Balance:
    balance = simulate(start, cycles)
    assert isinstance(balance, Balance), balance
    return balance


@given(starts(), st.integers(0, 9))
@settings(max_examples=80, deadline=None)
def test_L6_balancing_adds_boundaries_and_moves_nothing_else(start: BalanceStart, cycles: int) -> None:
    balance = simulated(start, cycles)
    lists = [start.bundles, *(cycle.bundles for cycle in balance.cycles)]
    for before, after in pairwise(lists):
        assert set(before.boundaries) <= set(after.boundaries)
        assert all(low < high for low, high in pairwise(after.boundaries))
    cap = start.settings.loadBalancerNamespaceMaximumBundles
    for each in balance.cycles:
        assert [bundle for bundle, _ in each.owners] == list(each.bundles)
        assert {broker for _, broker in each.owners} <= set(start.brokers)
        for topic in start.topics:
            assert sum(bundle.includes(topic.load.hash) for bundle in each.bundles) == 1
    # A split by flow can make several at once; the cap is looked at before, so one split may pass it.
    for before, each in zip(lists, balance.cycles, strict=False):
        assert len(each.splits) <= max(cap - len(before), 0)


def spelt(cycles: Sequence[BalanceCycle]) -> list[BalanceCycle]:
    """Cycles with the names of topics, which are made on demand, spelt out."""
    return [
        replace(cycle, moves=tuple(replace(move, topics=tuple(move.topics)) for move in cycle.moves))
        for cycle in cycles
    ]


@given(starts(), st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_every_split_is_of_a_bundle_above_a_limit_and_times_ascend(start: BalanceStart, cycles: int) -> None:
    balance = simulated(start, cycles)
    assert all(earlier.at_ms < later.at_ms for earlier, later in pairwise(balance.cycles))
    assert [cycle.number for cycle in balance.cycles] == list(range(1, cycles + 1))
    for _, split in balance.splits:
        assert split.measure is not None and split.measure.exceeds
        assert len(split.children) == len(split.cuts) + 1
    for loop in find_loops(balance):
        assert set(loop.cycles) <= set(range(1, cycles + 1))
        assert loop.times >= len(loop.cycles) >= 1


@given(starts(), st.integers(1, 6))
@settings(max_examples=40, deadline=None)
def test_a_longer_simulation_begins_like_a_shorter_one(start: BalanceStart, cycles: int) -> None:
    assert spelt(simulated(start, cycles + 3).cycles[:cycles]) == spelt(simulated(start, cycles).cycles)


@given(starts(), st.integers(1, 6))
@settings(max_examples=30, deadline=None)
def test_the_forecast_is_the_simulation_of_the_configured_algorithm(start: BalanceStart, cycles: int) -> None:
    result, balance = forecast(start, cycles), simulated(start, cycles)
    assert isinstance(result, Forecast), result
    assert spelt(result.configured.balance.cycles) == spelt(balance.cycles)
    first = balance.splits[0] if balance.splits else None
    coming = result.next_split
    assert (None if coming is None else (coming.cycle, coming.attempt)) == first
    assert len(result.trees) == len(SPLIT_ALGORITHMS)


@given(topics(), st.sampled_from([0, 10, 60, 30_000]), st.sampled_from([0, 10, 100]))
@settings(max_examples=100, deadline=None)
def test_B07_the_curve_cuts_where_the_algorithms_cut(given_topics: list[BalancedTopic], rate: int, gate: int) -> None:
    loads = [topic.load for topic in given_topics]
    whole, limits = BundleRange(0, TOP), FlowLimits(rate, 100, gate)
    merged, proposed = scalar_curve(whole, loads, limits), scalar_curve(whole, loads, limits, "proposed")
    if not loads:
        assert isinstance(merged, Rejection) and isinstance(proposed, Rejection)
        return
    assert isinstance(merged, FlowCurve) and isinstance(proposed, FlowCurve)
    answer = flow_or_qps_equally_divide(loads, limits)
    assert merged.positions == (answer or ())
    assert (answer is None) is (merged.outcome in ("too-few-topics", "too-few-hashes", "below-gate"))
    assert proposed.positions == flow_or_qps_as_proposed(loads)
    for curve in (merged, proposed):
        assert [point.hash for point in curve.points] == sorted(point.hash for point in curve.points)
        assert len(curve.points) + len(curve.idle) == len(loads)
        totals = [point.total_msgs_per_sec for point in curve.points]
        assert totals == sorted(totals)


@given(st.integers(0, 60), st.integers(1, 40), st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_B12_more_bundles_never_make_the_expected_fullest_fuller_or_more_brokers_idle(
    count: int, bundles: int, brokers: int
) -> None:
    few, more = expected_occupancy(count, bundles, brokers), expected_occupancy(count, bundles + 1, brokers)
    assert not isinstance(few, Rejection) and not isinstance(more, Rejection)
    small = 1e-6
    assert more.fullest_bundle <= few.fullest_bundle + small
    assert more.idle_brokers <= few.idle_brokers + small
    assert few.mean_per_bundle - small <= few.fullest_bundle <= count + small
    assert 0 <= few.empty_bundles <= bundles
    assert few.mean_per_broker - small <= few.fullest_broker_dealt <= count + small
