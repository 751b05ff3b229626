"""What the leader remembers from look-up to look-up and shows later: its maps' order, its set's size, draws."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from engine.balance.java_maps import MapOrder, concurrent_order, hash_order, hash_order_of_all, spread_hash
from engine.balance.leadership.placement import LookUp, look_up, select
from engine.balance.leadership.shedding import shed
from engine.balance.leadership.state import Leader, LeaderState, elected, reports_read
from engine.balance.placement.model import Placement
from engine.balance.placement.strategies import LEAST_RESOURCE, ResourceMemory
from engine.balance.settings import LoadSettings
from engine.balance.shedding.strategies import AVERAGE, THRESHOLD
from engine.balance.shedding.threshold import ThresholdMemory
from engine.load_rules import LoadRules
from tests.engine.balance.shedding_world import MB, broker, first, name, stats
from tests.releases import known, leader_of, load_settings

ANYWHERE = load_settings("4.2.4", loadBalancerDistributeBundlesEvenlyEnabled=False)
BY_NUMBERS = known("4.2.4").load


def last(_: str, placement: Placement) -> str:
    return placement.answers[-1]


def answers(leader: Leader, state: LeaderState, bundle: str) -> tuple[str, ...]:
    _, selection = select(leader, state, bundle, first)
    return selection.placement.answers  # type: ignore[union-attr]


def test_a_bundle_is_in_the_leaders_map_from_its_look_up_on() -> None:
    """Two bundles of one bucket come in the order in which they were put, and only one of them was looked up."""
    bucket = [bundle for at in range(40) if spread_hash(bundle := name(at)) & 15 == spread_hash(name(0)) & 15]
    reported, looked_up = bucket[:2]
    leader = Leader(ANYWHERE)
    loads = [broker("b:1", 10), broker("b:2", 10)]
    state, _ = look_up(leader, reports_read(leader, elected(leader), loads), looked_up, first)
    report = [broker("b:1", 10, [stats(reported, 1.0), stats(looked_up, 1.0)]), loads[1]]
    assert reports_read(leader, state, report).bundles.keys == (looked_up, reported)
    assert reports_read(leader, elected(leader), report).bundles.keys == (reported, looked_up)


def test_the_set_of_candidates_keeps_the_size_it_had_for_more_brokers() -> None:
    names = [f"broker-{at}:8080" for at in range(40)]
    turned = next(
        (one, other)
        for one in names
        for other in names
        if hash_order([one, other]).keys != MapOrder("hash", (), 32).updated([one, other]).keys
    )
    few = [broker(each, 10) for each in turned]
    many = few + [broker(each, 10) for each in names if each not in turned][:11]
    leader = Leader(ANYWHERE)
    small = reports_read(leader, elected(leader), few)
    grown, _ = select(leader, reports_read(leader, elected(leader), many), name(1), first)
    shrunk = reports_read(leader, grown, few)
    assert (small.candidates.capacity, shrunk.candidates.capacity) == (16, 32)
    assert answers(leader, small, name(2)) == answers(leader, shrunk, name(2))[::-1]


def test_what_the_average_strategy_has_drawn_counts_for_every_bundle_of_the_same_numbers() -> None:
    """S-2 and S-3: bundles that nobody reported all have the same numbers, so they follow the first one."""
    leader = average_leader()
    state = reports_read(leader, elected(leader), [broker(f"b:{at}", 10) for at in (1, 2, 3)])
    assert answers(leader, state, name(1)) == ("b:1", "b:2", "b:3")
    state, _ = select(leader, state, name(1), last)
    assert answers(leader, state, name(2)) == ("b:3",)


def average_leader(rules: LoadRules = BY_NUMBERS) -> Leader:
    settings = LoadSettings(
        loadBalancerLoadSheddingStrategy=AVERAGE, loadBalancerLoadPlacementStrategy=AVERAGE,
        loadBalancerDistributeBundlesEvenlyEnabled=False,
    )  # fmt: skip
    return Leader(settings, rules=rules)


def test_what_was_drawn_is_lost_once_the_record_it_is_kept_by_gets_a_sample() -> None:
    """The record of the first bundle is the key in Java's map, and that changes with its first report."""
    leader = average_leader()
    empty = [broker(f"b:{at}", 10) for at in (1, 2, 3)]
    state, _ = select(leader, reports_read(leader, elected(leader), empty), name(1), last)
    unreported = reports_read(leader, state, empty)
    assert answers(leader, unreported, name(2)) == ("b:3",), "nobody changes the record any more"
    later = reports_read(leader, unreported, [broker("b:1", 10, [stats(name(1), 1.0)]), *empty[1:]])
    assert answers(leader, later, name(2)) == ("b:3",), "what is reported later has another record"
    again = reports_read(leader, later, [broker("b:1", 10, [stats(name(1), 2.0)]), *empty[1:]])
    assert answers(leader, again, name(2)) == ("b:3",), "which is changed alone by the samples after it"
    reported = reports_read(leader, state, [broker("b:1", 10, [stats(name(1), 1.0)]), *empty[1:]])
    assert answers(leader, reported, name(2)) == ("b:1", "b:2", "b:3")
    assert answers(leader, reported, name(1)) == ("b:1", "b:2", "b:3")


def test_an_equal_record_takes_over_the_broker_and_the_first_one_stays_the_key() -> None:
    leader = average_leader()
    empty = [broker(f"b:{at}", 10) for at in (1, 2, 3)]
    state, _ = select(leader, reports_read(leader, elected(leader), empty), name(1), last)
    state, _ = select(leader, state, name(2), last)
    of_second = reports_read(leader, state, [broker("b:1", 10, [stats(name(2), 1.0)]), *empty[1:]])
    assert answers(leader, of_second, name(3)) == ("b:3",), "the record of the first bundle has not changed"
    of_first = reports_read(leader, state, [broker("b:1", 10, [stats(name(1), 1.0)]), *empty[1:]])
    assert answers(leader, of_first, name(3)) == ("b:1", "b:2", "b:3")


def test_records_that_are_told_apart_keep_their_destination_until_the_leader_drops_them() -> None:
    leader = average_leader(replace(BY_NUMBERS, avg_destinations="bundle"))
    empty = [broker(f"b:{at}", 10) for at in (1, 2, 3)]
    state, _ = select(leader, reports_read(leader, elected(leader), empty), name(1), last)
    reported = reports_read(leader, state, [broker("b:1", 10, [stats(name(1), 1.0)]), *empty[1:]])
    assert answers(leader, reported, name(1)) == ("b:3",)
    assert answers(leader, reports_read(leader, reported, empty), name(1)) == ("b:1", "b:2", "b:3")


@pytest.mark.parametrize(("roomy", "capacity"), [(True, 32), (False, 16)])
def test_brokers_come_into_the_leaders_map_as_a_set_of_all_has_them_and_before_those_that_left_go(
    roomy: bool, capacity: int
) -> None:
    """A roomy set of twelve has 32 buckets from the start, and the map has 16 until the twelfth is in it."""
    names = [f"broker-{at}:8080" for at in range(12)]
    leader = Leader(ANYWHERE, rules=replace(BY_NUMBERS, roomy_sets=roomy))
    state = reports_read(leader, elected(leader), [broker(each, 10) for each in names])
    assert (state.active.capacity, state.brokers.capacity) == (capacity, 32)
    assert state.active.keys == hash_order_of_all(names, roomy=roomy).keys
    assert state.brokers.keys == concurrent_order(state.active).keys
    few = reports_read(leader, elected(leader), [broker(each, 10) for each in names[:11]])
    assert (few.active.capacity, few.brokers.capacity) == (16, 16)
    grown = reports_read(leader, few, [broker(each, 10) for each in names[1:]])
    assert (grown.active.capacity, grown.brokers.capacity) == (16, 32)
    assert set(grown.brokers) == set(names[1:])


def test_candidates_that_share_a_bucket_come_as_they_are_listed_now_and_not_as_the_leader_met_them() -> None:
    one, other = next(
        (a, b)
        for at, a in enumerate(f"b-{number}:8080" for number in range(20))
        for b in (f"b-{number}:8080" for number in range(at + 1, 20))
        if spread_hash(a) & 15 == spread_hash(b) & 15
    )
    leader = Leader(ANYWHERE)
    state = reports_read(leader, elected(leader), [broker(one, 10), broker(other, 10)])
    turned = reports_read(leader, state, [broker(other, 10), broker(one, 10)])
    assert state.brokers.keys == turned.brokers.keys == (one, other)
    assert (answers(leader, state, name(1)), answers(leader, turned, name(1))) == ((one, other), (other, one))


def test_without_the_average_shedder_its_placement_remembers_nothing() -> None:
    """No broker starts so; asked all the same, every draw is a new one."""
    leader = Leader(LoadSettings(
        loadBalancerLoadSheddingStrategy=THRESHOLD, loadBalancerLoadPlacementStrategy=AVERAGE,
        loadBalancerDistributeBundlesEvenlyEnabled=False,
    ))  # fmt: skip
    state = reports_read(leader, elected(leader), [broker(f"b:{at}", 10) for at in (1, 2)])
    state, _ = select(leader, state, name(1), last)
    assert answers(leader, state, name(2)) == ("b:1", "b:2")


def test_a_cycle_that_places_nothing_fills_the_set_of_candidates_too() -> None:
    """2.11 unloads first and chooses at the next look-up; thirteen names need a table of 32 buckets."""
    leader = leader_of("2.11.0")
    hot = broker("b:0", 99, [stats(name(at), 1.0, 20 * MB) for at in range(2)])
    state = reports_read(leader, elected(leader), [hot, *(broker(f"b:{at}", 1) for at in range(1, 13))])
    after, cycle = shed(leader, state, 60_000, first)
    assert [(unload.outcome, unload.destination) for unload in cycle.unloads] == [("unloaded", None)] * 2
    assert (state.candidates.capacity, after.candidates.capacity) == (16, 32)


@pytest.mark.parametrize("others", [["b:1", "b:2"], ["b:8"]])
def test_the_usage_of_a_broker_that_left_is_forgotten(others: list[str]) -> None:
    leader = leader_of("4.2.4", loadBalancerLoadPlacementStrategy=LEAST_RESOURCE)
    state = reports_read(leader, elected(leader), [broker(f"b:{at}", 10 * at) for at in (1, 2, 3)])
    state, _ = shed(leader, state, 60_000, first)
    state, _ = select(leader, state, name(1), first)
    left = reports_read(leader, state, [broker(each, 5) for each in others])
    for each, expected in ((state, {"b:1", "b:2", "b:3"}), (left, {"b:1", "b:2"}.intersection(others))):
        assert isinstance(each.shedder, ThresholdMemory) and isinstance(each.placement, ResourceMemory)
        assert set(each.shedder.averages) == set(each.placement.averages) == expected


@pytest.mark.parametrize(("is_forgotten", "msgs"), [(False, 7.0), (True, 100.0)])
def test_a_placed_bundle_counts_by_the_leaders_own_record_while_it_has_one(is_forgotten: bool, msgs: float) -> None:
    """The record is of one object in two maps. Once no report has the bundle one of them forgets it, and a later report
    begins another; the new bundle counts 50 msg/s each way in the old one."""
    bundle = name(1)
    leader = Leader(ANYWHERE)
    empty = [broker("b:1", 10), broker("b:2", 10)]
    state, result = look_up(leader, reports_read(leader, elected(leader), empty), bundle, last)
    assert isinstance(result, LookUp) and result.picked == "b:2"
    if is_forgotten:
        state = reports_read(leader, state, empty, leader_owns=[bundle])
        assert bundle not in state.data
    state = reports_read(leader, state, [broker("b:1", 10, [stats(bundle, 7.0)]), empty[1]], leader_owns=[bundle])
    assert state.data[bundle].long_term.msgs_per_sec == 7.0
    assert state.known["b:2"].preallocated[bundle].long_term.msgs_per_sec == msgs
