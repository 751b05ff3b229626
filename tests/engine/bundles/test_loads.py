"""Topics and their traffic bundle by bundle: what stands in for stored averages, and who is largest or hottest."""

from __future__ import annotations

from engine.balance.limits import BundleStats
from engine.balance.splitting.topics import BalancedTopic
from engine.bundles.boundaries import NamespaceBundles
from engine.bundles.loads import (
    BundleAverage,
    TopicLoad,
    averages_of,
    bundle_of_topic,
    hottest_bundle,
    largest_bundle,
    topic_load,
    with_partitions,
)
from engine.bundles.plan import SplitWarning

LISTS = NamespaceBundles("t/n", (10, 20, 30, 0xFFFFFFFF))


def test_current_throughput_stands_in_for_stored_averages_bundle_by_bundle() -> None:
    topics = [
        TopicLoad("a", 10, 9.0, 9.0, 1.0, 100.0),
        TopicLoad("below", 9, 9.0, 9.0, 7.0, 7.0),
        TopicLoad("b", 19, 9.0, 9.0, 2.0, 200.0),
        TopicLoad("c", 0xFFFFFFFF, 9.0, 9.0, 4.0, 400.0),
        TopicLoad("d", 12, 9.0, 9.0, 8.0, 800.0),
    ]
    assert averages_of(LISTS, topics) == {
        "0x0000000a_0x00000014": BundleAverage(3, 11.0, 1100.0),
        "0x0000001e_0xffffffff": BundleAverage(1, 4.0, 400.0),
    }


def test_a_bundle_needs_more_than_minus_one_to_be_hottest() -> None:
    """Brokers begin their search there; an average of 0 wins, one that cannot be does not."""
    first = str(LISTS[0])
    assert hottest_bundle(LISTS, {first: BundleAverage(1, 0.0, 0.0)}) == LISTS[0]
    assert hottest_bundle(LISTS, {first: BundleAverage(1, -1.0, 0.0)}) is None


def test_a_persistent_topic_is_one_by_the_beginning_of_its_name() -> None:
    assert largest_bundle(LISTS, [TopicLoad("persistent://t/n/a://b", 25)]) == LISTS[1]
    assert largest_bundle(LISTS, [TopicLoad("PERSISTENT://t/n/a", 25)]) == LISTS[1]
    assert largest_bundle(LISTS, [TopicLoad("non-persistent://t/n/a", 25), TopicLoad("persistent://t/n/b", 9)]) is None
    assert largest_bundle(LISTS, [TopicLoad("persistent://t/n/a", 9), TopicLoad("persistent://t/n/b", 25)]) == LISTS[1]


def test_a_partition_that_only_the_metadata_knows_has_no_statistics() -> None:
    (opened, unopened) = with_partitions([TopicLoad("persistent://t/n/a", 5)], ["persistent://t/n/b"])
    assert (opened.has_stats, unopened.has_stats) == (True, False)
    assert unopened == topic_load("persistent://t/n/b", has_stats=False)


def test_a_topic_below_the_first_boundary_is_in_no_bundle() -> None:
    name = "persistent://t/n/a"
    position = topic_load(name).hash
    assert bundle_of_topic(NamespaceBundles("t/n", (position, 0xFFFFFFFF)), name) is not None
    assert bundle_of_topic(NamespaceBundles("t/n", (position + 1, 0xFFFFFFFF)), name) is None


def test_nothing_is_assumed_of_traffic_that_is_not_given() -> None:
    load = topic_load("a")
    assert load == TopicLoad("a", load.hash) == TopicLoad("a", load.hash, 0.0, 0.0, 0.0, 0.0, True)
    assert BundleStats("b") == BundleStats("b", 0, 0, 0, 0.0, 0.0, 0.0, 0.0)
    assert BalancedTopic(load) == BalancedTopic(load, 0, 0, 1.0)
    assert SplitWarning("empty-child") == SplitWarning("empty-child", "", (), (), "", 0.0, 0.0)
