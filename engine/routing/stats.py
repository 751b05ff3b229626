"""The statistics of a partitioned topic: those of its partitions, added up in order.

Source: ``add`` of ``TopicStatsImpl``, ``SubscriptionStatsImpl``, ``ConsumerStatsImpl`` and ``ReplicatorStatsImpl``.
Names are Pulsar's with their units; moments are milliseconds since 1970, 0 where none is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

from engine.config import CURRENT, ReleaseBehaviour
from engine.routing.publishers import (
    PublisherGroups,
    added_up,
    aggregate_publishers,
    all_of,
    any_of,
    earliest,
    largest,
    newest,
    plain_mean,
    summed,
)


@dataclass(frozen=True, slots=True)
class ConsumerStats:
    """One consumer. In an aggregate, name, hash ranges and the blocked flag are those of the consumer added last.

    ``address`` and ``last_acked_timestamp_ms`` are not added up: an aggregate shows no address and the year 1970.
    ``key_hash_ranges`` is the older text form of ``key_hash_range_arrays``; None where the answer has none.
    """

    consumer_name: str | None = newest(None)
    msg_rate_out_msgs_per_sec: float = summed(0.0)
    msg_throughput_out_bytes_per_sec: float = summed(0.0)
    bytes_out_counter: int = summed()
    msg_out_counter: int = summed()
    available_permits: int = summed()
    unacked_messages: int = summed()
    blocked_consumer_on_unacked_msgs: bool = newest(start=False)
    key_hash_ranges: tuple[str, ...] | None = newest(None)
    key_hash_range_arrays: tuple[tuple[int, int], ...] | None = newest(None)
    address: str | None = None
    last_acked_timestamp_ms: int = 0
    last_consumed_timestamp_ms: int = 0


@dataclass(frozen=True, slots=True)
class SubscriptionStats:
    """One subscription. In an aggregate, ``type`` is that of the partition added last.

    ``active_consumer_name`` is not added up: each partition has its own.
    """

    type: str | None = newest(None)
    msg_rate_out_msgs_per_sec: float = summed(0.0)
    msg_throughput_out_bytes_per_sec: float = summed(0.0)
    bytes_out_counter: int = summed()
    msg_out_counter: int = summed()
    msg_backlog_entries: int = summed()
    msg_delayed: int = summed()
    unacked_messages: int = summed()
    earliest_msg_publish_time_in_backlog_ms: int = earliest()
    is_durable: bool = any_of()
    is_replicated: bool = any_of()
    active_consumer_name: str | None = None
    consumers: tuple[ConsumerStats, ...] = ()


@dataclass(frozen=True, slots=True)
class ReplicatorStats:
    """Replication to one remote cluster; an aggregate is connected when every partition is."""

    connected: bool = all_of()
    msg_rate_out_msgs_per_sec: float = summed(0.0)
    msg_throughput_out_bytes_per_sec: float = summed(0.0)
    replication_backlog: int = summed()
    replication_delay_in_seconds: int = largest()


_NOBODY: Final = PublisherGroups()


def _empty() -> Any:
    return field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class TopicStats:
    """One partition, or the sum of several; maps go by the name of the subscription or of the remote cluster.

    ``count`` is the number of partitions in an aggregate. ``average_msg_size_bytes`` is their plain mean, idle ones
    (0.0) included. ``owner_broker`` is not added up.
    """

    msg_rate_in_msgs_per_sec: float = summed(0.0)
    msg_throughput_in_bytes_per_sec: float = summed(0.0)
    msg_rate_out_msgs_per_sec: float = summed(0.0)
    msg_throughput_out_bytes_per_sec: float = summed(0.0)
    bytes_in_counter: int = summed()
    msg_in_counter: int = summed()
    bytes_out_counter: int = summed()
    msg_out_counter: int = summed()
    average_msg_size_bytes: float = 0.0
    storage_size_bytes: int = summed()
    backlog_size_bytes: int = summed()
    earliest_msg_publish_time_in_backlogs_ms: int = earliest()
    oldest_backlog_message_age_seconds: int = 0
    oldest_backlog_message_subscription_name: str | None = None
    topic_creation_timestamp_ms: int = earliest()
    last_publish_timestamp_ms: int = largest()
    owner_broker: str | None = None
    publishers: PublisherGroups = _NOBODY
    subscriptions: Mapping[str, SubscriptionStats] = _empty()
    replication: Mapping[str, ReplicatorStats] = _empty()
    count: int = 0


def aggregate(partitions: Iterable[TopicStats], behaviour: ReleaseBehaviour = CURRENT) -> TopicStats:
    """The statistics of a partitioned topic from those of its partitions, in the order given.

    The order shows in the last digits of sums, in the consumers, in the type of a subscription and, before #18807, in
    the publishers. Linear in the partitions times what each holds.

    >>> aggregate([TopicStats(average_msg_size_bytes=size) for size in (1.0, 5.0, 0.0)]).average_msg_size_bytes
    2.0
    """
    all_partitions = tuple(partitions)
    subscriptions: dict[str, list[SubscriptionStats]] = {}
    replication: dict[str, list[ReplicatorStats]] = {}
    # The name goes with the age, and among equal ages the partition added first is kept.
    oldest = TopicStats()
    for partition in all_partitions:
        if partition.oldest_backlog_message_age_seconds > oldest.oldest_backlog_message_age_seconds:
            oldest = partition
        for name, subscription in partition.subscriptions.items():
            subscriptions.setdefault(name, []).append(subscription)
        for name, replicator in partition.replication.items():
            replication.setdefault(name, []).append(replicator)
    return replace(
        added_up(TopicStats(), all_partitions),
        count=len(all_partitions),
        average_msg_size_bytes=plain_mean(partition.average_msg_size_bytes for partition in all_partitions),
        oldest_backlog_message_age_seconds=oldest.oldest_backlog_message_age_seconds,
        oldest_backlog_message_subscription_name=oldest.oldest_backlog_message_subscription_name,
        publishers=aggregate_publishers((partition.publishers for partition in all_partitions), behaviour),
        subscriptions=MappingProxyType({name: subscription_of(those) for name, those in subscriptions.items()}),
        replication=MappingProxyType({name: added_up(ReplicatorStats(), those) for name, those in replication.items()}),
    )


def subscription_of(partitions: Sequence[SubscriptionStats]) -> SubscriptionStats:
    """One subscription from its statistics on each partition.

    Consumers meet by position, whatever their names, when the list so far and that of the next partition are of one
    length; otherwise those of the next partition are **appended**. So a list can show one consumer several times.

    >>> one, two = ConsumerStats("a", unacked_messages=1), ConsumerStats("b", unacked_messages=2)
    >>> total = subscription_of([SubscriptionStats(consumers=consumers) for consumers in ((one,), (two,), (one, two))])
    >>> [(consumer.consumer_name, consumer.unacked_messages) for consumer in total.consumers]
    [('b', 3), ('a', 1), ('b', 2)]
    """
    entries: list[list[ConsumerStats]] = []
    for partition in partitions:
        if len(entries) == len(partition.consumers):
            for entry, consumer in zip(entries, partition.consumers, strict=True):
                entry.append(consumer)
        else:
            entries += [[consumer] for consumer in partition.consumers]
    consumers = tuple(added_up(ConsumerStats(), entry) for entry in entries)
    return replace(added_up(SubscriptionStats(), partitions), consumers=consumers)
