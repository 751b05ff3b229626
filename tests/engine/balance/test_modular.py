"""What the modular load manager chooses to split: thresholds, the cap, the order of visiting, old reports."""

from __future__ import annotations

import pytest

from engine.balance.averages import TimeAverageMessageData
from engine.balance.limits import BundleStats
from engine.balance.splitting.modular import (
    BrokerReport,
    ModularDecision,
    ModularObservation,
    modular_decision,
    visiting_order,
    why_no_run,
)
from engine.bundles.boundaries import BundleRange, NamespaceBundles, split_bundles
from engine.config import SPLIT_ALGORITHMS, BrokerSettings

QUARTERS = ("0x00000000_0x40000000", "0x40000000_0x80000000", "0x80000000_0xc0000000", "0xc0000000_0xffffffff")
SHIPPED = BrokerSettings()


def busy(place: int, namespace: str = "t/n", topics: int = 1001) -> BundleStats:
    return BundleStats(f"{namespace}/{QUARTERS[place]}", topics)


def decide(
    *reports: tuple[str, list[BundleStats]],
    counts: dict[str, int] | None = None,
    averages: dict[str, TimeAverageMessageData] | None = None,
    settings: BrokerSettings = SHIPPED,
) -> ModularDecision:
    given = tuple(BrokerReport(broker, tuple(bundles)) for broker, bundles in reports)
    return modular_decision(
        ModularObservation(given, averages or {}, {"t/n": 4} if counts is None else counts), settings
    )


def cap(bundles: int) -> BrokerSettings:
    return BrokerSettings(loadBalancerNamespaceMaximumBundles=bundles)


def test_B13_the_cap_of_a_namespace_is_respected_and_reported_once() -> None:
    """Two of four hot bundles fit under the cap: the first two visited win, and the full namespace is named once."""
    decision = decide(("b", [busy(3), busy(0), busy(1), busy(2)]), settings=cap(6))
    assert list(decision.chosen) == [busy(3).bundle, busy(0).bundle]
    assert decision.full_namespaces == ("t/n",)
    assert [verdict.outcome for verdict in decision.verdicts] == [
        "chosen",
        "chosen",
        "namespace-full",
        "namespace-full",
    ]


def test_B13_a_namespace_at_or_above_its_cap_chooses_nothing_run_after_run() -> None:
    for bundles in (128, 129):
        decision = decide(("b", [busy(0), busy(1)]), counts={"t/n": bundles})
        assert (decision.chosen, decision.full_namespaces) == ({}, ("t/n",))


def test_the_cap_is_counted_for_each_namespace_by_itself() -> None:
    decision = decide(
        ("b", [busy(0), busy(0, "t/m"), busy(1), busy(1, "t/m")]), counts={"t/n": 4, "t/m": 5}, settings=cap(5)
    )
    assert (list(decision.chosen), decision.full_namespaces) == ([busy(0).bundle], ("t/m", "t/n"))


def test_a_bundle_reported_twice_takes_two_places_and_the_later_broker_is_recorded() -> None:
    decision = decide(("old", [busy(0)]), ("new", [busy(0), busy(1)]), settings=cap(6))
    assert (decision.chosen, decision.full_namespaces) == ({busy(0).bundle: "new"}, ("t/n",))


def test_rates_are_the_long_term_average_and_never_the_current_ones() -> None:
    burst = BundleStats(busy(0).bundle, 2, msg_rate_in=1e9, throughput_in_bytes_per_sec=1e12)
    quiet = BundleStats(busy(1).bundle, 2)
    hot = TimeAverageMessageData(1000, 5, msg_rate_in=15_000.0, msg_rate_out=15_000.5)
    decision = decide(("b", [burst, quiet]), averages={quiet.bundle: hot})
    assert list(decision.chosen) == [quiet.bundle]
    assert [verdict.reason for verdict in decision.verdicts] == ["Unknown", "MsgRate"]


@pytest.mark.parametrize("algorithm", SPLIT_ALGORITHMS)
def test_B01_a_bundle_of_one_topic_is_never_chosen_however_hot(algorithm: str) -> None:
    hot = TimeAverageMessageData(1000, 5, msg_rate_in=1e9)
    settings = BrokerSettings(defaultNamespaceBundleSplitAlgorithm=algorithm, loadBalancerNamespaceBundleMaxTopics=0)
    one = busy(0, topics=1)
    decision = decide(("b", [one, busy(1, topics=2)]), averages={one.bundle: hot}, settings=settings)
    assert list(decision.chosen) == [busy(1).bundle]


def test_B03_an_old_report_names_the_parent_again_and_the_second_split_changes_nothing() -> None:
    """The decider cannot know; the bundle list does."""
    before = NamespaceBundles("t/n", (0, 0x40000000, 0xFFFFFFFF))
    parent = BundleRange(0, 0x40000000)
    after = split_bundles(before, parent, 2)
    assert after is not None and not hasattr(after, "error")
    stale = decide(("b", [busy(0)]), counts={"t/n": len(after.bundles)})
    assert list(stale.chosen) == [f"t/n/{parent}"]
    assert split_bundles(after.bundles, parent, 2) is None


def test_a_bundle_count_that_cannot_be_read_skips_only_its_namespace() -> None:
    decision = decide(("b", [busy(0, "t/unknown"), busy(0)]))
    assert [verdict.outcome for verdict in decision.verdicts] == ["bundle-count-unreadable", "chosen"]


def test_a_bandwidth_limit_of_2048_chooses_every_idle_bundle_of_two_topics() -> None:
    settings = BrokerSettings(loadBalancerNamespaceBundleMaxBandwidthMbytes=2048)
    decision = decide(("b", [busy(place, topics=2) for place in range(4)]), settings=settings)
    assert {verdict.reason for verdict in decision.verdicts} == {"Bandwidth"}
    assert len(decision.chosen) == 4


def test_who_wins_under_the_cap_depends_on_the_order_of_brokers() -> None:
    reports = [("x", [busy(0)]), ("y", [busy(1)])]
    assert list(decide(*reports, settings=cap(5)).chosen) == [busy(0).bundle]
    assert list(decide(*reversed(reports), settings=cap(5)).chosen) == [busy(1).bundle]


def test_brokers_are_visited_by_bucket_and_in_order_of_arrival_within_one() -> None:
    """The text "1" is 49, bucket 1; "a" 97, bucket 1; "0" 48, bucket 0; "?" 63, bucket 15."""
    assert visiting_order(["?", "a", "1", "0"]) == ("0", "a", "1", "?")
    assert visiting_order(["?", "1", "a", "0"]) == ("0", "1", "a", "?")


def test_the_twelfth_broker_doubles_the_buckets() -> None:
    """The text "P" is 80 and "A" 65: of 16 buckets 0 and 1, of 32 buckets 16 and 1."""
    others = list("bcdefghij")
    assert visiting_order(["A", "P", *others])[:2] == ("P", "A")
    assert visiting_order(["A", "P", *others, "k"])[0] == "A"


@pytest.mark.parametrize(
    ("enabled", "leader", "brokers", "reason"),
    [
        (True, True, 2, None),
        (False, True, 2, "switched-off"),
        (True, False, 2, "not-leader"),
        (True, True, 1, "one-broker"),
    ],
)
def test_when_the_leader_decides_at_all(enabled: bool, leader: bool, brokers: int, reason: str | None) -> None:
    settings = BrokerSettings(loadBalancerAutoBundleSplitEnabled=enabled)
    assert why_no_run(settings, is_leader=leader, known_brokers=brokers) == reason


def test_a_bundle_without_an_average_has_no_traffic() -> None:
    """Limits of 0 are not reached by it."""
    none = BrokerSettings(loadBalancerNamespaceBundleMaxMsgRate=0, loadBalancerNamespaceBundleMaxBandwidthMbytes=0)
    assert [verdict.outcome for verdict in decide(("b", [busy(0, topics=2)]), settings=none).verdicts] == [
        "below-limits"
    ]


def test_some_ids_of_a_larger_map_are_ordered_by_its_buckets() -> None:
    assert visiting_order(["A", "P"]) == ("P", "A")
    assert visiting_order(["A", "P"], 32) == visiting_order(["P", "A"], 32) == ("A", "P")
