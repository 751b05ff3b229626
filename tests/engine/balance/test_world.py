"""The namespace between two cycles: where an unloaded bundle goes, and traffic that is summed up anew when it grows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.balance.limits import BundleStats
from engine.balance.splitting.start import BalanceStart, balance_start
from engine.balance.splitting.topics import BalancedTopic, TopicColumns
from engine.balance.splitting.world import World
from engine.bundles.boundaries import BundleRange, NamespaceBundles
from engine.bundles.loads import TopicLoad
from engine.config import BrokerSettings

FIVE = NamespaceBundles("t/n", (0, 10, 20, 30, 40, 0xFFFFFFFF))


def start(topics: list[BalancedTopic], owners: str = "") -> BalanceStart:
    """``owners``: one digit for each bundle, of the broker that owns it."""
    result = balance_start(
        FIVE,
        topics,
        ["b:1", "b:2", "b:3"],
        BrokerSettings(),
        owners={str(bundle): f"b:{owner}" for bundle, owner in zip(FIVE, owners, strict=False)},
        change_events=False,
    )
    assert isinstance(result, BalanceStart)
    return result


def topic(position: int, *rates: float, growth: float = 1.0) -> BalancedTopic:
    return BalancedTopic(TopicLoad(f"persistent://t/n/{position}", position, *rates), growth_per_cycle=growth)


@pytest.mark.parametrize(
    ("owners", "rates", "after"),
    [
        ("31123", (1.0, 10.0, 1.0, 5.0, 9.0), "b:2"),
        ("31221", (1.0, 10.0, 1.0, 2.0, 9.0), "b:3"),
        ("33122", (1.0, 20.0, 10.0, 1.0, 2.0), "b:2"),
        ("33122", (1.0, 20.0, 2e-20, 1e-20, 0.0), "b:2"),
        ("13322", (5.0, 1.0, 1.0, 1.0, 1.0), "b:1"),
        ("13312", (5.0, 4.0, 4.0, 4.0, 4.0), "b:1"),
        ("33211", (1.0, 5.0, 5.0, 5.0, 0.0), "b:2"),
        ("12311", (1.0, None, 0.5, 9.0, 9.0), "b:2"),
    ],
)
def test_an_unloaded_bundle_goes_to_the_least_messages_then_the_fewest_bundles_then_the_first_broker(
    owners: str, rates: tuple[float | None, ...], after: str
) -> None:
    """In and out count alike: the rate is split between them. The first bundle is unloaded and counts for nobody.

    A bundle without topics, here None, has no messages and is a bundle.
    """
    topics = [topic(at * 10, rate / 4, rate * 3 / 4, 1e9) for at, rate in enumerate(rates) if rate is not None]
    world = World(start(topics, owners))
    move = world.unload(FIVE[0])
    assert (move.bundle, move.from_broker, move.to_broker) == ("t/n/0x00000000_0x0000000a", f"b:{owners[0]}", after)
    assert list(move.topics) == ["persistent://t/n/0"]
    assert dict(world.owned())[FIVE[0]] == after


def test_growing_topics_are_scaled_anew_in_each_interval() -> None:
    world = World(start([topic(5, 1.0, growth=2.0), topic(7, 10.0)]))
    seen = []
    for interval in (0, 1, 3):
        world.interval = interval
        listed = [load.msg_rate_in for load in world.topics()]
        inside = [load.msg_rate_in for load in world.topics_in(FIVE[0])]
        assert listed == inside
        seen.append((*listed, world.stats()[FIVE[0]].msg_rate_in))
    assert seen == [(1.0, 10.0, 11.0), (2.0, 10.0, 12.0), (8.0, 10.0, 18.0)]


def test_the_listing_is_scaled_anew_when_nothing_else_was_asked_in_between() -> None:
    world = World(start([topic(5, 1.0, growth=2.0)]))
    seen = []
    for world.interval in (0, 1, 1, 2):
        seen += [load.msg_rate_in for load in world.topics()]
    assert seen == [1.0, 2.0, 2.0, 4.0]


@pytest.mark.parametrize(("fresh", "factor"), [(False, 1.0), (True, 3.0)])
def test_a_bundle_reports_the_sums_of_its_topics_too_high_when_it_was_just_unloaded(fresh: bool, factor: float) -> None:
    topics = [
        BalancedTopic(TopicLoad(f"persistent://t/n/{at}", at, 1.0, 10.0, 100.0, 1000.0 * at), at, 2 * at)
        for at in (1, 3, 5)
    ]
    unopened = BalancedTopic(TopicLoad("persistent://t/n/8", 8, 7.0, 7.0, 7.0, 7.0, has_stats=False), 1, 1)
    world = World(replace(start([*topics, unopened]), first_rate_factor=3.0))
    world.fresh.update({FIVE[0]} if fresh else ())
    rates = (3.0 * factor, 30.0 * factor, 300.0 * factor, 9000.0 * factor)
    assert world.stats() == {FIVE[0]: BundleStats("t/n/0x00000000_0x0000000a", 4, 10, 19, *rates)}


def test_first_rates_of_growing_topics_are_summed_anew_in_each_interval() -> None:
    world = World(replace(start([topic(5, 1.0, growth=2.0)]), first_rate_factor=3.0))
    world.fresh.add(FIVE[0])
    seen = []
    for world.interval in (0, 1, 3):
        seen.append(world.stats()[FIVE[0]].msg_rate_in)
    assert seen == [3.0, 6.0, 24.0]


def test_an_unloaded_bundle_is_placed_by_the_traffic_of_the_interval_though_nobody_asked_for_it_yet() -> None:
    """The bundle of the second broker grows beyond that of the third."""
    world = World(start([topic(5, 9.0), topic(15, 1.0, growth=8.0), topic(25, 4.0), topic(35, 6.0)], "12311"))
    world.stats()
    world.interval = 1
    assert world.unload(FIVE[0]).to_broker == "b:3"


def test_a_range_holds_a_topic_from_its_lower_end_to_below_its_upper_one() -> None:
    topics = TopicColumns.of([topic(10), topic(30), topic(0xFFFFFFFF)])
    ranges = {(0, 10): False, (10, 11): True, (11, 30): False, (5, 31): True, (31, 0xFFFFFFFF): True, (31, 99): False}
    assert {pair: len(topics.rows_by_hash(BundleRange(*pair))) > 0 for pair in ranges} == ranges
    assert [load.hash for load in topics.loads_at(3)] == [10, 30, 0xFFFFFFFF]
