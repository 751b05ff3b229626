"""A forecast with averages in columns is the forecast bundle by bundle, to the last bit and draw."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.balance.ahead.bulk_modular import BulkModularAhead, can_forecast_in_bulk
from engine.balance.ahead.model import AheadCycle, ShedStart
from engine.balance.ahead.modular import ModularAhead
from engine.balance.brokers import BrokerLoad, ResourceUsage, report_of
from engine.balance.filters import IsolationPolicy
from engine.balance.leadership.placement import select
from engine.balance.leadership.policies import ClusterPolicies
from engine.balance.leadership.shedding import SheddingCycle, shed
from engine.balance.leadership.state import Leader, elected, reports_read
from engine.balance.limits import BundleStats
from engine.balance.placement.strategies import LEAST_RATE, LEAST_RESOURCE, ROUND_ROBIN
from engine.balance.settings import EXTENSIBLE_CLASS, MODULAR_CLASS, LoadSettings
from engine.balance.shedding.strategies import AVERAGE, MODULAR_SHEDDERS
from engine.load_rules import load_rules
from engine.releases import Release
from tests.engine.balance.shedding_world import first

NAMESPACES = ("t/a", "t/b", "u/c", "pulsar/system", "pulsar/b-0:8080", "x/y/z")
RELEASES = tuple(
    Release(*version)
    for version in ((3, 0, 7), (3, 1, 0), (3, 3, 2), (4, 0, 7), (4, 0, 8), (4, 2, 4), (4, 2, 5), (5, 0, 1))
)
rates = st.one_of(st.floats(0, 1e6), st.sampled_from([0.0, 1.0, 50.0, math.nan, math.inf]))


@st.composite
def clusters(draw: st.DrawFn) -> tuple[BrokerLoad, ...]:
    """Up to eight brokers, some of them full, with bundles of several namespaces and of equal traffic among others."""
    odd = draw(st.booleans())
    loads: list[BrokerLoad] = []
    number = 0
    for at in range(draw(st.integers(1, 8))):
        stats = []
        for _ in range(draw(st.integers(0, 20))):
            four = [draw(rates if odd else st.sampled_from([1.0, 5.0, 1e3, 3e5])) for _ in range(4)]
            name = f"{NAMESPACES[number * 7 % len(NAMESPACES)]}/0x{number:08x}_0x{number + 1:08x}"
            stats.append(BundleStats(name, draw(st.integers(0, 9)), 0, 0, *four))
            number += 1
        used = {
            name: ResourceUsage(
                draw(st.floats(0, 130) | st.sampled_from([10.0, 50.0, 85.0])),
                draw(st.sampled_from([100.0, 100.0, 100.0, 0.0])),
            )
            for name in ("cpu", "memory", "direct_memory", "bandwidth_in", "bandwidth_out")
        }
        load = report_of(
            f"b-{at}:8080",
            stats,
            version=draw(st.sampled_from(["4.2.4", "4.2.4", "4.0.7", "old"])),
            load_manager=draw(st.sampled_from([MODULAR_CLASS, MODULAR_CLASS, MODULAR_CLASS, EXTENSIBLE_CLASS])),
            persistent_topics=draw(st.sampled_from([True, True, True, False])),
            **used,
        )
        if draw(st.booleans()):
            load = replace(load, bundles=tuple(reversed(load.bundles))[draw(st.integers(0, 1)) :])
        loads.append(load)
    return tuple(loads)


@st.composite
def all_settings(draw: st.DrawFn) -> LoadSettings:
    """Settings under which shedders act easily, reports are written late, and unloaded bundles are soon free again."""
    shedder = draw(st.sampled_from(MODULAR_SHEDDERS))
    placements = [LEAST_RATE, LEAST_RESOURCE, ROUND_ROBIN] + ([AVERAGE] if shedder == AVERAGE else [])
    return LoadSettings(
        loadBalancerEnabled=draw(st.sampled_from([True] * 15 + [False])),
        loadBalancerSheddingEnabled=draw(st.sampled_from([True] * 15 + [False])),
        loadBalancerSheddingGracePeriodMinutes=draw(st.sampled_from([0, 0, 2, 30])),
        loadBalancerSheddingExcludedNamespaces=draw(st.sampled_from([(), ("t/b",)])),
        loadBalancerLoadSheddingStrategy=shedder,
        loadBalancerLoadPlacementStrategy=draw(st.sampled_from(placements)),
        loadBalancerDistributeBundlesEvenlyEnabled=draw(st.booleans()),
        loadBalancerBrokerMaxTopics=draw(st.sampled_from([20, 50_000])),
        loadBalancerBrokerOverloadedThresholdPercentage=draw(st.sampled_from([10, 50, 85])),
        loadBalancerBrokerThresholdShedderPercentage=draw(st.sampled_from([0, 10])),
        loadBalancerAverageResourceUsageDifferenceThresholdPercentage=draw(st.sampled_from([0, 10])),
        loadBalancerBundleUnloadMinThroughputThreshold=0.0,
        lowerBoundarySheddingEnabled=draw(st.booleans()),
        loadBalancerMsgRateDifferenceShedderThreshold=10.0,
        minUnloadMessage=0,
        minUnloadMessageThroughput=0,
        maxUnloadPercentage=draw(st.sampled_from([0.2, 1.0])),
        loadBalancerAvgShedderHitCountHighThreshold=1,
        loadBalancerAvgShedderHitCountLowThreshold=1,
        loadBalancerDirectMemoryResourceWeight=draw(st.sampled_from([0.0, 0.5])),
        loadBalancerReportUpdateThresholdPercentage=draw(st.sampled_from([0, 10, 60])),
        loadBalancerReportUpdateMaxIntervalMinutes=draw(st.sampled_from([1, 3, 15])),
        preferLaterVersions=draw(st.booleans()),
        failureDomainsEnabled=draw(st.booleans()),
    )


@st.composite
def starts(draw: st.DrawFn) -> ShedStart:
    """Starts with and without policies, and with and without a leader that has read reports before."""
    loads = draw(clusters())
    rules = load_rules(draw(st.sampled_from(RELEASES)))
    policies = draw(
        st.sampled_from(
            [
                None,
                ClusterPolicies((IsolationPolicy(("t/a",), ("b-[0-2]",), ("b-3",), 2),)),
                ClusterPolicies((IsolationPolicy(("t/a",), ("nobody",)),)),
                ClusterPolicies(
                    groups={"t/a": "g", "t/b": "G", "u/c": "g"}, domains={"b-0:8080": "east", "b-1:8080": "west"}
                ),
                ClusterPolicies(non_persistent=[load.bundles[0] for load in loads if load.bundles]),
            ]
        )
    )
    chosen = draw(all_settings())
    state = None
    if draw(st.booleans()):
        leader = Leader(chosen, policies or ClusterPolicies(), rules)
        state = elected(leader)
        for at in range(draw(st.integers(1, 4))):
            state = reports_read(leader, state, [_earlier(load, at) for load in loads])
        state = reports_read(leader, state, loads[::-1])
        for at_ms in range(draw(st.integers(0, 2))):  # so that shedder and strategy remember something
            state, _ = shed(leader, state, at_ms, first)
    return ShedStart(loads, chosen, rules, policies, "modular", state, draw(st.integers(0, 3)))


def _earlier(load: BrokerLoad, factor: int) -> BrokerLoad:
    """What a broker reported before: other traffic, so that later samples still change the averages."""
    stats = (replace(each, topics=factor, msg_rate_in=each.msg_rate_in * (2 + factor)) for each in load.stats)
    return replace(load, stats=tuple(stats))


def said(cycles: list[AheadCycle]) -> list[str]:
    """All of each cycle, as text so that NaN equals itself."""
    return [repr(replace(cycle, loads=dict(cycle.loads))) for cycle in cycles]


@given(starts())
@settings(deadline=None, max_examples=150)
def test_the_form_in_columns_decides_what_the_form_bundle_by_bundle_decides(start: ShedStart) -> None:
    assert can_forecast_in_bulk(start)
    bulk, scalar = BulkModularAhead(start), ModularAhead(start)
    for number in range(1, 9):
        ours, reference = bulk.next(number), scalar.next(number)
        assert said([ours]) == said([reference])


def test_long_forecasts_of_a_busy_cluster_agree() -> None:
    """More bundles than a small Java map has room for, and reports that are late: some bundles have two owners."""
    stats = [
        BundleStats(
            f"{NAMESPACES[at % 3]}/0x{at:08x}_0x{at + 1:08x}", 1, 0, 0, *[float(1 + at % 17) * (1 + at // 25)] * 4
        )
        for at in range(300)
    ]
    loads = tuple(
        report_of(
            f"b-{at}:8080", stats[at * 25 : at * 25 + 25], cpu=ResourceUsage(90.0 if at % 4 == 0 else 30.0, 100.0)
        )
        for at in range(12)
    )
    for shedder in MODULAR_SHEDDERS:
        chosen = LoadSettings(
            loadBalancerLoadSheddingStrategy=shedder,
            loadBalancerBundleUnloadMinThroughputThreshold=0.0,
            loadBalancerSheddingGracePeriodMinutes=1,
            loadBalancerMsgRateDifferenceShedderThreshold=5.0,
            minUnloadMessage=1,
        )
        start = ShedStart(loads, chosen)
        bulk, scalar = BulkModularAhead(start), ModularAhead(start)
        ours = [bulk.next(number) for number in range(1, 31)]
        assert said(ours) == said([scalar.next(number) for number in range(1, 31)])
        assert sum(len(cycle.moves) for cycle in ours) > 0


USAGES: dict[str, Callable[[int], float]] = {
    "varied": lambda at: 90.0 if at % 4 == 0 else 7.0 + 5 * at,
    "equal": lambda at: 50.0,
    "full": lambda at: 95.0,
    "full but one": lambda at: 30.0 if at == 7 else 95.0,
}


@pytest.mark.parametrize("margin", [0, 10])
@pytest.mark.parametrize("usages", USAGES)
@pytest.mark.parametrize("placement", [LEAST_RATE, LEAST_RESOURCE, ROUND_ROBIN])
def test_every_placement_agrees_on_brokers_of_any_usage(placement: str, usages: str, margin: int) -> None:
    """Two of twelve brokers are idle, with and without bundles; the traffic of one is not a number. All of them have
    used less before."""
    loads = []
    for at in range(12):
        traffic = {3: 0.0, 5: 0.0, 7: math.nan}.get(at, 10.0 * (1 + at % 4))
        stats = [
            BundleStats(
                f"t/{at % 2}/0x{at:x}{place:x}_0x{at:x}{place + 1:x}", 1, 0, 0, *[traffic * (1 + place % 3)] * 4
            )
            for place in range(0 if at == 5 else 8)
        ]
        usage = ResourceUsage(USAGES[usages](at), 100.0)
        loads.append(report_of(f"b-{at}:8080", stats, cpu=usage, load_manager=MODULAR_CLASS))
    for shedder in ("ThresholdShedder", "UniformLoadShedder"):
        chosen = LoadSettings(
            loadBalancerLoadSheddingStrategy=shedder,
            loadBalancerLoadPlacementStrategy=placement,
            loadBalancerAverageResourceUsageDifferenceThresholdPercentage=margin,
            loadBalancerDistributeBundlesEvenlyEnabled=False,
            loadBalancerBundleUnloadMinThroughputThreshold=0.0,
            loadBalancerSheddingGracePeriodMinutes=1,
            minUnloadMessage=1,
        )
        for rules in map(load_rules, (Release(3, 0, 7), Release(4, 2, 4))):
            leader = Leader(chosen, ClusterPolicies(), rules)
            before = [replace(load, cpu=ResourceUsage(3.0 * at, 100.0)) for at, load in enumerate(loads)]
            state, _ = select(leader, reports_read(leader, elected(leader), before), "t/2/0x0_0x1", first)
            start = ShedStart(tuple(loads), chosen, rules, state=reports_read(leader, state, loads))
            bulk, scalar = BulkModularAhead(start), ModularAhead(start)
            assert said([bulk.next(at) for at in range(1, 5)]) == said([scalar.next(at) for at in range(1, 5)])


def test_brokers_of_one_usage_are_all_as_far_below_the_mean_as_a_margin_of_0_asks() -> None:
    loads = tuple(
        report_of(
            f"b-{at}:8080",
            [BundleStats(f"t/a/0x{at}{place}_0x{at}{place + 1}", 1, 0, 0, 50.0) for place in range(each)],
            cpu=ResourceUsage(50.0, 100.0), load_manager=MODULAR_CLASS,
        )
        for at, each in enumerate((8, 2, 2, 2))
    )  # fmt: skip
    chosen = LoadSettings(
        loadBalancerLoadSheddingStrategy="UniformLoadShedder",
        loadBalancerLoadPlacementStrategy=LEAST_RESOURCE,
        loadBalancerAverageResourceUsageDifferenceThresholdPercentage=0,
        loadBalancerDistributeBundlesEvenlyEnabled=False,
        minUnloadMessage=1,
    )
    start = ShedStart(loads, chosen)
    for running in (BulkModularAhead(start), ModularAhead(start)):
        decision = running.next(1).decision
        assert isinstance(decision, SheddingCycle)
        placements = [unload.selection.placement for unload in decision.unloads if unload.selection is not None]
        assert {(placement.reason, len(placement.answers)) for placement in placements} == {("least", 4)}


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("overloaded_from", [40, 85])
def test_twins_that_may_not_go_where_they_were_planned_agree(release: Release, overloaded_from: int) -> None:
    """AvgShedder plans for the emptiest broker, which takes no such topics, so it draws; some releases keep the draw by
    the numbers of a bundle, which are the same for all here."""
    rules = load_rules(release)
    hot = report_of(
        "b-0:8080", [BundleStats(f"t/a/0x{at}0_0x{at}1", 1, 0, 0, *[3e3] * 4) for at in range(8)],
        cpu=ResourceUsage(95.0, 100.0), load_manager=MODULAR_CLASS,
    )  # fmt: skip
    emptiest = replace(report_of("b-9:8080", [], load_manager=MODULAR_CLASS), persistent_topics=False)
    others = [
        report_of(f"b-{at}:8080", [], cpu=ResourceUsage(50.0, 100.0), load_manager=MODULAR_CLASS) for at in range(1, 6)
    ]
    chosen = LoadSettings(
        loadBalancerLoadSheddingStrategy=AVERAGE,
        loadBalancerLoadPlacementStrategy=AVERAGE,
        loadBalancerDistributeBundlesEvenlyEnabled=False,
        loadBalancerBrokerOverloadedThresholdPercentage=overloaded_from,
        loadBalancerAvgShedderHitCountHighThreshold=1,
        maxUnloadPercentage=0.5,
        minUnloadMessage=0,
    )
    for seed in range(3):
        start = ShedStart((hot, *others, emptiest), chosen, rules, seed=seed)
        bulk, scalar = BulkModularAhead(start), ModularAhead(start)
        ours = [bulk.next(number) for number in range(1, 6)]
        assert said(ours) == said([scalar.next(number) for number in range(1, 6)])
        assert sum(len(cycle.moves) for cycle in ours) > 1


def test_a_release_that_places_at_the_next_look_up_is_forecast_bundle_by_bundle() -> None:
    assert not can_forecast_in_bulk(ShedStart((report_of("b:1", []),), rules=load_rules(Release(2, 11, 0))))
