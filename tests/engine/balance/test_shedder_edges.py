"""What shedders decide at the edges of their rules, by hand, and that a leader uses the shedder of its settings."""

from __future__ import annotations

import pytest

from engine.balance.brokers import BrokerLoad
from engine.balance.leadership.shedding import shed
from engine.balance.leadership.state import Leader, elected, reports_read
from engine.balance.settings import LoadSettings
from engine.balance.shedding.model import ShedPlan
from engine.balance.shedding.strategies import AVERAGE
from engine.balance.shedding.threshold import ThresholdMemory, shed_threshold
from tests.engine.balance.shedding_world import MB, broker, data_of, first, name, stats, view

LOWER = LoadSettings(
    lowerBoundarySheddingEnabled=True, loadBalancerBrokerThresholdShedderPercentage=25,
    loadBalancerHistoryResourcePercentage=1.0,
)  # fmt: skip


def at_lower_boundary(averages: dict[str, float]) -> ShedPlan:
    """A cycle in which all history counts, so that usages play no part."""
    loads = [broker(average, 50.0, [stats(f"{average}/{at}", 1.0, 60 * MB) for at in range(2)]) for average in averages]
    return shed_threshold(ThresholdMemory(averages), view(loads), LOWER)[1]


@pytest.mark.parametrize(("below", "sheds"), [(0.0, []), (1 / 64, ["b:2"])])
def test_a_broker_exactly_at_the_lower_boundary_is_not_below_it(below: float, sheds: list[str]) -> None:
    """The mean is 1/2 and the boundary 1/4; the fuller two of three are not above 3/4."""
    plan = at_lower_boundary({"b:1": 0.25 - below, "b:2": 0.625 + below, "b:3": 0.625})
    assert [each for each, _ in plan.unloads] == sheds


def test_at_the_lower_boundary_half_the_threshold_should_move_and_no_less_than_is_worth_an_unload() -> None:
    """An eighth of 120 MiB/s."""
    (sheds,) = [
        verdict for verdict in at_lower_boundary({"b:1": 0.2, "b:2": 0.66, "b:3": 0.625}).verdicts if verdict.unloaded
    ]
    assert (sheds.broker, sheds.measure, sheds.need, sheds.least) == ("b:2", "lower-boundary", 15 * MB, 10 * MB)


def test_where_nobody_has_any_usage_all_are_below_the_threshold() -> None:
    plan = shed_threshold(ThresholdMemory(), view([broker("b:1", 0.0), broker("b:2", 0.0)]), LoadSettings())[1]
    result = [(verdict.outcome, verdict.figure, verdict.limit, verdict.need) for verdict in plan.verdicts]
    assert result == [("below-threshold", 0.0, 0.1, 0.0)] * 2


def test_a_bundle_without_averages_stays_and_is_named() -> None:
    """Bundles of heartbeats are reported too, and no shedder gets to know them."""
    heartbeat = stats("pulsar/b-1:8080/0x0_0xf", 1.0, 90 * MB)
    loads = [broker("b:1", 90, [stats(name(1), 1.0, 90 * MB), heartbeat]), broker("b:2", 10), broker("b:3", 10)]
    known = data_of(loads)
    del known[heartbeat.bundle]
    plan = shed_threshold(ThresholdMemory(), view(loads, data=known), LoadSettings())[1]
    (sheds,) = [verdict for verdict in plan.verdicts if verdict.outcome == "sheds"]
    assert [(bundle.bundle, bundle.outcome, bundle.value) for bundle in sheds.bundles] == [
        (name(1), "unloaded", 90 * MB), (heartbeat.bundle, "no-averages", 0.0),
    ]  # fmt: skip


def test_a_leader_of_the_average_shedder_gives_to_the_emptiest_broker_what_it_takes_off_the_fullest() -> None:
    """The leader's own draw would have taken b:2; the shedder has planned b:3."""
    loads: list[BrokerLoad] = [
        broker("b:1", 90, [stats(name(1), 9_000.0), stats(name(2), 2_000.0)]), broker("b:2", 50), broker("b:3", 10),
    ]  # fmt: skip
    leader = Leader(LoadSettings(
        loadBalancerLoadSheddingStrategy=AVERAGE, loadBalancerLoadPlacementStrategy=AVERAGE,
        loadBalancerAvgShedderHitCountHighThreshold=1,
    ))  # fmt: skip
    _, cycle = shed(leader, reports_read(leader, elected(leader), loads), 60_000, first)
    assert [(each.bundle, each.source, each.destination) for each in cycle.carried_out] == [(name(2), "b:1", "b:3")]
