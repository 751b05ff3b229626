"""Topics in columns over time: each grows by its own factor, and sums are those of the rows asked for."""

from __future__ import annotations

import numpy as np
import pytest

from engine.balance.splitting.topics import BalancedTopic, TopicColumns
from engine.bundles.boundaries import BundleRange, NamespaceBundles
from engine.bundles.loads import TopicLoad
from tests.properties.test_balance_columns import load_at

TOP = 0xFFFFFFFF


def topic(name: str, position: int, growth: float = 1.0, *, rate: float = 1.0, has_stats: bool = True) -> BalancedTopic:
    load = TopicLoad(name, position, rate, rate * 10, rate * 100, rate * 1000, has_stats)
    return BalancedTopic(load, ord(name), 2 * ord(name), growth)


TOPICS = [topic("a", 9), topic("b", 5, 2.0), topic("c", TOP, 0.5, rate=8.0), topic("d", 5, has_stats=False)]


@pytest.mark.parametrize("interval", [0, 1, 3])
def test_each_topic_grows_by_its_own_factor(interval: int) -> None:
    large = TopicColumns.of(TOPICS)
    assert list(large) == TOPICS
    assert list(large.loads_at(interval)) == [load_at(each, interval) for each in TOPICS]
    assert list(TopicColumns.of(TOPICS[1:2]).loads_at(interval)) == [load_at(TOPICS[1], interval)]
    assert list(TopicColumns.of(TOPICS[:1]).loads_at(interval)) == [TOPICS[0].load]


@pytest.mark.parametrize("factor", [1.0, 2.0, 3.0])
def test_sums_are_of_the_rows_and_times_the_factor(factor: float) -> None:
    """After one interval a has 1, b 2 and c 4 messages in; d has no statistics, and its sessions count."""
    large = TopicColumns.of(TOPICS)
    total = 7.0 * factor
    sessions = sum(ord(name) for name in "abcd")
    expected = (4, sessions, 2 * sessions, total, total * 10, total * 100, total * 1000)
    assert large.sums(np.arange(4), 1, factor) == expected
    assert large.sums(np.array([1]), 1, factor)[:4] == (1, ord("b"), 2 * ord("b"), 2.0 * factor)


@pytest.mark.filterwarnings("error")
def test_rates_that_leave_what_floats_hold_stay_at_the_highest() -> None:
    large = TopicColumns.of([topic("a", 9, 1e200, rate=1.0)])
    assert [load.msg_rate_in for load in large.loads_at(2)] == [1e300]
    assert large.sums(np.arange(1), 1, 1e150)[3:] == (1e300,) * 4
    assert TopicColumns.of([topic("a", 9, 1e200, rate=1e299)]).loads_at(1)[0].msg_rate_in == 1e300


@pytest.mark.parametrize(("growths", "steady"), [((1.0, 1.0), True), ((1.0, 2.0), False), ((2.0,), False), ((), True)])
def test_topics_are_steady_where_none_grows(growths: tuple[float, ...], steady: bool) -> None:
    assert TopicColumns.of([topic("abc"[at], at, growth) for at, growth in enumerate(growths)]).is_steady is steady


def test_one_more_topic_comes_last_with_all_its_numbers() -> None:
    large = TopicColumns.of(TOPICS[:2]).with_topic(TOPICS[2]).with_topic(TOPICS[3])
    assert isinstance(large, TopicColumns)
    assert list(large) == TOPICS
    assert [large.has(each.load) for each in TOPICS] == [True] * 4
    assert not TopicColumns.of(TOPICS[:1]).has(TOPICS[1].load)
    assert not large.has(TopicLoad("x", 5))


def test_rows_of_a_bundle_come_by_ascending_hash_or_in_listing_order() -> None:
    large = TopicColumns.of(TOPICS)
    assert large.rows_by_hash(BundleRange(5, TOP)).tolist() == [1, 3, 0, 2]
    assert large.rows_by_hash(BundleRange(6, 9)).tolist() == []
    assert large.rows_by_hash(BundleRange(5, 9)).tolist() == [1, 3]
    dealt = large.dealt(NamespaceBundles("t/n", (6, 100, TOP)))
    assert [inside.rows.tolist() for inside in dealt.values()] == [[0], [2]]
    for bundle, interval in ((BundleRange(5, 9), 1), (BundleRange(5, 9), 2), (BundleRange(0, TOP), 1)):
        for _ in range(2):
            rows = large.rows_by_hash(bundle)
            assert large.sums_by_hash(bundle, interval) == TopicColumns.of(TOPICS).sums(rows, interval)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -1.0, -0.0, 0.0])
def test_numbers_that_no_broker_reports_make_columns_unusable(number: float) -> None:
    usable = number == 0.0
    assert TopicColumns.of([topic("a", 1, rate=number)]).usable.tolist() == [usable]
    assert TopicColumns.of([topic("a", 1, number)]).usable.tolist() == [usable]
    assert TopicColumns.of([topic("a", 1), BalancedTopic(TopicLoad("b", 2), consumers=-1)]).usable.tolist() == [
        True,
        False,
    ]
