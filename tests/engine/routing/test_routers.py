"""What Pulsar's own router tests state, and the edges they leave out.

Theirs are ``RoundRobinPartitionMessageRouterImplTest``, ``SinglePartitionMessageRouterImplTest`` and
``PartialPartitionedProducerTest``.
"""

from __future__ import annotations

import pytest

from engine.hashing import java_string_hash
from engine.routing.clients import Message
from engine.routing.routers import (
    BatchRoundRobinRouter,
    PartialRoundRobinRouter,
    Router,
    SinglePartitionRouter,
    period_of,
    round_robin,
    route,
    switch_period_ms,
)
from tests.engine.routing.walks import ROUTINGS, keyless, walk

KEYS = [Message(f"key-{number}") for number in range(50)]


def test_without_batching_the_partitions_take_turns() -> None:
    assert walk(round_robin(0, batching=False), keyless(7), 5)[1] == [0, 1, 2, 3, 4, 0, 1]


def test_with_batching_a_partition_keeps_its_turn_for_one_period() -> None:
    assert walk(round_robin(0, switch_ms=5), keyless(10), 5, range(10))[1] == [0] * 5 + [1] * 5


def test_periods_are_counted_from_1970_and_not_from_the_first_message() -> None:
    taken = walk(round_robin(0, switch_ms=10), keyless(20), 100, range(123450, 123470))[1]
    assert taken == [45] * 10 + [46] * 10


def test_a_clock_past_31_bits_still_gives_partitions() -> None:
    clock = range(2**31 - 1, 2**31 + 99)
    assert set(walk(round_robin(3, switch_ms=1), keyless(100), 5, clock)[1]) == set(range(5))


def test_a_clock_before_1970_stays_in_one_period_around_zero() -> None:
    """Division rounds toward zero, so the period around 0 is nearly twice as long."""
    assert [period_of(now_ms, 10) for now_ms in (-10, -9, 0, 9, 10)] == [-1, 0, 0, 0, 1]
    assert walk(round_robin(0), keyless(1), 5, [-10])[1] == [4]


@pytest.mark.parametrize("switch_ms", [1, 0, -3])
def test_a_period_below_one_millisecond_counts_as_one(switch_ms: int) -> None:
    assert walk(round_robin(0, switch_ms=switch_ms), keyless(4), 3, range(4))[1] == [0, 1, 2, 0]


@pytest.mark.parametrize(
    "router",
    [round_robin(7), round_robin(7, batching=False), SinglePartitionRouter(7)],
    ids=["batching", "one by one", "single"],
)
def test_a_key_decides_by_its_hash_and_takes_no_turn(router: Router) -> None:
    after, taken = walk(router, KEYS, 100)
    assert taken == [java_string_hash(message.key or "") % 100 for message in KEYS]
    assert after == router


def test_the_single_partition_of_keyless_messages_is_the_one_drawn() -> None:
    assert walk(SinglePartitionRouter(1234), keyless(3), 2468)[1] == [1234] * 3


def test_the_single_partition_stays_when_partitions_are_added() -> None:
    router: Router = SinglePartitionRouter(3)
    assert [route(router, Message(), count, 0)[1] for count in (4, 5, 400)] == [3, 3, 3]


def test_an_empty_key_takes_a_turn_for_the_python_client_only() -> None:
    for hashing, taken in (("JavaStringHash", [0, 0, 0]), ("BoostHash", [4, 5, 0])):
        router = round_robin(4, batching=False, keys=ROUTINGS[hashing])
        assert walk(router, [Message("")] * 3, 6)[1] == taken


def test_a_grown_number_of_partitions_counts_from_the_next_message_on() -> None:
    router, taken = walk(round_robin(0, batching=False), keyless(3), 2)
    assert taken == [0, 1, 0]
    assert walk(router, keyless(3), 5)[1] == [3, 4, 0]


@pytest.mark.parametrize(
    ("frequency", "delay_us", "expected_ms"), [(10, 1000, 10), (1, 999, 0), (3, 500, 1), (2, 10_000_000, 20_000)]
)
def test_the_period_is_the_product_of_two_settings_in_whole_milliseconds(
    frequency: int, delay_us: int, expected_ms: int
) -> None:
    assert switch_period_ms(frequency, delay_us) == expected_ms
    assert switch_period_ms() == round_robin(0).switch_ms


def test_with_one_partition_no_batch_is_counted() -> None:
    router = BatchRoundRobinRouter(0, max_msgs=2)
    assert walk(router, keyless(3), 1) == (router, [0, 0, 0])
    after, taken = walk(router, keyless(3), 2)
    assert taken == [0, 0, 1]
    assert isinstance(after, BatchRoundRobinRouter) and (after.cursor, after.msgs) == (1, 1)


def producers_of_a_lazy_start(router: Router, partitions: int, sends: int) -> list[int]:
    """How many partitions have a producer after creation, which takes one turn, and after each send."""
    used: set[int] = set()
    counts = []
    for _ in range(sends + 1):
        router, partition = route(router, Message(), partitions, 0)
        used.add(partition)
        counts.append(len(used))
    return counts


@pytest.mark.parametrize(
    ("router", "created", "sent"),
    [
        (SinglePartitionRouter(4), 1, 1),
        (PartialRoundRobinRouter(3), 1, 3),
        (round_robin(8, batching=False), 1, 10),
    ],
    ids=["single", "partial", "round robin"],
)
def test_a_lazy_producer_connects_to_as_many_partitions_as_its_router_picks(
    router: Router, created: int, sent: int
) -> None:
    counts = producers_of_a_lazy_start(router, 10, 10)
    assert (counts[0], counts[-1]) == (created, sent)


def test_a_lazy_start_spends_a_turn_so_the_first_send_needs_a_second_producer() -> None:
    assert producers_of_a_lazy_start(round_robin(0, batching=False), 10, 1) == [1, 2]


@pytest.mark.parametrize("router", [round_robin(0), SinglePartitionRouter(0), PartialRoundRobinRouter(1)])
def test_a_topic_without_partitions_is_a_mistake_of_the_caller(router: Router) -> None:
    with pytest.raises(AssertionError, match="not 0"):
        route(router, Message(), 0, 0)
