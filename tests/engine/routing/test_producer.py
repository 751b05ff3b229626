"""One partitioned producer: what it starts, opens, takes, refuses, and finds out; the cases of Pulsar's own tests.

Theirs is ``PartialPartitionedProducerTest``.
"""

from __future__ import annotations

import pytest
from msgspec import structs
from msgspec.structs import replace

from engine.errors import Rejection
from engine.hashing import java_string_hash
from engine.routing.producers.model import OpenReason, PartitionedProducer, SendResult
from engine.routing.producers.producer import close, create, fenced, reconnect, send, terminated, update_partitions
from engine.routing.producers.settings import ACCESS_MODES, CPP, PYTHON, AccessMode, ProducerSettings
from engine.routing.producers.topic import PartitionedTopic, failed, grown, recovered
from engine.routing.routers import PartialRoundRobinRouter, Router, SinglePartitionRouter, round_robin
from tests.engine.routing.fleets import EAGER, LAZY, created, topic_of

MINUTE_MS = 60_000


def topic(made: PartitionedTopic | Rejection) -> PartitionedTopic:
    assert isinstance(made, PartitionedTopic), made
    return made


def sends(
    producer: PartitionedProducer, at: PartitionedTopic, count: int, key: str | None = None
) -> tuple[PartitionedProducer, PartitionedTopic, list[SendResult]]:
    results = []
    for _ in range(count):
        producer, at, result = send(producer, at, key, 0)
        results.append(result)
    return producer, at, results


@pytest.mark.parametrize(
    ("router", "after_creation", "after_ten"),
    [(SinglePartitionRouter(4), 1, 1), (PartialRoundRobinRouter(3), 1, 3), (round_robin(8, batching=False), 1, 10)],
    ids=["single", "partial", "round robin"],
)
def test_a_lazy_producer_opens_what_its_router_chooses(router: Router, after_creation: int, after_ten: int) -> None:
    producer, at = created(LAZY, router, topic_of(10))
    assert len(producer.started) == after_creation
    producer, at, results = sends(producer, at, 10)
    assert len(producer.started) == after_ten == sum(map(len, at.connected))
    assert all(result.outcome == "sent" for result in results)


@pytest.mark.parametrize("mode", ACCESS_MODES)
def test_lazy_start_needs_access_mode_shared(mode: AccessMode) -> None:
    step = create(structs.replace(LAZY, access_mode=mode), round_robin(0), topic_of(10), 0)
    assert len(step.opened) == (1 if mode == "Shared" else 10)
    expected = OpenReason.LAZY_START if mode == "Shared" else OpenReason.EAGER_START
    assert {each.opened for each in step.producer.started.values()} == {expected}


def test_partial_of_three_fills_up_as_partitions_are_added_and_then_stays() -> None:
    producer, at = created(LAZY, PartialRoundRobinRouter(3), topic_of(2))
    seen = [len(producer.started)]
    for partitions in (2, 3, 4):
        at = topic(grown(at, partitions))
        now_ms = partitions * MINUTE_MS
        producer, at, _ = update_partitions(producer, at, now_ms)
        before_sends = len(producer.started)
        producer, at, _ = sends(producer, at, 10)
        seen += [before_sends, len(producer.started)]
    assert seen == [1, 1, 2, 2, 3, 3, 3]


def test_an_exclusive_producer_opens_an_added_partition_by_itself() -> None:
    producer, at = created(structs.replace(LAZY, access_mode="Exclusive"), round_robin(0), topic_of(2))
    producer, at, result = update_partitions(producer, topic(grown(at, 3)), MINUTE_MS)
    assert (result.outcome, result.opened, len(producer.started)) == ("grown", (2,), 3)
    assert producer.started[2].opened is OpenReason.PARTITION_ADDED


def test_a_lazy_start_has_spent_a_turn_so_the_first_message_opens_a_second_partition() -> None:
    producer, at = created(LAZY, round_robin(4, batching=False), topic_of(6))
    producer, at, [first] = sends(producer, at, 1)
    assert (first.partition, first.opened) == (5, OpenReason.ROUTER_CHOICE)
    assert list(producer.started) == [4, 5]


def test_each_opening_says_why() -> None:
    producer, at = created(LAZY, round_robin(0, batching=False), topic_of(50))
    producer, at, by_key = send(producer, at, "order-7", 0)
    producer, at, again = send(producer, at, "order-7", 0)
    producer, at, by_turn = send(producer, at, None, 0)
    assert by_key.partition == java_string_hash("order-7") % 50
    assert [by_key.opened, again.opened, by_turn.opened] == [OpenReason.KEY, None, OpenReason.ROUTER_CHOICE]
    assert [each.opened for each in producer.started.values()] == [
        OpenReason.LAZY_START,
        OpenReason.KEY,
        OpenReason.ROUTER_CHOICE,
    ]


def test_a_partial_router_opens_by_its_list_even_for_a_message_with_a_key() -> None:
    producer, at = created(LAZY, PartialRoundRobinRouter(2, chosen=(0, 1)), topic_of(50))
    assert send(producer, at, "order-7", 0)[2].opened is OpenReason.ROUTER_CHOICE


def test_java_s_partitions_have_the_first_one_s_name_also_where_they_open_late() -> None:
    for settings in (EAGER, LAZY):
        producer, at = created(settings, round_robin(3, batching=False), topic_of(5))
        producer, at, _ = sends(producer, at, 5)
        assert {each.producer_name for each in producer.started.values()} == {"standalone-0-0"}
        assert producer.producer_name == "standalone-0-0"
        assert at.names_given == 1


@pytest.mark.parametrize("client", [PYTHON, CPP], ids=["Python", "C++"])
def test_other_clients_have_another_generated_name_in_each_partition(client: object) -> None:
    settings = structs.replace(EAGER, client=client)  # type: ignore[arg-type]
    producer, at = created(settings, round_robin(0, batching=False), topic_of(3))
    assert [each.producer_name for each in producer.started.values()] == [f"standalone-0-{n}" for n in range(3)]
    named, at = created(structs.replace(settings, producer_name="mine"), round_robin(0), at, number=1)
    assert {producer.producer_name for producer in named.started.values()} == {"mine"}


def test_if_the_first_partition_fails_no_other_is_tried() -> None:
    step = create(EAGER, round_robin(0), topic(failed(topic_of(4), 0, "gone")), 0)
    assert step.error is not None and step.error.message == "gone"
    assert (step.tried, step.opened, step.producer.state) == ((0,), (), "Failed")
    assert not any(step.topic.connected)


def test_if_a_later_partition_fails_all_are_tried_and_all_are_closed() -> None:
    at = topic(failed(topic(failed(topic_of(4), 2, "second")), 3, "third"))
    step = create(EAGER, round_robin(0), at, 0)
    assert step.error is not None and step.error.message == "second"
    assert (step.tried, step.opened) == ((0, 1, 2, 3), (0, 1))
    assert not any(step.topic.connected) and not step.producer.started
    assert send(step.producer, step.topic, None, 0)[2].error == Rejection(
        "NotConnectedException", "Not connected to broker"
    )


def test_a_lazy_producer_fails_only_with_the_one_partition_it_starts() -> None:
    at = topic(failed(topic_of(4), 2, "gone"))
    assert create(LAZY, SinglePartitionRouter(1), at, 0).error is None
    step = create(LAZY, SinglePartitionRouter(2), at, 0)
    assert step.error is not None and step.tried == (2,)


def test_a_partition_that_does_not_open_fails_its_message_only_and_is_tried_again() -> None:
    producer, at = created(LAZY, round_robin(0, batching=False), topic_of(3))
    at = topic(failed(at, 1, "gone"))
    producer, at, results = sends(producer, at, 4)
    assert [(each.partition, each.outcome) for each in results] == [
        (1, "failed"),
        (2, "sent"),
        (0, "sent"),
        (1, "failed"),
    ]
    assert results[0].error is not None and results[0].error.message == "Not connected to broker"
    assert results[0].cause is not None and results[0].cause.message == "gone"
    assert producer.state == "Ready" and 1 not in producer.started
    at = topic(recovered(at, 1))
    producer, at, results = sends(producer, at, 3)
    assert [each.outcome for each in results] == ["sent"] * 3
    assert results[2].opened is OpenReason.ROUTER_CHOICE


def test_messages_to_a_lost_partition_wait_up_to_the_limit_and_go_out_when_it_returns() -> None:
    settings = structs.replace(EAGER, max_pending_messages=2)
    producer, at = created(settings, SinglePartitionRouter(1), topic_of(3))
    producer, at, _ = sends(producer, at, 1)
    at = topic(failed(at, 1, "gone"))
    producer = producer.cut([1])
    assert not producer.connected
    producer, at, results = sends(producer, at, 3)
    assert [each.outcome for each in results] == ["queued", "queued", "failed"]
    assert results[2].error is not None and results[2].error.message == "Producer send queue is full"
    assert (producer.last_sequence_id, producer.started[1].next_sequence_id) == (0, 3)
    producer, at, refused = reconnect(producer, at, 1)
    assert refused is not None and not producer.started[1].connected
    producer, at, refused = reconnect(producer, topic(recovered(at, 1)), 1)
    assert refused is None and producer.connected
    assert (producer.started[1].sent_msgs, producer.last_sequence_id) == (3, 2)


def test_the_shortest_queue_takes_one_message() -> None:
    producer, at = created(structs.replace(EAGER, max_pending_messages=1), SinglePartitionRouter(1), topic_of(3))
    _, _, results = sends(producer.cut([1]), topic(failed(at, 1, "gone")), 2)
    assert [each.outcome for each in results] == ["queued", "failed"]


def test_bytes_wait_and_are_sent_with_their_messages() -> None:
    producer, at = created(EAGER, SinglePartitionRouter(1), topic_of(3))
    producer, at, _ = send(producer, at, None, 0, size_bytes=5)
    producer = producer.cut([1])
    for size_bytes in (70, 30):
        producer, at, _ = send(producer, at, None, 0, size_bytes=size_bytes)
    waiting = producer.started[1]
    assert (waiting.pending_msgs, waiting.pending_bytes, waiting.sent_msgs, waiting.sent_bytes) == (2, 100, 1, 5)
    there = waiting.reconnected()
    assert (there.pending_msgs, there.pending_bytes, there.sent_msgs, there.sent_bytes) == (0, 0, 3, 105)


def test_the_queue_s_limit_is_that_of_the_partitions_at_creation() -> None:
    settings = structs.replace(LAZY, max_pending_messages_across_partitions=60)
    producer, at = created(settings, SinglePartitionRouter(0), topic_of(6))
    producer, at, _ = update_partitions(producer, topic(grown(at, 30)), MINUTE_MS)
    assert (producer.partitions, producer.max_pending_messages) == (30, 10)


@pytest.mark.parametrize(
    ("state", "text"),
    [
        ("closed", "Producer already closed"),
        ("fenced", "Producer was fenced"),
        ("terminated", "Topic was terminated"),
    ],
)
@pytest.mark.parametrize("settings", [EAGER, LAZY], ids=["eager", "lazy"])
def test_a_producer_that_has_ended_says_how(state: str, text: str, settings: ProducerSettings) -> None:
    producer, at = created(settings, SinglePartitionRouter(0), topic_of(3))
    if state == "closed":
        producer, at, _ = close(producer, at)
    elif state == "fenced":
        producer = fenced(producer)
    else:
        producer, at = terminated(producer, at)
    error = send(producer, at, None, 0)[2].error
    assert error is not None and error.message == text
    assert not producer.connected


def test_a_closed_lazy_producer_still_opens_a_partition_before_it_refuses() -> None:
    """Pulsar's order of checks: the opening comes first. A producer that is not lazy opens nothing."""
    lazy, at = created(LAZY, round_robin(0, batching=False), topic_of(3))
    lazy, at, _ = close(lazy, at)
    lazy, at, result = send(lazy, at, None, 0)
    assert (result.partition, result.opened, result.outcome) == (1, OpenReason.ROUTER_CHOICE, "failed")
    assert [len(there) for there in at.connected] == [0, 1, 0]
    eager, at = created(EAGER, round_robin(0, batching=False), topic_of(3))
    eager, at, _ = close(eager, at)
    assert not any(send(eager, at, None, 0)[1].connected)


def test_closing_frees_the_started_partitions_and_tells_what_is_lost() -> None:
    producer, at = created(EAGER, SinglePartitionRouter(1), topic_of(3))
    producer, at, _ = sends(producer.cut([1]), topic(failed(at, 1, "gone")), 4)
    producer, at, lost = close(producer, at)
    assert lost == 4 and not any(at.connected)
    left = producer.started[1]
    assert (left.connected, left.pending_msgs, left.pending_bytes) == (False, 0, 0)
    assert not any(each.connected for each in producer.started.values())
    assert close(producer, at) == (producer, at, 0)


def test_a_router_of_one_s_own_answers_itself_and_is_checked() -> None:
    step = create(LAZY, None, topic_of(6), 0, chosen=5)
    assert step.opened == (5,)
    producer, at, result = send(step.producer, step.topic, "key", 0, chosen=6)
    assert result.error is not None
    assert result.error.message == "Illegal partition index chosen by the message routing policy: 6"
    assert send(producer, at, "key", 0, chosen=2)[2].opened is OpenReason.ROUTER_CHOICE
    refused = create(LAZY, None, topic_of(6), 0, chosen=-1)
    assert refused.error is not None and refused.error.message.endswith(": -1")


def test_the_number_of_partitions_is_looked_at_once_per_interval() -> None:
    producer, at = created(EAGER, round_robin(0), topic_of(2), now_ms=500)
    at = topic(grown(at, 4))
    outcomes = []
    for now_ms in (501, 500 + MINUTE_MS - 1, 500 + MINUTE_MS, 500 + 2 * MINUTE_MS - 1, 500 + 2 * MINUTE_MS):
        producer, at, result = update_partitions(producer, at, now_ms)
        outcomes.append((result.outcome, producer.partitions))
    assert outcomes == [("not due", 2), ("not due", 2), ("grown", 4), ("not due", 4), ("unchanged", 4)]


def test_a_new_partition_that_refuses_is_reported_and_all_new_ones_are_given_up() -> None:
    producer, at = created(EAGER, round_robin(0), topic_of(2))
    at = topic(failed(topic(grown(at, 4)), 3, "gone"))
    after, at, result = update_partitions(producer, at, MINUTE_MS)
    assert (result.outcome, result.opened, after.partitions) == ("failed", (), 2)
    assert result.error is not None and result.error.message == "gone"
    assert [len(there) for there in at.connected] == [1, 1, 0, 0]


def test_a_producer_that_shall_not_look_never_learns_of_new_partitions() -> None:
    producer, at = created(structs.replace(EAGER, auto_update_partitions=False), round_robin(0), topic_of(2))
    producer, at, result = update_partitions(producer, topic(grown(at, 4)), 10 * MINUTE_MS)
    assert (result.outcome, producer.partitions) == ("off", 2)


def test_partitions_that_shrink_are_refused_by_the_client_and_nothing_changes() -> None:
    producer, _ = created(EAGER, round_robin(0), topic_of(4))
    after, _, result = update_partitions(producer, topic_of(3), MINUTE_MS)
    assert result.error is not None and result.error.message == "not support shrink topic partitions"
    assert replace(after, next_update_ms=producer.next_update_ms) == producer


def test_before_anything_is_started_there_is_no_name_and_no_sequence_id() -> None:
    nothing = PartitionedProducer(0, EAGER, round_robin(0), 3)
    assert (nothing.producer_name, nothing.last_sequence_id, nothing.connected) == (None, -1, False)
    assert send(nothing, topic_of(3), None, 0)[2].error is not None


def test_what_has_ended_does_not_connect_again_and_what_is_connected_needs_not() -> None:
    producer, at = created(EAGER, SinglePartitionRouter(1), topic_of(3))
    assert reconnect(producer, at, 1) == (producer, at, None)
    closed, at, _ = close(producer, at)
    assert reconnect(closed, at, 1) == (closed, at, None)
    assert reconnect(producer, at, 99) == (producer, at, None)
