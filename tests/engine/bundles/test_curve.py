"""The flow curve is the algorithm, drawn: same cuts, sums that can be checked by hand, both rules of the proposal."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.balance.splitting.topics import BalancedTopic, TopicColumns
from engine.bundles.algorithms import FlowLimits
from engine.bundles.boundaries import BundleRange
from engine.bundles.curve import FlowCurve, FlowRule, curve_cut, flow_curve
from engine.bundles.loads import TopicLoad
from engine.errors import Rejection
from tests.engine.bundles.scalar_curve import flow_curve as scalar_curve

MEGA = 1_000_000
TRAFFIC = ((10, 100, 1), (20, 200, 2), (80, 300, 3), (90, 400, 4), (100, 500, 5), (110, 2000, 190))
EXAMPLE = [TopicLoad(f"t{at}", at, rate, 0.0, throughput * MEGA) for at, rate, throughput in TRAFFIC]
BUNDLE = BundleRange(0, 0x200)
SHIPPED = FlowLimits(30_000, 100 * 1_048_576, 10)


def curve(topics: list[TopicLoad], limits: FlowLimits = SHIPPED, rule: FlowRule = "merged") -> FlowCurve:
    """The curve, which is the same from columns where no topic is bad."""
    result = scalar_curve(BUNDLE, topics, limits, rule)
    assert isinstance(result, FlowCurve), result
    if not result.bad_topics:
        large = flow_curve(BUNDLE, TopicColumns.of([BalancedTopic(topic) for topic in topics]).loads, limits, rule)
        assert isinstance(large, FlowCurve), large
        assert replace(large, points=tuple(large.points), idle=tuple(large.idle)) == result
    return result


def test_the_proposals_own_example_gives_105_by_its_rule_and_106_by_the_merged_one() -> None:
    proposed, merged = curve(EXAMPLE, rule="proposed"), curve(EXAMPLE)
    assert (proposed.positions, merged.positions) == ((105,), (106,))
    assert [point.total_msgs_per_sec for point in proposed.points] == [100, 300, 600, 1000, 1500, 3500]
    assert (proposed.msg_limit, proposed.byte_limit) == (1750, 102.5 * MEGA)
    assert (merged.msg_limit, merged.byte_limit) == (30_000, 104_857_600)
    assert (proposed.cuts[0].cause, merged.cuts[0].cause) == ("both", "Bandwidth")
    assert [point.piece_msgs_per_sec for point in merged.points] == [100, 300, 600, 1000, 1500, 2000]


def test_the_cut_lies_between_its_neighbours_and_parts_them() -> None:
    (cut,) = curve(EXAMPLE).cuts
    assert (cut.before, cut.after, cut.inside, cut.parts) == (100, 110, True, True)
    assert cut.bytes_per_sec == 205 * MEGA


def test_totals_and_pieces_are_summed_topic_by_topic() -> None:
    """Two topics fit into a piece by their messages, and a third one by its bytes only."""
    topics = [TopicLoad(f"t{at}", at, 100.0, 300.0, 1.0, 2.0) for at in (0, 8, 17, 30)]
    merged = curve(topics, FlowLimits(1000, 7, 10))
    assert [(cut.position, cut.before, cut.after, cut.cause) for cut in merged.cuts] == [(13, 8, 17, "both")]
    assert (merged.cuts[0].msgs_per_sec, merged.cuts[0].bytes_per_sec) == (1200.0, 9.0)
    points = [(point.total_msgs_per_sec, point.total_bytes_per_sec) for point in merged.points]
    assert points == [(400, 3), (800, 6), (1200, 9), (1600, 12)]
    pieces = [(point.piece_msgs_per_sec, point.piece_bytes_per_sec) for point in merged.points]
    assert pieces == [(400, 3), (800, 6), (400, 3), (800, 6)]
    proposed = curve(topics, FlowLimits(1000, 7, 10), "proposed")
    assert [(point.total_msgs_per_sec, point.total_bytes_per_sec) for point in proposed.points] == points
    assert [(cut.position, cut.before, cut.after, cut.parts) for cut in proposed.cuts] == [(12, 8, 17, True)]


def test_the_gates_are_the_limits_and_the_threshold_and_the_proposed_rule_has_none() -> None:
    limits = FlowLimits(1000, 2000, 10)
    merged, proposed = (curve(EXAMPLE, limits, rule) for rule in ("merged", "proposed"))
    assert (merged.gate_msgs_per_sec, merged.gate_bytes_per_sec) == pytest.approx((1100, 2200))
    assert (proposed.gate_msgs_per_sec, proposed.gate_bytes_per_sec) == (0.0, 0.0)
    assert (merged.total_msgs_per_sec, merged.total_bytes_per_sec) == (3500.0, 205.0 * MEGA)


def test_bytes_exactly_on_the_gate_pass_it_and_exactly_on_the_limit_fit() -> None:
    result = curve([TopicLoad("a", 5, 0.0, 0.0, 500.0), TopicLoad("b", 9, 0.0, 0.0, 500.0)], FlowLimits(10, 1000, 0))
    assert (result.outcome, result.gate_bytes_per_sec, result.cuts) == ("fits", 1000.0, ())


def test_a_trickle_is_traffic() -> None:
    topics = [TopicLoad("a", 5, 0.5), TopicLoad("b", 9, 0.0, 0.0, 0.25), TopicLoad("c", 12)]
    result = curve(topics, FlowLimits(0, 0, 0))
    assert ([point.topic for point in result.points], result.idle, result.positions) == (["a", "b"], ("c",), (8,))


def test_half_is_passed_only_beyond_it_and_by_messages_or_by_bytes() -> None:
    equal = [TopicLoad("a", 21, 10.0, 0.0, 10.0), TopicLoad("b", 31, 10.0, 0.0, 10.0)]
    result = curve(equal, rule="proposed")
    assert [(cut.position, cut.before, cut.cause, cut.parts) for cut in result.cuts] == [(26, 21, "both", True)]
    first = curve([TopicLoad("a", 21, 11.0, 0.0, 10.0), equal[1]], rule="proposed")
    assert [(cut.position, cut.before, cut.cause, cut.parts) for cut in first.cuts] == [(10, 0, "MsgRate", False)]
    by_bytes = curve([TopicLoad("a", 21, 10.0, 0.0, 11.0), equal[1]], rule="proposed")
    assert [(cut.position, cut.cause) for cut in by_bytes.cuts] == [(10, "Bandwidth")]
    third = curve([TopicLoad("a", 21, 1.0), TopicLoad("b", 31, 1.0), TopicLoad("c", 41, 5.0)], rule="proposed")
    assert [(cut.position, cut.before, cut.parts) for cut in third.cuts] == [(36, 31, True)]


@pytest.mark.parametrize(
    ("position", "inside", "parts"),
    [(10, False, False), (11, True, False), (12, True, True), (15, True, True), (16, True, False), (20, False, False)],
)
def test_a_cut_is_inside_between_the_ends_and_parts_what_is_on_both_sides(
    position: int, inside: bool, parts: bool
) -> None:
    cut = curve_cut(BundleRange(10, 20), position, (11, 15), (5.0, 6.0), (5.0, 5.0))
    assert (cut.inside, cut.parts, cut.cause) == (inside, parts, "Bandwidth")


@pytest.mark.parametrize(
    ("sums", "cause"),
    [((6.0, 5.0), "MsgRate"), ((5.0, 6.0), "Bandwidth"), ((6.0, 6.0), "both"), ((6.0, 1.0), "MsgRate")],
)
def test_the_cause_of_a_cut_is_what_is_above_its_level(sums: tuple[float, float], cause: str) -> None:
    assert curve_cut(BundleRange(10, 20), 12, (11, 15), sums, (5.0, 5.0)).cause == cause


@pytest.mark.parametrize(
    ("topics", "outcome"),
    [
        ([TopicLoad("a", 5, 5000.0)], "too-few-topics"),
        ([TopicLoad("a", 5, 5000.0), TopicLoad("b", 9)], "too-few-hashes"),
        ([TopicLoad("a", 5, 500.0), TopicLoad("b", 9, 500.0)], "below-gate"),
        ([TopicLoad("a", 5, 500.0), TopicLoad("b", 9, 550.0)], "below-gate"),
        ([TopicLoad("a", 5, 550.0), TopicLoad("b", 9, 550.0)], "cut"),
    ],
)
def test_B07_without_a_cut_the_curve_says_why(topics: list[TopicLoad], outcome: str) -> None:
    result = curve(topics, FlowLimits(1000, 10**12, 10))
    assert result.outcome == outcome
    assert bool(result.cuts) is (outcome == "cut")


def test_B07_a_total_exactly_on_the_gate_passes_it_and_can_still_fit() -> None:
    result = curve([TopicLoad("a", 5, 500.0), TopicLoad("b", 9, 500.0)], FlowLimits(1000, 10**12, 0))
    assert (result.outcome, result.gate_msgs_per_sec, result.cuts) == ("fits", 1000.0, ())


def test_B07_equal_hashes_share_the_later_ones_traffic_and_no_cut_parts_them() -> None:
    twins = [TopicLoad("a", 100, 10.0), TopicLoad("b", 100, 2000.0), TopicLoad("c", 101, 2000.0)]
    result = curve(twins, FlowLimits(1000, 10**12, 10))
    assert result.positions == (101, 101)
    assert [point.msgs_per_sec for point in result.points] == [2000.0, 2000.0, 2000.0]
    assert result.total_msgs_per_sec == 4010.0
    assert [cut.parts for cut in result.cuts] == [False, True]
    assert [problem.error for problem in result.problems] == ["EqualHashes"]


def test_the_proposed_rule_can_cut_outside_the_bundle_or_left_of_everything() -> None:
    bundle, limits = BundleRange(0x100, 0x200), FlowLimits(1000, 10**12, 10)
    topics = [TopicLoad("a", 300, 5000.0), TopicLoad("b", 400, 10.0)]
    result = scalar_curve(bundle, topics, limits, "proposed")
    assert isinstance(result, FlowCurve)
    assert [(cut.position, cut.inside, cut.parts) for cut in result.cuts] == [(150, False, False)]


def test_bad_rates_are_left_out_counted_and_named_while_the_good_ones_are_drawn() -> None:
    bad = [TopicLoad("x", 40, float("nan")), TopicLoad("y", 50, 0.0, -1.0), TopicLoad("z", 60, 0.0, 0.0, float("inf"))]
    mixed, clean = curve([bad[0], *EXAMPLE, *bad[1:]]), curve(EXAMPLE)
    assert (mixed.points, mixed.cuts) == (clean.points, clean.cuts)
    assert mixed.bad_topics == 3
    assert [problem.field for problem in mixed.problems] == [
        "topics[0].msg_rate_in",
        "topics[7].msg_rate_out",
        "topics[8].throughput_in_bytes_per_sec",
    ]


def test_an_empty_bundle_is_refused_and_names_the_topics() -> None:
    for topics in ([], [TopicLoad("outside", 0x300, 5.0)], [TopicLoad("nan", 5, float("nan"))]):
        result = scalar_curve(BUNDLE, topics, SHIPPED)
        assert isinstance(result, Rejection)
        assert (result.error, result.field) == ("EmptyBundle", "topics")


def test_idle_topics_are_listed_and_draw_no_point() -> None:
    result = curve([*EXAMPLE, TopicLoad("idle", 200), TopicLoad("unopened", 201, has_stats=False)])
    assert result.idle == ("idle", "unopened")
    assert len(result.points) == len(EXAMPLE)
