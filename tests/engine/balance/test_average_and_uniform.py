"""``AvgShedder`` and ``UniformLoadShedder`` of older releases, and what they say of each broker and bundle, by hand."""

from __future__ import annotations

import math
from typing import Literal

import pytest
from msgspec.structs import replace

from engine.balance.brokers import BrokerLoad
from engine.balance.java_maps import MapOrder
from engine.balance.limits import BundleStats
from engine.balance.settings import LoadSettings
from engine.balance.shedding.average import AverageMemory, shed_average
from engine.balance.shedding.model import BrokerVerdict, ShedPlan
from engine.balance.shedding.uniform import java_int, shed_uniform
from engine.load_rules import CURRENT_LOAD_RULES, LoadRules
from tests.engine.balance.shedding_world import MB, broker, name, stats, view

AT_ONCE = LoadSettings(
    loadBalancerAvgShedderHitCountLowThreshold=1, loadBalancerAvgShedderHitCountHighThreshold=1,
    maxUnloadPercentage=0.2, minUnloadMessage=1000,
)  # fmt: skip


def shed(*loads: BrokerLoad, rules: LoadRules = CURRENT_LOAD_RULES) -> ShedPlan:
    return shed_average(AverageMemory(), view(loads), AT_ONCE, rules)[1]


def verdicts(plan: ShedPlan) -> dict[str, tuple[str, float, float]]:
    """Usages in reports are 32-bit numbers."""
    return {verdict.broker: (verdict.outcome, round(verdict.figure, 4), verdict.limit) for verdict in plan.verdicts}


def test_each_pair_from_outside_in_is_judged_by_the_difference_of_its_usages() -> None:
    plan = shed(broker("b:1", 90), broker("b:2", 20), broker("b:3", 70), broker("b:4", 40))
    assert verdicts(plan) == {
        "b:1": ("below-minimum-traffic", 70.0, 15.0), "b:2": ("not-the-busiest", 70.0, 15.0),
        "b:3": ("below-minimum-traffic", 30.0, 15.0), "b:4": ("not-the-busiest", 30.0, 15.0),
    }  # fmt: skip


def test_what_is_moved_fits_what_is_left_and_the_rest_is_named() -> None:
    """A fifth of 20,000 messages/s should move, the largest that fits first."""
    bundles = [stats(name(at), msgs) for at, msgs in enumerate((10_000.0, 4_000.0, 3_500.0, 2_500.0, 0.0))]
    plan = shed(broker("b:1", 90, bundles), broker("b:2", 10))
    (busiest,) = [verdict for verdict in plan.verdicts if verdict.outcome == "sheds"]
    assert (busiest.broker, busiest.need) == ("b:1", 4_000.0)
    assert [(verdict.bundle, verdict.outcome, verdict.value) for verdict in busiest.bundles] == [
        (name(0), "too-large", 10_000.0), (name(1), "unloaded", 4_000.0), (name(2), "too-large", 3_500.0),
        (name(3), "too-large", 2_500.0), (name(4), "idle", 0.0),
    ]  # fmt: skip
    assert plan.destinations == {name(1): "b:2"}


def test_where_only_idle_bundles_are_nothing_can_be_taken() -> None:
    bundles = [stats(name(0), 100_000.0), stats(name(1), 0.0)]
    plan = shed(broker("b:1", 90, bundles), broker("b:2", 10))
    assert [verdict.outcome for verdict in plan.verdicts if verdict.broker == "b:1"] == ["nothing-to-take"]


@pytest.mark.parametrize(("needed", "outcome"), [(1, "below-minimum-traffic"), (2, "hits-too-few")])
def test_a_pair_waits_for_enough_hits(needed: int, outcome: str) -> None:
    settings = LoadSettings(
        loadBalancerAvgShedderHitCountLowThreshold=needed, loadBalancerAvgShedderHitCountHighThreshold=9
    )
    loads = view([broker("b:1", 60), broker("b:2", 40)])
    memory, plan = shed_average(AverageMemory(), loads, settings, CURRENT_LOAD_RULES)
    assert verdicts(plan)["b:1"] == (outcome, *((1.0, 2.0) if needed == 2 else (20.0, 15.0)))
    if needed == 2:
        assert (memory.low, memory.high) == ({"b:1": 1, "b:2": 1}, {"b:1": 0, "b:2": 0})
        memory, plan = shed_average(memory, loads, settings, CURRENT_LOAD_RULES)
        assert verdicts(plan)["b:1"][0] == "below-minimum-traffic"
    assert (memory.low, memory.high) == ({}, {})


def test_brokers_near_each_other_are_below_the_threshold() -> None:
    plan = shed(broker("b:1", 50), broker("b:2", 40), broker("b:3", 45))
    assert verdicts(plan) == {
        f"b:{at}": ("below-threshold", apart, 15.0) for at, apart in ((1, 10.0), (2, 10.0), (3, 0.0))
    }


@pytest.mark.parametrize(("whole", "fuller"), [(True, "b:3"), (False, "b:1")])
def test_before_4_2_scores_less_than_one_apart_are_equal(whole: bool, fuller: str) -> None:
    """50.9 and 50.1 tie by whole numbers, and b:3, which comes out of the map behind b:1, stays behind it."""
    plan = shed(broker("b:3", 50.1), broker("b:1", 50.9), broker("b:2", 20.0), rules=LoadRules(avg_scores_whole=whole))
    outcomes = {name: verdict[0] for name, verdict in verdicts(plan).items()}
    assert outcomes == {"b:1": "below-threshold", "b:3": "below-threshold", "b:2": "not-the-busiest"} | {
        fuller: "below-minimum-traffic"
    }


SETTINGS = LoadSettings(
    loadBalancerMsgRateDifferenceShedderThreshold=10.0,
    loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold=4.0,
)


@pytest.mark.parametrize(
    ("source", "figure", "outcomes"),
    [
        ("separate", 25.0, ["too-few-bundles", "not-the-busiest", "not-the-busiest"]),
        ("mixed", 0.0, ["below-threshold"] * 3),
    ],
)
def test_in_2_11_one_broker_is_the_busiest_in_both_measures(
    source: Literal["separate", "mixed"], figure: float, outcomes: list[str]
) -> None:
    """#21016: whoever is ahead in either measure takes both places, so b:3 ends as the busiest and as the idlest."""
    loads = view([
        broker("b:1", 10, [stats(name(1), 5_000.0, 1e6)]),
        broker("b:2", 10, [stats(name(2), 4_000.0, 9e6)]),
        broker("b:3", 10, [stats(name(3), 4_500.0, 8e6)]),
    ])  # fmt: skip
    plan = shed_uniform(MapOrder("hash"), loads, SETTINGS, LoadRules(uniform_source=source))[1]
    assert [verdict.outcome for verdict in plan.verdicts] == outcomes
    assert {verdict.figure for verdict in plan.verdicts} == {figure}


def test_a_measure_that_is_switched_off_is_not_shown() -> None:
    """100 % more messages and three times the bytes: nothing is too much, and the first measure in use is shown."""
    loads = view([broker("b:1", 10, [stats(name(1), 200.0, 300.0)]), broker("b:2", 10, [stats(name(2), 100.0, 100.0)])])
    shown = {}
    for msgs_percent in (0.0, 100.0):
        settings = replace(SETTINGS, loadBalancerMsgRateDifferenceShedderThreshold=msgs_percent)
        (first, second) = shed_uniform(MapOrder("hash"), loads, settings)[1].verdicts
        assert first.outcome == second.outcome == "below-threshold"
        shown[msgs_percent] = (first.figure, first.limit)
    assert shown == {0.0: (3.0, 4.0), 100.0: (100.0, 100.0)}


def test_a_broker_without_traffic_counts_as_one() -> None:
    loads = view([broker("b:1", 10, [stats(name(1), 2.0, 3.0)]), broker("b:2", 10)])
    assert {verdict.figure for verdict in shed_uniform(MapOrder("hash"), loads, SETTINGS)[1].verdicts} == {100.0}


def waiting_pair(memory: AverageMemory, usages: tuple[float, float], settings: LoadSettings) -> BrokerVerdict:
    _, plan = shed_average(memory, view([broker("b:1", usages[0]), broker("b:2", usages[1])]), settings)
    (waiting,) = [verdict for verdict in plan.verdicts if verdict.outcome == "hits-too-few"]
    return waiting


def test_a_pair_that_waits_is_judged_by_the_count_that_is_nearer_to_its_end() -> None:
    """40 points apart count for both thresholds; two hits of the high one come before eight of the low one."""
    for usage, expected in ((60, ("high-hits", 1.0, 2.0)), (30, ("low-hits", 1.0, 8.0))):
        waiting = waiting_pair(AverageMemory(), (usage, 10), LoadSettings())
        assert (waiting.measure, waiting.figure, waiting.limit) == expected


@pytest.mark.parametrize(
    ("high_needed", "high", "low", "expected"),
    [
        (2, {}, {"b:1": 5, "b:2": 5}, ("high-hits", 1.0, 2.0)),  # 1 and 2 cycles to go
        (2, {}, {"b:1": 6, "b:2": 6}, ("high-hits", 1.0, 2.0)),  # 1 and 1
        (4, {}, {"b:1": 5, "b:2": 5}, ("low-hits", 6.0, 8.0)),  # 3 and 2
        (4, {}, {"b:1": 5, "b:2": 1}, ("low-hits", 6.0, 8.0)),
        (4, {}, {"b:1": 1, "b:2": 5}, ("low-hits", 6.0, 8.0)),
        (4, {"b:1": 2}, {"b:1": 2, "b:2": 2}, ("high-hits", 3.0, 4.0)),
        (4, {"b:2": 2}, {"b:1": 2, "b:2": 2}, ("high-hits", 3.0, 4.0)),
    ],
)
def test_a_pair_waits_for_the_broker_of_it_that_was_hit_more_often(
    high_needed: int, high: dict[str, int], low: dict[str, int], expected: tuple[str, float, float]
) -> None:
    """Counts go by broker, and the one met before in another pair may have more; this cycle adds one to each."""
    settings = LoadSettings(loadBalancerAvgShedderHitCountHighThreshold=high_needed)
    waiting = waiting_pair(AverageMemory(high, low), (60, 10), settings)
    assert (waiting.measure, waiting.figure, waiting.limit) == expected


def test_a_pair_that_differs_by_too_little_traffic_says_how_much_and_how_much_it_takes() -> None:
    """A fifth of 100,000 and of 5,242,875 bytes/s: each is less than a MiB/s, the second by one byte."""
    for octets in (100_000.0, 5_242_875.0):
        plan = shed(broker("b:1", 90, [stats(name(0), 10.0, octets)]), broker("b:2", 10))
        (busy,) = [verdict for verdict in plan.verdicts if verdict.broker == "b:1"]
        assert (busy.outcome, busy.need, busy.least, busy.need_measure) == (
            "below-minimum-traffic", octets / 5, 1_048_576.0, "bytes",
        )  # fmt: skip


def test_too_little_to_move_says_how_much_and_of_what() -> None:
    loads = [broker("b:1", 50, [stats(name(0), 600.0, 6e5), stats(name(1), 300.0, 3e5)]), broker("b:2", 50)]
    bytes_only = LoadSettings(loadBalancerMsgRateDifferenceShedderThreshold=0.0)
    for settings, measure, least in ((bytes_only, "bytes", 1_048_576.0), (LoadSettings(), "messages", 1_000.0)):
        _, plan = shed_uniform(MapOrder("hash"), view(loads), settings)
        (busy,) = [verdict for verdict in plan.verdicts if verdict.outcome == "below-minimum-traffic"]
        assert (busy.need_measure, busy.least) == (measure, least)
        assert 0 < busy.need < busy.least


NAN = math.nan
NONE_SEEN = (-1 - 2147483647) * 100 / 2147483647, -1 / 2147483647
"""Where Pulsar starts: with a most of -1 and a least of 2147483647."""


@pytest.mark.parametrize(
    ("source", "brokers", "percent", "times"),
    [
        ("separate", [(5, 100), (6, 3)], 20, 100 / 3),
        ("separate", [(0.5, 0.2), (0.1, 0.1)], 400, 2),
        ("separate", [(1, 3), (1e-6, 1e-6)], 0, 3),
        ("separate", [(1, 3), (-1e-6, -1e-6)], 0, 3),
        ("separate", [(NAN, NAN)], *NONE_SEEN),
        ("mixed", [(5, 100), (6, 3)], 0, 1),
        ("mixed", [(5, 100), (5, 3)], 0, 100 / 3),
        ("mixed", [(5, 3), (4, 2)], 25, 1.5),
        ("mixed", [(5, 100), (4, 100)], 25, 1),
        ("mixed", [(5, 100), (5, 200)], 0, 2),
        ("mixed", [(5, 100), (6, 100)], 20, 1),
        ("mixed", [(5, 100), (6, 200)], 20, 2),
        ("mixed", [(5, 100), (6, 90)], 0, 1),
        ("mixed", [(5, 100), (4, 200)], 0, 1),
        ("mixed", [(0.5, NAN)], 0, NAN),
        ("mixed", [(NAN, 0.5)], NAN, 1),
        ("mixed", [(NAN, NAN)], *NONE_SEEN),
    ],
)
def test_by_how_much_brokers_differ(
    source: Literal["separate", "mixed"], brokers: list[tuple[float, float]], percent: float, times: float
) -> None:
    """Messages/s and bytes/s of each broker; in 2.11 the last one that is ahead in either measure gives both figures.

    A least of a millionth counts as 1, and what is not a number is ahead of nothing.
    """
    loads = view([broker(f"b:{at}", 10, [stats(name(at), *each)]) for at, each in enumerate(brokers)])
    figures = []
    for off in (
        "loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold",
        "loadBalancerMsgRateDifferenceShedderThreshold",
    ):
        both = LoadSettings(
            loadBalancerMsgRateDifferenceShedderThreshold=1e9,
            loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold=1e9,
        )
        shown = replace(both, **{off: 0.0})  # type: ignore[arg-type]
        figures.append(
            shed_uniform(MapOrder("hash"), loads, shown, LoadRules(uniform_source=source))[1].verdicts[0].figure
        )
    assert figures == pytest.approx([percent, times], rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("place", [0, 1])
def test_a_source_sheds_what_is_exactly_worth_an_unload(place: int) -> None:
    """Half the difference of messages/s, or of bytes/s; each measure has a minimum of its own."""
    settings = replace(SETTINGS, maxUnloadPercentage=0.5, maxUnloadBundleNumPerShedding=2)
    unit = (settings.minUnloadMessage, settings.minUnloadMessageThroughput)[place]

    def with_traffic(at: int, value: float) -> BundleStats:
        return stats(name(at), value, 0.0) if place == 0 else stats(name(at), 0.0, value)

    full = broker(
        "b:1", 10, [with_traffic(at, part) for at, part in enumerate((1.25 * unit + 1, unit / 2, unit / 4, 0))]
    )
    sheds, too_little = (
        shed_uniform(MapOrder("hash"), view([full, broker("b:2", 10, [with_traffic(9, rest)])]), settings)[1].verdicts[
            0
        ]
        for rest in (1, 3)
    )
    assert (sheds.outcome, sheds.need, sheds.least) == ("sheds", unit, unit)
    assert [bundle.outcome for bundle in sheds.bundles] == ["too-large", "unloaded", "unloaded", "maximum-reached"]
    assert (too_little.outcome, too_little.need) == ("below-minimum-traffic", unit - 1)


def test_a_limit_below_1_percent_is_in_use_too() -> None:
    loads = view([broker(f"b:{at}", 10, [stats(name(at), 100.0, 100.0)]) for at in (1, 2)])
    settings = replace(SETTINGS, loadBalancerMsgRateDifferenceShedderThreshold=0.5)
    shown = [(verdict.figure, verdict.limit) for verdict in shed_uniform(MapOrder("hash"), loads, settings)[1].verdicts]
    assert shown == [(0.0, 0.5)] * 2


def test_a_double_becomes_a_java_int() -> None:
    assert [java_int(each) for each in (math.nan, 2.9, -2.9, 3e9, -3e9, math.inf, -math.inf)] == [
        0, 2, -2, 2**31 - 1, -(2**31), 2**31 - 1, -(2**31),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("source", "outcome", "least"), [("separate", "below-minimum-traffic", 1_000.0), ("mixed", "sheds", 0.0)]
)
def test_in_2_11_the_minimum_of_one_measure_is_enough(
    source: Literal["separate", "mixed"], outcome: str, least: float
) -> None:
    """A fifth of 1000 messages/s is too little, and of 10 MiB/s it is enough. A limit that is met does not count."""
    bundles = [stats(name(at), 1_000.0 / 2**at, 10 * MB / 2**at) for at in (1, 2, 3, 4)]
    loads = view([broker("b:1", 10, bundles), broker("b:2", 10)])
    (busy, _) = shed_uniform(MapOrder("hash"), loads, SETTINGS, LoadRules(uniform_source=source))[1].verdicts
    assert (busy.outcome, busy.measure, busy.least) == (outcome, "msgs-difference", least)


@pytest.mark.parametrize("measure", ["messages", "bytes"])
def test_each_measure_has_a_slack_of_its_own_in_earlier_releases(measure: Literal["messages", "bytes"]) -> None:
    """Half of 4,000,000 should move; a bundle of 2,000,005 is as much more as the slack of the measure allows."""
    traffic = (2_000_005.0, 1_999_996.0)  # the other broker has none, which counts as 1
    bundles = [stats(name(at), each if measure == "messages" else 0.0, each) for at, each in enumerate(traffic)]
    loads = view([broker("b:1", 10, bundles), broker("b:2", 10)])
    settings = replace(SETTINGS, maxUnloadPercentage=0.5, minUnloadMessage=1, minUnloadMessageThroughput=1)
    outcomes = {}
    for slack in ((5, 0), (0, 5), (4, 4), (5, 5)):
        rules = LoadRules(uniform_slack=slack[0], uniform_bytes_slack=slack[1])
        (busy, _) = shed_uniform(MapOrder("hash"), loads, settings, rules)[1].verdicts
        assert busy.measure == ("msgs-difference" if measure == "messages" else "bytes-ratio")
        assert (busy.need, busy.least) == (2_000_000, 1.0)
        outcomes[slack] = busy.bundles[0].outcome
    own = (5, 0) if measure == "messages" else (0, 5)
    assert outcomes == {
        each: "unloaded" if each in (own, (5, 5)) else "too-large" for each in ((5, 0), (0, 5), (4, 4), (5, 5))
    }


@pytest.mark.parametrize(("slack", "outcome"), [(0, "unloaded"), (1, "too-large"), (1000, "too-large")])
def test_what_is_left_to_move_and_a_slack_are_a_sum_of_32_bits(slack: int, outcome: str) -> None:
    """All of 6 GB/s should move, cut to 2147483647; one more is -2147483648, which no bundle fits into."""
    loads = view(
        [broker("b:1", 10, [stats(name(at), 0.0, octets) for at, octets in ((1, 1e9), (2, 5e9))]), broker("b:2", 10)]
    )
    settings = replace(SETTINGS, maxUnloadPercentage=1.0)
    (busy, _) = shed_uniform(MapOrder("hash"), loads, settings, LoadRules(uniform_bytes_slack=slack))[1].verdicts
    assert busy.need == 2**31 - 1
    assert [bundle.outcome for bundle in busy.bundles] == ["too-large", outcome]


def test_what_was_planned_is_forgotten_once_it_was_tried_in_releases_that_keep_it_for_an_attempt() -> None:
    hits, planned = {"b:1": 2}, {"t/n/0x0_0x1": "b:2"}
    memory = AverageMemory(high=hits, low=hits, destinations=planned, owners=planned, sources=planned)
    assert memory.attempted(LoadRules(avg_destinations="attempt")) == AverageMemory(high=hits, low=hits)
    assert memory.attempted(LoadRules(avg_destinations="bundle")) is memory
