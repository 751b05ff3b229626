"""The forecast of the extensible manager: when it sheds, what the filters leave (as its map has them), who is drawn."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from engine.balance.ahead.extensible import Candidates, ExtensibleAhead, candidates_of
from engine.balance.ahead.model import ShedStart
from engine.balance.brokers import BrokerLoad
from engine.balance.filters import IsolationPolicy
from engine.balance.leadership.policies import ClusterPolicies
from engine.balance.placement.model import Placement
from engine.balance.settings import EXTENSIBLE_CLASS, LoadSettings
from engine.balance.shedding.transfer import TransferCycle
from engine.load_rules import LoadRules
from tests.engine.balance.shedding_world import broker, name, stats

AT_ONCE = LoadSettings(loadBalancerSheddingConditionHitCountThreshold=0, loadBalancerBrokerLoadTargetStd=0.1)


def loads(idle: int = 1, **members: object) -> tuple[BrokerLoad, ...]:
    """One broker with six bundles of traffic, and idle ones, of which ``members`` is true."""
    busy = broker("b:0", 90, [stats(name(at), 1000.0, 1e7) for at in range(6)])
    others = [replace(broker(f"b:{at}", 10), **members) for at in range(1, idle + 1)]  # type: ignore[arg-type]
    return tuple(replace(load, load_manager=EXTENSIBLE_CLASS) for load in (busy, *others))


def ahead(settings: LoadSettings = AT_ONCE, idle: int = 1, **members: object) -> ExtensibleAhead:
    start = ShedStart(loads(idle), settings, load_manager="extensible")
    return ExtensibleAhead(replace(start, **members))  # type: ignore[arg-type]


def test_a_transfer_goes_to_its_target_for_certain() -> None:
    cycle = ahead().next(1)
    assert cycle.moves
    assert {move.destination for move in cycle.moves} == {"b:1"}
    assert all(dict(move.chances) == {"b:1": 1.0} for move in cycle.moves)
    assert {move.bundle for move in cycle.moves} <= {name(at) for at in range(6)}
    assert set(cycle.loads["b:1"].bundles) == {move.bundle for move in cycle.moves}


@pytest.mark.parametrize("with_policies", [True, False])
def test_bundles_with_policies_take_no_place_in_a_report_from_those_that_may_move(*, with_policies: bool) -> None:
    """The report of a broker has room for two; the two largest are of a namespace with a group."""
    settings = structs.replace(AT_ONCE, loadBalancerMaxNumberOfBundlesInBundleLoadReport=2)
    bundles = [stats(name(at, "t/grouped"), 2000.0, 2e7) for at in range(2)]
    plain = [stats(name(at), 1000.0, 1e7) for at in range(2)]
    busy = replace(broker("b:0", 90, bundles + plain), load_manager=EXTENSIBLE_CLASS)
    running = ExtensibleAhead(
        ShedStart(
            (busy, loads()[1]), settings, load_manager="extensible",
            policies=ClusterPolicies(groups={"t/grouped": "g"} if with_policies else {}),
        )
    )  # fmt: skip
    assert {move.bundle.rpartition("/")[0] for move in running.next(1).moves} == {
        "t/n" if with_policies else "t/grouped"
    }


@pytest.mark.parametrize("seed", range(4))
def test_without_transfers_each_owner_is_the_next_draw_of_the_seed(seed: int) -> None:
    running = ahead(structs.replace(AT_ONCE, loadBalancerTransferEnabled=False), idle=3, seed=seed)
    moves = running.next(1).moves
    assert moves
    assert set(moves[0].chances) == {"b:1", "b:2", "b:3"}
    assert [move.destination for move in moves] == [
        Placement(tuple(move.chances), "least").pick(seed, number) for number, move in enumerate(moves, 1)
    ]


@pytest.mark.parametrize(("interval", "number", "at_ms"), [(1, 1, 60_000), (2, 3, 360_000), (3, 2, 360_000)])
def test_a_cycle_is_so_many_minutes_later(interval: int, number: int, at_ms: int) -> None:
    running = ahead(structs.replace(AT_ONCE, loadBalancerSheddingIntervalMinutes=interval))
    assert (running.next(number).at_ms, running.now_ms) == (at_ms, at_ms)


def test_one_broker_is_not_asked_and_two_are() -> None:
    decision = ExtensibleAhead(ShedStart(loads()[:1], AT_ONCE, load_manager="extensible")).next(1).decision
    two = ahead().next(1).decision
    assert isinstance(decision, TransferCycle) and isinstance(two, TransferCycle)
    assert (decision.no_run, two.no_run) == ("one-broker", None)


def test_a_broker_that_gained_or_lost_a_bundle_starts_its_averages_anew() -> None:
    running = ahead(idle=2)
    before = running.published["b:2"]
    moves = running.next(1).moves
    assert {move.destination for move in moves} == {"b:1"} or {move.destination for move in moves} == {"b:2"}
    moved = moves[0].destination
    assert moved is not None
    assert running.published["b:0"].load is None and running.published[moved].load is None
    rest = next(each for each in ("b:1", "b:2") if each != moved)
    assert running.published[rest].load is not None
    assert (running.published["b:2"] is before) == (rest == "b:2")


@pytest.mark.parametrize(
    ("members", "settings"),
    [
        ({"version": "4.2.3"}, structs.replace(AT_ONCE, preferLaterVersions=True)),
        ({"topics": 9}, structs.replace(AT_ONCE, loadBalancerBrokerMaxTopics=9)),
        ({"load_manager": "other"}, AT_ONCE),
    ],
)
def test_nothing_is_transferred_to_a_broker_that_a_filter_removes(
    members: dict[str, object], settings: LoadSettings
) -> None:
    """Filters are asked for every bundle, also for those of namespaces without policies."""
    busy, idle = (replace(load, version="4.2.4") for load in loads())
    start = ShedStart((busy, replace(idle, **members)), settings, load_manager="extensible")  # type: ignore[arg-type]
    assert ExtensibleAhead(start).next(1).moves == ()
    assert ExtensibleAhead(replace(start, loads=(busy, idle))).next(1).moves


@pytest.mark.parametrize(
    "policies",
    [ClusterPolicies(groups={"t/n": "g"}), ClusterPolicies((IsolationPolicy(("t/n",), ("b",)),))],
)
def test_bundles_with_policies_stay_unless_the_setting_lets_them_go(policies: ClusterPolicies) -> None:
    allowed = structs.replace(AT_ONCE, loadBalancerSheddingBundlesWithPoliciesEnabled=True)
    assert ahead(policies=policies).next(1).moves == ()
    assert ahead(allowed, policies=policies).next(1).moves


def test_the_filters_of_candidates_say_what_each_left() -> None:
    settings = LoadSettings()
    three = {load.broker: replace(load, version="4.2.4") for load in loads(2)}
    assert candidates_of(name(1), three, settings, ClusterPolicies()) == Candidates(("b:1", "b:0", "b:2"))
    older = {**three, "b:1": replace(three["b:1"], version="4.2.3")}
    assert candidates_of(name(1), older, settings, ClusterPolicies()).filtered == {}
    newest = candidates_of(name(1), older, structs.replace(settings, preferLaterVersions=True), ClusterPolicies())
    assert newest == Candidates(("b:0", "b:2"), {"version": ("b:0", "b:2")})
    persistent_only = {**three, "b:2": replace(three["b:2"], non_persistent_topics=False)}
    of_both = ClusterPolicies(non_persistent=[name(1)])
    assert candidates_of(name(1), persistent_only, settings, of_both).brokers == ("b:1", "b:0")
    assert candidates_of(name(2), persistent_only, settings, of_both).brokers == ("b:1", "b:0", "b:2")


def test_domains_count_only_where_they_are_switched_on() -> None:
    """The first broker has six bundles of the group, the second has one and a domain of its own."""
    busy, one, none = loads(2)
    known = {"b:0": busy, "b:1": replace(one, bundles=(name(9),)), "b:2": none}
    policies = ClusterPolicies(groups={"t/n": "g"}, domains={"b:0": "east", "b:2": "east", "b:1": "west"})
    off = candidates_of(name(1), known, LoadSettings(), policies)
    on = candidates_of(name(1), known, LoadSettings(failureDomainsEnabled=True), policies)
    assert (off.brokers, on.brokers) == (("b:2",), ("b:1",))


def test_an_excluded_namespace_goes_round_in_releases_that_exclude_any() -> None:
    settings = structs.replace(AT_ONCE, loadBalancerSheddingExcludedNamespaces=("t/n",))
    excluding = ahead(settings).placement(name(1))
    assert (excluding.reason, excluding.answers) == ("in-turn", ("b:1", "b:0"))
    assert ahead(settings, rules=LoadRules(excluded_namespaces=False)).placement(name(1)).reason == "least"
    assert ahead(settings).placement(name(1, "t/other")).reason == "least"


def test_a_broker_measures_itself_every_five_seconds_and_publishes_what_is_older_than_fifteen_minutes() -> None:
    """Twelve measurements a minute move an average of 0.5 to a usage of 0.1; a report that says nothing new is late."""
    measured = replace(broker("b:0", 10), load_manager=EXTENSIBLE_CLASS, load_average=0.5)
    running = ExtensibleAhead(ShedStart((measured,), AT_ONCE, load_manager="extensible"))
    running.next(1)
    assert running.published["b:0"].average.load == pytest.approx(0.1 + 0.4 * 0.9**12, abs=1e-9)
    assert running.published_loads == {"b:0": 0.5}
    running.next(20)
    published = running.published["b:0"].load
    assert published is not None
    assert published.updated_at_ms == 15 * 60_000 + 5_000
