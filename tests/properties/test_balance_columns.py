"""Balancing with the topics in columns answers what it answers with an object for each topic, to the last digit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from engine.balance.splitting.forecast import Forecast, forecast
from engine.balance.splitting.model import BalanceCycle
from engine.balance.splitting.start import BalancedTopic, BalanceStart, balance_start
from engine.balance.splitting.topics import TopicColumns
from engine.bundles.algorithms import FlowLimits
from engine.bundles.boundaries import BundleRange, NamespaceBundles
from engine.bundles.columns import LoadColumns, PickedNames
from engine.bundles.curve import flow_curve
from engine.bundles.loads import RATE_FIELDS, TopicLoad
from engine.bundles.occupancy import count_occupancy
from engine.bundles.plan import SplitPlan, shares_of
from engine.bundles.split import plan_split
from engine.config import SPLIT_ALGORITHMS, BrokerSettings
from engine.errors import Rejection
from engine.views.bundles.frames import frame_of
from tests.engine.bundles.scalar_curve import flow_curve as scalar_curve
from tests.properties.test_balance_laws import TOP, starts, topics


def columns(given_topics: Sequence[BalancedTopic]) -> TopicColumns:
    """The same topics in columns."""
    count = len(given_topics)
    loads = [topic.load for topic in given_topics]
    return TopicColumns(
        LoadColumns(
            PickedNames([load.name for load in loads], np.arange(count)),
            np.array([load.hash for load in loads], dtype=np.int64),
            np.array([[getattr(load, name) for load in loads] for name in RATE_FIELDS], dtype=float).reshape(4, count),
            np.array([load.has_stats for load in loads], dtype=bool),
        ),
        np.array(
            [[topic.producers for topic in given_topics], [topic.consumers for topic in given_topics]], dtype=np.int64
        ),
        np.array([topic.growth_per_cycle for topic in given_topics], dtype=float),
    )


def spelt(cycles: Sequence[BalanceCycle]) -> list[BalanceCycle]:
    return [
        replace(cycle, moves=tuple(replace(move, topics=tuple(move.topics)) for move in cycle.moves))
        for cycle in cycles
    ]


def contents(found: Forecast) -> tuple[object, ...]:
    """All of a forecast but its start, names spelt out."""
    trees = [
        (
            tree.algorithm,
            tree.configured,
            spelt(tree.balance.cycles),
            [replace(share, topics=tuple(share.topics)) for share in tree.shares],
            tree.loops,
            tree.empty_bundles,
        )
        for tree in found.trees
    ]
    return found.next_split, found.next_attempt, found.outlook, trees


@given(starts(), st.integers(1, 7))
@settings(max_examples=80, deadline=None)
def test_a_forecast_and_its_frames_are_the_same_from_columns(start: BalanceStart, cycles: int) -> None:
    plain, large = forecast(start, cycles), forecast(replace(start, topics=columns(start.topics)), cycles)
    assert isinstance(plain, Forecast) and isinstance(large, Forecast)
    assert contents(large) == contents(plain)
    for mine, other in zip(large.trees, plain.trees, strict=True):
        for cycle in (0, cycles // 2, cycles):
            assert frame_of(mine.balance, mine.algorithm, cycle) == frame_of(other.balance, other.algorithm, cycle)


@given(topics(), st.booleans(), st.floats(allow_nan=True), st.integers(1, 3))
@settings(max_examples=80, deadline=None)
def test_a_start_keeps_and_refuses_the_same_topics_from_columns(
    given_topics: list[BalancedTopic], spoilt: bool, rate: float, brokers: int
) -> None:
    if spoilt and given_topics:
        given_topics[0] = replace(given_topics[0], load=structs.replace(given_topics[0].load, msg_rate_in=rate))
    names = [f"b:{place}" for place in range(brokers)]
    whole = NamespaceBundles("t/n", (5, 0x80000000, TOP))
    plain = balance_start(whole, given_topics, names, BrokerSettings())
    large = balance_start(whole, columns(given_topics), names, BrokerSettings())
    assert isinstance(plain, BalanceStart) and isinstance(large, BalanceStart)
    assert replace(large, topics=tuple(large.topics)) == plain
    loads = [topic.load for topic in plain.topics]
    of_columns = large.topics.loads if isinstance(large.topics, TopicColumns) else loads
    assert count_occupancy(whole, of_columns, names) == count_occupancy(whole, loads, names)
    again = balance_start(whole, columns(plain.topics), names, BrokerSettings())
    assert isinstance(again, BalanceStart) and len(again.topics) == len(plain.topics)


@given(topics(), st.sampled_from([0, 10, 60, 30_000]), st.sampled_from([0, 10, 100]), st.booleans())
@settings(max_examples=100, deadline=None)
def test_a_curve_is_the_same_from_columns(
    given_topics: list[BalancedTopic], rate: int, gate: int, proposed: bool
) -> None:
    limits = FlowLimits(rate, 100, gate)
    for piece in (BundleRange(0, TOP), BundleRange(2, 0x80000000)):
        for at in (0, 3):
            loads = [topic.load_at(at) for topic in given_topics]
            plain = scalar_curve(piece, loads, limits, "proposed" if proposed else "merged")
            large = flow_curve(piece, columns(given_topics).loads_at(at), limits, "proposed" if proposed else "merged")
            if isinstance(large, Rejection):
                assert large == plain
            else:
                assert replace(large, points=tuple(large.points), idle=tuple(large.idle)) == plain


@given(topics(), st.sets(st.integers(1, TOP - 1), min_size=3, max_size=8))
@settings(max_examples=60, deadline=None)
def test_shares_of_many_bundles_are_the_same_from_columns(given_topics: list[BalancedTopic], cuts: set[int]) -> None:
    bundles = NamespaceBundles("t/n", (0, *sorted(cuts), TOP)).bundles
    for pieces in (bundles, bundles[1:], bundles[:-1]):
        shares = shares_of(pieces, columns(given_topics).loads)
        for piece, share in zip(pieces, shares, strict=True):
            inside = [topic.load for topic in given_topics if piece.includes(topic.load.hash)]
            known = [load for load in inside if load.has_stats]
            assert (share.bundle, [*share.topics]) == (piece, [load.name for load in inside])
            assert share.msgs_per_sec == sum((load.msgs_per_sec for load in known), 0.0)
            assert share.bytes_per_sec == sum((load.bytes_per_sec for load in known), 0.0)


@given(topics(), st.sampled_from(SPLIT_ALGORITHMS), st.sampled_from([0, 60]), st.lists(st.integers(0, TOP), max_size=3))
@settings(max_examples=100, deadline=None)
def test_a_split_and_its_warnings_are_the_same_from_columns(
    given_topics: list[BalancedTopic], algorithm: str, rate: int, positions: list[int]
) -> None:
    def plan(loads: Sequence[TopicLoad]) -> SplitPlan | Rejection:
        result = plan_split(
            "t/n",
            NamespaceBundles("t/n", (0, 0x80000000, TOP)),
            "0x80000000_0xffffffff",
            algorithm,
            positions,
            topics=loads,
            settings=BrokerSettings(
                defaultNamespaceBundleSplitAlgorithm=algorithm, loadBalancerNamespaceBundleMaxMsgRate=rate
            ),
        )
        if isinstance(result, Rejection):
            return result
        return replace(result, children=tuple(replace(child, topics=tuple(child.topics)) for child in result.children))

    assert plan(columns(given_topics).loads) == plan([topic.load for topic in given_topics])
