"""The statistics of a partitioned topic: what is added, what is taken from the last, what is left out."""

from __future__ import annotations

import pytest

from engine.config import ReleaseBehaviour, behaviour_of
from engine.routing.publishers import PublisherStats, grouped, mean_with
from engine.routing.stats import ConsumerStats, ReplicatorStats, SubscriptionStats, TopicStats, aggregate


def test_the_average_size_counts_every_partition_once_idle_ones_too() -> None:
    """``PersistentTopicStatsTest``: 1 and 5 give 3; with an idle partition 2."""
    sizes = [TopicStats(average_msg_size_bytes=size) for size in (1.0, 5.0, 0.0)]
    assert aggregate(sizes[:2]).average_msg_size_bytes == 3.0
    assert aggregate(sizes).average_msg_size_bytes == 2.0
    assert aggregate(sizes).count == 3


def test_no_partitions_give_empty_statistics() -> None:
    assert aggregate([]) == TopicStats()


def test_numbers_are_summed_and_the_owner_is_left_out() -> None:
    stats = TopicStats(
        msg_rate_in_msgs_per_sec=1.5, bytes_in_counter=2**62, storage_size_bytes=7, owner_broker="b1:8080"
    )
    total = aggregate([stats, stats])
    assert (total.msg_rate_in_msgs_per_sec, total.bytes_in_counter, total.storage_size_bytes) == (3.0, 2**63, 14)
    assert total.owner_broker is None


@pytest.mark.parametrize(("times", "expected"), [((0, 7, 5), 5), ((7, 0, 0), 7), ((0, 0), 0), ((3,), 3)])
def test_a_time_that_is_unknown_never_counts_as_the_earliest(times: tuple[int, ...], expected: int) -> None:
    total = aggregate(
        TopicStats(earliest_msg_publish_time_in_backlogs_ms=time, topic_creation_timestamp_ms=time) for time in times
    )
    assert total.earliest_msg_publish_time_in_backlogs_ms == expected
    assert total.topic_creation_timestamp_ms == expected


def test_the_last_publish_is_the_latest() -> None:
    assert aggregate(TopicStats(last_publish_timestamp_ms=time) for time in (5, 9, 0)).last_publish_timestamp_ms == 9


def test_the_oldest_backlog_names_its_subscription_and_the_first_of_two_equal_ones() -> None:
    reported = [
        TopicStats(oldest_backlog_message_age_seconds=age, oldest_backlog_message_subscription_name=name)
        for age, name in [(-1, "none"), (9, "first"), (9, "second"), (4, "young")]
    ]
    total = aggregate(reported)
    assert total.oldest_backlog_message_age_seconds == 9
    assert total.oldest_backlog_message_subscription_name == "first"


def test_a_topic_without_backlog_names_no_subscription() -> None:
    """Minus one means that nobody looked; the aggregate says 0 and no name."""
    total = aggregate([TopicStats(oldest_backlog_message_age_seconds=-1, oldest_backlog_message_subscription_name="x")])
    assert total.oldest_backlog_message_age_seconds == 0
    assert total.oldest_backlog_message_subscription_name is None


def consumers(*names: str) -> SubscriptionStats:
    return SubscriptionStats("Shared", consumers=tuple(ConsumerStats(name, unacked_messages=1) for name in names))


def shown(*subscriptions: SubscriptionStats) -> list[tuple[str | None, int]]:
    total = aggregate(TopicStats(subscriptions={"s": subscription}) for subscription in subscriptions)
    return [(consumer.consumer_name, consumer.unacked_messages) for consumer in total.subscriptions["s"].consumers]


def test_consumers_meet_by_position_and_the_last_one_gives_the_name() -> None:
    assert shown(consumers("a", "b"), consumers("b", "a")) == [("b", 2), ("a", 2)]


def test_partitions_with_another_number_of_consumers_make_the_list_grow() -> None:
    """One consumer is listed several times: the list is not a list of the consumers of the topic."""
    assert shown(consumers("a", "b"), consumers("a")) == [("a", 1), ("b", 1), ("a", 1)]
    assert shown(consumers("a", "b"), consumers("a"), consumers("a", "b")) == [
        ("a", 1),
        ("b", 1),
        ("a", 1),
        ("a", 1),
        ("b", 1),
    ]


def test_a_partition_without_consumers_changes_no_list() -> None:
    assert shown(consumers("a"), consumers(), consumers("a")) == [("a", 2)]


def test_an_aggregate_shows_no_address_no_active_consumer_and_the_ranges_of_the_last_partition() -> None:
    def holding(end: int) -> TopicStats:
        consumer = ConsumerStats("a", key_hash_range_arrays=((0, end),), address="/10.0.0.1:1")
        subscription = SubscriptionStats("Key_Shared", active_consumer_name="a", consumers=(consumer,))
        return TopicStats(subscriptions={"s": subscription})

    total = aggregate([holding(10), holding(20)]).subscriptions["s"]
    assert total.active_consumer_name is None
    assert total.consumers == (ConsumerStats("a", key_hash_range_arrays=((0, 20),)),)


def test_subscriptions_meet_by_name_with_the_type_of_the_last_partition() -> None:
    stats = TopicStats(subscriptions={"s": SubscriptionStats("Exclusive", msg_backlog_entries=1, is_durable=True)})
    two = TopicStats(subscriptions={"s": SubscriptionStats("Shared", msg_backlog_entries=2), "t": SubscriptionStats()})
    total = aggregate([stats, two]).subscriptions
    assert total["s"] == SubscriptionStats("Shared", msg_backlog_entries=3, is_durable=True)
    assert total["t"] == SubscriptionStats()


def test_replication_is_connected_when_every_partition_is_and_as_late_as_the_latest() -> None:
    stats = ReplicatorStats(connected=True, replication_backlog=3, replication_delay_in_seconds=9)
    off = ReplicatorStats(connected=False, replication_backlog=4, replication_delay_in_seconds=2)
    total = aggregate(
        [TopicStats(replication={"eu": stats}), TopicStats(replication={"eu": off, "us": stats})]
    ).replication
    assert total["eu"] == ReplicatorStats(connected=False, replication_backlog=7, replication_delay_in_seconds=9)
    assert total["us"] == stats


def test_the_behaviour_of_the_release_reaches_the_publishers() -> None:
    old = behaviour_of("2.11.0")
    assert isinstance(old, ReleaseBehaviour)
    result = [TopicStats(publishers=grouped([PublisherStats("a"), PublisherStats("b")])), TopicStats()]
    other = TopicStats(publishers=grouped([PublisherStats("a")]))
    assert len(aggregate([*result, other]).publishers.listed()) == 2
    assert len(aggregate([*result, other], old).publishers.listed()) == 3


def test_the_mean_takes_pulsar_s_steps_rounding_included() -> None:
    """Step by step the last digits are others than those of the sum divided once at the end."""
    sizes = (0.1, 1.1, 0.3, 0.1)
    mean = 0.0
    for count, size in enumerate(sizes, start=1):
        mean = mean_with(mean, size, count)
    assert mean == 0.40000000000000013
    assert mean != sum(sizes) / 4
