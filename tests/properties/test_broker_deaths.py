"""What all deaths of a cluster's brokers have in common is computed once, and comes to the same as each on its own."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.balance.ahead.broker_changes import broker_dies, every_broker_dies
from engine.balance.ahead.model import ShedStart
from engine.balance.brokers import BrokerLoad
from engine.balance.leadership.placement import LookUp, look_up, select
from engine.balance.leadership.policies import ClusterPolicies
from engine.balance.leadership.shedding import shed
from engine.balance.leadership.state import Leader, broker_gone, brokers_changed, elected, reports_read
from engine.balance.limits import BundleStats
from engine.balance.placement.strategies import ResourceMemory
from engine.balance.settings import LoadSettings
from engine.load_rules import load_rules
from engine.releases import Release
from tests.engine.balance.shedding_world import broker, first, name
from tests.releases import leader_of

NAMESPACES = ("t/a", "t/b", "u/c")


@st.composite
def clusters(draw: st.DrawFn) -> tuple[BrokerLoad, ...]:
    """Two to five brokers; a bundle may be reported twice, and a broker may be overloaded."""
    loads = []
    for at in range(draw(st.integers(2, 5))):
        places = draw(st.lists(st.integers(0, 11), unique=True, max_size=6))
        stats = [
            BundleStats(name(place, NAMESPACES[place % 3]), place, msg_rate_in=float(draw(st.integers(0, 9))))
            for place in places
        ]
        loads.append(broker(f"b{at}:1", draw(st.sampled_from([0.0, 40.0, 85.0, 99.0])), stats))
    return tuple(loads)


RULES = st.sampled_from([load_rules(Release(2, 11, 0)), load_rules(Release(4, 2, 4))])


@given(
    loads=clusters(),
    gone=st.integers(0, 4),
    rules=RULES,
    placed=st.none() | st.integers(0, 11),
    placement=st.sampled_from(["LeastLongTermMessageRate", "LeastResourceUsageWithWeight"]),
    has_shed=st.booleans(),
)
def test_a_broker_gone_by_what_all_came_to_is_a_broker_gone(  # type: ignore[no-untyped-def]
    loads, gone, rules, placed, placement, has_shed
) -> None:
    """Also while a placement is pending, of a bundle that somebody reports or of another one."""
    leader = Leader(LoadSettings(loadBalancerLoadPlacementStrategy=placement), rules=rules)
    state = reports_read(leader, elected(leader), loads)
    if has_shed:
        state, _ = shed(leader, state, 60_000, first)
        state, _ = select(leader, state, name(98), first)
    if placed is not None:
        state, _ = look_up(leader, state, name(placed, NAMESPACES[placed % 3]), first)
    dead = loads[gone % len(loads)]
    rest = tuple(load for load in loads if load is not dead)
    sampled = brokers_changed(leader, state, loads)
    assert broker_gone(leader, state, sampled, rest, dead) == brokers_changed(leader, state, rest)


def test_a_bundle_that_was_placed_elsewhere_does_not_go_on_with_what_the_dead_broker_reported() -> None:
    """2.11 keeps a placement until its broker reports one of those it got."""
    loads = (broker("b:1", 10.0, [BundleStats(name(0), 1, msg_rate_in=5.0)]), broker("b:2", 10.0), broker("b:3", 10.0))
    leader = leader_of("2.11.0")
    state, answer = look_up(leader, reports_read(leader, elected(leader), loads), name(0), first)
    assert isinstance(answer, LookUp) and answer.picked == "b:3"
    sampled = brokers_changed(leader, state, loads)
    result = broker_gone(leader, state, sampled, loads[1:], loads[0])
    assert result == brokers_changed(leader, state, loads[1:])
    samples = [each.known["b:3"].preallocated[name(0)].long_term.num_samples for each in (result, sampled)]
    assert samples == [1, 3]


def test_the_usage_of_a_dead_broker_is_forgotten() -> None:
    loads = tuple(broker(f"b:{at}", 10.0 * at) for at in (1, 2, 3))
    leader = Leader(LoadSettings(loadBalancerLoadPlacementStrategy="LeastResourceUsageWithWeight"))
    state, _ = select(leader, reports_read(leader, elected(leader), loads), name(0), first)
    result = broker_gone(leader, state, brokers_changed(leader, state, loads), loads[1:], loads[0])
    assert result == brokers_changed(leader, state, loads[1:])
    assert isinstance(result.placement, ResourceMemory) and set(result.placement.averages) == {"b:2", "b:3"}


def test_a_broker_that_the_leader_had_not_met_leaves_nothing_behind() -> None:
    """Its twenty bundles would have made the leader's map larger."""
    rest = (broker("b:1", 10.0, [BundleStats(name(0))]), broker("b:2", 10.0))
    dead = broker("b:3", 10.0, [BundleStats(name(at)) for at in range(1, 21)])
    leader = Leader()
    state = reports_read(leader, elected(leader), rest)
    sampled = brokers_changed(leader, state, (*rest, dead))
    result = broker_gone(leader, state, sampled, rest, dead)
    assert result == brokers_changed(leader, state, rest)
    assert (result.bundles.capacity, sampled.bundles.capacity) == (16, 32)


@given(
    loads=clusters(),
    placement=st.sampled_from(["LeastLongTermMessageRate", "LeastResourceUsageWithWeight", "RoundRobinBrokerSelector"]),
    manager=st.sampled_from(["modular", "extensible"]),
    grouped=st.booleans(),
)
def test_every_death_is_the_death_of_each(loads, placement, manager, grouped) -> None:  # type: ignore[no-untyped-def]
    policies = ClusterPolicies(groups=dict.fromkeys(NAMESPACES[:2], "g")) if grouped else None
    settings = LoadSettings(loadBalancerLoadPlacementStrategy=placement)
    start = ShedStart(loads, settings, policies=policies, load_manager=manager)
    assert list(every_broker_dies(start)) == [broker_dies(start, load.broker) for load in loads]
