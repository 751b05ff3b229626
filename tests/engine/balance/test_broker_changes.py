"""Brokers that die or join: which draw decides each landing, by which averages, and where forecasts go on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.balance.ahead.broker_changes import BrokerDeath, broker_dies, broker_joins
from engine.balance.ahead.model import ShedStart
from engine.balance.brokers import BrokerLoad, ResourceUsage
from engine.balance.java_maps import spread_hash
from engine.balance.leadership.state import Leader, elected, reports_read
from engine.balance.placement.model import Placement
from engine.balance.settings import EXTENSIBLE_CLASS
from tests.engine.balance.shedding_world import broker, name, stats
from tests.releases import load_settings

ANYWHERE = load_settings("4.2.4", loadBalancerDistributeBundlesEvenlyEnabled=False)


def death_of(start: ShedStart, dead: str = "b:1") -> BrokerDeath:
    result = broker_dies(start, dead)
    assert isinstance(result, BrokerDeath), result
    return result


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("load_manager", ["modular", "extensible"])
def test_each_landing_is_the_next_draw_of_the_seed(load_manager: str, seed: int) -> None:
    loads = tuple(
        broker(f"b:{at}", 10, [stats(name(bundle)) for bundle in range(5)] if at == 1 else []) for at in range(1, 5)
    )
    if load_manager == "extensible":
        loads = tuple(replace(load, load_manager=EXTENSIBLE_CLASS) for load in loads)
    start = ShedStart(loads, ANYWHERE, load_manager=load_manager, seed=seed)  # type: ignore[arg-type]
    landings = death_of(start).landings
    assert [set(landing.chances) for landing in landings] == [{"b:2", "b:3", "b:4"}] * 5
    assert [landing.destination for landing in landings] == [
        Placement(tuple(landing.chances), "least").pick(seed, number) for number, landing in enumerate(landings, 1)
    ]


def test_a_bundle_counts_by_its_average_on_the_broker_that_it_lands_on() -> None:
    """By its own 1000 messages/s, not by the 100 of a bundle that nobody has seen."""
    loads = (
        broker("b:1", 10, [stats(name(1), 1000.0), stats(name(2), 1.0)]),
        broker("b:2", 10),
        broker("b:3", 10, [stats(name(3), 500.0)]),
    )
    landings = death_of(ShedStart(loads, ANYWHERE)).landings
    assert [(landing.destination, dict(landing.chances)) for landing in landings] == [
        ("b:2", {"b:2": 1.0}), ("b:3", {"b:3": 1.0}),
    ]  # fmt: skip


def test_the_wish_of_an_unload_is_certain() -> None:
    loads = (broker("b:1", 10, [stats(name(1)), stats(name(2))]), broker("b:2", 10), broker("b:3", 10))
    leader = Leader(ANYWHERE)
    state = replace(reports_read(leader, elected(leader), loads), wishes={name(1): "b:3"})
    landings = death_of(ShedStart(loads, ANYWHERE, state=state)).landings
    assert [dict(landing.chances) for landing in landings] == [{"b:3": 1.0}, {"b:2": 0.5, "b:3": 0.5}]
    assert landings[0].destination == "b:3"


def test_the_leader_goes_on_where_it_was_known_and_only_there() -> None:
    loads = (broker("b:1", 10, [stats(name(1), 5.0)]), broker("b:2", 10), broker("b:3", 10))
    assert death_of(ShedStart(loads, ANYWHERE)).start.state is None
    leader = Leader(ANYWHERE)
    state = reports_read(leader, elected(leader), loads)
    after = death_of(ShedStart(loads, ANYWHERE, state=state)).start.state
    assert after is not None
    assert set(after.known) == {"b:2", "b:3"}
    assert after.data[name(1)].long_term.num_samples == 3, "one before, and two since: a broker that goes is two events"


def test_the_leader_meets_the_bundles_of_a_dead_broker_as_they_are_looked_up_not_as_they_are_reported_next() -> None:
    """Two of one bucket of its map: the first goes to the last broker, whose report comes after that of the second."""
    one, other = [bundle for at in range(40) if spread_hash(bundle := name(at)) & 15 == spread_hash(name(0)) & 15][:2]
    loads = (
        broker("b:1", 10, [stats(one, 1000.0), stats(other, 1000.0)]),
        broker("b:2", 10),
        broker("b:3", 10, [stats(name(50), 500.0)]),
    )
    state = reports_read(Leader(ANYWHERE), elected(Leader(ANYWHERE)), loads)
    assert state.brokers.keys == ("b:1", "b:3", "b:2")
    death = death_of(ShedStart(loads, ANYWHERE, state=state))
    assert [landing.destination for landing in death.landings] == ["b:2", "b:3"]
    assert death.start.state is not None
    met = death.start.state.bundles.keys
    assert [bundle for bundle in met if bundle in (one, other)] == [one, other]


def test_a_new_broker_is_like_the_first_one_but_idle() -> None:
    first = replace(
        broker("b:1", 60, version="4.2.4"),
        memory=ResourceUsage(1.0, 64.0), direct_memory=ResourceUsage(2.0, 32.0),
        bandwidth_in=ResourceUsage(3.0, 10.0), bandwidth_out=ResourceUsage(4.0, 20.0),
    )  # fmt: skip
    second = BrokerLoad("b:2", cpu=ResourceUsage(1.0, 800.0), version="3.0.7", load_manager="other")
    added, start = broker_joins(ShedStart((first, second)))
    assert added == "new-broker-1:8080"
    new = start.loads[-1]
    assert (new.broker, new.version, new.load_manager) == (added, "4.2.4", first.load_manager)
    resources = (new.cpu, new.memory, new.direct_memory, new.bandwidth_in, new.bandwidth_out)
    assert [(resource.usage, resource.limit) for resource in resources] == [
        (0.0, limit) for limit in (100.0, 64.0, 32.0, 10.0, 20.0)
    ]
    assert broker_joins(start)[0] == "new-broker-2:8080"
