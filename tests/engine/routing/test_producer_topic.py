"""Who may connect to a partition; what failures and growth do to the brokers' side."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from engine.errors import Rejection
from engine.producer_limit import ProducerLimit, is_limited, limit_in_force
from engine.routing.producers.settings import AccessMode
from engine.routing.producers.topic import (
    PartitionedTopic,
    connect,
    connect_all,
    disconnect,
    failed,
    grown,
    partitioned_topic,
    recovered,
)


@pytest.mark.parametrize(
    ("there", "mode", "error", "text"),
    [
        ("Shared", "Shared", "", ""),
        ("Shared", "Exclusive", "ProducerFenced", "Topic has existing shared producers"),
        ("Exclusive", "Shared", "ProducerBusy", "Topic has an existing exclusive producer: first"),
        ("Exclusive", "Exclusive", "ProducerFenced", "Topic has an existing exclusive producer: first"),
        ("Exclusive", "ExclusiveWithFencing", "", ""),
        ("Shared", "ExclusiveWithFencing", "", ""),
        ("ExclusiveWithFencing", "Shared", "ProducerBusy", "Topic has an existing exclusive producer: first"),
        ("WaitForExclusive", "Exclusive", "ProducerFenced", "Topic has an existing exclusive producer: first"),
    ],
)
def test_the_access_modes_decide_who_joins(there: AccessMode, mode: AccessMode, error: str, text: str) -> None:
    topic, _ = connect(PartitionedTopic(((), ())), 0, 1, "first", there)
    after, answer = connect(topic, 0, 2, "second", mode)
    if error:
        assert isinstance(answer, Rejection)
        assert (answer.error, answer.message) == (error, text)
        assert after.connected == topic.connected
    else:
        assert answer == "second" and after.has(2, 0)
        assert after.has(1, 0) == (mode == "Shared")


def test_one_that_would_wait_for_exclusive_access_is_reported_with_the_holder() -> None:
    topic, _ = connect(PartitionedTopic(((), ())), 0, 1, "first", "Shared")
    answer = connect(topic, 0, 2, "second", "WaitForExclusive")[1]
    assert isinstance(answer, Rejection)
    assert answer.error == "StillWaiting" and "first" in answer.message and answer.field == "accessMode"
    assert connect(topic, 1, 2, "second", "WaitForExclusive")[1] == "second"


@pytest.mark.parametrize(
    ("limit", "mode", "name", "message"),
    [
        (0, "Shared", "third", ""),
        (-1, "Shared", "third", ""),
        (3, "Shared", "third", ""),
        (2, "Shared", "third", "Topic reached max producers limit"),
        (1, "Shared", "third", "Topic reached max producers limit"),
        # The broker looks at the number before it looks at the name and at the access mode.
        (2, "Shared", "first", "Topic reached max producers limit"),
        (2, "Exclusive", "third", "Topic reached max producers limit"),
        (2, "ExclusiveWithFencing", "third", "Topic reached max producers limit"),
        (3, "Exclusive", "third", "Topic has existing shared producers"),
        # Replicators are known by their names.
        (2, "Shared", "pulsar.repl.east", ""),
    ],
)
def test_a_full_partition_takes_nobody_else(limit: int, mode: AccessMode, name: str, message: str) -> None:
    filled, first = connect(PartitionedTopic(((), ())), 0, 1, "first", "Shared")
    filled, second = connect(filled, 0, 2, "second", "Shared")
    assert (first, second) == ("first", "second")
    after, answers = connect_all(replace(filled, limit=ProducerLimit(limit)), (0, 1), 3, name, mode)
    refused = answers[0]
    assert (refused.message if isinstance(refused, Rejection) else "") == message
    if limit == 2 and isinstance(refused, Rejection) and refused.field == "maxProducersPerTopic":
        assert refused.error == "ProducerBusy"
    assert answers[1] == name and after.has(3, 1)
    assert after.has(3, 0) == (message == "")


def test_namesakes_are_refused_at_one_partition_and_not_at_another() -> None:
    topic, _ = connect(PartitionedTopic(((), ())), 0, 1, "same", "Shared")
    answer = connect(topic, 0, 2, "same", "Shared")[1]
    assert isinstance(answer, Rejection)
    assert answer.message == "Producer with name 'same' is already connected to topic"
    assert connect(topic, 1, 2, "same", "Shared")[1] == "same"
    topic, _ = connect(topic, 0, 3, "other", "Shared")
    answer = connect(topic, 0, 2, "same", "Shared")[1]
    assert isinstance(answer, Rejection) and answer.error == "ProducerBusy"


def test_a_generated_name_is_used_up_even_where_the_attempt_fails() -> None:
    topic = failed(PartitionedTopic(((), ())), 0, "gone")
    assert isinstance(topic, PartitionedTopic)
    topic, answers = connect_all(topic, (0, 1), 1, None, "Shared")
    assert isinstance(answers[0], Rejection) and answers[1] == "standalone-0-1"


def test_connecting_at_many_is_connecting_at_each() -> None:
    many, answers = connect_all(PartitionedTopic(((),) * 4), (3, 0, 2), 5, None, "Shared")
    each = PartitionedTopic(((),) * 4)
    singly = {}
    for partition in (3, 0, 2):
        each, singly[partition] = connect(each, partition, 5, None, "Shared")
    assert (many, answers) == (each, singly)


def test_a_failed_partition_loses_its_producers_and_refuses_until_it_recovers() -> None:
    topic, _ = connect_all(PartitionedTopic(((), ())), (0, 1), 1, "mine", "Shared")
    down = failed(topic, 1, "gone")
    assert isinstance(down, PartitionedTopic)
    assert [len(there) for there in down.connected] == [1, 0]
    answer = connect(down, 1, 1, "mine", "Shared")[1]
    assert isinstance(answer, Rejection) and answer.message == "gone"
    again = recovered(down, 1)
    assert isinstance(again, PartitionedTopic)
    assert connect(again, 1, 1, "mine", "Shared")[0] == topic


def test_disconnecting_touches_only_one_s_own() -> None:
    topic, _ = connect_all(PartitionedTopic(((), ())), (0, 1), 1, "a", "Shared")
    both, _ = connect_all(topic, (0, 1), 2, "b", "Shared")
    assert disconnect(both, 2, (0, 1, 2, 99)) == topic


def test_growth_adds_empty_partitions_at_the_end_and_never_takes_any() -> None:
    topic, _ = connect_all(PartitionedTopic(((), ())), (0, 1), 1, "a", "Shared")
    more = grown(topic, 5, error="not loaded")
    assert isinstance(more, PartitionedTopic)
    assert more.connected == (*topic.connected, (), (), ()) and set(more.failing) == {2, 3, 4}
    assert grown(more, 5) == more
    fewer = grown(more, 4)
    assert isinstance(fewer, Rejection) and fewer.field == "partitions"


@pytest.mark.parametrize("partitions", [0, -1])
def test_a_topic_has_at_least_one_partition(partitions: int) -> None:
    topic = partitioned_topic(partitions)
    assert isinstance(topic, Rejection) and topic.field == "partitions"


@pytest.mark.parametrize("partition", [-1, 2, 10**9])
def test_a_partition_that_is_not_there_is_named(partition: int) -> None:
    topic = PartitionedTopic(((), ()))
    for made in (failed(topic, partition, "gone"), recovered(topic, partition)):
        assert isinstance(made, Rejection) and made.field == "partition" and str(partition) in made.message
    answer = connect(topic, max(partition, 2), 0, "a", "Shared")[1]
    assert isinstance(answer, Rejection) and answer.field == "partition"


@pytest.mark.parametrize(
    ("of_topic", "of_namespace", "of_broker", "limit"),
    [
        (1, 2, 3, ProducerLimit(1, "topic policy")),
        (0, 2, 3, ProducerLimit(0, "topic policy")),
        (-1, 2, 3, ProducerLimit(2, "namespace policy")),
        (None, 0, 3, ProducerLimit(0, "namespace policy")),
        (None, -5, 3, ProducerLimit(3, "broker")),
        (None, None, -3, ProducerLimit(0, "broker")),
    ],
)
def test_the_nearest_limit_counts_and_a_negative_one_is_none(
    of_topic: int | None, of_namespace: int | None, of_broker: int, limit: ProducerLimit
) -> None:
    assert limit_in_force(of_topic, of_namespace, of_broker) == limit


@pytest.mark.parametrize(
    ("topic", "limited"),
    [
        ("persistent://t/n/x-partition-3", True),
        ("persistent://t/n/__change_events_of_mine", True),
        ("persistent://t/n/__transaction_buffer_snapshot_segments-partition-0", False),
        ("persistent://t/n/x-sub__transaction_pending_ack", False),
        ("persistent://pulsar/system/mine", False),
        ("persistent://pulsar/broker-1:8080/healthcheck", False),
        ("persistent://pulsar/other/x", True),
    ],
)
def test_system_topics_take_any_number(topic: str, limited: bool) -> None:
    assert is_limited(topic) is limited
