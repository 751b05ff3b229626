"""Where a bundle may be, broker by broker, under both managers; and what a death of its broker makes of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.balance.ahead.broker_changes import BrokerDeath, broker_dies, broker_joins
from engine.balance.ahead.bundle_explained import BundleExplained, explain_bundle
from engine.balance.ahead.extensible import candidates_of
from engine.balance.ahead.model import ShedStart
from engine.balance.brokers import BrokerLoad, ResourceUsage
from engine.balance.filters import IsolationPolicy
from engine.balance.leadership.policies import ClusterPolicies
from engine.balance.placement.strategies import LEAST_RATE, LEAST_RESOURCE
from engine.balance.settings import EXTENSIBLE_CLASS, MODULAR_CLASS, LoadSettings
from engine.errors import Rejection
from tests.engine.balance.shedding_world import broker, name, stats

BUNDLE = name(1)


def loads() -> tuple[BrokerLoad, ...]:
    """The first broker is full and has two bundles of the namespace, the second has one, the third none."""
    return (
        broker("b:1", 90.0, [stats(name(1), 100.0, 1e8), stats(name(2), 50.0, 5e7)]),
        broker("b:2", 30.0, [stats(name(3), 20.0, 1e7)]),
        broker("b:3", 20.0, [stats(name(9, "t/other"), 5.0, 1e4)]),
    )


def explained(start: ShedStart, bundle: str = BUNDLE) -> BundleExplained:
    found = explain_bundle(start, bundle)
    assert isinstance(found, BundleExplained), found
    return found


def outcomes(found: BundleExplained) -> dict[str, tuple[str, str]]:
    return {each.broker: (each.outcome, each.filter) for each in found.brokers}


def test_the_modular_manager_filters_by_bundles_of_the_namespace_and_takes_the_least_rate() -> None:
    found = explained(ShedStart(loads()))
    assert (found.bundle, found.owner, found.load_manager, found.strategy, found.reason) == (
        BUNDLE, "b:1", "modular", LEAST_RATE, "least",
    )  # fmt: skip
    assert outcomes(found) == {
        "b:1": ("filtered", "fewest-bundles"), "b:2": ("filtered", "fewest-bundles"), "b:3": ("candidate", ""),
    }  # fmt: skip
    assert [(each.broker, each.chance, each.owns) for each in found.brokers] == [
        ("b:1", 0.0, True), ("b:2", 0.0, False), ("b:3", 1.0, False),
    ]  # fmt: skip
    assert [each.compared for each in found.brokers] == [None, None, 5.0]
    assert [each.msgs_per_sec for each in found.brokers] == [150.0, 20.0, 5.0]
    assert [each.long_term_msgs_per_sec for each in found.brokers] == [150.0, 20.0, 5.0]
    assert [each.topics for each in found.brokers] == [2, 1, 1]
    assert [each.usage for each in found.brokers] == pytest.approx([0.9, 0.3, 0.2])
    assert found.compared_limit is None
    assert (found.cycle, found.skipped, found.broker_verdict) == (1, None, "sheds")
    assert (found.verdict, found.unload, found.destination) == ("unloaded", "unloaded", "b:3")
    # The mean is 46.7 %, and the shedder takes from ten percent points above it.
    assert (found.figure, found.limit) == pytest.approx((0.9, 0.56667), abs=1e-4)


def test_every_bundle_says_what_the_cycle_makes_of_it() -> None:
    second = explained(ShedStart(loads()), name(2))
    assert (second.owner, second.verdict, second.unload, second.destination) == ("b:1", "enough-taken", None, None)
    calm = explained(ShedStart(loads()), name(3))
    assert (calm.owner, calm.broker_verdict, calm.verdict, calm.unload) == ("b:2", "below-threshold", None, None)


def test_the_usage_strategy_compares_averages_and_draws_below_their_mean() -> None:
    settings = LoadSettings(
        loadBalancerLoadPlacementStrategy=LEAST_RESOURCE, loadBalancerDistributeBundlesEvenlyEnabled=False
    )
    found = explained(ShedStart(loads(), settings))
    assert {each[0] for each in outcomes(found).values()} == {"candidate"}
    compared = {each.broker: each.compared for each in found.brokers}
    assert compared == pytest.approx({"b:1": 0.9, "b:2": 0.3, "b:3": 0.2})
    # A mean of 46.7 %, and ten percent points below it.
    assert found.compared_limit == pytest.approx(0.36667, abs=1e-4)
    assert {each.broker: each.chance for each in found.brokers} == {"b:1": 0.0, "b:2": 0.5, "b:3": 0.5}


def test_isolation_leaves_brokers_out_under_both_managers() -> None:
    only = IsolationPolicy(("t/n",), ("b",), (), 1)
    here = [replace(load, broker=f"b{at}:8080") for at, load in enumerate(loads())]
    policies = ClusterPolicies(isolation=(replace(only, primary=("b1",)),))
    for manager in ("modular", "extensible"):
        found = explained(ShedStart(tuple(here), policies=policies, load_manager=manager))
        allowed = [each.broker for each in found.brokers if each.outcome == "candidate"]
        assert allowed == ["b1:8080"], manager
        assert [each.filter for each in found.brokers if each.outcome == "not-permitted"] == ["", ""]


def test_the_extensible_manager_compares_what_brokers_publish() -> None:
    settings = LoadSettings(loadBalancerSheddingConditionHitCountThreshold=0)
    found = explained(ShedStart(loads(), settings, load_manager="extensible"))
    assert (found.load_manager, found.strategy, found.cycle) == ("extensible", LEAST_RESOURCE, 1)
    assert {each.broker: each.compared for each in found.brokers} == pytest.approx(
        {"b:1": 0.9, "b:2": 0.3, "b:3": 0.2}, abs=1e-6
    )
    assert {each.broker: each.chance for each in found.brokers} == {"b:1": 0.0, "b:2": 0.5, "b:3": 0.5}
    assert [each.long_term_msgs_per_sec for each in found.brokers] == [None] * 3
    assert found.broker_verdict == "moves"
    assert (found.figure, found.limit) == pytest.approx((0.9, 0.2), abs=1e-6)
    assert found.unload is None


@pytest.mark.parametrize("manager", ["modular", "extensible"])
def test_a_bundle_that_nobody_reports_is_refused(manager: str) -> None:
    found = explain_bundle(ShedStart(loads(), load_manager=manager), name(77))  # type: ignore[arg-type]
    assert isinstance(found, Rejection)
    assert (found.error, found.status, found.field) == ("NotFound", 404, "bundle")


@pytest.mark.parametrize("broker_id", ["b:1", "b:2", "b:3"])
@pytest.mark.parametrize("manager", ["modular", "extensible"])
def test_a_death_moves_every_bundle_with_its_traffic(broker_id: str, manager: str) -> None:
    start = ShedStart(loads(), load_manager=manager)  # type: ignore[arg-type]
    death = broker_dies(start, broker_id)
    assert isinstance(death, BrokerDeath)
    dead = next(load for load in start.loads if load.broker == broker_id)
    assert [landing.bundle for landing in death.landings] == list(dead.bundles)
    assert [load.broker for load in death.start.loads] == [each for each in ("b:1", "b:2", "b:3") if each != broker_id]
    before = sum(load.msgs_per_sec for load in start.loads)
    assert sum(load.msgs_per_sec for load in death.start.loads) == pytest.approx(before)
    for landing in death.landings:
        owner = next(load.broker for load in death.start.loads if landing.bundle in load.bundles)
        assert owner == landing.destination
        assert landing.chances[owner] > 0


def test_a_newcomer_is_empty_and_like_the_first_broker() -> None:
    start = ShedStart(loads())
    added, joined = broker_joins(start)
    new = next(load for load in joined.loads if load.broker == added)
    assert (new.bundles, new.msgs_per_sec, new.topics) == ((), 0.0, 0)
    assert (new.cpu, new.load_manager) == (ResourceUsage(0.0, 100.0), MODULAR_CLASS)
    again, _ = broker_joins(joined)
    assert again != added


def test_the_filters_of_the_extensible_manager_in_their_order() -> None:
    listed = {load.broker: load for load in loads()}
    others = {**listed, "b:1": replace(listed["b:1"], load_manager=EXTENSIBLE_CLASS)}
    none = ClusterPolicies()
    # Nobody runs it: then it is asked what it would do if all did.
    assert set(candidates_of(BUNDLE, listed, LoadSettings(), none).brokers) == set(listed)
    found = candidates_of(BUNDLE, others, LoadSettings(), none)
    assert (found.brokers, dict(found.filtered)) == (("b:1",), {"load-manager": ("b:1",)})
    few = LoadSettings(loadBalancerBrokerMaxTopics=2)
    assert set(candidates_of(BUNDLE, listed, few, none).brokers) == {"b:2", "b:3"}
    grouped = ClusterPolicies(groups={"t/n": "G", "t/other": "g"})
    # Of the group b:1 has two bundles, the others one each.
    assert set(candidates_of(BUNDLE, listed, LoadSettings(), grouped).brokers) == {"b:2", "b:3"}
    assert "anti-affinity" in candidates_of(BUNDLE, listed, LoadSettings(), grouped).filtered
