"""The running leader, which keeps averages in columns, remembers and chooses what the leader's memory says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.balance.averages import BundleData, TimeAverageMessageData, new_bundle_data
from engine.balance.limits import BundleStats
from engine.balance.splitting.leader import RunningLeader
from engine.balance.splitting.modular import BrokerReport
from engine.config import BrokerSettings
from tests.lab.balance.leader import LeaderMemory, report_written

A, B, C = (f"t/n/0x{at}0000000_0x{at + 1}0000000" for at in range(3))
MEGABYTE = 1_048_576


def hot(name: str, topics: int = 9) -> BundleStats:
    return BundleStats(name, topics, 1, 2, 1.0, 10.0, 100.0, 1000.0)


def play(
    written: Sequence[BrokerReport],
    settings: BrokerSettings,
    known: Mapping[str, BundleData] | None = None,
    bundles: int = 3,
) -> tuple[RunningLeader, list[list[str]]]:
    """The chosen bundles after each report, the same both ways, and so are the averages."""
    memory, running = LeaderMemory((), known or {}), RunningLeader.starting(settings, known or {})
    chosen = []
    for report in written:
        memory, choice = report_written(memory, report, {"t/n": bundles}, settings)
        running.written(report)
        assert running.decision("t/n", bundles) == choice
        assert {name: running.averages.at(name) for name in running.averages.place} == {
            name: data.long_term for name, data in memory.averages.items()
        }
        chosen.append(list(choice.chosen))
    return running, chosen


def test_a_bundle_of_two_reports_gets_two_samples_and_one_of_none_is_forgotten() -> None:
    moved = BundleStats(B, 9, 1, 2, 5.0, 50.0, 500.0, 5000.0)
    running, _ = play(
        [BrokerReport("b:1", (hot(A), hot(B), hot(C))), BrokerReport("b:2", (moved,)), BrokerReport("b:2", (moved,))],
        BrokerSettings(),
    )
    assert [running.averages.at(name).num_samples for name in (A, B, C)] == [3, 5, 3]
    assert running.averages.at(B) == TimeAverageMessageData(1000, 5, 2.6, 26.0, 260.0, 2600.0)
    rates, octets = running.rates()
    assert (rates.tolist(), octets.tolist()) == ([11.0, 28.6, 11.0], [1100.0, 2860.0, 1100.0])
    running.written(BrokerReport("b:1", ()))
    assert list(running.averages.place) == [B]
    running.forget(B)
    assert running.averages.at(B) == TimeAverageMessageData(1000)


def test_a_known_average_keeps_its_window() -> None:
    start = BundleStats(A, 2, 0, 0, 8.0, 80.0, 800.0, 8000.0)
    known = {A: new_bundle_data(num_long_samples=2, start=start).update(start), B: new_bundle_data()}
    running, _ = play([BrokerReport("b:1", (hot(A),))] * 3, BrokerSettings(), known)
    assert running.averages.at(A) == TimeAverageMessageData(2, 2, 1.875, 18.75, 187.5, 1875.0)


def test_an_average_on_its_limit_is_not_above_it_and_the_next_one_is() -> None:
    """A report that stays the same moves the average: to the limit with its first sample, beyond it with its second."""
    limits = BrokerSettings(loadBalancerNamespaceBundleMaxBandwidthMbytes=1, loadBalancerNamespaceBundleMaxMsgRate=1000)
    below, above = ((0.0, 0.0, 0.0, MEGABYTE + step) for step in (-1000.0, 1000.0))
    for at_first, then in ((below, above), ((0.0, 900.0), (1100.0, 0.0))):
        known = {A: new_bundle_data().update(BundleStats(A, 2, 0, 0, *at_first))}
        assert play([BrokerReport("b:1", (BundleStats(A, 2, 0, 0, *then),))] * 2, limits, known)[1] == [[], [A]]


def test_a_twelfth_broker_without_bundles_changes_the_order_of_the_others() -> None:
    """Of 16 buckets "P" is in the first and "A" in the second, of 32 "A" comes before "P"; the cap takes one."""
    others = [BrokerReport(name, ()) for name in "bcdefghij"]
    reports = [BrokerReport("A", (hot(A),)), BrokerReport("P", (hot(B),)), *others, BrokerReport("k", ())]
    limits = BrokerSettings(loadBalancerNamespaceBundleMaxTopics=8, loadBalancerNamespaceMaximumBundles=4)
    assert play(reports, limits)[1] == [[A], *[[B]] * 10, [A]]


def test_the_leaders_memory_counts_samples() -> None:
    memory, _ = report_written(LeaderMemory(), BrokerReport("b:1", (hot(A),)), {"t/n": 1}, BrokerSettings())
    assert [memory.samples_of(name) for name in (A, B)] == [1, 0]
