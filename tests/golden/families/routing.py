"""Checkers of the vectors about client routing and about the statistics of partitioned topics."""

from __future__ import annotations

import math
from collections.abc import Set
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from engine.errors import Rejection
from engine.routing.clients import KeyRouting, Message
from engine.routing.publishers import PublisherGroups, PublisherStats, aggregate_publishers, grouped
from engine.routing.routers import (
    PartialRoundRobinRouter,
    Router,
    SinglePartitionRouter,
    partial_round_robin,
    round_robin,
    route,
)
from engine.routing.stats import ConsumerStats, ReplicatorStats, SubscriptionStats, TopicStats, aggregate
from tests.golden.harness import checks
from tests.golden.load_lines import release_in_force

Line = dict[str, Any]

TOPIC_NAMES = {
    "msgRateIn": "msg_rate_in_msgs_per_sec",
    "msgThroughputIn": "msg_throughput_in_bytes_per_sec",
    "msgRateOut": "msg_rate_out_msgs_per_sec",
    "msgThroughputOut": "msg_throughput_out_bytes_per_sec",
    "bytesInCounter": "bytes_in_counter",
    "msgInCounter": "msg_in_counter",
    "averageMsgSize": "average_msg_size_bytes",
    "storageSize": "storage_size_bytes",
    "backlogSize": "backlog_size_bytes",
    "earliestMsgPublishTimeInBacklogs": "earliest_msg_publish_time_in_backlogs_ms",
    "oldestBacklogMessageAgeSeconds": "oldest_backlog_message_age_seconds",
    "oldestBacklogMessageSubscriptionName": "oldest_backlog_message_subscription_name",
    "topicCreationTimeStamp": "topic_creation_timestamp_ms",
    "lastPublishTimeStamp": "last_publish_timestamp_ms",
    "ownerBroker": "owner_broker",
}
PUBLISHER_NAMES = {
    "producerName": "producer_name",
    "supportsPartialProducer": "supports_partial_producer",
    "msgRateIn": "msg_rate_in_msgs_per_sec",
    "msgThroughputIn": "msg_throughput_in_bytes_per_sec",
    "averageMsgSize": "average_msg_size_bytes",
}
SUBSCRIPTION_NAMES = {
    "type": "type",
    "msgRateOut": "msg_rate_out_msgs_per_sec",
    "msgThroughputOut": "msg_throughput_out_bytes_per_sec",
    "msgBacklog": "msg_backlog_entries",
    "msgDelayed": "msg_delayed",
    "unackedMessages": "unacked_messages",
    "earliestMsgPublishTimeInBacklog": "earliest_msg_publish_time_in_backlog_ms",
    "isDurable": "is_durable",
    "isReplicated": "is_replicated",
    "activeConsumerName": "active_consumer_name",
}
CONSUMER_NAMES = {
    "consumerName": "consumer_name",
    "msgRateOut": "msg_rate_out_msgs_per_sec",
    "msgThroughputOut": "msg_throughput_out_bytes_per_sec",
    "msgOutCounter": "msg_out_counter",
    "availablePermits": "available_permits",
    "unackedMessages": "unacked_messages",
    "blockedConsumerOnUnackedMsgs": "blocked_consumer_on_unacked_msgs",
    "keyHashRanges": "key_hash_ranges",
    "keyHashRangeArrays": "key_hash_range_arrays",
    "address": "address",
}
REPLICATOR_NAMES = {
    "connected": "connected",
    "msgRateOut": "msg_rate_out_msgs_per_sec",
    "replicationBacklog": "replication_backlog",
    "replicationDelayInSeconds": "replication_delay_in_seconds",
}
UNSEEN_OF_PUBLISHERS = {"producerId", "accessMode"}
ALWAYS_SHOWN = {"isDurable", "isReplicated", "connected", "consumers"}


@checks("routers")
def check_router(line: Line) -> None:
    """Every call of one router, in order; the members of a partial router's list are drawn at random, so given."""
    if line["router"] == "partial":
        check_partial(line)
        return
    router: Router
    keys = KeyRouting("java", line["hashing"])
    if line["router"] == "single":
        router = SinglePartitionRouter(line["index"], keys)
    else:
        assert line["router"] == "roundrobin"
        router = round_robin(line["start"], batching=line["batching"], switch_ms=line["switchMs"], keys=keys)
    for number, call in enumerate(line["calls"]):
        router, partition = route(router, Message(call["key"]), call["partitions"], call.get("timeMs", 0))
        assert partition == call["partition"], f"call {number}"


def check_partial(line: Line) -> None:
    """The list grows when Pulsar's does, by as many, at its end; the turns through it are Pulsar's."""
    result = partial_round_robin(line["limit"])
    if "error" in line:
        assert isinstance(result, Rejection)
        assert (result.error, result.message) == (line["error"], line["message"])
        return
    assert not isinstance(result, Rejection), result
    router = replace(result, counter=line["counterStart"])
    for number, call in enumerate(line["calls"]):
        grown = router.extended(call["partitions"]).chosen
        chosen = tuple(call["list"])
        assert len(grown) == len(chosen) == len(set(grown)), f"call {number}"
        assert grown[: len(router.chosen)] == chosen[: len(router.chosen)] == router.chosen, f"call {number}"
        moved, partition = route(replace(router, chosen=chosen), Message(call["key"]), call["partitions"], 0)
        assert partition == call["partition"], f"call {number}"
        assert isinstance(moved, PartialRoundRobinRouter)
        assert moved == replace(router, chosen=chosen, counter=moved.counter), f"call {number}"
        router = replace(router, chosen=chosen, counter=moved.counter)


def read(given: Line, names: dict[str, str], apart: Set[str] = frozenset()) -> dict[str, Any]:
    """The fields of a record by this model's names; a field that nobody knows is an error, not left out."""
    assert not set(given) - set(names) - apart, f"unknown fields {set(given) - set(names) - apart}"
    return {names[name]: value for name, value in given.items() if name in names}


def publishers_of(given: list[Line]) -> PublisherGroups:
    return grouped(PublisherStats(**read(each, PUBLISHER_NAMES, UNSEEN_OF_PUBLISHERS)) for each in given)


def consumer_of(given: Line) -> ConsumerStats:
    known = read(given, CONSUMER_NAMES)
    if "key_hash_ranges" in known:
        known["key_hash_ranges"] = tuple(known["key_hash_ranges"])
    if "key_hash_range_arrays" in known:
        known["key_hash_range_arrays"] = tuple((start, end) for start, end in known["key_hash_range_arrays"])
    return ConsumerStats(**known)


def subscription_of(given: Line) -> SubscriptionStats:
    consumers = tuple(consumer_of(each) for each in given["consumers"])
    return SubscriptionStats(**read(given, SUBSCRIPTION_NAMES, {"consumers"}), consumers=consumers)


def topic_of(given: Line) -> TopicStats:
    return TopicStats(
        **read(given, TOPIC_NAMES, {"publishers", "subscriptions", "replication"}),
        publishers=publishers_of(given["publishers"]),
        subscriptions={name: subscription_of(each) for name, each in given["subscriptions"].items()},
        replication={
            name: ReplicatorStats(**read(each, REPLICATOR_NAMES)) for name, each in given.get("replication", {}).items()
        },
    )


def written(record: object, names: dict[str, str]) -> Line:
    """A record as the vectors write it: by Pulsar's names, without zeros, false and nothing."""
    shown = {name: getattr(record, ours) for name, ours in names.items()}
    return {name: value for name, value in shown.items() if value or name in ALWAYS_SHOWN}


def iso(timestamp_ms: int) -> str:
    return datetime.fromtimestamp(timestamp_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def written_consumer(consumer: ConsumerStats) -> Line:
    shown = written(consumer, CONSUMER_NAMES)
    times = (consumer.last_acked_timestamp_ms, consumer.last_consumed_timestamp_ms)
    return shown | {"lastAckedTime": iso(times[0]), "lastConsumedTime": iso(times[1])}


def written_subscription(subscription: SubscriptionStats) -> Line:
    # Why: Pulsar writes the two flags a second time under the names of their getters.
    doubled = {"durable": subscription.is_durable, "replicated": subscription.is_replicated}
    return {
        **written(subscription, SUBSCRIPTION_NAMES),
        **{name: value for name, value in doubled.items() if value},
        "consumers": [written_consumer(consumer) for consumer in subscription.consumers],
    }


def written_topic(topic: TopicStats) -> Line:
    return {
        **written(topic, TOPIC_NAMES),
        "publishers": [written(each, PUBLISHER_NAMES) for each in topic.publishers.listed()],
        "subscriptions": {name: written_subscription(each) for name, each in topic.subscriptions.items()},
        "replication": {name: written(each, REPLICATOR_NAMES) for name, each in topic.replication.items()},
    }


def same(ours: Any, theirs: Any, place: str) -> None:
    """Equal in every part; doubles within a relative 1e-9, sequences of either kind."""
    if isinstance(theirs, dict):
        assert sorted(ours) == sorted(theirs), f"{place}: {sorted(ours)} and not {sorted(theirs)}"
        for name, value in theirs.items():
            same(ours[name], value, f"{place}.{name}")
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs), f"{place}: {len(ours)} and not {len(theirs)}"
        for number, value in enumerate(theirs):
            same(ours[number], value, f"{place}[{number}]")
    elif isinstance(theirs, float):
        assert math.isclose(ours, theirs, rel_tol=1e-9), f"{place}: {ours} and not {theirs}"
    else:
        assert ours == theirs, f"{place}: {ours} and not {theirs}"


@checks("publisher_stats")
def check_publishers(line: Line) -> None:
    """What each partition lists, and what the aggregate does."""
    groups, sizes, rates = [], [], []
    for number, each in enumerate(line["partitions"]):
        group = publishers_of(each["publishers"])
        same(in_full(group), each["publishers_listed"], f"partition {number}")
        groups.append(group)
        sizes.append(each["averageMsgSize"])
        rates.append(each["msgRateIn"])
    same(in_full(aggregate_publishers(groups, release_in_force())), line["aggregate"]["publishers"], "aggregate")
    partitions = (
        TopicStats(average_msg_size_bytes=size, msg_rate_in_msgs_per_sec=rate, publishers=group)
        for size, rate, group in zip(sizes, rates, groups, strict=True)
    )
    total = aggregate(partitions, release_in_force())
    assert in_full(total.publishers) == in_full(aggregate_publishers(groups, release_in_force()))
    same(total.average_msg_size_bytes, line["aggregate"]["averageMsgSize"], "average size")
    same(total.msg_rate_in_msgs_per_sec, line["aggregate"]["msgRateIn"], "rate")


def in_full(group: PublisherGroups) -> list[Line]:
    """The list a broker shows, with every field."""
    return [{name: getattr(each, ours) for name, ours in PUBLISHER_NAMES.items()} for each in group.listed()]


@checks("partitioned_stats", kind="partitioned_stats")
def check_partitioned_stats(line: Line) -> None:
    """The whole aggregate of a topic: its numbers, publishers, subscriptions with consumers, replication."""
    total = aggregate((topic_of(each) for each in line["in"]["partitions"]), release_in_force())
    same(written_topic(total), line["out"], "aggregate")
