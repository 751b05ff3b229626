"""Splits on request, as decisions."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from engine.bundles.loads import TopicLoad, bundle_of_topic, topic_load
from engine.cluster.bundles import (
    NEVER_ANSWERED,
    NOTHING_TO_SPLIT,
    SplitWithoutEffect,
    in_listing_order,
    listed_numbers,
    topic_loads,
)
from engine.cluster.commands import AddTopic, SplitBundle
from engine.cluster.decide import decide
from engine.cluster.events import BundleWasSplit
from engine.cluster.state import ClusterState, Namespace, bundles_of
from engine.cluster.tables.topics import Load, Topic
from engine.config import BrokerSettings
from engine.names import NON_PERSISTENT, TopicName, parse_topic_name
from engine.scenarios.synthetic import synthetic_state
from tests.engine.cluster.support import ORDERS, after, cluster, quarter_boundaries, refusal

FIRST = "0x00000000_0x40000000"


def test_a_split_is_an_event_with_its_cuts() -> None:
    assert decide(cluster(), SplitBundle("shop/eu", FIRST)) == (
        BundleWasSplit("shop/eu", 0, 0x40000000, (0x20000000,), "range_equally_divide"),
    )


def test_cuts_are_listed_in_ascending_order() -> None:
    (event,) = decide(
        cluster(partitions=200), SplitBundle("shop/eu", FIRST, "specified_positions_divide", (300, 100, 200))
    )

    assert event.cuts == (100, 200, 300)


def test_B03_the_same_split_twice_is_refused_the_second_time_and_changes_nothing() -> None:
    state = after(cluster(), SplitBundle("shop/eu", FIRST))

    refused = refusal(state, SplitBundle("shop/eu", FIRST))

    assert refused.status == 412
    assert bundles_of(state, "shop/eu").boundaries == tuple(sorted([*quarter_boundaries(), 0x20000000]))


def test_B02_two_splits_keep_each_others_boundaries() -> None:
    state = after(cluster(), SplitBundle("shop/eu", FIRST), SplitBundle("shop/eu", "0x40000000_0x80000000"))

    assert set(bundles_of(state, "shop/eu").boundaries) == {*quarter_boundaries(), 0x20000000, 0x60000000}


@pytest.mark.parametrize("algorithm", ["topic_count_equally_divide", "specified_positions_divide"])
def test_B01_one_topic_in_a_bundle_is_nothing_to_split(algorithm: str) -> None:
    """The broker answers 204 and changes nothing, again and again; here it is a value that says so."""
    state = replace(cluster(), namespaces={"shop/eu": Namespace("shop/eu", (0, 0xFFFFFFFF))})
    state = replace(state, topics={}, subscriptions=())
    state = after(state, AddTopic("shop/eu/hot"))

    refused = refusal(state, SplitBundle("shop/eu", "LARGEST", algorithm, (5,)))

    assert isinstance(refused, SplitWithoutEffect)
    assert (refused.error, refused.status) == (NOTHING_TO_SPLIT, 204)
    assert "nothing changes" in refused.message
    assert refused.plan is not None and not refused.plan.changes


def test_B08_repeated_positions_are_never_answered_and_make_no_empty_bundle() -> None:
    state = replace(cluster(partitions=50), release="4.2.4")

    refused = refusal(state, SplitBundle("shop/eu", FIRST, "specified_positions_divide", (100, 100)))

    assert isinstance(refused, SplitWithoutEffect)
    assert (refused.error, refused.status) == (NEVER_ANSWERED, 0)


def test_hot_picks_the_bundle_with_the_traffic() -> None:
    hot = f"{ORDERS}-partition-3"
    state = cluster(loads={hot: Load(throughput_in_bytes_per_sec=5e6), f"{ORDERS}-partition-0": Load(1.0)})
    (event,) = decide(state, SplitBundle("shop/eu", "HOT"))

    topic = bundle_of_topic(bundles_of(state, "shop/eu"), hot)

    assert topic is not None and (event.lower, event.upper) == (topic.lower, topic.upper)


def test_flow_split_works_as_the_default_and_cuts_between_the_loads() -> None:
    loads = {name: Load(msg_rate_in=400.0) for name in (f"{ORDERS}-partition-{n}" for n in range(20))}
    settings = BrokerSettings(
        defaultNamespaceBundleSplitAlgorithm="flow_or_qps_equally_divide", loadBalancerNamespaceBundleMaxMsgRate=1000
    )
    state = cluster(partitions=20, loads=loads, settings=settings)

    (event,) = decide(state, SplitBundle("shop/eu", "LARGEST"))

    assert event.algorithm == "flow_or_qps_equally_divide"
    assert event.cuts


def test_partitions_without_statistics_count_as_topics_and_stand_last() -> None:
    loads = {f"{ORDERS}-partition-{n}": Load(1.0) for n in (2, 0)}
    result = topic_loads(cluster(partitions=3, loads=loads), "shop/eu")

    assert [(each.name[-11:], each.has_stats) for each in result] == [
        ("op/eu/audit", False),
        ("partition-0", True),
        ("partition-2", True),
        ("partition-1", False),
    ]


NAMESPACE = "public/default"
NAMES = (
    "persistent://public/default/zebra",
    "persistent://public/default/Ä-ümlaut",
    "persistent://public/default/a",
    "non-persistent://public/default/a",
    "persistent://public/default/a-10",
    "persistent://public/default/\U0001f600",
    "persistent://public/default/\uffee",
    "persistent://public/other/a",
    "nowhere",
)


def mixed(*more: str) -> ClusterState:
    """Topics with and without statistics, partitioned or not, of both domains, listed in no order."""
    state = synthetic_state(40, 2, 3, seed=5).state
    odd = {name: Topic(name, partitions % 4) for partitions, name in enumerate((*NAMES, *more))}
    loads = {"non-persistent://public/default/a-partition-1": Load(7.0)}
    return replace(state, topics={**odd, **state.topics}, loads={**state.loads, **loads})


def listed(state: ClusterState, namespace: str) -> list[TopicLoad]:
    """What a broker does: those known from metadata alone behind the others, persistent ones first, then by name."""
    ranked = []
    for topic in dict(state.topics).values():
        name = parse_topic_name(topic.name)
        if isinstance(name, TopicName) and name.namespace == namespace:
            for partition in topic.partition_names():
                metadata_only = topic.partitions > 0 and partition not in state.loads
                ranked.append((metadata_only, name.domain == NON_PERSISTENT, partition))
    result = []
    for *_, partition in sorted(ranked):
        load = state.loads.get(partition)
        rates = () if load is None else (load.msg_rate_in, load.msg_rate_out)
        size = () if load is None else (load.throughput_in_bytes_per_sec, load.throughput_out_bytes_per_sec)
        result.append(topic_load(partition, *rates, *size, has_stats=load is not None))
    return result


def test_topics_are_listed_as_a_broker_lists_them() -> None:
    for namespace in (NAMESPACE, "public/other", "t/empty", ""):
        assert [*topic_loads(mixed(), namespace)] == listed(mixed(), namespace)


def test_names_that_a_table_of_bytes_cannot_hold_are_listed_too() -> None:
    odd = (f"persistent://public/default/nul\0{'x' * 3}", f"persistent://public/default/{'long' * 200}")
    for more in (odd, odd[:1], odd[1:]):
        assert [*topic_loads(mixed(*more), NAMESPACE)] == listed(mixed(*more), NAMESPACE)


def test_some_partitions_are_put_into_the_same_order() -> None:
    state = mixed()
    numbers = listed_numbers(state, NAMESPACE)
    assert in_listing_order(state, numbers[::-3]).tolist() == sorted(numbers[::-3], key=numbers.tolist().index)
