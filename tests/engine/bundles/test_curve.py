"""The flow curve is the algorithm, drawn: same cuts, sums that can be checked by hand, both rules of the proposal."""

from __future__ import annotations

import pytest

from engine.bundles import BundleRange, FlowCurve, FlowLimits, FlowRule, TopicLoad, flow_curve
from engine.errors import Rejection

MEGA = 1_000_000
TRAFFIC = ((10, 100, 1), (20, 200, 2), (80, 300, 3), (90, 400, 4), (100, 500, 5), (110, 2000, 190))
EXAMPLE = [TopicLoad(f"t{at}", at, rate, 0.0, throughput * MEGA) for at, rate, throughput in TRAFFIC]
BUNDLE = BundleRange(0, 0x200)
SHIPPED = FlowLimits(30_000, 100 * 1_048_576, 10)


def curve(topics: list[TopicLoad], limits: FlowLimits = SHIPPED, rule: FlowRule = "merged") -> FlowCurve:
    found = flow_curve(BUNDLE, topics, limits, rule)
    assert isinstance(found, FlowCurve), found
    return found


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


@pytest.mark.parametrize(
    ("topics", "outcome"),
    [
        ([TopicLoad("a", 5, 5000.0)], "too-few-topics"),
        ([TopicLoad("a", 5, 5000.0), TopicLoad("b", 9)], "too-few-hashes"),
        ([TopicLoad("a", 5, 500.0), TopicLoad("b", 9, 500.0)], "below-gate"),
        ([TopicLoad("a", 5, 550.0), TopicLoad("b", 9, 550.0)], "cut"),
    ],
)
def test_B07_without_a_cut_the_curve_says_why(topics: list[TopicLoad], outcome: str) -> None:
    found = curve(topics, FlowLimits(1000, 10**12, 10))
    assert found.outcome == outcome
    assert bool(found.cuts) is (outcome == "cut")


def test_B07_a_total_exactly_on_the_gate_passes_it_and_can_still_fit() -> None:
    found = curve([TopicLoad("a", 5, 500.0), TopicLoad("b", 9, 500.0)], FlowLimits(1000, 10**12, 0))
    assert (found.outcome, found.gate_msgs_per_sec, found.cuts) == ("fits", 1000.0, ())


def test_B07_equal_hashes_share_the_later_ones_traffic_and_no_cut_parts_them() -> None:
    twins = [TopicLoad("a", 100, 10.0), TopicLoad("b", 100, 2000.0), TopicLoad("c", 101, 2000.0)]
    found = curve(twins, FlowLimits(1000, 10**12, 10))
    assert found.positions == (101, 101)
    assert [point.msgs_per_sec for point in found.points] == [2000.0, 2000.0, 2000.0]
    assert found.total_msgs_per_sec == 4010.0
    assert [cut.parts for cut in found.cuts] == [False, True]
    assert [problem.error for problem in found.problems] == ["EqualHashes"]


def test_the_proposed_rule_can_cut_outside_the_bundle_or_left_of_everything() -> None:
    bundle, limits = BundleRange(0x100, 0x200), FlowLimits(1000, 10**12, 10)
    topics = [TopicLoad("a", 300, 5000.0), TopicLoad("b", 400, 10.0)]
    found = flow_curve(bundle, topics, limits, "proposed")
    assert isinstance(found, FlowCurve)
    assert [(cut.position, cut.inside, cut.parts) for cut in found.cuts] == [(150, False, False)]


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
        found = flow_curve(BUNDLE, topics, SHIPPED)
        assert isinstance(found, Rejection)
        assert (found.error, found.field) == ("EmptyBundle", "topics")


def test_idle_topics_are_listed_and_draw_no_point() -> None:
    found = curve([*EXAMPLE, TopicLoad("idle", 200), TopicLoad("unopened", 201, has_stats=False)])
    assert found.idle == ("idle", "unopened")
    assert len(found.points) == len(EXAMPLE)
