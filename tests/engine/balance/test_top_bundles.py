"""The steps in which bundles of a report are compared, and which namespaces are a broker's own, by hand."""

from __future__ import annotations

import math
from itertools import permutations
from typing import Any

import pytest

from engine.balance.limits import BundleStats
from engine.balance.top_bundles import MeasuredBundle, comparable, is_heartbeat_namespace, partition_sort
from engine.load_rules import load_rules
from engine.releases import Release


@pytest.mark.parametrize(
    ("bytes_per_sec", "steps"),
    [
        (0.0, 0), (49_999.0, 0), (50_000.0, 1), (149_999.0, 1), (150_000.0, 2), (1e10, 100_000),
        (math.nan, 0), (math.inf, 2**63 - 1), (1e40, 2**63 - 1), (-math.inf, -(2**63)), (-1e40, -(2**63)),
    ],
)  # fmt: skip
def test_throughput_goes_in_steps_of_100_kilobytes_rounded_as_java_does(bytes_per_sec: float, steps: int) -> None:
    stats = BundleStats("t/n/0x0_0x1", 0, 0, 0, 0.0, 0.0, bytes_per_sec, bytes_per_sec)
    assert comparable(MeasuredBundle(stats))[:2] == (steps, steps)


@pytest.mark.parametrize(("msgs", "steps"), [(49.9, 0), (50.0, 1), (149.9, 1), (1_000_000.0, 10_000)])
def test_messages_go_in_steps_of_100(msgs: float, steps: int) -> None:
    assert comparable(MeasuredBundle(BundleStats("t/n/0x0_0x1", 0, 0, 0, msgs / 2, msgs / 2)))[2] == steps


@pytest.mark.parametrize(("count", "steps"), [(499, 0), (500, 1), (999, 1), (1_000, 2)])
def test_topics_and_clients_go_in_whole_steps_of_500(count: int, steps: int) -> None:
    assert comparable(MeasuredBundle(BundleStats("t/n/0x0_0x1", count - 300, 100, 200)))[3] == steps


@pytest.mark.parametrize(("cache_bytes", "steps"), [(99_999, 0), (100_000, 1), (199_999, 1), (10**10, 100_000)])
def test_cached_bytes_go_in_whole_steps_of_100_thousand(cache_bytes: int, steps: int) -> None:
    assert comparable(MeasuredBundle(BundleStats("t/n/0x0_0x1"), cache_bytes))[4] == steps


@pytest.mark.parametrize(
    ("namespace", "is_own"),
    [
        ("pulsar/host:8080", True), ("sla-monitor/host:8080", True), ("pulsar/cluster/host:8080", True),
        ("public/host:8080", False), ("pulsar/system", False), ("pulsar/one:two:8080", False), ("pulsar/:8080", False),
        ("pulsar/host:", False), ("pulsar/host:http", False), ("pulsar/host:８", False), ("pulsar", False),
    ],
)  # fmt: skip
def test_a_namespace_of_host_and_port_is_a_brokers_own(namespace: str, is_own: bool) -> None:
    assert is_heartbeat_namespace(namespace) is is_own


def test_bundles_less_than_a_step_apart_are_equal_in_earlier_releases_which_puts_no_order_on_three() -> None:
    def keys(version: tuple[int, int, int], *msgs: float) -> list[Any]:
        bundles = [MeasuredBundle(BundleStats("t/n/0x0_0x1", 0, 0, 0, rate)) for rate in msgs]
        return [comparable(bundle, load_rules(Release(*version))) for bundle in bundles]

    some, none, more = keys((4, 0, 6), 60.0, 0.0, 120.0)
    assert not some > none and not more > some and more > none
    assert none < more and not none > more
    exactly = keys((4, 0, 6), 0.0, 100.0)
    assert not exactly[1] > exactly[0], "a step apart is not more than a step apart"
    cached = [
        comparable(MeasuredBundle(BundleStats("t/n/0x0_0x1"), *cache), load_rules(Release(4, 0, 6)))
        for cache in ((100_001,), ())
    ]
    assert cached[0] > cached[1], "nothing is cached where nothing is known"
    assert partition_sort(keys((4, 0, 6), 40.0, 120.0, 60.0), 3) == [0, 1, 2]  # none is a step ahead of another
    assert partition_sort(keys((4, 0, 7), 40.0, 120.0, 60.0), 3) == [2, 1, 0]  # in steps of 100: 0, 1 and 1


def test_bundles_that_differ_come_sorted_whatever_their_order_was() -> None:
    for keys in permutations(range(7)):
        assert [keys[place] for place in partition_sort(keys, 7)] == [6, 5, 4, 3, 2, 1, 0]
