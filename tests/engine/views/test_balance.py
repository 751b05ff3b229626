"""The view of bundles over time: what a person reads is what the forecast found, cycle by cycle."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import pytest
from msgspec.structs import replace

from engine.balance.settings import BalanceSettings
from engine.bundles.occupancy import CountedOccupancy
from engine.cluster.bundles import topic_loads
from engine.cluster.producers.state import ProducerPlan
from engine.cluster.state import ClusterState
from engine.cluster.tables.topics import Load
from engine.config import SPLIT_ALGORITHMS
from engine.documents import document
from engine.errors import Rejection
from engine.scenarios.embedded import embedded
from engine.scenarios.synthetic import synthetic_producers
from engine.views.bundles import view as balance
from engine.views.bundles.document import BundlesDocument, CurveDocument, balance_document
from engine.views.bundles.model import BalanceQuestion, BalanceView
from engine.views.bundles.view import balance_frame, balance_view, curve_after, curve_of, sessions_of
from engine.views.bundles.words import (
    OUTCOMES,
    VERDICTS,
    amount_text,
    assumed_text,
    curve_texts,
    number_text,
    span_text,
    topics_text,
)
from tests.engine.views.states import NAMESPACE, cluster

FLOW = "ring/ddflowmsgrate4x60"
LAST = "0xc0000000_0xffffffff"


def scene(**settings: object) -> ClusterState:
    """The recorded scene whose default algorithm is by flow, with other settings."""
    state = embedded("flow-split").state
    return replace(state, settings=replace(state.settings, **settings))  # type: ignore[arg-type]


def viewed(state: ClusterState, question: BalanceQuestion | None = None, namespace: str = FLOW) -> BalanceView:
    view = balance_view(state, namespace, question or BalanceQuestion())
    assert isinstance(view, BalanceView), view
    return view


def test_the_next_split_is_reported_with_bundle_reason_time_and_children() -> None:
    split = viewed(scene()).configured.next_split()
    assert split is not None
    assert (split.range_text, split.cycle, split.at_seconds, split.reason) == (
        "0x00000000_0x40000000", 1, 900.0, "MsgRate",
    )  # fmt: skip
    assert "54.1 msg/s on long-term average, limit 40 msg/s (loadBalancerNamespaceBundleMaxMsgRate)" in split.why
    assert split.sentence == "split into 2 at 0x23b8ec31 by flow_or_qps_equally_divide"


def test_a_topic_that_nobody_listed_is_named_wherever_topics_are_counted() -> None:
    view = viewed(cluster(["a"], {"x": 7}), namespace=NAMESPACE)
    listed = 7
    assert view.topics == listed + 1
    assert view.assumed_topics == (f"persistent://{NAMESPACE}/__change_events",)
    assert topics_text(view) == f"{listed} topics and __change_events"
    assert "__change_events" in assumed_text(view)
    assert balance_document(view).assumed_topics == view.assumed_topics


def test_a_listed_system_topic_is_a_topic_like_the_others() -> None:
    view = viewed(scene())
    assert view.assumed_topics == () and assumed_text(view) == ""
    assert topics_text(view) == f"{view.topics} topics"


def test_the_extensible_load_manager_needs_four_hits_and_speaks_of_the_current_rate() -> None:
    view = viewed(scene(), BalanceQuestion(load_manager="extensible"))
    split = view.configured.next_split()
    assert split is not None and (split.cycle, split.at_seconds) == (4, 240.0)
    assert "average" not in split.why
    third = balance_frame(view, view.configured.algorithm, 3)
    assert [row.verdict for row in third.leaves if row.range_text == LAST] == ["MsgRate: hit 3 of 4 in a row"]


@pytest.mark.parametrize("load_manager", ["modular", "extensible"])
@pytest.mark.parametrize("algorithm", SPLIT_ALGORITHMS)
def test_every_cycle_is_a_partition_of_the_hashes_that_holds_all_topics_and_traffic(
    load_manager: str, algorithm: str
) -> None:
    view = viewed(scene(), BalanceQuestion(load_manager=load_manager, cycles=8))  # type: ignore[arg-type]
    for cycle in range(9):
        leaves = balance_frame(view, algorithm, cycle).leaves
        assert leaves[0].lower == 0 and leaves[-1].upper == 0xFFFFFFFF
        assert all(left.upper == right.lower for left, right in pairwise(leaves))
        assert sum(row.topics for row in leaves) == view.topics
        assert math.isclose(sum(row.msgs_per_sec for row in leaves), view.msgs_per_sec)
        assert all(row.broker in view.brokers for row in leaves)
    assert len(balance_frame(view, algorithm, 8).leaves) == view.tree(algorithm).bundles


def test_a_bundle_that_was_split_stays_in_the_tree_above_its_children() -> None:
    view = viewed(scene())
    rows = balance_frame(view, "flow_or_qps_equally_divide", 1).rows
    at = next(place for place, row in enumerate(rows) if row.range_text == LAST)
    assert (rows[at].split_in, rows[at].split_reason, rows[at].depth) == (1, "MsgRate", 0)
    assert [(row.depth, row.born_in, row.last_of) for row in rows[at + 1 :]] == [
        (1, 1, (True, False)),
        (1, 1, (True, True)),
    ]
    assert rows[at + 1].lower == rows[at].lower and rows[at + 2].upper == rows[at].upper


def test_cycles_past_the_end_show_the_last_one_and_before_the_start_the_first() -> None:
    view = viewed(scene(), BalanceQuestion(cycles=3))
    algorithm = view.configured.algorithm
    assert balance_frame(view, algorithm, 99) is balance_frame(view, algorithm, 3)
    assert balance_frame(view, algorithm, -4).cycle == 0


def test_an_answer_is_computed_once() -> None:
    state = scene()
    view = viewed(state)
    assert viewed(state) is view
    assert viewed(replace(state, next_consumer_id=99)) is view, "nothing that counts has changed"
    assert viewed(state, BalanceQuestion(brokers=3)) is not view


def test_attempts_that_change_nothing_are_one_loop_that_goes_on() -> None:
    view = viewed(scene())
    loop = view.tree("flow_or_qps_equally_divide").loops[0]
    assert (loop.kind, loop.lasts, loop.bundles) == ("repeats-without-effect", True, ("0x80000000_0xc0000000",))
    assert (loop.first_cycle, loop.times) == (1, 40) and OUTCOMES["no-change"] in loop.sentence
    positions = view.tree("specified_positions_divide").loops
    assert [len(loop.bundles) for loop in positions] == [3] and positions[0].times == 119


def test_bundles_that_come_back_to_their_broker_are_counted_with_their_topics() -> None:
    view = viewed(scene())
    moves = balance_frame(view, "range_equally_divide", 1).moves
    assert len(moves) == 6 and all("interrupted" in move for move in moves)
    assert any(loop.kind == "unloaded-for-nothing" and loop.times == 6 for loop in view.trees[0].loops)


def test_the_caps_are_reported_in_the_cycle_in_which_they_bite() -> None:
    full = viewed(scene(loadBalancerNamespaceMaximumBundles=5))
    remarks = balance_frame(full, "range_equally_divide", 1).remarks
    assert any("loadBalancerNamespaceMaximumBundles 5" in remark for remark in remarks)
    slow = scene(loadBalancerMaxNumberOfBundlesToSplitPerCycle=1)
    view = viewed(slow, BalanceQuestion(brokers=1, load_manager="extensible"))
    frame = balance_frame(view, "range_equally_divide", 4)
    assert sum(attempt.outcome == "split" for attempt in frame.attempts) == 1
    assert any("a broker splits at most 1 in a cycle" in remark for remark in frame.remarks)


def test_echoes_of_a_split_are_distinguished() -> None:
    sentences = [
        attempt.sentence
        for algorithm in SPLIT_ALGORITHMS
        for attempt in viewed(scene(loadBalancerNamespaceBundleMaxMsgRate=10)).tree(algorithm).attempts
        if attempt.echo
    ]
    assert sentences and all("an echo: the first rates after its unload" in sentence for sentence in sentences)


def test_one_broker_decides_nothing_with_the_modular_load_manager_and_all_with_the_other() -> None:
    modular = viewed(scene(), BalanceQuestion(brokers=1))
    assert "one broker never splits" in modular.idle and not modular.configured.attempts
    extensible = viewed(scene(), BalanceQuestion(brokers=1, load_manager="extensible"))
    assert not extensible.idle and extensible.configured.next_split() is not None
    off = viewed(scene(loadBalancerAutoBundleSplitEnabled=False), BalanceQuestion(load_manager="extensible"))
    assert "loadBalancerAutoBundleSplitEnabled is false" in off.idle


def test_growth_brings_splits_that_steady_traffic_does_not() -> None:
    calm = scene(loadBalancerNamespaceBundleMaxMsgRate=1000)
    assert viewed(calm).configured.next_split() is None
    grown = viewed(calm, BalanceQuestion(growth_per_cycle=1.5)).configured.next_split()
    assert grown is not None and grown.cycle > 3


def test_how_many_bundles_so_many_topics_need_is_left_to_the_command() -> None:
    row = balance._needed(1_000_000, 3, 128)
    assert row.problem is not None and "suggest bundles --topics 1000000 --brokers 3" in row.problem.message
    assert balance._needed(1_000, 3, 128).problem is None


def test_the_document_has_the_limits_of_a_cycle_that_are_in_force() -> None:
    slow = viewed(scene(loadBalancerMaxNumberOfBundlesToSplitPerCycle=1))
    assert document(balance_document(slow).intervals) == {
        "loadBalancerReportUpdateMinIntervalMillis": 5000,
        "loadBalancerReportUpdateThresholdPercentage": 10,
        "loadBalancerReportUpdateMaxIntervalMinutes": 15,
        "loadBalancerResourceQuotaUpdateIntervalMinutes": 15,
        "loadBalancerSplitIntervalMinutes": 1,
        "loadBalancerMaxNumberOfBundlesToSplitPerCycle": 1,
        "loadBalancerNamespaceBundleSplitConditionHitCountThreshold": 3,
    }


def test_intervals_set_the_times_and_the_limits_per_cycle_come_from_the_state() -> None:
    quick = BalanceQuestion(load_manager="extensible", intervals=BalanceSettings(loadBalancerSplitIntervalMinutes=5))
    split = viewed(scene(loadBalancerNamespaceBundleSplitConditionHitCountThreshold=0), quick).configured.next_split()
    assert split is not None and split.at_seconds == 300.0


@pytest.mark.parametrize(
    ("question", "field"),
    [
        (BalanceQuestion(brokers=0), "brokers"),
        (BalanceQuestion(cycles=0), "cycles"),
        (BalanceQuestion(cycles=10**6), "cycles"),
        (BalanceQuestion(growth_per_cycle=math.nan), "growth"),
        (BalanceQuestion(growth_per_cycle=math.inf), "growth"),
        (BalanceQuestion(growth_per_cycle=-1.0), "growth"),
        (BalanceQuestion(intervals=BalanceSettings(loadBalancerSplitIntervalMinutes=0)), "loadBalancerSplitInterval"),
    ],
)
def test_a_question_that_has_no_answer_names_its_field(question: BalanceQuestion, field: str) -> None:
    view = balance_view(scene(), FLOW, question)
    assert isinstance(view, Rejection) and view.field.startswith(field)


def test_an_unknown_namespace_is_refused_with_those_there_are() -> None:
    view = balance_view(scene(), "no/where", BalanceQuestion())
    assert isinstance(view, Rejection) and (view.status, FLOW in view.message) == (404, True)


@pytest.mark.parametrize("bad", [-1.0, math.inf])
def test_bad_rates_are_named_and_counted_and_the_good_topics_stay(bad: float) -> None:
    state = scene()
    first, second = topic_loads(state, FLOW)[5:7]
    loads = {**state.loads, first.name: Load(bad), second.name: Load(1.0, 0.0, bad)}
    view = viewed(replace(state, loads=loads))
    assert view.bad_topics == 2 and view.topics == 61 - 2
    assert [problem.field.partition(".")[2] for problem in view.problems] == [
        "msg_rate_in", "throughput_in_bytes_per_sec",
    ]  # fmt: skip
    assert view.configured.next_split() is not None
    curve = curve_of(replace(state, loads=loads), FLOW, LAST)
    assert not isinstance(curve, Rejection) and curve.bad_topics == 2


def test_a_bandwidth_limit_that_overflows_says_what_pulsar_does_and_what_is_right() -> None:
    view = viewed(scene(loadBalancerNamespaceBundleMaxBandwidthMbytes=2048))
    (problem,) = view.problems
    assert problem.field == "loadBalancerNamespaceBundleMaxBandwidthMbytes"
    assert "-2147483648" in problem.message and "2147483648 bytes/s" in problem.message and "2047" in problem.message
    split = view.tree("range_equally_divide").next_split()
    assert split is not None and split.limit is not None
    reasons = {split.reason for split in view.tree("range_equally_divide").splits}
    assert "Bandwidth" in reasons


def test_the_curve_follows_the_cycle_and_the_rule() -> None:
    view = viewed(scene(), BalanceQuestion(load_manager="extensible", growth_per_cycle=1.5, cycles=5))
    now = curve_after(view, "range_equally_divide", 0, LAST)
    later = curve_after(view, "range_equally_divide", 5, LAST)
    proposed = curve_after(view, "range_equally_divide", 0, LAST, "proposed")
    assert not isinstance(now, Rejection) and not isinstance(later, Rejection) and not isinstance(proposed, Rejection)
    assert later.total_msgs_per_sec == pytest.approx(now.total_msgs_per_sec * 1.5**4)
    assert len(now.cuts) == 1 < len(later.cuts)
    assert proposed.msg_limit == proposed.total_msgs_per_sec / 2 and len(proposed.cuts) == 1


def test_the_curve_says_outcome_limits_cuts_and_what_is_idle() -> None:
    curve = curve_of(scene(), FLOW, LAST)
    assert not isinstance(curve, Rejection)
    texts = curve_texts(curve)
    assert texts[0].startswith("1 cut makes 2 pieces out of 63.6 msg/s")
    assert "the total has to reach 44 msg/s or 115.3 MB/s first" in texts[1]
    assert "cut at 3877316650 (0xe71b282a)" in texts[2]
    below = curve_of(scene(), FLOW, "0x80000000_0xc0000000")
    assert not isinstance(below, Rejection) and "below the gate" in curve_texts(below)[0]
    assert curve_texts(below)[-1] == "1 idle topic counts for nothing"


def test_an_empty_bundle_has_no_curve_and_says_so() -> None:
    curve = curve_of(scene(), FLOW, "0x00000000_0x00000010")
    assert isinstance(curve, Rejection) and curve.error == "EmptyBundle"


def test_occupancy_counts_what_is_there_beside_chance() -> None:
    view = viewed(scene())
    assert isinstance(view.occupancy, CountedOccupancy)
    assert view.occupancy.topics == view.topics == 61
    assert view.occupancy.per_bundle == (14, 14, 18, 15)
    assert view.needed.bundles == 3 and view.needed.sentences


def test_sessions_count_consumers_of_every_subscription_and_producers_of_every_partition() -> None:
    state = cluster(["a", "b", "c"], {"x": 2, "y": 0})
    counts = sessions_of(state)
    assert counts.tolist() == [[0, 0, 0], [3, 3, 3]]
    rows = balance_frame(viewed(state, namespace=NAMESPACE), "range_equally_divide", 0).leaves
    assert sum(row.sessions for row in rows) == 9
    result = synthetic_producers(ProducerPlan(count=3), 8).state
    assert sessions_of(result)[0].sum() == sum(
        len(objects) for topic in result.producer_topics for objects in topic.producers.topic.connected
    )


def test_the_document_is_plain_json_with_all_trees() -> None:
    view = viewed(scene())
    printed = json.loads(json.dumps(document(balance_document(view)), allow_nan=False))
    assert printed["format"] == BundlesDocument.FORMAT
    assert [tree["algorithm"] for tree in printed["trees"]] == list(SPLIT_ALGORITHMS)
    assert printed["next_split"]["at_seconds"] == 900.0 and printed["why_not"] is None
    assert sum(row["topics"] for row in printed["trees"][0]["after"]) == printed["topics"]
    curve = curve_of(scene(), FLOW, LAST)
    assert not isinstance(curve, Rejection)
    drawn = json.loads(json.dumps(document(CurveDocument("t/n", curve)), allow_nan=False))
    assert drawn["bundle"] == LAST and drawn["positions"] == [3877316650] and len(drawn["points"]) == 15


def test_numbers_and_times_read_well() -> None:
    assert [number_text(value) for value in (0.0, 40.0, 44.00000000000001, 110.00000000000001)] == [
        "0", "40", "44", "110",
    ]  # fmt: skip
    assert amount_text("Sessions", 1.0) == "1 session" and amount_text("Bandwidth", -2147483648.0) == "-2.1 GB/s"
    assert [amount_text("Bandwidth", value) for value in (0.0, 220.0, 7_336.0, 220e6)] == [
        "0 B/s", "220 B/s", "7.3 kB/s", "220 MB/s",
    ]  # fmt: skip
    assert span_text(3665) == "1 h 1 min 5 s"
    assert len(set(VERDICTS.values())) == len(VERDICTS)
