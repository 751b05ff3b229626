"""The loss of a broker: every bundle has a new owner, nothing is lost on the way, and refusals say why."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.balance.broker_lost import BrokerLost, broker_lost
from engine.balance.brokers import BrokerLoad, ResourceUsage, report_of
from engine.balance.filters import IsolationPolicy
from engine.balance.leadership.state import ClusterPolicies
from engine.balance.limits import BundleStats
from engine.balance.settings import LoadSettings
from engine.balance.shed_ahead_model import ShedStart
from engine.balance.shed_question import SHEDDERS, ShedQuestion
from engine.errors import Rejection
from engine.scenarios.broker_scenes import BROKER_SCENES, broker_scene

MANAGERS = ("modular", "extensible")


def bundle(at: int) -> str:
    return f"t/n/0x{at:08x}_0x{at + 1:08x}"


def cluster(rates: list[list[float]], cpus: list[float]) -> tuple[BrokerLoad, ...]:
    """Brokers with a bundle for each rate."""
    numbers = iter(range(1_000))
    return tuple(
        report_of(
            f"b:{at}",
            [BundleStats(bundle(next(numbers)), topics=2, msg_rate_in=rate) for rate in each],
            cpu=ResourceUsage(cpu, 100.0),
        )
        for at, (each, cpu) in enumerate(zip(rates, cpus, strict=True))
    )


def start(loads: tuple[BrokerLoad, ...], manager: str, **how: object) -> ShedStart:
    return ShedStart(loads, load_manager=manager, **how)  # type: ignore[arg-type]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.lists(st.floats(0, 1e6), max_size=6), st.floats(0, 100)), min_size=2, max_size=5),
    st.sampled_from(MANAGERS),
    st.integers(0, 3),
)
def test_every_bundle_lands_on_one_that_is_left_and_traffic_is_kept(
    brokers: list[tuple[list[float], float]], manager: str, seed: int
) -> None:
    loads = cluster([rates for rates, _ in brokers], [cpu for _, cpu in brokers])
    lost = broker_lost(start(loads, manager, seed=seed), "b:0")
    assert isinstance(lost, BrokerLost)
    assert [load.broker for load in lost.loads] == [load.broker for load in loads[1:]]
    assert [each.bundle for each in lost.landings] == list(loads[0].bundles)
    for each in lost.landings:
        assert each.destination in each.chances
        assert "b:0" not in each.chances
        assert sum(each.chances.values()) == pytest.approx(1)
    assert sorted(name for load in lost.loads for name in load.bundles) == sorted(
        name for load in loads for name in load.bundles
    )
    assert sum(load.msg_rate_in for load in lost.loads) == pytest.approx(sum(load.msg_rate_in for load in loads))
    assert sum(load.topics for load in lost.loads) == sum(load.topics for load in loads)


def test_the_modular_leader_gives_bundles_to_the_broker_with_fewest_messages() -> None:
    loads = cluster([[10.0], [500.0], [100.0]], [10.0, 10.0, 10.0])
    lost = broker_lost(start(loads, "modular", settings=LoadSettings()), "b:0")
    assert isinstance(lost, BrokerLost)
    assert [dict(each.chances) for each in lost.landings] == [{"b:2": 1.0}]


def test_the_extensible_leader_draws_among_brokers_well_below_the_mean() -> None:
    loads = cluster([[1.0], [1.0], [1.0], [1.0]], [10.0, 10.0, 12.0, 90.0])
    lost = broker_lost(start(loads, "extensible"), "b:0")
    assert isinstance(lost, BrokerLost)
    # The mean of those left is 37.3 %, and 10 points below it are two of them.
    assert [dict(each.chances) for each in lost.landings] == [{"b:1": 0.5, "b:2": 0.5}]


@pytest.mark.parametrize("manager", MANAGERS)
def test_isolation_leaves_a_bundle_without_an_owner(manager: str) -> None:
    loads = cluster([[5.0], [1.0]], [10.0, 10.0])
    policies = ClusterPolicies((IsolationPolicy(("t/n",), ("b:0",), (), 1),))
    lost = broker_lost(start(loads, manager, policies=policies), "b:0")
    assert isinstance(lost, BrokerLost)
    assert [(each.destination, dict(each.chances)) for each in lost.landings] == [(None, {})]
    assert lost.loads[0].bundles == loads[1].bundles


@pytest.mark.parametrize(("broker", "brokers", "error"), [("b:9", 2, "NotFound"), ("b:0", 1, "NoBrokers")])
def test_what_cannot_be_lost(broker: str, brokers: int, error: str) -> None:
    found = broker_lost(start(cluster([[1.0]] * brokers, [1.0] * brokers), "modular"), broker)
    assert isinstance(found, Rejection) and found.error == error


@pytest.mark.parametrize("shedder", SHEDDERS)
def test_a_forecast_goes_on_without_the_lost_and_with_the_added(shedder: str) -> None:
    question = replace(broker_scene("uneven").question(6), shedder=shedder, lost=("broker-1:8080",), added=("new:1",))
    found = question.ask()
    assert not isinstance(found, Rejection)
    names = {"broker-2:8080", "broker-3:8080", "broker-4:8080", "new:1"}
    before = {name for load in question.reports for name in load.bundles}
    for cycle in found.cycles:
        assert set(cycle.loads) == names
        assert {name for load in cycle.loads.values() for name in load.bundles} == before
    assert all(move.source in names and move.destination in names for move in found.moves)


def test_a_series_of_reports_is_what_the_leader_remembers() -> None:
    loads = cluster([[100.0, 50.0], [10.0]], [10.0, 10.0])
    question = ShedQuestion((*loads, *loads))
    found = question.start()
    assert isinstance(found, ShedStart) and found.state is not None
    assert found.loads == loads
    single = ShedQuestion(loads).start()
    assert isinstance(single, ShedStart) and single.state is None
    lost = replace(question, lost=("b:0",)).start()
    assert isinstance(lost, ShedStart) and lost.state is not None and set(lost.state.known) == {"b:1"}


def test_too_many_added_brokers_are_refused() -> None:
    question = ShedQuestion(cluster([[1.0]], [1.0]), added=tuple(f"n:{at}" for at in range(101)))
    assert isinstance(question.ask(), Rejection)


@pytest.mark.parametrize("scene", [scene.name for scene in BROKER_SCENES])
def test_every_scene_is_answered_by_its_release(scene: str) -> None:
    assert not isinstance(broker_scene(scene).question(3).ask(), Rejection)
