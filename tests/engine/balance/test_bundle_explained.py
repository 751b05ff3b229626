"""Where a bundle may be, broker by broker, under both managers; and what a death of its broker makes of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from engine.balance.ahead import bundle_explained, forecast
from engine.balance.ahead.broker_changes import BrokerDeath, broker_dies, broker_joins
from engine.balance.ahead.bundle_explained import BundleExplained, explain_bundle
from engine.balance.ahead.extensible import candidates_of
from engine.balance.ahead.model import ShedStart
from engine.balance.brokers import BrokerLoad, ResourceUsage
from engine.balance.filters import IsolationPolicy
from engine.balance.leadership.policies import ClusterPolicies
from engine.balance.placement.strategies import LEAST_RATE, LEAST_RESOURCE
from engine.balance.settings import EXTENSIBLE_CLASS, MODULAR_CLASS, LoadSettings
from engine.bundles.plan import LoadManager
from engine.errors import Rejection
from engine.load_rules import CURRENT_LOAD_RULES
from tests.engine.balance.shedding_world import broker, name, stats
from tests.releases import load_settings, start_of

BUNDLE = name(1)


def loads() -> tuple[BrokerLoad, ...]:
    """The first broker is full and has two bundles of the namespace, the second has one, the third none."""
    return (
        broker("b:1", 90.0, [stats(name(1), 100.0, 1e8), stats(name(2), 50.0, 5e7)]),
        broker("b:2", 30.0, [stats(name(3), 20.0, 1e7)]),
        broker("b:3", 20.0, [stats(name(9, "t/other"), 5.0, 1e4)]),
    )


def explained(start: ShedStart, bundle: str = BUNDLE) -> BundleExplained:
    explanation = explain_bundle(start, bundle)
    assert isinstance(explanation, BundleExplained), explanation
    return explanation


def outcomes(found: BundleExplained) -> dict[str, tuple[str, str]]:
    return {estimate.broker: (estimate.outcome, estimate.filter) for estimate in found.brokers}


def test_the_modular_manager_filters_by_bundles_of_the_namespace_and_takes_the_least_rate() -> None:
    explanation = explained(start_of("4.2.4", loads()))
    assert (explanation.bundle, explanation.owner, explanation.load_manager) == (BUNDLE, "b:1", "modular")
    assert (explanation.strategy, explanation.reason) == (LEAST_RATE, "least")
    assert outcomes(explanation) == {
        "b:1": ("filtered", "fewest-bundles"), "b:2": ("filtered", "fewest-bundles"), "b:3": ("candidate", ""),
    }  # fmt: skip
    assert [(estimate.broker, estimate.chance, estimate.owns) for estimate in explanation.brokers] == [
        ("b:1", 0.0, True), ("b:2", 0.0, False), ("b:3", 1.0, False),
    ]  # fmt: skip
    assert [estimate.compared for estimate in explanation.brokers] == [None, None, 5.0]
    assert [estimate.msgs_per_sec for estimate in explanation.brokers] == [150.0, 20.0, 5.0]
    assert [estimate.long_term_msgs_per_sec for estimate in explanation.brokers] == [150.0, 20.0, 5.0]
    assert [estimate.topics for estimate in explanation.brokers] == [2, 1, 1]
    assert [estimate.usage for estimate in explanation.brokers] == pytest.approx([0.9, 0.3, 0.2])
    assert explanation.compared_limit is None
    assert (explanation.cycle, explanation.skipped, explanation.broker_verdict) == (1, None, "sheds")
    assert (explanation.verdict, explanation.unload, explanation.destination) == ("unloaded", "unloaded", "b:3")
    # The mean is 46.7 %, and the shedder takes from ten percent points above it.
    assert (explanation.figure, explanation.limit) == pytest.approx((0.9, 0.56667), abs=1e-4)


def test_every_bundle_says_what_the_cycle_makes_of_it() -> None:
    second = explained(start_of("4.2.4", loads()), name(2))
    assert (second.owner, second.verdict, second.unload, second.destination) == ("b:1", "enough-taken", None, None)
    calm = explained(start_of("4.2.4", loads()), name(3))
    assert (calm.owner, calm.broker_verdict, calm.verdict, calm.unload) == ("b:2", "below-threshold", None, None)


def test_the_usage_strategy_compares_averages_and_draws_below_their_mean() -> None:
    settings = LoadSettings(
        loadBalancerLoadPlacementStrategy=LEAST_RESOURCE, loadBalancerDistributeBundlesEvenlyEnabled=False
    )
    explanation = explained(ShedStart(loads(), settings))
    assert {outcome[0] for outcome in outcomes(explanation).values()} == {"candidate"}
    compared = {estimate.broker: estimate.compared for estimate in explanation.brokers}
    assert compared == pytest.approx({"b:1": 0.9, "b:2": 0.3, "b:3": 0.2})
    # A mean of 46.7 %, and ten percent points below it.
    assert explanation.compared_limit == pytest.approx(0.36667, abs=1e-4)
    assert {estimate.broker: estimate.chance for estimate in explanation.brokers} == {
        "b:1": 0.0,
        "b:2": 0.5,
        "b:3": 0.5,
    }


def test_isolation_leaves_brokers_out_under_both_managers() -> None:
    only = IsolationPolicy(("t/n",), ("b",), (), 1)
    here = [replace(load, broker=f"b{at}:8080") for at, load in enumerate(loads())]
    policies = ClusterPolicies(isolation=(replace(only, primary=("b1",)),))
    for manager in ("modular", "extensible"):
        explanation = explained(ShedStart(tuple(here), policies=policies, load_manager=manager))
        allowed = [estimate.broker for estimate in explanation.brokers if estimate.outcome == "candidate"]
        assert allowed == ["b1:8080"], manager
        assert [estimate.filter for estimate in explanation.brokers if estimate.outcome == "not-permitted"] == ["", ""]


def test_the_extensible_manager_compares_what_brokers_publish() -> None:
    settings = LoadSettings(loadBalancerSheddingConditionHitCountThreshold=0)
    explanation = explained(ShedStart(loads(), settings, load_manager="extensible"))
    assert (explanation.load_manager, explanation.strategy, explanation.cycle) == ("extensible", LEAST_RESOURCE, 1)
    assert {estimate.broker: estimate.compared for estimate in explanation.brokers} == pytest.approx(
        {"b:1": 0.9, "b:2": 0.3, "b:3": 0.2}, abs=1e-6
    )
    assert {estimate.broker: estimate.chance for estimate in explanation.brokers} == {
        "b:1": 0.0,
        "b:2": 0.5,
        "b:3": 0.5,
    }
    assert [estimate.long_term_msgs_per_sec for estimate in explanation.brokers] == [None] * 3
    assert explanation.broker_verdict == "moves"
    assert (explanation.figure, explanation.limit) == pytest.approx((0.9, 0.2), abs=1e-6)
    assert explanation.unload is None


def _verdict(found: BundleExplained) -> tuple[object, ...]:
    """Everything that a cycle makes of the owner and of the bundle."""
    return (
        found.broker_verdict, found.measure, found.figure, found.limit, found.need, found.need_measure, found.least,
        found.verdict, found.unload, found.destination,
    )  # fmt: skip


@pytest.mark.parametrize("manager", ["modular", "extensible"])
def test_nothing_comes_of_a_cycle_that_does_not_run(manager: LoadManager) -> None:
    off = LoadSettings(loadBalancerSheddingEnabled=False)
    explanation = explained(ShedStart(loads(), off, load_manager=manager))
    assert explanation.skipped == "switched-off"
    assert _verdict(explanation) == (None,) * 10


def test_the_traffic_that_a_shedder_moves_is_said_with_its_least_and_what_it_counts() -> None:
    explanation = explained(start_of("4.2.4", loads()))
    # 90 % - 56.7 % + 5 % of 150 MB/s, at least 10 MiB/s.
    assert (explanation.need, explanation.need_measure, explanation.least) == (
        pytest.approx(57.5e6),
        "bytes",
        10 * 2**20,
    )
    assert explanation.measure == "usage-average"
    pairs = LoadSettings(
        loadBalancerLoadSheddingStrategy="AvgShedder",
        loadBalancerAvgShedderHitCountLowThreshold=1,
        maxUnloadPercentage=0.5,
        minUnloadMessage=10,
    )
    explanation = explained(ShedStart(loads(), pairs))
    # Half of what the fullest broker has more than the emptiest: (150 - 5) / 2 messages/s.
    assert _verdict(explanation) == (
        "sheds", "usage-difference", pytest.approx(70.0), 15.0, 72.5, "messages", 0.0, "too-large", None, None,
    )  # fmt: skip


@pytest.mark.parametrize("manager", ["modular", "extensible"])
def test_usage_takes_heap_memory_in_where_the_release_does(manager: LoadManager) -> None:
    rules = structs.replace(CURRENT_LOAD_RULES, heap_memory_counts=True)
    hot = tuple(replace(load, memory=ResourceUsage(95.0, 100.0)) for load in loads())
    settings = LoadSettings(loadBalancerMemoryResourceWeight=1.0)
    explanation = explained(ShedStart(hot, settings, rules, load_manager=manager))
    assert [estimate.usage for estimate in explanation.brokers] == pytest.approx([0.95] * 3)


@pytest.mark.parametrize("manager", ["modular", "extensible"])
def test_each_broker_has_its_bundles_of_the_namespace_and_one_of_them_owns_the_bundle(manager: LoadManager) -> None:
    explanation = explained(ShedStart(loads(), load_manager=manager))
    assert [(estimate.of_namespace, estimate.owns) for estimate in explanation.brokers] == [
        (2, True),
        (1, False),
        (0, False),
    ]


def test_the_first_filter_that_leaves_a_broker_out_is_the_one_that_is_named() -> None:
    one, two, three = loads()
    few = load_settings("4.2.4", loadBalancerBrokerMaxTopics=1)
    # b:1 has too many topics, and b:2 more bundles of the namespace than b:3.
    start = ShedStart((one, two, three), few)
    assert outcomes(explained(start)) == {
        "b:1": ("filtered", "topics"), "b:2": ("filtered", "fewest-bundles"), "b:3": ("candidate", ""),
    }  # fmt: skip
    mixed = (replace(one, load_manager=EXTENSIBLE_CLASS), two, replace(three, load_manager=EXTENSIBLE_CLASS))
    below = LoadSettings(loadBalancerBrokerMaxTopics=2)  # this manager wants fewer than the maximum
    explanation = explained(ShedStart(mixed, below, load_manager="extensible"))
    assert outcomes(explanation) == {
        "b:1": ("filtered", "topics"), "b:2": ("filtered", "load-manager"), "b:3": ("candidate", ""),
    }  # fmt: skip
    # Only candidates are compared, and the limit is ten percent points below the mean of them: of one, its own load.
    assert [estimate.compared for estimate in explanation.brokers] == [None, None, pytest.approx(0.2)]
    assert explanation.compared_limit == pytest.approx(0.1)


def test_the_extensible_manager_compares_nothing_of_a_namespace_that_goes_in_turn_or_nowhere() -> None:
    apart = LoadSettings(loadBalancerSheddingExcludedNamespaces=("t/n",))
    explanation = explained(ShedStart(loads(), apart, load_manager="extensible"))
    assert (explanation.reason, explanation.compared_limit) == ("in-turn", None)
    assert [estimate.compared for estimate in explanation.brokers] == [None] * 3
    nowhere = ClusterPolicies(isolation=(IsolationPolicy(("t/n",), ("x",), (), 1),))
    explanation = explained(ShedStart(loads(), policies=nowhere, load_manager="extensible"))
    assert {estimate.outcome for estimate in explanation.brokers} == {"not-permitted"}
    assert (explanation.compared_limit, [estimate.chance for estimate in explanation.brokers]) == (None, [0.0] * 3)


@pytest.mark.parametrize(
    ("hits", "interval_minutes", "cycle"),
    [
        (-1, 1, 1),
        (0, 1, 1),
        (3, 1, 4),  # one more than the threshold
        (19, 1, 20),
        (4, 9, 2),  # within the longest forecast
        (4, 20, 1),
    ],
)
def test_the_cycle_of_the_extensible_manager_is_the_first_that_acts(
    hits: int, interval_minutes: int, cycle: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (forecast, bundle_explained):
        monkeypatch.setattr(module, "MAX_MINUTES", 20)
    settings = LoadSettings(
        loadBalancerSheddingConditionHitCountThreshold=hits, loadBalancerSheddingIntervalMinutes=interval_minutes
    )
    explanation = explained(ShedStart(loads(), settings, load_manager="extensible"))
    assert explanation.cycle == cycle
    acts = cycle == max(1, hits + 1)
    assert (explanation.skipped, explanation.broker_verdict) == ((None, "moves") if acts else ("HitCount", None))


def test_a_leader_that_acts_after_many_hits_is_looked_at_twenty_cycles_ahead() -> None:
    settings = LoadSettings(loadBalancerSheddingConditionHitCountThreshold=30)
    explanation = explained(ShedStart(loads(), settings, load_manager="extensible"))
    assert (explanation.cycle, explanation.skipped) == (20, "HitCount")


def test_a_pair_says_both_loads_and_which_bundles_move() -> None:
    start = ShedStart(loads(), load_manager="extensible")
    full = ("moves", "load", pytest.approx(0.9), pytest.approx(0.2), None, None, None)
    assert _verdict(explained(start, name(2))) == (*full, "moved", None, "b:3")
    assert _verdict(explained(start, name(1))) == (*full, "last-one", None, None)
    assert _verdict(explained(start, name(3))) == ("not-paired", *(None,) * 9)
    assert _verdict(explained(start, name(9, "t/other"))) == ("takes", *(None,) * 9)


def test_every_pair_of_a_cycle_is_looked_at() -> None:
    four = (
        broker("b:1", 95.0, [stats(name(1), 9.0, 9e7), stats(name(2), 5.0, 5e7), stats(name(7), 0.1, 1e3)]),
        broker("b:2", 90.0, [stats(name(3), 9.0, 9e7), stats(name(4), 5.0, 5e7)]),
        broker("b:3", 10.0, [stats(name(5), 1.0, 1e4)]),
        broker("b:4", 12.0, [stats(name(6), 1.0, 1e4)]),
    )
    start = ShedStart(four, load_manager="extensible")
    second = ("moves", "load", pytest.approx(0.9), pytest.approx(0.12), None, None, None, "moved", None, "b:4")
    assert _verdict(explained(start, name(4))) == second
    for bundle in (name(5), name(6)):
        assert _verdict(explained(start, bundle)) == ("takes", *(None,) * 9)
    # A broker reports its two largest bundles only: of the third one nothing is known to the leader.
    two = LoadSettings(loadBalancerMaxNumberOfBundlesInBundleLoadReport=2)
    explanation = explained(replace(start, settings=two), name(7))
    assert (explanation.broker_verdict, explanation.verdict, explanation.destination) == ("moves", "not-reported", None)
    # Of a broker with one bundle none is looked at.
    explanation = explained(replace(start, loads=(replace(four[2], cpu=ResourceUsage(99.0, 100.0)), four[3])), name(5))
    assert (explanation.broker_verdict, explanation.verdict, explanation.destination) == ("one-bundle", None, None)


@pytest.mark.parametrize(("hits", "cycle"), [(0, 1), (3, 4)])
def test_even_brokers_are_looked_at_as_long_as_uneven_ones(hits: int, cycle: int) -> None:
    even = (broker("b:1", 30.0, [stats(name(1), 5.0, 1e5)]), broker("b:2", 30.0, [stats(name(2), 5.0, 1e5)]))
    settings = LoadSettings(loadBalancerSheddingConditionHitCountThreshold=hits)
    explanation = explained(ShedStart(even, settings, load_manager="extensible"))
    assert (explanation.cycle, explanation.skipped) == (cycle, "HitCount")


@pytest.mark.parametrize("manager", ["modular", "extensible"])
def test_one_cycle_is_explained_however_long_it_takes(manager: LoadManager, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (forecast, bundle_explained):
        monkeypatch.setattr(module, "MAX_MINUTES", 20)
    settings = LoadSettings(loadBalancerSheddingIntervalMinutes=20)
    assert explained(ShedStart(loads(), settings, load_manager=manager)).cycle == 1


def test_a_strategy_that_draws_by_planned_destinations_compares_nothing() -> None:
    settings = LoadSettings(
        loadBalancerLoadSheddingStrategy="AvgShedder", loadBalancerLoadPlacementStrategy="AvgShedder"
    )
    explanation = explained(ShedStart(loads(), settings))
    assert (explanation.reason, explanation.compared_limit) == ("random", None)
    assert [estimate.compared for estimate in explanation.brokers] == [None] * 3


@pytest.mark.parametrize("manager", ["modular", "extensible"])
def test_a_bundle_that_nobody_reports_is_refused(manager: str) -> None:
    explanation = explain_bundle(ShedStart(loads(), load_manager=manager), name(77))  # type: ignore[arg-type]
    assert isinstance(explanation, Rejection)
    assert (explanation.error, explanation.status, explanation.field) == ("NotFound", 404, "bundle")


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
    candidates = candidates_of(BUNDLE, others, LoadSettings(), none)
    assert (candidates.brokers, dict(candidates.filtered)) == (("b:1",), {"load-manager": ("b:1",)})
    few = LoadSettings(loadBalancerBrokerMaxTopics=2)
    assert set(candidates_of(BUNDLE, listed, few, none).brokers) == {"b:2", "b:3"}
    grouped = ClusterPolicies(groups={"t/n": "G", "t/other": "g"})
    # Of the group b:1 has two bundles, the others one each.
    assert set(candidates_of(BUNDLE, listed, LoadSettings(), grouped).brokers) == {"b:2", "b:3"}
    assert "anti-affinity" in candidates_of(BUNDLE, listed, LoadSettings(), grouped).filtered
