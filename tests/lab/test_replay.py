"""What a recording leaves open: which splits a report already knew of, and in which order reports were read."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from engine.balance.limits import BundleStats
from engine.balance.splitting.modular import BrokerReport
from engine.bundles.boundaries import NamespaceBundles
from engine.config import BrokerSettings
from tests.lab.balance.replay import (
    AveragesStored,
    BrokerLeft,
    BundlesChanged,
    ModularEvent,
    ReportWritten,
    replay_modular,
)

TOP = 0xFFFFFFFF
WHOLE, LOWER, UPPER = "t/n/0x00000000_0xffffffff", "t/n/0x00000000_0x80000000", "t/n/0x80000000_0xffffffff"


def bundles(at_ms: int, *cuts: int) -> BundlesChanged:
    return BundlesChanged(at_ms, NamespaceBundles("t/n", (0, *cuts, TOP)))


def report(at_ms: int, broker: str, *hot: str) -> ReportWritten:
    return ReportWritten(at_ms, BrokerReport(broker, tuple(BundleStats(name, 1001) for name in hot)))


def decided(events: Sequence[ModularEvent]) -> list[tuple[list[str], list[str]]]:
    """For each report the bundles attempted and dropped."""
    steps = replay_modular(events, BrokerSettings())
    return [([bundle for bundle, _ in step.attempted], list(step.dropped)) for step in steps]


@pytest.mark.parametrize(("after_ms", "known"), [(1500, True), (1501, False)])
def test_a_split_recorded_a_moment_after_its_report_was_known_to_the_next_one(after_ms: int, known: bool) -> None:
    played = decided([bundles(0), report(10, "b:1", WHOLE), report(20, "b:2"), bundles(10 + after_ms, 0x80000000)])
    assert played == [([WHOLE], []), ([], [WHOLE]) if known else ([WHOLE], [])]


@pytest.mark.parametrize("first", [0x40000000, 0xC0000000])
def test_a_list_with_the_cut_of_a_neighbour_only_is_passed_over(first: int) -> None:
    """Both halves are split after one report, one after the other, and each finds its own cut."""
    both = (0x40000000, 0x80000000, 0xC0000000)
    lists = [bundles(30, *sorted((0x80000000, first))), bundles(40, *both)]
    played = decided([bundles(0, 0x80000000), report(10, "b:1", LOWER, UPPER), report(20, "b:2"), *lists])
    assert [(sorted(tried), sorted(dropped)) for tried, dropped in played] == [
        ([LOWER, UPPER], []),
        ([], [LOWER, UPPER]),
    ]


def test_a_split_known_with_the_very_next_event_makes_its_child_a_bundle_at_once() -> None:
    """The upper half is reported before the list that has it: dropped first, then tried behind its parent."""
    events = [bundles(0), report(10, "b:2", UPPER), report(20, "b:1", WHOLE), bundles(30, 0x80000000)]
    assert decided(events) == [([], [UPPER]), ([WHOLE, UPPER], [])]


def test_a_step_is_shown_without_all_its_averages() -> None:
    (step,) = replay_modular([report(0, "b:1", WHOLE)], BrokerSettings())
    assert list(step.averages) == [WHOLE]
    assert "averages" not in repr(step) and "b:1" in repr(step)


def test_a_broker_that_comes_or_goes_gives_two_samples_of_everything() -> None:
    """S32: appear, rewrite, disappear of another broker: 2, 1, 2 samples more."""
    own = BrokerReport("b:1", (BundleStats("t/n/0x00000000_0xffffffff", topics=2, msg_rate_in=5.0),))
    other = BrokerReport("b:2", ())
    events = [
        ReportWritten(0, own),
        ReportWritten(10, other, is_new=True),
        ReportWritten(20, other),
        BrokerLeft(30, "b:2"),
        AveragesStored(40),
    ]
    steps = replay_modular(events, BrokerSettings())
    samples = [step.averages["t/n/0x00000000_0xffffffff"].long_term.num_samples for step in steps]
    assert samples == [1, 3, 4, 7]  # the departure decides nothing; the storing after it is one more sample
