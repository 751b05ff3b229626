"""Publishers of partitions added up: the cases of ``PersistentTopicStatsTest``, and the rule until #18807."""

from __future__ import annotations

import pytest

from engine.config import BrokerSettings, ReleaseBehaviour, behaviour_of
from engine.routing.publishers import PublisherGroups, PublisherStats, aggregate_publishers, flag_shown, grouped


def unnamed(*rates: float) -> PublisherGroups:
    return grouped(PublisherStats(None, msg_rate_in_msgs_per_sec=rate) for rate in rates)


def of(names_and_rates: dict[str, float], *, flag: bool = False) -> PublisherGroups:
    return grouped(PublisherStats(name, flag, rate) for name, rate in names_and_rates.items())


def rates(group: PublisherGroups) -> list[tuple[str | None, float]]:
    return [(producer.producer_name, producer.msg_rate_in_msgs_per_sec) for producer in group.listed()]


def before_18807() -> ReleaseBehaviour:
    behaviour = behaviour_of("2.11.0")
    assert isinstance(behaviour, ReleaseBehaviour)
    return behaviour


def test_unnamed_publishers_meet_by_position() -> None:
    total = aggregate_publishers([unnamed(1, 2), unnamed(3, 4, 5)])
    assert rates(total) == [(None, 4), (None, 6), (None, 5)]


def test_named_publishers_meet_by_name_wherever_they_stand() -> None:
    total = aggregate_publishers([of({"name1": 1}, flag=True), of({"name2": 1, "name1": 1}, flag=True)])
    assert rates(total) == [("name1", 2), ("name2", 1)]
    assert all(each.supports_partial_producer for each in total.named)


def test_a_publisher_without_a_name_loses_its_flag_and_meets_by_position() -> None:
    one = grouped([PublisherStats(None, supports_partial_producer=True, msg_rate_in_msgs_per_sec=2)])
    (entry,) = aggregate_publishers([one, one]).listed()
    assert (entry.supports_partial_producer, entry.msg_rate_in_msgs_per_sec) == (False, 4)


def test_without_the_flag_different_producers_are_mixed_under_no_name() -> None:
    """ "b" alone in its partition stands where "a" stands in the other."""
    total = aggregate_publishers([of({"b": 10, "a": 1}), of({"b": 100})])
    assert rates(total) == [(None, 101), (None, 10)]


def test_a_namesake_in_one_partition_replaces_the_named_and_joins_the_unnamed() -> None:
    twice = [PublisherStats("a", flag, rate) for flag in (True, False) for rate in (1.0, 2.0)]
    assert rates(grouped(twice)) == [("a", 1), ("a", 2), ("a", 2)]


def test_names_are_sorted_by_utf16_unit_and_no_name_is_last() -> None:
    """The supplementary character is first although its code point is larger."""
    names = [None, "\uffee", "\U0001f600", "a"]
    group = grouped(PublisherStats(name) for name in names)
    assert [producer.producer_name for producer in group.listed()] == ["a", "\U0001f600", "\uffee", None]


def test_the_average_size_is_a_plain_mean_over_partitions() -> None:
    """A publisher with a million messages a second counts as much as an idle one."""
    busy = grouped([PublisherStats("a", True, 1e6, 1e8, 100.0)])
    idle = grouped([PublisherStats("a", True, 0.0, 0.0, 0.0)])
    (entry,) = aggregate_publishers([busy, idle, grouped([])]).listed()
    assert (entry.average_msg_size_bytes, entry.count) == (50.0, 2)


def test_adding_up_again_counts_entries_afresh() -> None:
    """The count of an entry that comes out of an aggregate plays no part when it goes into another."""
    once = aggregate_publishers([grouped([PublisherStats("a", True, 1.0, 1.0, size)]) for size in (1.0, 5.0)])
    (entry,) = aggregate_publishers([once]).listed()
    assert (entry.average_msg_size_bytes, entry.count) == (3.0, 1)


@pytest.mark.parametrize(
    ("setting", "client", "shown"), [(False, True, False), (True, False, False), (True, True, True)]
)
def test_the_named_group_takes_the_setting_and_the_client(setting: bool, client: bool, shown: bool) -> None:
    settings = BrokerSettings(aggregatePublisherStatsByProducerName=setting)
    assert flag_shown(settings, client_supports_partial_producer=client) is shown


def test_no_partitions_and_empty_partitions_give_nobody() -> None:
    assert aggregate_publishers([]).listed() == aggregate_publishers([grouped([])]).listed() == ()


RECORDED_2_11 = (
    {"feed-a": 3.0, "feed-b": 5.0, "lazy-c": 0.5},
    {"feed-a": 2.5, "feed-b": 6.5, "lazy-c": 0.25},
    {"feed-a": 2.75, "feed-b": 5.5, "lazy-c": 0.0},
    {"feed-a": 2.5, "feed-b": 2.5},
    {"feed-a": 2.0, "feed-b": 5.25},
    {"feed-a": 3.25, "feed-b": 6.0, "lazy-c": 0.125},
)
"""Partitions with the numbers of publishers that a broker of 2.11.0 had when it listed 20 for the whole topic."""


def test_until_18807_sixteen_publishers_of_three_producers_make_twenty_entries() -> None:
    partitions = [of(each) for each in RECORDED_2_11]
    assert len(aggregate_publishers(partitions, before_18807()).listed()) == 20
    assert len(aggregate_publishers(partitions).listed()) == 3


def test_until_18807_rates_come_out_as_many_times_as_there_are_publishers() -> None:
    """Two partitions of two publishers: every rate twice over."""
    partitions = [unnamed(1, 2), unnamed(10, 20)]
    assert rates(aggregate_publishers(partitions, before_18807())) == [(None, 22), (None, 44)]
    assert rates(aggregate_publishers(partitions)) == [(None, 11), (None, 22)]


def test_until_18807_a_partition_with_another_number_makes_the_list_grow_each_time() -> None:
    total = aggregate_publishers([unnamed(1, 2, 3), unnamed(10)], before_18807())
    assert rates(total) == [(None, 3), (None, 6), (None, 9), (None, 10)]
    two = aggregate_publishers([unnamed(1), unnamed(10, 20)], before_18807())
    assert rates(two) == [(None, 1), (None, 10), (None, 20), (None, 10), (None, 20)]


def test_until_18807_positions_are_those_of_the_broker_s_own_unsorted_list() -> None:
    one, other = of({"b": 1, "a": 10}), of({"a": 100, "b": 1000})
    assert rates(aggregate_publishers([one, other], before_18807())) == [(None, 202), (None, 2020)]
    assert rates(aggregate_publishers([one, other])) == [(None, 110), (None, 1001)]


def test_named_publishers_were_right_before_18807_too() -> None:
    partitions = [of({"a": 1, "b": 2}, flag=True), of({"b": 20}, flag=True)]
    assert aggregate_publishers(partitions, before_18807()) == aggregate_publishers(partitions)
