"""Averages in columns are those of the leader bundle by bundle, whatever the brokers report from reading to reading."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.balance.averages import BundleData, new_bundle_data
from engine.balance.brokers import report_of
from engine.balance.bulk_averages import AverageColumns, ShedAverages, has_one_window
from engine.balance.java_maps import concurrent_order, hash_order
from engine.balance.leadership.state import Leader, elected, reports_read
from engine.balance.limits import BundleStats
from tests.engine.balance.shedding_world import name

NAMES = [name(at) for at in range(7)]
RATES = st.sampled_from([0.0, 1e-6, 0.1, 7.0, 1e6 / 3, math.inf])


def traffic_of(data: BundleData) -> tuple[float, ...]:
    windows = (data.short_term, data.long_term)
    return tuple(rate for window in windows for rate in (window.msgs_per_sec, window.bytes_per_sec))


def are_settled(before: Mapping[str, BundleData], after: Mapping[str, BundleData]) -> bool:
    """Whether the same bundles are known, those that are gone left out, by the same averages up to a billionth."""
    return all(bundle in before for bundle in after) and all(
        math.isclose(old, new)
        for bundle, data in after.items()
        for old, new in zip(traffic_of(before[bundle]), traffic_of(data), strict=True)
    )


@st.composite
def bundles(draw: st.DrawFn) -> list[BundleStats]:
    return [BundleStats(each, at, 0, 0, draw(RATES), 0.5, draw(RATES), 0.1) for at, each in enumerate(NAMES)]


PLACES = st.lists(st.integers(0, len(NAMES) - 1), unique=True, max_size=len(NAMES))
READINGS = st.lists(st.lists(PLACES, max_size=3), min_size=1, max_size=14)
"""In each reading the bundles that each broker reports; two may report the same one."""


@given(bundles(), READINGS, st.sets(st.sampled_from(NAMES)))
def test_columns_remember_what_the_leader_does(
    stats: list[BundleStats], readings: list[list[list[int]]], copied: set[str]
) -> None:
    leader = Leader()
    earlier = [BundleStats(each, 9, 0, 0, 3.0, 0.25, 1e6, 2.0) for each in NAMES[:3]]
    state = reports_read(leader, elected(leader), [report_of("b:0", earlier)])
    columns = AverageColumns(stats, state.bundles, state.data, copied)
    for reading in [readings[0], *readings]:
        assert {each: columns.data(each) for each in NAMES if columns.is_known(each)} == state.data
        before = state.data
        loads = {
            f"b:{at}": report_of(f"b:{at}", [stats[place] for place in places]) for at, places in enumerate(reading)
        }
        state = reports_read(leader, state, list(loads.values()))
        in_order = [np.array([NAMES.index(bundle) for bundle in loads[b].bundles], np.int64) for b in state.brokers]
        sums, is_settled = columns.read(tuple(in_order))
        assert is_settled is are_settled(before, state.data)
        long_term = [state.known[broker].long_term for broker in state.brokers]
        assert sums[0].tolist() == [each.msg_rate_in for each in long_term]
        assert sums[3].tolist() == [each.throughput_out_bytes_per_sec for each in long_term]
        assert tuple(columns.order) == hash_order(bundle for bundle in state.bundles if bundle in copied).keys


def test_a_shedder_sees_the_bundles_that_are_shed_in_any_order() -> None:
    stats = [BundleStats(each, 1, msg_rate_in=float(at)) for at, each in enumerate(NAMES)]
    columns = AverageColumns(stats, concurrent_order(()), {}, set(NAMES[:4]))
    columns.read((np.arange(5),))
    seen = ShedAverages(columns)
    order = hash_order(concurrent_order(NAMES[:5]))
    expected = [each for each in order if each in NAMES[:4]]
    assert (list(seen), len(seen), seen.in_order(expected[::-1])) == (expected, 4, expected)
    turned = seen.reordered(expected[::-1])
    assert (list(turned), turned.in_order(sorted(expected))) == (expected[::-1], expected[::-1])
    assert turned.short_term([NAMES[3], NAMES[1]], "messages") == [3.0, 1.0]
    assert [each in seen for each in (NAMES[0], NAMES[4], NAMES[6], "elsewhere", 1)] == [True, *[False] * 4]
    assert not columns.is_known("elsewhere")
    with pytest.raises(KeyError):
        seen[NAMES[4]]


def test_windows_of_one_length_are_those_of_one_leader() -> None:
    one, other = new_bundle_data(), new_bundle_data(num_short_samples=9)
    assert [has_one_window(each) for each in ([], [one, one], [one, other])] == [True, True, False]


def test_a_change_of_very_little_traffic_is_a_change_of_its_average() -> None:
    earlier, now = (BundleStats(NAMES[0], 1, msg_rate_in=rate) for rate in (4e-6, 1e-6))
    data = {NAMES[0]: new_bundle_data().update(earlier)}
    columns = AverageColumns([now], concurrent_order(data), data, set(data))
    assert columns.read((np.zeros(1, np.int64),))[1] is False
