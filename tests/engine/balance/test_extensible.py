"""What the extensible load manager chooses to split, cycle by cycle: hits, caps, failures, exceptions."""

from __future__ import annotations

from typing import Any

import pytest

from engine.balance.limits import BundleStats
from engine.balance.splitting.extensible import (
    CycleDecision,
    CycleLimits,
    CycleObservation,
    CycleVerdict,
    SplitMemory,
    blocked_by_split,
    cycle,
)
from engine.bundles.loads import TopicLoad
from engine.config import (
    FLOW_OR_QPS_EQUALLY_DIVIDE,
    SPECIFIED_POSITIONS_DIVIDE,
    SPLIT_ALGORITHMS,
    TOPIC_COUNT_EQUALLY_DIVIDE,
    BrokerSettings,
)

A, B, C = (f"t/n/{text}" for text in ("0x00000000_0x40000000", "0x40000000_0x80000000", "0x80000000_0xffffffff"))
SHIPPED = BrokerSettings()
FRESH = SplitMemory()
AT_ONCE = CycleLimits(hit_count_threshold=0)


def hot(bundle: str = A, topics: int = 2) -> BundleStats:
    return BundleStats(bundle, topics, msg_rate_in=20_000.0, msg_rate_out=10_001.0)


def calm(bundle: str = A) -> BundleStats:
    return BundleStats(bundle, 2)


def by_default(algorithm: str, **more: Any) -> BrokerSettings:
    return BrokerSettings(defaultNamespaceBundleSplitAlgorithm=algorithm, **more)


def topics_at(*hashes: int, rate: float = 1.0) -> dict[str, list[TopicLoad]]:
    return {"t/n": [TopicLoad(f"persistent://t/n/{place}", at, rate) for place, at in enumerate(hashes)]}


def run(
    *bundles: BundleStats,
    memory: SplitMemory = FRESH,
    settings: BrokerSettings = SHIPPED,
    limits: CycleLimits | None = None,
    count: int | None = 3,
    **more: Any,
) -> tuple[SplitMemory, CycleDecision]:
    counts = {} if count is None else {"t/n": count}
    return cycle(memory, CycleObservation(bundles, counts, **more), settings, limits)


def outcomes(decision: CycleDecision) -> list[str]:
    return [verdict.outcome for verdict in decision.verdicts]


def play(cycles: list[tuple[BundleStats, ...]], **more: Any) -> list[list[str]]:
    """The bundles chosen in each of several cycles of one broker."""
    memory, chosen = SplitMemory(), []
    for bundles in cycles:
        memory, decision = run(*bundles, memory=memory, **more)
        chosen.append([verdict.bundle for verdict in decision.chosen])
    return chosen


def test_a_hit_count_threshold_of_3_needs_the_4th_hit_in_a_row_and_then_counts_anew() -> None:
    assert play([(hot(),)] * 9) == [[], [], [], [A], [], [], [], [A], []]


def test_a_cycle_below_the_limits_resets_the_count() -> None:
    assert play([(hot(),)] * 3 + [(calm(),)] + [(hot(),)] * 4) == [[]] * 7 + [[A]]


def test_a_bundle_that_is_not_reported_is_forgotten() -> None:
    assert play([(hot(),)] * 3 + [()] + [(hot(),)] * 4) == [[]] * 7 + [[A]]


@pytest.mark.parametrize("kind", ["one topic", "not owner"])
def test_a_bundle_passed_over_keeps_its_count(kind: str) -> None:
    memory = SplitMemory(((A, 3),))
    bundle = hot(topics=1) if kind == "one topic" else hot()
    memory, decision = run(bundle, memory=memory, not_owned=frozenset({A} if kind == "not owner" else ()))
    assert (memory.hits_of(A), decision.verdicts[0].hits, decision.chosen, decision.failures) == (3, 3, (), 0)
    owners = {"not_owned": frozenset({A})} if kind == "not owner" else {}
    assert [verdict.hits for verdict in run(bundle, **owners)[1].verdicts] == [0]
    assert [verdict.bundle for verdict in run(hot(), memory=memory)[1].chosen] == [A]


def test_the_reason_and_both_children_are_said() -> None:
    memory, decision = run(hot(), limits=AT_ONCE)
    (choice,) = decision.chosen
    assert (choice.reason, choice.hits, choice.boundaries) == ("MsgRate", 1, (0x20000000,))
    assert [str(child) for child in choice.children] == ["0x00000000_0x20000000", "0x20000000_0x40000000"]
    assert memory == SplitMemory()


def test_a_calm_bundle_is_below_the_limits_and_has_no_hits() -> None:
    memory, decision = run(calm(), memory=SplitMemory(((A, 3),)))
    assert [(verdict.outcome, verdict.reason, verdict.hits) for verdict in decision.verdicts] == [
        ("below-limits", "Unknown", 0)
    ]
    assert (memory, decision.lost) == (FRESH, ())


def test_a_bundle_too_narrow_says_how_many_hits_it_keeps() -> None:
    narrow = hot("t/n/0x00000000_0x00000001")
    for hits in (0, 2):
        memory = SplitMemory(((narrow.bundle, hits),) if hits else ())
        assert [verdict.hits for verdict in run(narrow, memory=memory)[1].verdicts] == [hits]


def test_what_was_chosen_is_lost_only_where_the_cycle_threw() -> None:
    decision = run(hot(A), limits=AT_ONCE)[1]
    assert ([verdict.bundle for verdict in decision.chosen], decision.lost) == ([A], ())


def test_only_the_first_two_pieces_of_a_range_text_are_compared_and_all_that_are_being_split() -> None:
    three_pieces = hot("t/n/0x0_0x10_more")
    assert blocked_by_split(three_pieces, ["t/m/0x5_0x10", "t/n/0x5_0x10"]) == "t/n/0x5_0x10"
    assert blocked_by_split(three_pieces, ["t/m/0x5_0x10", "t/n/0x5_0x11"]) is None


def test_the_maximum_of_a_cycle_leaves_the_rest_unseen_and_without_a_hit() -> None:
    limits = CycleLimits(max_splits_per_cycle=1, hit_count_threshold=0)
    memory, decision = run(hot(A), hot(B), hot(C), limits=limits)
    assert outcomes(decision) == ["chosen", "not-looked-at", "not-looked-at"]
    assert memory == SplitMemory()


def test_a_maximum_delays_by_a_cycle_each() -> None:
    """B has its 4th hit together with A, and is not looked at: it is chosen a cycle later."""
    limits = CycleLimits(max_splits_per_cycle=1)
    assert play([(hot(A), hot(B))] * 5, limits=limits) == [[], [], [], [A], [B]]


@pytest.mark.parametrize("maximum", [0, -1])
def test_a_maximum_of_zero_or_less_is_none(maximum: int) -> None:
    limits = CycleLimits(max_splits_per_cycle=maximum, hit_count_threshold=0)
    assert len(run(hot(A), hot(B), hot(C), limits=limits)[1].chosen) == 3


def test_a_threshold_below_zero_takes_every_bundle_without_a_reason() -> None:
    (choice,) = run(calm(), limits=CycleLimits(hit_count_threshold=-1))[1].chosen
    assert (choice.reason, choice.hits) == ("Unknown", 0)


def test_B13_the_cap_of_a_namespace_is_respected_and_reported_once() -> None:
    """The blocked ones keep counting and are no failures, so they are first in line when there is room again."""
    settings = BrokerSettings(loadBalancerNamespaceMaximumBundles=4)
    memory, decision = run(hot(A), hot(B), hot(C), settings=settings, limits=AT_ONCE)
    assert outcomes(decision) == ["chosen", "namespace-full", "namespace-full"]
    assert (decision.full_namespaces, decision.failures) == (("t/n",), 0)
    assert memory == SplitMemory(((B, 1), (C, 1)))


@pytest.mark.parametrize(
    ("hashes", "rate", "boundaries"),
    [
        ((10, 20, 30), 9_999.0, None),
        ((10, 20, 30), 40_000.0, (16, 26)),
        ((10,), 99_999.0, None),
    ],
    ids=["below the gate", "three pieces", "one topic with traffic"],
)
def test_B05_anything_but_one_boundary_is_a_failure_that_repeats(
    hashes: tuple[int, ...], rate: float, boundaries: tuple[int, ...] | None
) -> None:
    settings = by_default(FLOW_OR_QPS_EQUALLY_DIVIDE)
    memory = SplitMemory(((A, 3),))
    for hits in (4, 5, 6):
        memory, decision = run(hot(), memory=memory, settings=settings, topics=topics_at(*hashes, rate=rate))
        (verdict,) = decision.verdicts
        assert verdict.boundaries == boundaries
        assert verdict.outcome == ("no-boundary" if boundaries is None else "not-one-boundary")
        assert (decision.failures, decision.chosen, memory.hits_of(A)) == (1, (), hits)


def test_B05_exactly_one_boundary_is_taken() -> None:
    settings, topics = by_default(FLOW_OR_QPS_EQUALLY_DIVIDE), topics_at(10, 20, rate=16_500.0)
    memory, decision = run(hot(), settings=settings, limits=AT_ONCE, topics=topics)
    assert ([choice.boundaries for choice in decision.chosen], decision.failures, memory) == ([(16,)], 0, FRESH)


def test_B05_an_empty_list_of_boundaries_fails_too() -> None:
    """The gate is passed by equality, and no piece exceeds a limit."""
    settings = by_default(
        FLOW_OR_QPS_EQUALLY_DIVIDE, loadBalancerNamespaceBundleMaxMsgRate=100, flowOrQpsDifferenceThresholdPercentage=0
    )
    memory, decision = run(hot(), settings=settings, limits=AT_ONCE, topics=topics_at(10, 20, rate=50.0))
    assert (outcomes(decision), decision.verdicts[0].boundaries) == (["not-one-boundary"], ())
    assert (decision.failures, memory.hits_of(A)) == (1, 1)


def test_B05_a_failure_does_not_use_up_the_maximum_of_the_cycle() -> None:
    topics = topics_at(10, 20, 30, 0x40000010, 0x40000020, rate=20_000.0)
    limits = CycleLimits(max_splits_per_cycle=1, hit_count_threshold=0)
    decision = run(hot(A), hot(B), settings=by_default(FLOW_OR_QPS_EQUALLY_DIVIDE), limits=limits, topics=topics)[1]
    assert outcomes(decision) == ["not-one-boundary", "chosen"]


def test_positions_as_default_algorithm_always_fail() -> None:
    memory, decision = run(hot(), settings=by_default(SPECIFIED_POSITIONS_DIVIDE), limits=AT_ONCE)
    (verdict,) = decision.verdicts
    assert verdict.detail is not None and verdict.detail.error == "IllegalArgumentException"
    assert (verdict.outcome, decision.failures, memory.hits_of(A)) == ("algorithm-failed", 1, 1)


def test_an_unknown_default_algorithm_halves_the_range() -> None:
    (choice,) = run(hot(), settings=by_default("flow_count_equally_divide"), limits=AT_ONCE)[1].chosen
    assert choice.boundaries == (0x20000000,)


def test_a_bundle_count_that_cannot_be_read_is_a_failure_and_keeps_the_hit() -> None:
    memory, decision = run(hot(), limits=AT_ONCE, count=None)
    assert (outcomes(decision), decision.failures, memory.hits_of(A)) == (["bundle-count-unreadable"], 1, 1)


@pytest.mark.parametrize("algorithm", SPLIT_ALGORITHMS)
def test_B01_a_bundle_of_one_topic_is_never_chosen_however_hot(algorithm: str) -> None:
    decision = run(hot(topics=1), settings=by_default(algorithm), limits=AT_ONCE)[1]
    assert (outcomes(decision), decision.failures) == (["too-few-topics"], 0)


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("0x00000000_0x00000001", "cannot-split"),
        ("0x00000000_0x00000002", "chosen"),
        ("0xfffffffe_0xffffffff", "cannot-split"),
        ("0xffffffff_0xffffffff", "cannot-split"),
        ("0xfffffffd_0xffffffff", "chosen"),
    ],
)
def test_B04_a_bundle_too_narrow_counts_as_a_failure_even_when_it_is_calm(text: str, outcome: str) -> None:
    """It is tested before the load, and its hits stay as they were."""
    name = f"t/n/{text}"
    limits = CycleLimits(hit_count_threshold=-1)
    memory, decision = run(calm(name), memory=SplitMemory(((name, 2),)), limits=limits)
    assert (outcomes(decision), decision.failures) == ([outcome], int(outcome == "cannot-split"))
    assert memory.hits_of(name) == (2 if outcome == "cannot-split" else 0)


def test_B06_a_boundary_on_the_lower_edge_throws_out_of_the_cycle() -> None:
    """It is no failure; what was chosen before is lost with its hits, what comes after is not seen."""
    topics = topics_at(10, 30, 0x40000000, 0x40000001)
    memory = SplitMemory(((A, 3), (B, 3), (C, 3)))
    memory, decision = run(
        hot(A), hot(B), hot(C), memory=memory, settings=by_default(TOPIC_COUNT_EQUALLY_DIVIDE), topics=topics
    )
    assert outcomes(decision) == ["chosen", "threw", "not-looked-at"]
    assert decision.thrown is not None and decision.thrown.error == "IllegalArgumentException"
    assert (decision.chosen, decision.failures) == ((), 0)
    assert [verdict.bundle for verdict in decision.lost] == [A]
    assert memory == SplitMemory(((B, 4), (C, 3)))


@pytest.mark.parametrize(
    ("rate", "boundaries", "outcome"),
    [(12_000.0, (0x40000000,), "threw"), (16_000.0, (0x20000003, 0x40000000), "not-one-boundary")],
)
def test_B07_twins_on_the_last_hash_give_the_end_of_the_bundle(
    rate: float, boundaries: tuple[int, ...], outcome: str
) -> None:
    """The flow rule cuts one above the middle of two hashes. Alone such a boundary throws, with another it fails."""
    topics = topics_at(5, 0x3FFFFFFF, 0x3FFFFFFF, rate=rate)
    decision = run(hot(), settings=by_default(FLOW_OR_QPS_EQUALLY_DIVIDE), limits=AT_ONCE, topics=topics)[1]
    assert (outcomes(decision), decision.verdicts[0].boundaries) == ([outcome], boundaries)


def test_a_boundary_on_the_closed_top_is_taken_and_the_upper_child_holds_one_hash() -> None:
    topics = topics_at(0x80000005, 0xFFFFFFFE, 0xFFFFFFFE, rate=12_000.0)
    (choice,) = run(hot(C), settings=by_default(FLOW_OR_QPS_EQUALLY_DIVIDE), limits=AT_ONCE, topics=topics)[1].chosen
    assert [str(child) for child in choice.children] == ["0x80000000_0xffffffff", "0xffffffff_0xffffffff"]


def test_a_range_that_cannot_be_read_throws_too() -> None:
    decision = run(hot("t/n/0x10_0x5"), hot(B), limits=AT_ONCE)[1]
    assert outcomes(decision) == ["threw", "not-looked-at"]


@pytest.mark.parametrize(
    ("other", "stops"),
    [
        ("t/n/0x40000000_0x80000000", True),
        ("t/n/0x40000000_0xc0000000", True),
        ("t/n/0x00000000_0x80000000", True),
        ("t/n/0x00000000_0x40000000", False),
        ("t/n/0x80000000_0xffffffff", False),
        ("t/n/0x00000000_0xffffffff", False),
        ("t/n11/0x40000000_0x50000000", True),
        ("t/m/0x40000000_0x80000000", False),
        ("t/n/0X40000000_0X80000000", False),
    ],
)
def test_a_split_stops_those_that_share_its_start_or_end_as_text(other: str, stops: bool) -> None:
    """A plain prefix is the test of the namespace, and a grandparent that holds the bundle within stops nothing."""
    assert blocked_by_split(hot(B), [other]) == (other if stops else None)
    memory, decision = run(hot(B), limits=AT_ONCE, splitting=(other,))
    assert (outcomes(decision), decision.failures) == (["neighbour-splitting" if stops else "chosen"], 0)
    assert memory.hits_of(B) == int(stops)


def test_a_bandwidth_limit_of_2048_chooses_every_idle_bundle_of_two_topics() -> None:
    settings = BrokerSettings(loadBalancerNamespaceBundleMaxBandwidthMbytes=2048)
    decision = run(calm(A), calm(B), settings=settings, limits=AT_ONCE)[1]
    assert [verdict.reason for verdict in decision.chosen] == ["Bandwidth", "Bandwidth"]


def test_ten_splits_and_three_hits_are_the_defaults() -> None:
    assert CycleLimits() == CycleLimits(10, 3) == CycleLimits.of(SHIPPED)
    assert CycleVerdict(A, "chosen") == CycleVerdict(A, "chosen", "Unknown", 0, None, (), None)


def test_the_limits_of_a_cycle_are_those_of_the_brokers_settings_unless_others_are_given() -> None:
    settings = BrokerSettings(
        loadBalancerMaxNumberOfBundlesToSplitPerCycle=1, loadBalancerNamespaceBundleSplitConditionHitCountThreshold=0
    )
    bundles = (hot(A), hot(B))
    assert outcomes(run(*bundles, settings=settings)[1]) == ["chosen", "not-looked-at"]
    assert outcomes(run(*bundles, settings=settings, limits=AT_ONCE)[1]) == ["chosen", "chosen"]
    assert outcomes(run(*bundles)[1]) == ["counting", "counting"]
