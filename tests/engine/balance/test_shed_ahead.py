"""What a forecast of shedding refuses before it begins, and what it names as assumed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.balance.ahead.forecast import MAX_CYCLES, MAX_MINUTES, shed_ahead
from engine.balance.ahead.model import ShedAhead, ShedStart
from engine.balance.brokers import BrokerLoad
from engine.balance.java_maps import spread_hash
from engine.balance.leadership.policies import ClusterPolicies, PolicyKind
from engine.balance.leadership.state import Leader, elected, reports_read
from engine.balance.settings import LoadSettings
from engine.balance.shedding.strategies import UNIFORM
from engine.bundles.plan import LoadManager
from engine.errors import Rejection
from tests.engine.balance.shedding_world import broker, name, stats

INTERVAL = "loadBalancerSheddingIntervalMinutes"


@pytest.mark.parametrize("load_manager", ["modular", "extensible"])
@pytest.mark.parametrize(
    ("interval", "cycles", "field"),
    [(0, 1, INTERVAL), (-1, 1, INTERVAL), (MAX_MINUTES + 1, 1, "cycles"), (2**31 - 1, 2, "cycles"),
     (MAX_MINUTES // 100, 101, "cycles"), (1, 0, "cycles"), (1, MAX_CYCLES + 1, "cycles")],
)  # fmt: skip
def test_a_forecast_without_time_between_cycles_or_without_end_is_refused(
    load_manager: LoadManager, interval: int, cycles: int, field: str
) -> None:
    result = shed_ahead(start(load_manager, interval), cycles)
    assert isinstance(result, Rejection)
    assert (result.error, result.field) == ("IllegalArgumentException", field)


def test_the_longest_interval_is_still_forecast() -> None:
    result = shed_ahead(start("modular", MAX_MINUTES), 1)
    assert isinstance(result, ShedAhead)
    assert result.cycles[-1].at_ms == MAX_MINUTES * 60_000


def test_ten_thousand_cycles_and_two_weeks_are_the_limits() -> None:
    quiet = start("modular", 1)
    assert isinstance(shed_ahead(quiet, 10_000), ShedAhead)
    assert isinstance(shed_ahead(quiet, 10_001), Rejection)
    assert isinstance(shed_ahead(start("modular", 20_000), 1), ShedAhead)
    assert isinstance(shed_ahead(start("modular", 20_001), 1), Rejection)


ALWAYS = ("traffic-stays", "usage-moves-with-traffic")
UNKNOWN: tuple[PolicyKind, ...] = ("isolation", "groups", "domains")
GROUPS = {"t/n": "g"}


@pytest.mark.parametrize(
    ("policies", "with_domains", "expected"),
    [
        (None, True, ("policies-unknown",)),
        (ClusterPolicies(), True, ()),
        (ClusterPolicies(groups=GROUPS), True, ()),
        (ClusterPolicies(unknown=("isolation",)), True, ("isolation-unknown",)),
        (ClusterPolicies(unknown=("groups",)), True, ("groups-unknown",)),
        (ClusterPolicies(groups=GROUPS, unknown=("domains",)), True, ("domains-unknown",)),
        (ClusterPolicies(groups=GROUPS, unknown=("domains",)), False, ()),
        (ClusterPolicies(unknown=("domains",)), True, ()),
        (ClusterPolicies(groups=GROUPS, unknown=UNKNOWN), True,
         ("isolation-unknown", "groups-unknown", "domains-unknown")),
    ],
)  # fmt: skip
def test_what_is_not_known_of_policies_is_assumed(
    policies: ClusterPolicies | None, with_domains: bool, expected: tuple[str, ...]
) -> None:
    settings = LoadSettings(failureDomainsEnabled=with_domains)
    result = shed_ahead(ShedStart((BrokerLoad("b:1"), BrokerLoad("b:2")), settings, policies=policies), 1)
    assert isinstance(result, ShedAhead)
    assert result.assumptions == (*ALWAYS, "averages-from-one-report", "history-empty", *expected)


def test_what_is_not_known_of_averages_and_loads_is_assumed() -> None:
    loads = (BrokerLoad("b:1"), BrokerLoad("b:2"))
    state = reports_read(Leader(), elected(Leader()), loads)
    known = ShedStart(loads, policies=ClusterPolicies())
    starts = [
        (replace(known, state=state), (*ALWAYS, "averages-from-reports", "history-empty")),
        (replace(known, load_manager="extensible"), (*ALWAYS, "history-empty")),
        (
            replace(known, from_metrics=True),
            (*ALWAYS, "averages-from-one-report", "loads-from-metrics", "history-empty"),
        ),
    ]
    for begin, expected in starts:
        result = shed_ahead(begin, 1)
        assert isinstance(result, ShedAhead) and result.assumptions == expected


def test_the_order_of_a_map_is_assumed_once_it_decides_in_any_cycle() -> None:
    """Only the first cycle is looked at both ways; the two bundles share a bucket, and one of them fits."""
    one, other = next(
        (name(a), name(b))
        for a in range(40)
        for b in range(a + 1, 40)
        if spread_hash(name(a)) & 15 == spread_hash(name(b)) & 15
    )
    settings = LoadSettings(
        loadBalancerLoadSheddingStrategy=UNIFORM, loadBalancerMsgRateDifferenceShedderThreshold=10.0,
        minUnloadMessage=0, minUnloadMessageThroughput=0, maxUnloadPercentage=0.2,
    )  # fmt: skip
    bundles = [stats(name(99), 100.0), stats(one, 15.0), stats(other, 15.0)]
    result = shed_ahead(
        ShedStart((broker("b:1", 50, bundles), broker("b:2", 50)), settings, policies=ClusterPolicies()), 2
    )
    assert isinstance(result, ShedAhead)
    assert result.assumptions[-1] == "map-order-unknown"
    assert [cycle.otherwise is None for cycle in result.cycles] == [False, True]


def start(load_manager: LoadManager, interval: int) -> ShedStart:
    settings = LoadSettings(loadBalancerSheddingIntervalMinutes=interval)
    return ShedStart((BrokerLoad("b:1"), BrokerLoad("b:2")), settings, load_manager=load_manager)
