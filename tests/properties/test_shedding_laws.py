"""Laws of shedding and placement, for any cluster: what is even stays, nothing is lost, filters hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from engine.balance.ahead.forecast import shed_ahead
from engine.balance.ahead.model import LoadWorld, ShedAhead, ShedStart
from engine.balance.brokers import BrokerLoad, ResourceUsage, report_of
from engine.balance.filters import IsolationPolicy
from engine.balance.java_maps import MapOrder, concurrent_order, hash_order
from engine.balance.leadership.placement import look_up
from engine.balance.leadership.policies import ClusterPolicies
from engine.balance.leadership.shedding import shed
from engine.balance.leadership.state import Leader, elected, reports_read
from engine.balance.limits import BundleStats
from engine.balance.placement.model import Placement
from engine.balance.placement.strategies import LEAST_RATE, LEAST_RESOURCE, ROUND_ROBIN
from engine.balance.settings import MODULAR_CLASS, LoadSettings
from engine.balance.shedding.strategies import AVERAGE, MODULAR_SHEDDERS
from engine.errors import Rejection

rates = st.floats(0, 1e6, allow_nan=False, allow_infinity=False)
percents = st.floats(0, 100, allow_nan=False)
SHEDDERS = (*MODULAR_SHEDDERS, "TransferShedder")
RESOURCES = ("cpu", "memory", "direct_memory", "bandwidth_in", "bandwidth_out")


@st.composite
def clusters(draw: st.DrawFn, least: int = 1, most: int = 6) -> tuple[BrokerLoad, ...]:
    """Brokers with bundles of a few namespaces; totals are the sums of the bundles, as brokers report them."""
    count = draw(st.integers(least, most))
    number = 0
    loads = []
    for broker in range(count):
        bundles = []
        for _ in range(draw(st.integers(0, 5))):
            namespace = draw(st.sampled_from(["t/a", "t/b", "pulsar/system"]))
            four = [draw(rates) for _ in range(4)]
            bundles.append(
                BundleStats(f"{namespace}/0x{number:08x}_0x{number + 1:08x}", draw(st.integers(0, 9)), 0, 0, *four)
            )
            number += 1
        used = {name: ResourceUsage(draw(percents), 100.0) for name in RESOURCES}
        loads.append(report_of(f"broker-{broker}:8080", bundles, load_manager=MODULAR_CLASS, **used))
    return tuple(loads)


@st.composite
def rules(draw: st.DrawFn) -> LoadSettings:
    """Settings under which shedders act easily."""
    shedder = draw(st.sampled_from(MODULAR_SHEDDERS))
    placement = AVERAGE if shedder == AVERAGE else draw(st.sampled_from([LEAST_RATE, LEAST_RESOURCE, ROUND_ROBIN]))
    return LoadSettings(
        loadBalancerLoadSheddingStrategy=shedder,
        loadBalancerLoadPlacementStrategy=placement,
        loadBalancerDistributeBundlesEvenlyEnabled=draw(st.booleans()),
        # Late reports and no grace: the leader unloads a bundle that its broker has lost meanwhile.
        loadBalancerSheddingGracePeriodMinutes=draw(st.sampled_from([0, 30])),
        loadBalancerReportUpdateThresholdPercentage=draw(st.sampled_from([10, 100])),
        loadBalancerBrokerOverloadedThresholdPercentage=draw(st.sampled_from([10, 50, 85])),
        loadBalancerBundleUnloadMinThroughputThreshold=0.0,
        lowerBoundarySheddingEnabled=draw(st.booleans()),
        minUnloadMessage=0,
        minUnloadMessageThroughput=0,
        maxUnloadPercentage=draw(st.sampled_from([0.2, 0.5, 1.0])),
        loadBalancerAvgShedderHitCountHighThreshold=1,
        loadBalancerAvgShedderHitCountLowThreshold=1,
        loadBalancerSheddingConditionHitCountThreshold=0,
        loadBalancerBrokerLoadTargetStd=0.05,
        loadBalanceSheddingDelayInSeconds=0,
    )


def _first(_: str, placement: Placement) -> str:
    return placement.answers[0]


def _start(loads: Sequence[BrokerLoad], given_settings: LoadSettings, shedder: str) -> ShedStart:
    manager = "extensible" if shedder == "TransferShedder" else "modular"
    return ShedStart(tuple(loads), given_settings, load_manager=manager)  # type: ignore[arg-type]


def _ahead(loads: Sequence[BrokerLoad], given_settings: LoadSettings, shedder: str, cycles: int) -> ShedAhead:
    result = shed_ahead(_start(loads, given_settings, shedder), cycles)
    assert isinstance(result, ShedAhead), result
    return result


@given(clusters(least=2), st.sampled_from(SHEDDERS))
@settings(deadline=None)
def test_nothing_is_shed_below_every_threshold(loads: tuple[BrokerLoad, ...], shedder: str) -> None:
    """With thresholds that no cluster reaches, all stay as they are."""
    out_of_reach = LoadSettings(
        loadBalancerLoadSheddingStrategy=shedder if shedder in MODULAR_SHEDDERS else "ThresholdShedder",
        loadBalancerLoadPlacementStrategy=AVERAGE if shedder == AVERAGE else LEAST_RATE,
        loadBalancerBrokerOverloadedThresholdPercentage=101,
        loadBalancerBrokerThresholdShedderPercentage=101,
        loadBalancerMsgRateDifferenceShedderThreshold=0,
        loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold=0,
        loadBalancerAvgShedderLowThreshold=101,
        loadBalancerSheddingConditionHitCountThreshold=1000,
    )
    assert _ahead(loads, out_of_reach, shedder, 3).moves == ()


@given(clusters(least=1, most=1), rules(), st.sampled_from(SHEDDERS))
@settings(deadline=None)
def test_one_broker_sheds_nothing(loads: tuple[BrokerLoad, ...], given_settings: LoadSettings, shedder: str) -> None:
    assert _ahead(loads, given_settings, shedder, 3).moves == ()


@given(clusters(least=2), rules(), st.sampled_from(["", "TransferShedder"]))
@settings(deadline=None)
def test_load_and_bundles_are_conserved(
    loads: tuple[BrokerLoad, ...], given_settings: LoadSettings, shedder: str
) -> None:
    result = _ahead(loads, given_settings, shedder, 4)
    after = result.cycles[-1].loads.values()
    bundles = sorted(bundle for load in loads for bundle in load.bundles)
    assert sorted(bundle for load in after for bundle in load.bundles) == bundles
    assert sum(load.topics for load in after) == sum(load.topics for load in loads)
    for member in ("msgs_per_sec", "bytes_per_sec"):
        before = sum(getattr(load, member) for load in loads)
        assert sum(getattr(load, member) for load in after) == pytest.approx(before, abs=1e-3)
    for name in RESOURCES:
        before = sum(getattr(load, name).usage for load in loads)
        assert sum(getattr(load, name).usage for load in after) == pytest.approx(before, abs=1e-6)


@given(clusters(least=2), st.data())
def test_a_move_takes_from_one_what_it_gives_the_other(loads: tuple[BrokerLoad, ...], data: st.DataObject) -> None:
    owned = [(bundle, load.broker) for load in loads for bundle in load.bundles]
    assume(owned)
    bundle, source = data.draw(st.sampled_from(owned))
    target = data.draw(st.sampled_from([load.broker for load in loads if load.broker != source]))
    world = LoadWorld.of(loads)
    moved = world.moved(bundle, source, target)
    back = moved.moved(bundle, target, source)
    assert bundle in moved.loads[target].bundles and bundle not in moved.loads[source].bundles
    assert all(moved.loads[other] is world.loads[other] for other in world.loads if other not in (source, target))
    for load in loads:
        assert back.loads[load.broker].bytes_per_sec == pytest.approx(load.bytes_per_sec, abs=1e-3)


@given(clusters(least=2), rules(), st.data())
@settings(deadline=None)
def test_no_bundle_goes_to_a_broker_that_policies_bar(
    loads: tuple[BrokerLoad, ...], given_settings: LoadSettings, data: st.DataObject
) -> None:
    """Isolation is never overridden: not by an unload, not by a look-up, not by a second question for overload."""
    hosts = [load.broker.rpartition(":")[0] for load in loads]
    primary = data.draw(st.lists(st.sampled_from(hosts), unique=True))
    policies = ClusterPolicies((IsolationPolicy(("t/a",), tuple(primary), (), 1),))
    leader = Leader(given_settings, policies)
    state = reports_read(leader, elected(leader), loads)
    state, cycle = shed(leader, state, 60_000, _first)
    for unload in cycle.carried_out:
        in_a = unload.bundle.startswith("t/a/")
        assert (unload.destination or "").rpartition(":")[0] in (primary if in_a else set(hosts) - set(primary))
        assert unload.destination != unload.source
        assert unload.selection is not None
        assert unload.destination in unload.selection.chances
        assert sum(unload.selection.chances.values()) == pytest.approx(1.0)
    for namespace in ("t/a", "t/b"):
        _, answer = look_up(leader, state, f"{namespace}/0xf0000000_0xffffffff", _first)
        allowed = primary if namespace == "t/a" else set(hosts) - set(primary)
        if isinstance(answer, Rejection):
            assert not allowed
        else:
            assert (answer.picked is None and not allowed) or (answer.picked or "").rpartition(":")[0] in allowed


@given(clusters(least=2), rules(), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_the_order_of_reports_plays_no_part_where_no_names_share_a_bucket(
    loads: tuple[BrokerLoad, ...], given_settings: LoadSettings, rng: object
) -> None:
    leader = Leader(given_settings)
    turned = [replace(load, stats=tuple(reversed(load.stats))) for load in loads]
    rng.shuffle(turned)  # type: ignore[attr-defined]
    names = [bundle for load in loads for bundle in load.bundles]
    assume(not concurrent_order(load.broker for load in loads).doubtful)
    assume(not hash_order(names).doubtful and not concurrent_order(names).doubtful)
    plans = []
    for reports in (loads, tuple(turned)):
        _, cycle = shed(leader, reports_read(leader, elected(leader), reports), 60_000, _first)
        plans.append([(unload.bundle, unload.source, unload.outcome) for unload in cycle.unloads])
    assert plans[0] == plans[1]


names = st.lists(st.text("abc0123456789:-", min_size=1, max_size=6), unique=True, max_size=60)


@given(names, names, st.sampled_from(["hash", "concurrent"]))
def test_a_map_has_the_keys_that_were_put_and_not_removed(added: list[str], removed: list[str], kind: str) -> None:
    order = MapOrder(kind).updated(added)  # type: ignore[arg-type]
    left = order.updated(remove=removed)
    assert sorted(order) == sorted(added)
    assert sorted(left) == sorted(set(added) - set(removed))
    assert left.capacity == order.capacity
    assert [key for key in order if key in set(left)] == list(left)
    assert sorted(order.turned_round) == sorted(order)
    assert order.turned_round.turned_round == order


@given(names, st.sampled_from(["hash", "concurrent"]))
def test_one_by_one_is_the_same_as_all_at_once(added: list[str], kind: str) -> None:
    order = MapOrder(kind)  # type: ignore[arg-type]
    for key in added:
        order = order.updated([key])
    assert order == MapOrder(kind).updated(added)  # type: ignore[arg-type]
