"""What golden vectors of the placement strategies do not reach: their dispatch, and which of them a release has."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest
from msgspec.structs import replace

from engine.balance.averages import new_bundle_data
from engine.balance.brokers import BrokerLoad, ResourceUsage
from engine.balance.placement.model import KnownBroker, Placement
from engine.balance.placement.strategies import (
    Question,
    check_placement,
    place,
    place_least_rate,
)
from engine.balance.settings import LoadSettings
from engine.balance.shedding.average import AverageMemory
from engine.errors import Rejection
from engine.load_rules import LoadRules, load_rules
from engine.releases import Release

BROKERS = {
    "b:1": KnownBroker(BrokerLoad("b:1", cpu=ResourceUsage(99, 100))),
    "b:2": KnownBroker(BrokerLoad("b:2", cpu=ResourceUsage(98, 100))),
}
AVG = LoadSettings(loadBalancerLoadPlacementStrategy="AvgShedder")


def test_where_all_are_overloaded_each_of_them_may_win() -> None:
    assert place_least_rate(("b:1", "b:2"), BROKERS, LoadSettings()) == Placement(("b:1", "b:2"), "all-overloaded")


@dataclass(frozen=True)
class Planned:
    """A bundle of b:1 that is planned for b:2, the usage of each candidate in percent (None: no report), and what
    becomes of it where plans are kept by name for one cycle, and before."""

    usages: dict[str, float | None]
    now: Placement
    before: Placement


PLANNED = {
    "the destination is taken": Planned(
        {"b:1": 10, "b:2": 85, "b:3": 1}, Placement(("b:2",), "planned"), Placement(("b:2",), "planned")
    ),
    "exactly at the limit it is not overloaded": Planned(
        {"b:2": 85, "b:3": 1}, Placement(("b:2",), "planned"), Placement(("b:2",), "planned")
    ),
    "an overloaded one gives way to all that are not, never to the source": Planned(
        {"b:1": 10, "b:2": 85.1, "b:3": 85, "b:4": 85.1, "b:5": 1, "b:6": None},
        Placement(("b:3", "b:5"), "planned-overloaded"),
        Placement(("b:2",), "planned"),
    ),
    "nobody but the source is less loaded": Planned(
        {"b:1": 10, "b:2": 99, "b:3": 86}, Placement(("b:2",), "planned"), Placement(("b:2",), "planned")
    ),
    "a usage that is no number is not overloaded": Planned(
        {"b:2": math.nan, "b:3": 1}, Placement(("b:2",), "planned"), Placement(("b:2",), "planned")
    ),
    "a destination without a report is not overloaded": Planned(
        {"b:2": None, "b:3": 1}, Placement(("b:2",), "planned"), Placement(("b:2",), "planned")
    ),
    "the destination is no candidate": Planned(
        {"b:1": 10, "b:4": 99, "b:3": 1},
        Placement(("b:3", "b:4"), "planned-unavailable"),
        Placement(("b:1", "b:3", "b:4"), "random"),
    ),
    "the source alone is a candidate": Planned(
        {"b:1": 10}, Placement((), "no-candidates"), Placement(("b:1",), "random")
    ),
}


@pytest.mark.parametrize("case", PLANNED)
def test_where_a_planned_bundle_goes(case: str) -> None:
    planned, data = PLANNED[case], new_bundle_data()
    memory = AverageMemory(destinations={"t/n/0x0": "b:2"}, sources={"t/n/0x0": "b:1"})
    brokers = {
        name: KnownBroker(BrokerLoad(name, cpu=ResourceUsage(usage, 100)))
        for name, usage in planned.usages.items()
        if usage is not None
    }
    question = Question("t/n/0x0", data, tuple(planned.usages), brokers, memory)
    assert place(None, question, AVG, load_rules(Release(5, 0, 1)))[1] == planned.now
    by_name = replace(load_rules(Release(4, 2, 4)), avg_destinations="bundle")
    assert place(None, question, AVG, by_name)[1] == planned.before


def test_no_candidates_are_no_broker_or_a_division_by_zero() -> None:
    question = Question("t/n/0x0", new_bundle_data(), (), BROKERS)
    assert place(None, question, AVG, load_rules(Release(4, 2, 5)))[1] == Placement((), "no-candidates")
    refused = place(None, question, AVG, load_rules(Release(4, 2, 4)))[1]
    assert isinstance(refused, Rejection) and refused.error == "ArithmeticException"


def test_without_a_shedder_nothing_is_planned() -> None:
    question = Question("t/n/0x0", new_bundle_data(), ("b:2", "b:1"), BROKERS)
    assert place(None, question, AVG) == (None, Placement(("b:1", "b:2"), "random"))


@pytest.mark.parametrize("has_round_robin", [True, False])
def test_a_refusal_lists_the_strategies_of_the_release(has_round_robin: bool) -> None:
    rules = LoadRules(round_robin=has_round_robin)
    refusal = check_placement(LoadSettings(loadBalancerLoadPlacementStrategy="Nonsense"), rules)
    assert refusal is not None
    listed = set(refusal.message.partition(": ")[2].split(", "))
    others = {"LeastLongTermMessageRate", "LeastResourceUsageWithWeight", "AvgShedder"}
    assert listed == others | ({"RoundRobinBrokerSelector"} if has_round_robin else set())
