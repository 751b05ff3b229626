"""Bundles in bulk equal the scalar theory: the bundle of a topic, the load of a bundle, the cuts of each algorithm."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from engine.balance.limits import BundleStats, exceeded_limit, over_limits
from engine.bundles.algorithms import FlowLimits, flow_limits, range_equally_divide, specified_positions_divide
from engine.bundles.boundaries import BundleRange, NamespaceBundles
from engine.bundles.bulk_children import CARRIED_OUT, REFUSALS, children_of
from engine.bundles.bulk_splits import (
    Answer,
    Cuts,
    cuts_by_algorithm,
    flow_cuts,
    pack_topics,
    range_cuts,
    specified_cuts,
    topic_count_cuts,
)
from engine.bundles.columns import NOWHERE, BundleMap, TopicColumns, bundle_map, sum_by
from engine.bundles.loads import TopicLoad
from engine.bundles.split import SplitPlan, plan_split
from engine.config import SPECIFIED_POSITIONS_DIVIDE, BrokerSettings
from engine.errors import Rejection
from tests.engine.bundles.scalar_algorithms import flow_or_qps_equally_divide, topic_count_equally_divide

TOP = 0xFFFFFFFF
EDGES = st.integers(0, 12) | st.integers(TOP - 12, TOP) | st.integers(0, TOP)
"""Both ends of the space, where widths of 1 and shared hashes are common, and anything between."""
RATES = st.sampled_from((0.0, -1.0, 0.1, 0.2, 0.3, 50.0, 100.0, 1e300, float("inf"), float("nan"))) | st.floats(0, 200)


@st.composite
def namespaces(draw: st.DrawFn) -> list[tuple[int, ...]]:
    """Boundary lists of some namespaces; the first boundary need not be 0, and a list can be empty."""
    inner = st.sets(EDGES.filter(lambda value: value < TOP), max_size=6).map(lambda values: (*sorted(values), TOP))
    return draw(st.lists(inner.map(lambda values: values if len(values) > 1 else ()), min_size=1, max_size=4))


@st.composite
def loads(
    draw: st.DrawFn, *, rates: st.SearchStrategy[float] = RATES, volumes: st.SearchStrategy[float] | None = None
) -> list[TopicLoad]:
    """Topics of one bundle in listing order: few hashes, so that they repeat and are neighbours.

    ``volumes``: bytes/s, as ``rates`` if not given.
    """
    hashes = draw(st.lists(st.integers(0, 12) | EDGES, max_size=14))
    volumes = rates if volumes is None else volumes
    return [
        TopicLoad(f"t{at}", value, draw(rates), draw(rates), draw(volumes), draw(volumes), draw(st.integers(0, 5)) > 0)
        for at, value in enumerate(hashes)
    ]


LIMITS = st.builds(
    BrokerSettings,
    loadBalancerNamespaceBundleMaxTopics=st.sampled_from((0, 1, 3, 1000)),
    loadBalancerNamespaceBundleMaxSessions=st.sampled_from((-1, 0, 3, 1000)),
    loadBalancerNamespaceBundleMaxMsgRate=st.sampled_from((300, 30000)),
    loadBalancerNamespaceBundleMaxBandwidthMbytes=st.sampled_from((1, 100, 2048, 4096)),
)
"""Of each limit one that few topics exceed and one that they do not; 2048 and 4096 MB overflow, to less and to 0."""


def columns(bundles: list[list[TopicLoad]]) -> TopicColumns:
    """The topics of all bundles one after another, bundle i's topics in bundle i."""
    rows = [(number, topic) for number, topics in enumerate(bundles) for topic in topics]
    return TopicColumns(
        np.array([number for number, _ in rows], dtype=np.int64),
        np.array([topic.hash for _, topic in rows], dtype=np.int64),
        np.array([topic.msgs_per_sec for _, topic in rows], dtype=np.float64),
        np.array([topic.bytes_per_sec for _, topic in rows], dtype=np.float64),
        np.array([topic.has_stats for _, topic in rows], dtype=bool),
    )


def answers(cuts: Cuts) -> list[tuple[int, ...] | None]:
    return [cuts.of(bundle) for bundle in range(len(cuts.answer))]


@settings(max_examples=80, deadline=None)
@given(namespaces(), st.lists(EDGES, max_size=20))
def test_hashes_lie_where_the_scalar_look_up_finds_them(boundaries: list[tuple[int, ...]], hashes: list[int]) -> None:
    bundles = bundle_map(boundaries)
    hashes += [
        value + step for boundary in boundaries for value in boundary for step in (-1, 0, 1) if 0 <= value + step <= TOP
    ]
    for number, each in enumerate(boundaries):
        result = bundles.look_up(number, np.array(hashes, dtype=np.int64)).tolist()
        if not each:
            assert set(result) <= {NOWHERE}
            continue
        scalar = [NamespaceBundles("t/n", each).index_of(value) for value in hashes]
        assert result == [index + int(bundles.start[number]) if index >= 0 else NOWHERE for index in scalar]
    pairs = [pair for boundary in boundaries for pair in pairwise(boundary)]
    assert list(zip(bundles.lower.tolist(), bundles.upper.tolist(), strict=True)) == pairs


@settings(max_examples=60, deadline=None)
@given(st.lists(loads(rates=st.floats(0, 1e6)), max_size=5), st.randoms())
def test_sums_are_those_of_a_plain_loop_bit_for_bit(bundles: list[list[TopicLoad]], random: Random) -> None:
    topics = columns(bundles)
    order = np.arange(len(topics))
    random.shuffle(order)
    shuffled = topics[order]
    known = shuffled[shuffled.has_stats]
    sums = [sum_by(known.bundle, each, len(bundles)).tolist() for each in (known.msgs_per_sec, known.bytes_per_sec)]
    msgs, volume = [0.0] * len(bundles), [0.0] * len(bundles)
    for at in range(len(shuffled)):
        if shuffled.has_stats[at]:
            msgs[int(shuffled.bundle[at])] += float(shuffled.msgs_per_sec[at])
            volume[int(shuffled.bundle[at])] += float(shuffled.bytes_per_sec[at])
    assert sums == [msgs, volume]


@settings(max_examples=60, deadline=None)
@given(namespaces())
def test_ranges_are_divided_equally_as_one_by_one(boundaries: list[tuple[int, ...]]) -> None:
    expected = [range_equally_divide(low, high) for boundary in boundaries for low, high in pairwise(boundary)]
    assert answers(range_cuts(bundle_map(boundaries))) == expected


@settings(max_examples=60, deadline=None)
@given(st.lists(loads(), max_size=5))
def test_topic_counts_are_divided_as_one_by_one(bundles: list[list[TopicLoad]]) -> None:
    cuts = topic_count_cuts(columns(bundles), len(bundles))
    assert answers(cuts) == [topic_count_equally_divide(topics) for topics in bundles]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(loads(), st.lists(EDGES | st.integers(-3, 2**33), max_size=5), EDGES, EDGES), max_size=5),
    st.booleans(),
)
def test_specified_positions_are_kept_as_one_by_one(
    cases: list[tuple[list[TopicLoad], list[int], int, int]], force: bool
) -> None:
    ranges = [BundleRange(min(low, high), max(low, high)) for _, _, low, high in cases]
    bundles = separate_bundles(ranges)
    topics = columns([topics for topics, _, _, _ in cases])
    cuts = specified_cuts(bundles, topics, [positions for _, positions, _, _ in cases], force=force)
    for number, (inside, positions, _, _) in enumerate(cases):
        expected = specified_positions_divide(ranges[number], inside, positions, force=force)
        if isinstance(expected, Rejection):
            assert cuts.answer[number] == Answer.REFUSED
        else:
            assert cuts.answer[number] != Answer.REFUSED
            assert cuts.of(number) == expected


def separate_bundles(ranges: list[BundleRange]) -> BundleMap:
    """A namespace with one bundle for each range."""
    numbers = np.arange(len(ranges) + 1, dtype=np.int64)
    lower = np.array([each.lower for each in ranges], dtype=np.int64)
    return BundleMap(numbers[:-1] << 32 | lower, np.array([each.upper for each in ranges], dtype=np.int64), numbers)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(loads(), max_size=5),
    st.builds(FlowLimits, st.integers(0, 300), st.integers(0, 300), st.integers(0, 100)),
)
def test_traffic_is_divided_as_one_by_one(bundles: list[list[TopicLoad]], limits: FlowLimits) -> None:
    cuts = flow_cuts(columns(bundles), len(bundles), limits)
    assert answers(cuts) == [flow_or_qps_equally_divide(topics, limits) for topics in bundles]


@settings(max_examples=60, deadline=None)
@given(st.lists(loads(rates=st.floats(0, 100)), min_size=1, max_size=8), st.integers(0, 300), st.integers(1, 9))
def test_packing_side_by_side_and_one_after_another_cut_alike(
    bundles: list[list[TopicLoad]], limit: int, side_by_side: int
) -> None:
    topics = columns([sorted(bundle, key=lambda topic: topic.hash) for bundle in bundles])
    limits = FlowLimits(limit, limit, 0)
    alone, together = pack_topics(topics, limits, side_by_side=10**6), pack_topics(topics, limits, side_by_side=1)
    mixed = pack_topics(topics, limits, side_by_side=side_by_side)
    for cuts, owners in (together, mixed):
        assert (cuts.tolist(), owners.tolist()) == (alone[0].tolist(), alone[1].tolist())


def test_many_bundles_of_like_size_are_packed_as_one_by_one() -> None:
    """More bundles than are walked alone, with lengths that differ."""
    random = np.random.default_rng(3)
    bundles = [
        [
            TopicLoad(f"{number}-{at}", int(value), float(rate))
            for at, (value, rate) in enumerate(
                zip(random.integers(0, 50, number % 17), random.random(17) * 40, strict=False)
            )
        ]
        for number in range(300)
    ]
    limits = FlowLimits(60, 10**9, 5)
    expected = [flow_or_qps_equally_divide(topics, limits) for topics in bundles]
    assert answers(flow_cuts(columns(bundles), len(bundles), limits)) == expected
    assert sum(len(cuts or ()) for cuts in expected) > 100


@settings(max_examples=60, deadline=None)
@given(
    loads(rates=st.floats(0, 200), volumes=st.floats(0, 1e6)),
    st.sets(EDGES, max_size=4).map(lambda inner: tuple(sorted({0, *inner, TOP}))),
    LIMITS,
)
def test_children_are_those_of_a_split_of_one_bundle(
    topics: list[TopicLoad], boundaries: tuple[int, ...], limit: BrokerSettings
) -> None:
    """Refused as the scalar rule refuses, else the same children with the same loads, above the same limits."""
    bundles = NamespaceBundles("t/n", boundaries)
    spread = columns([topics])
    map_ = bundle_map([boundaries])
    spread = replace(spread, bundle=map_.look_up(spread.bundle, spread.hash))
    sessions = np.arange(len(topics), dtype=np.float64)
    for algorithm, cuts in cuts_by_algorithm(map_, spread, flow_limits(limit)).items():
        children = children_of(map_, cuts, spread, sessions)
        over = over_limits(children.loaded, children.sessions, children.msgs_per_sec, children.bytes_per_sec, limit)
        chosen = replace(limit, defaultNamespaceBundleSplitAlgorithm=algorithm)
        for place, bundle in enumerate(bundles):
            given = cuts.of(place) if algorithm == SPECIFIED_POSITIONS_DIVIDE else None
            if algorithm == SPECIFIED_POSITIONS_DIVIDE and not given:
                continue
            plan = plan_split("t/n", bundles, str(bundle), algorithm, given, topics=topics, settings=chosen)
            refusal = None if children.refusal[place] == CARRIED_OUT else REFUSALS[children.refusal[place]]
            assert refusal == refusal_of(plan)
            if refusal is not None or isinstance(plan, Rejection):
                continue
            rows = slice(int(children.start[place]), int(children.start[place + 1]))
            assert children.lower[rows].tolist() == [child.bundle.lower for child in plan.children]
            assert children.upper[rows].tolist() == [child.bundle.upper for child in plan.children]
            assert children.topics[rows].tolist() == [len(child.topics) for child in plan.children]
            assert children.msgs_per_sec[rows].tolist() == [child.msgs_per_sec for child in plan.children]
            for row, child in zip(range(rows.start, rows.stop), plan.children, strict=True):
                inside = [int(name.removeprefix("t")) for name in child.topics]
                loaded = [at for at in inside if topics[at].has_stats]
                assert children.loaded[row] == len(loaded)
                assert children.sessions[row] == sessions[loaded].sum()
                stats = BundleStats("t/n/x", topics=len(loaded), producers=int(children.sessions[row]))
                reason = exceeded_limit(stats, child.msgs_per_sec, child.bytes_per_sec, limit)
                assert over[row] == (reason != "Unknown")


def refusal_of(plan: SplitPlan | Rejection) -> str | None:
    """Which of ``REFUSALS`` a scalar plan is."""
    if isinstance(plan, Rejection):
        if "repeat" in plan.message:
            return "equal-boundaries"
        return {"bundle": "too-narrow", "positions": "boundary-not-inside"}[plan.field]
    if plan.changes:
        return None
    return "equal-boundaries" if plan.status is None else "nothing-to-split"
