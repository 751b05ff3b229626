"""The listing of a namespace, against the rule told topic by topic."""

from __future__ import annotations

from dataclasses import replace

from engine.bundles.loads import TopicLoad, topic_load
from engine.cluster.bundles import in_listing_order, listed_numbers, topic_loads
from engine.cluster.state import ClusterState
from engine.cluster.tables.topics import Load, Topic
from engine.names import NON_PERSISTENT, TopicName, parse_topic_name
from engine.scenarios.synthetic import synthetic_state

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
    found = []
    for *_, partition in sorted(ranked):
        load = state.loads.get(partition)
        rates = () if load is None else (load.msg_rate_in, load.msg_rate_out)
        size = () if load is None else (load.throughput_in_bytes_per_sec, load.throughput_out_bytes_per_sec)
        found.append(topic_load(partition, *rates, *size, has_stats=load is not None))
    return found


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
