"""What golden vectors of the placement strategies do not reach: their dispatch, and which of them a release has."""

from __future__ import annotations

import pytest

from engine.balance.averages import new_bundle_data
from engine.balance.brokers import BrokerLoad, ResourceUsage
from engine.balance.placement.model import KnownBroker, Placement
from engine.balance.placement.strategies import (
    Question,
    check_placement,
    place,
    place_least_rate,
    placed_average,
)
from engine.balance.settings import LoadSettings
from engine.balance.shedding.average import AverageMemory
from engine.load_rules import LoadRules

BROKERS = {
    "b:1": KnownBroker(BrokerLoad("b:1", cpu=ResourceUsage(99, 100))),
    "b:2": KnownBroker(BrokerLoad("b:2", cpu=ResourceUsage(98, 100))),
}
AVG = LoadSettings(loadBalancerLoadPlacementStrategy="AvgShedder")


def test_where_all_are_overloaded_each_of_them_may_win() -> None:
    assert place_least_rate(("b:1", "b:2"), BROKERS, LoadSettings()) == Placement(("b:1", "b:2"), "all-overloaded")


def test_a_planned_destination_of_the_shedder_is_taken() -> None:
    data = new_bundle_data()
    planned = placed_average(AverageMemory(), "t/n/0x0", data, "b:2")
    question = Question("t/n/0x0", data, ("b:1", "b:2"), BROKERS, planned)
    assert place(None, question, AVG) == (None, Placement(("b:2",), "planned"))


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
