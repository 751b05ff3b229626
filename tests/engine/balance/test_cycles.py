"""What the cycles of a simulation hold besides their splits: measures, samples, times, echoes, moves."""

from __future__ import annotations

import pytest

from engine.balance.settings import BalanceSettings
from engine.balance.splitting.forecast import simulate
from engine.balance.splitting.model import Balance, Move
from engine.bundles.boundaries import NamespaceBundles
from engine.bundles.loads import TopicLoad
from engine.config import FLOW_OR_QPS_EQUALLY_DIVIDE, TOPIC_COUNT_EQUALLY_DIVIDE, behaviour_of
from engine.errors import Rejection
from tests.engine.balance.test_balance import HOT_PAIR, WHOLE, Stepped, at, run


def test_no_cycle_leaves_the_bundles_and_ten_thousand_are_the_most() -> None:
    none = run(HOT_PAIR, 0)
    assert (none.cycles, none.bundles, none.splits) == ((), WHOLE, ())
    idle = run([], 0)
    most = simulate(idle.start, 10_000)
    assert isinstance(most, Balance) and len(most.cycles) == 10_000
    assert not isinstance(simulate(idle.start, 10_001), Balance)
    assert not isinstance(simulate(idle.start, -1), Balance)


def test_the_measure_of_a_verdict_is_the_average_at_that_report() -> None:
    """The full namespace keeps the reports as they are. The traffic doubles with the second cycle.

    A sample is taken when the averages are stored, before the reports of a cycle, and at each of the two reports.
    """
    doubling = Stepped(HOT_PAIR, 1, 2.0)
    balance = run(doubling, 3, loadBalancerNamespaceMaximumBundles=1)
    verdicts = [verdict for cycle in balance.cycles for made in cycle.runs for verdict in made.verdicts]
    assert {(verdict.outcome, verdict.reason) for verdict in verdicts} == {("namespace-full", "MsgRate")}
    measured = [verdict.measure.measured for verdict in verdicts if verdict.measure is not None]
    low, high = 40_000.0, 80_000.0
    sums = [low, 2 * low, 3 * low + high, 3 * low + 2 * high, 3 * low + 4 * high, 3 * low + 5 * high]
    assert measured == pytest.approx([total / count for total, count in zip(sums, (1, 2, 4, 5, 7, 8), strict=True)])


@pytest.mark.parametrize(("percent", "early"), [(24, True), (25, False)])
def test_a_report_is_early_when_a_total_moved_by_more_than_the_threshold(percent: int, early: bool) -> None:
    """The first broker has four bundles, then five: a quarter more."""
    quarters = NamespaceBundles("t/n", (0, 1 << 30, 2 << 30, 3 << 30, 0xFFFFFFFF))
    balance = run(
        [at(5, 20_000.0), at(0x30000000, 20_000.0), *(at(place << 30) for place in (1, 2, 3))],
        2,
        bundles=quarters,
        owners={str(bundle): "b:1" for bundle in quarters},
        intervals=BalanceSettings(loadBalancerReportUpdateThresholdPercentage=percent),
        loadBalancerAutoUnloadSplitBundlesEnabled=False,
    )
    first, second = balance.cycles
    assert (len(first.bundles), first.early, second.early) == (5, False, early)
    assert second.at_ms - first.at_ms == (5_000 if early else 900_000)
    assert [made.broker for made in second.runs] == (["b:1"] if early else ["b:1", "b:2"])


def test_totals_that_stay_zero_have_not_moved() -> None:
    none = BalanceSettings(loadBalancerReportUpdateThresholdPercentage=0)
    assert [cycle.early for cycle in run([at(5)], 3, intervals=none).cycles] == [False] * 3


def test_a_refused_attempt_on_a_child_just_made_is_an_echo_until_the_traffic_is_reported_anew() -> None:
    """Three of one hash: cut off from the first topic they lie on the lower edge of their bundle."""
    triple = [TopicLoad(f"persistent://t/n/{name}", 100, 20_000.0) for name in "abc"]
    balance = run([at(0, 10_000.0), *triple], 3, defaultNamespaceBundleSplitAlgorithm=TOPIC_COUNT_EQUALLY_DIVIDE)
    seen = [[(attempt.outcome, attempt.echo) for attempt in cycle.attempts] for cycle in balance.cycles]
    assert seen[0] == [("split", False), ("gone", False)]
    assert balance.cycles[1].early and set(seen[1]) == {("refused", True)}
    assert not balance.cycles[2].early and set(seen[2]) == {("refused", False)}


def test_an_attempt_without_effect_on_a_child_just_made_is_an_echo_too() -> None:
    """1900 pass the gate of 1100 and are cut once; the 1000 on the right do not pass it, and are two topics of one."""
    balance = run(
        [at(10, 900.0), at(20, 900.0), at(30, 100.0)],
        3,
        defaultNamespaceBundleSplitAlgorithm=FLOW_OR_QPS_EQUALLY_DIVIDE,
        loadBalancerNamespaceBundleMaxMsgRate=1000,
        loadBalancerNamespaceBundleMaxTopics=1,
    )
    assert [split.cuts for _, split in balance.splits] == [(16,)]
    seen = [{(attempt.outcome, attempt.echo) for attempt in cycle.attempts} for cycle in balance.cycles[1:]]
    assert seen == [{("no-change", True)}, {("no-change", False)}]


def test_the_extensible_one_sees_one_sample_never_reports_early_and_says_what_was_thrown() -> None:
    halves = NamespaceBundles("t/n", (0, 0x80000000, 0xFFFFFFFF))
    balance = run(
        [at(0x80000000, 20_000.0), at(0x80000001, 20_000.0)],
        5,
        bundles=halves,
        load_manager="extensible",
        defaultNamespaceBundleSplitAlgorithm=TOPIC_COUNT_EQUALLY_DIVIDE,
    )
    assert {load.samples for cycle in balance.cycles for load in cycle.loads} == {1}
    assert [cycle.early for cycle in balance.cycles] == [False] * 5
    thrown = [[made.thrown.field if made.thrown else None for made in cycle.runs] for cycle in balance.cycles]
    assert thrown == [[None, None]] * 3 + [[None, "boundary"]] * 2


@pytest.mark.parametrize(("factor", "splits"), [(1.5, [1]), (1.7, [1, 2, 2]), (2.0, [1, 2])])
def test_first_rates_after_an_unload_count_where_they_are_reported(factor: float, splits: list[int]) -> None:
    """18750 a child, above 30000 from a factor of 1.6 on. Doubled they are what the first broker has reported before.

    So its next report is not early, and comes when its bundle is no longer new.
    """
    topics = [at((place << 28) + low, 6_250.0) for place in (0, 8) for low in (1, 2, 0x40000000)]
    balance = run(topics, 3, first_rate_factor=factor)
    assert [number for number, _ in balance.splits] == splits


def test_first_rates_are_reported_once_and_the_true_ones_early_since_they_are_far_lower() -> None:
    """Halves of 37500, of which the first reports are 28125 and below the limit of 30000."""
    topics = [at((place << 28) + low, 6_250.0) for place in (0, 8) for low in (1, 2, 0x40000000)]
    balance = run(topics, 5, first_rate_factor=1.5)
    assert [cycle.early for cycle in balance.cycles] == [False, True, True, False, False]
    assert {load.stats.msgs_per_sec for cycle in balance.cycles[1:] for load in cycle.loads} == {18_750.0}
    moved = balance.cycles[1].loads[0].bundle
    averages = [load.msgs_per_sec for cycle in balance.cycles for load in cycle.loads if load.bundle == moved]
    assert averages[0] == 28_125.0 and averages == sorted(averages, reverse=True) and averages[-1] < 22_500.0


@pytest.mark.parametrize("manager", ["modular", "extensible"])
def test_a_release_that_does_not_know_the_default_algorithm_halves_the_range(manager: str) -> None:
    old = behaviour_of("2.11.0")
    assert not isinstance(old, Rejection)
    cuts = {}
    for name, more in {"old": {"behaviour": old}, "current": {}}.items():
        balance = run(
            HOT_PAIR, 4, load_manager=manager, defaultNamespaceBundleSplitAlgorithm=FLOW_OR_QPS_EQUALLY_DIVIDE, **more
        )
        cuts[name] = [split.cuts for _, split in balance.splits]
    assert cuts == {"old": [(0x7FFFFFFF,)], "current": [(0x78000001,)]}


def test_a_bundle_that_is_owned_by_its_former_broker_again_came_back() -> None:
    assert Move("t/n/0x00000000_0xffffffff", "b:1", "b:1").came_back
    assert not Move("t/n/0x00000000_0xffffffff", "b:1", "b:2").came_back
