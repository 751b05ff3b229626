"""Figures of a broker by hand: Java's division by zero, totals of a report, heap memory in old releases, averages."""

from __future__ import annotations

import math

import pytest

from engine.balance.averages import TimeAverageMessageData, new_bundle_data
from engine.balance.brokers import (
    BrokerLoad,
    ReportFigures,
    ResourceUsage,
    divided,
    figures_of,
    report_needed,
    report_of,
    time_average,
    weighted_usage,
)
from engine.balance.limits import BundleStats
from engine.balance.settings import LoadSettings
from engine.load_rules import LoadRules


@pytest.mark.parametrize(
    ("dividend", "divisor", "expected"),
    [(1.0, -0.0, -math.inf), (-1.0, -0.0, math.inf), (2.0, 0.0, math.inf), (-2.0, 0.0, -math.inf)],
)
def test_division_by_zero_has_the_sign_of_both(dividend: float, divisor: float, expected: float) -> None:
    assert divided(dividend, divisor) == expected


def test_what_nobody_reports_is_none_of_nothing() -> None:
    load = BrokerLoad("b:1")
    assert (load.msgs_per_sec, load.bytes_per_sec, load.persistent_topics, load.non_persistent_topics) == (
        0,
        0,
        True,
        True,
    )
    assert figures_of(load, 0.0) == ReportFigures()
    assert {load.cpu, load.memory, load.direct_memory, load.bandwidth_in, load.bandwidth_out} == {
        ResourceUsage(0.0, 0.0)
    }


def test_the_totals_of_a_report_are_the_sums_of_its_bundles() -> None:
    stats = [BundleStats(f"t/n/0x{at}", at, 1, 1, 1.0 * at, 10.0 * at, 100.0 * at, 1000.0 * at) for at in (1, 2)]
    load = report_of("b:1", stats)
    assert (load.msg_rate_in, load.msg_rate_out) == (3.0, 30.0)
    assert (load.throughput_in_bytes_per_sec, load.throughput_out_bytes_per_sec) == (300.0, 3000.0)
    empty = report_of("b:2", [])
    assert (empty.msgs_per_sec, empty.bytes_per_sec, empty.topics) == (0.0, 0.0, 0)


def test_heap_memory_takes_part_by_its_weight_where_the_release_counts_it() -> None:
    load = BrokerLoad("b:1", cpu=ResourceUsage(5, 100), memory=ResourceUsage(80, 100))
    settings = LoadSettings(loadBalancerMemoryResourceWeight=0.5)
    old = LoadRules(heap_memory_counts=True)
    assert weighted_usage(load, settings, old, heap=True) == pytest.approx(0.4)
    assert weighted_usage(load, settings, old) == pytest.approx(0.05)
    assert weighted_usage(load, settings, LoadRules(heap_memory_counts=False), heap=True) == pytest.approx(0.05)


def test_the_average_of_a_broker_starts_with_no_sample_and_counts_unknown_bundles_as_new_ones() -> None:
    """A new bundle has 50 messages/s and 50000 bytes/s each way."""
    known = new_bundle_data().update(BundleStats("a", msg_rate_in=3.0, throughput_out_bytes_per_sec=8.0))
    average = time_average(["a", "nobody knows"], {"a": known})
    assert average == TimeAverageMessageData(1, 0, 53.0, 50.0, 50_000.0, 50_008.0)


def test_what_is_compared_of_a_report_has_the_number_of_its_bundles() -> None:
    load = report_of("b:1", [BundleStats(f"t/n/0x{at}", msg_rate_in=2.0) for at in range(3)])
    figures = figures_of(load, 0.25)
    assert (figures.usage, figures.bundles, figures.msgs_per_sec) == (0.25, 3, 6.0)


def test_a_figure_that_is_no_number_hides_the_others_from_the_extensible_manager_only() -> None:
    """``Math.max`` of Java gives NaN if one of both is; ``LocalBrokerData.max`` goes on."""
    last = ReportFigures(usage=0.1, msg_rate_in=10.0)
    now = ReportFigures(usage=0.9, msg_rate_in=math.nan)
    assert report_needed(last, now, 0, LoadSettings()) == "usage"
    assert report_needed(last, now, 0, LoadSettings(), "extensible") is None
    old = 15 * 60_000
    assert report_needed(last, now, old, LoadSettings(), "extensible") is None
    assert report_needed(last, now, old + 1, LoadSettings(), "extensible") == "age"
    assert report_needed(last, ReportFigures(usage=0.9, msg_rate_in=10.0), 0, LoadSettings(), "extensible") == "usage"
