"""Known bugs and requests about producers (``tests/known_pulsar_bugs.md``), each as a property that is true here."""

from __future__ import annotations

from collections import Counter

import pytest
from msgspec.structs import replace

from engine.routing.clients import Message
from engine.routing.growth import KeyMoves, moved_keys
from engine.routing.producers.model import ProducersState, Sent, Updated
from engine.routing.producers.producer import create, send
from engine.routing.producers.settings import JAVA, PYTHON, Client, Routing
from engine.routing.producers.steps import (
    advance,
    counts_of,
    fail_partition,
    grow_partitions,
    recover_partition,
    send_by_all,
    send_by_one,
)
from engine.routing.routers import (
    BatchRoundRobinRouter,
    PartialRoundRobinRouter,
    Router,
    SinglePartitionRouter,
    round_robin,
    route,
)
from tests.engine.routing.fleets import EAGER, LAZY, created, done, events, fleet, topic_of
from tests.engine.routing.walks import partition_of_key

MINUTE_MS = 60_000


def batched(router: Router, sizes: list[int], clock_ms: list[int], partitions: int = 5) -> list[int]:
    taken = []
    for size_bytes, now_ms in zip(sizes, clock_ms, strict=True):
        router, partition = route(router, Message(None, size_bytes), partitions, now_ms)
        taken.append(partition)
    return taken


def test_R04_each_of_the_three_thresholds_of_a_batch_moves_the_c_client_on() -> None:
    """By number, by bytes, by time: one alone is enough, and none means the partition stays."""
    router = BatchRoundRobinRouter(0, max_msgs=3, max_bytes=100, max_delay_ms=10)
    still = [0] * 7
    assert batched(router, [1] * 7, still) == [0, 0, 0, 1, 1, 1, 2]
    assert batched(router, [40, 40, 40, 40, 40], still[:5]) == [0, 0, 1, 1, 2]
    assert batched(router, [1, 1, 1, 1], [9, 10, 19, 20]) == [0, 1, 1, 2]


def test_R04_a_message_larger_than_a_batch_switches_the_bytes_off_until_the_next_move() -> None:
    """The client's room is an unsigned number: 100 - 101 is huge."""
    router = BatchRoundRobinRouter(0, max_msgs=4, max_bytes=100, max_delay_ms=1000)
    assert batched(router, [101, 90, 90, 90, 90, 5], [0] * 6) == [1, 1, 1, 1, 2, 2]


def test_R04_a_full_batch_moves_no_router_of_java_only_the_clock_does() -> None:
    sizes = [10**6] * 5000
    assert set(batched(round_robin(0), sizes, [7] * 5000)) == {0}


@pytest.mark.parametrize("producers", [1, 3, 8])
def test_R04_no_step_is_lost_or_doubled_however_producers_take_turns(producers: int) -> None:
    """Without batching, 60 messages of each producer meet each of 6 partitions exactly 10 times."""
    sent = events(send_by_all(fleet(6, producers), messages=60))
    met = Counter((event.number, event.result.partition) for event in sent if isinstance(event, Sent))
    assert set(met.values()) == {10} and len(met) == 6 * producers


@pytest.mark.parametrize(
    ("routing", "used"),
    [
        (Routing("SinglePartition"), 1),
        (Routing("PartialRoundRobin", 4), 4),
        (Routing("RoundRobinPartition", batching=False), 21),
    ],
    ids=["single", "partial", "round robin"],
)
def test_R06_a_lazy_producer_costs_the_partitions_it_really_uses(routing: Routing, used: int) -> None:
    state = done(send_by_all(fleet(100, 5, LAZY, routing), messages=20))
    assert counts_of(state).broker_producers == 5 * used
    for producer in state.producers:
        assert len(producer.started) == used


def test_R06_the_name_of_a_producer_needs_no_partition_0() -> None:
    """Partition 0 is down from the start; the name comes from the partition started first and reaches all others."""
    topic = done(fail_partition(fleet(6, 0), 0)).topic
    producer, topic = created(LAZY, round_robin(3, batching=False), topic)
    for _ in range(5):
        producer, topic, _ = send(producer, topic, None, 0)
    assert 0 not in producer.started and producer.started[3].producer_name == producer.producer_name
    assert {each.producer_name for each in producer.started.values()} == {"standalone-0-0"}


@pytest.mark.parametrize("client", [JAVA, PYTHON], ids=["Java", "Python"])
def test_R07_a_new_partition_that_cannot_be_opened_leaves_the_others_working_and_is_tried_again(
    client: Client,
) -> None:
    state = fleet(3, 1, replace(EAGER, client=client))
    before = state.producers[0]
    state = done(grow_partitions(state, 5, error="not loaded yet"))
    state = done(recover_partition(state, 3))
    step = advance(state, MINUTE_MS)
    [event] = events(step)
    assert isinstance(event, Updated) and (event.result.outcome, event.partitions) == ("failed", 3)
    state = done(step)
    assert state.producers[0].started == before.started and state.producers[0].state == "Ready"
    assert counts_of(state).broker_producers == 3
    outcomes = [event.result.outcome for event in events(send_by_one(state, 0, messages=9)) if isinstance(event, Sent)]
    assert outcomes == ["sent"] * 9
    state = done(advance(done(recover_partition(state, 4)), 2 * MINUTE_MS))
    assert list(state.producers[0].started) == [0, 1, 2, 3, 4] and state.producers[0].partitions == 5


@pytest.mark.parametrize("settings", [EAGER, LAZY], ids=["eager", "lazy"])
def test_R08_sequence_ids_rise_by_one_from_the_first_message_on_also_while_not_connected(settings: object) -> None:
    producer, topic = created(settings, SinglePartitionRouter(1), topic_of(3))  # type: ignore[arg-type]
    ids = []
    for number in range(9):
        producer = producer.cut([1]) if number == 3 else producer
        producer, topic, result = send(producer, topic, None, 0)
        ids.append(result.sequence_id)
    assert ids == list(range(9))


def test_R08_the_first_messages_to_a_partition_that_a_message_opens_have_ids_0_and_1() -> None:
    producer, topic = created(LAZY, SinglePartitionRouter(0), topic_of(50))
    ids = []
    for _ in range(2):
        producer, topic, result = send(producer, topic, "order-7", 0)
        ids.append((result.opened is not None, result.sequence_id))
    assert ids == [(True, 0), (False, 1)]


def test_R09_a_router_may_see_a_partition_before_its_broker_does() -> None:
    """The lazy producer learns the count at once and fails messages until the broker has it; then it goes on."""
    state = done(grow_partitions(fleet(2, 1, LAZY), 4, error="the partition is not known yet"))
    state = done(advance(state, MINUTE_MS))
    step = send_by_one(state, 0, messages=4)
    by_partition = {event.result.partition: event.result.outcome for event in events(step) if isinstance(event, Sent)}
    assert by_partition == {0: "sent", 1: "sent", 2: "failed", 3: "failed"}
    state = done(step)
    assert state.producers[0].state == "Ready"
    for partition in (2, 3):
        state = done(recover_partition(state, partition))
    again = [event.result.outcome for event in events(send_by_one(state, 0, messages=4)) if isinstance(event, Sent)]
    assert again == ["sent"] * 4


@pytest.mark.parametrize("settings", [EAGER, LAZY], ids=["eager", "lazy"])
def test_R10_a_count_that_changes_while_messages_are_sent_gives_no_message_an_unknown_partition(
    settings: object,
) -> None:
    """Between any two messages the count may grow; each message goes by the count its producer knew at its sending."""
    state = fleet(2, 3, settings)  # type: ignore[arg-type]
    for step in range(1, 8):
        known = [producer.partitions for producer in state.producers]
        state = done(grow_partitions(state, 2 + step))
        sent = send_by_all(state, messages=4)
        for event in events(sent):
            assert isinstance(event, Sent) and event.result.outcome == "sent"
            assert event.result.partition < known[event.number]
        state = done(advance(done(sent), step * MINUTE_MS))
        assert {producer.partitions for producer in state.producers} == {2 + step}


def lost_and_sent(state: ProducersState, key: str | None, down: int) -> list[tuple[int, str]]:
    sent = events(send_by_one(done(fail_partition(state, down)), 0, key, messages=4))
    return [(event.result.partition, event.result.outcome) for event in sent if isinstance(event, Sent)]


def test_R11_after_a_failure_a_keyless_message_goes_elsewhere_and_a_key_never_does() -> None:
    """Pulsar does not send again by itself; to try once more is to ask the router once more."""
    state = fleet(3, 1, LAZY)
    start = next(iter(state.producers[0].started))
    down = (start + 1) % 3
    keyless = lost_and_sent(state, None, down)
    assert keyless[0] == (down, "failed")
    assert keyless[1] == ((down + 1) % 3, "sent")
    key = next(key for key in map(str, range(99)) if partition_of_key(key, "JavaStringHash", 3) == down)
    assert lost_and_sent(state, key, down) == [(down, "failed")] * 4


def test_R12_growth_moves_keys_and_only_a_partial_router_had_no_order_to_lose() -> None:
    """A key that moves has messages in two partitions afterwards; one that does not has all in one."""
    keys = [f"user/{number}" for number in range(60)]
    moves = moved_keys(keys, 6, 9)
    assert isinstance(moves, KeyMoves)
    state = fleet(6, 1, EAGER)
    met: dict[str, set[int]] = {key: set() for key in keys}
    for now_ms in (0, MINUTE_MS):
        state = done(advance(state, now_ms))
        for key in keys:
            step = send_by_one(state, 0, key)
            state = done(step)
            met[key] |= {event.result.partition for event in events(step) if isinstance(event, Sent)}
        state = done(grow_partitions(state, 9))
    moved = {each.key for each in moves.moved}
    assert 0 < len(moved) < len(keys)
    assert {key for key, partitions in met.items() if len(partitions) == 2} == moved
    partial = created(LAZY, PartialRoundRobinRouter(3), topic_of(6))
    assert len({send(*partial, key, 0)[2].partition for key in keys}) == 1


def test_R09_a_producer_that_cannot_start_on_new_partitions_leaves_nothing_behind() -> None:
    """Eager, and the first two partitions would have been served."""
    state = done(grow_partitions(fleet(2, 0), 4, error="not loaded"))
    step = create(EAGER, round_robin(0), state.topic, 0)
    assert step.error is not None and step.topic.connected == state.topic.connected
