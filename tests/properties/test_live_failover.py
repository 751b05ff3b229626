"""Laws of a subscription under change: exact moves, no history, and the owners of the scalar theory at every step.

Hashes of 8 to 16 bits make points of different consumers meet all the time.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.bulk_hashing import murmur3_bulk
from engine.failover.bulk import sort_topics
from engine.failover.bulk_ring import NOBODY
from engine.failover.choose import cohort, sort_consumers
from engine.failover.live import LiveRing, Moves, moves_between
from engine.failover.model import Consumer
from engine.failover.ring import FailoverRing
from tests.properties.strategies import consumer_names

IDS = st.integers(0, 7)
LEVELS = st.sampled_from((0, 0, 0, 1, -1))
CHANGES = st.lists(st.tuples(st.sampled_from("jjjll"), IDS, consumer_names(), LEVELS), max_size=18)
"""Join, leave; a change that does not fit (joining twice) is skipped."""
BITS = st.sampled_from((8, 11, 16, 31))

Change = tuple[str, int, str, int]


def change(live: LiveRing, step: Change) -> Moves | None:
    what, number, name, level = step
    connected = number in live.members.consumers
    if what == "j":
        return None if connected else live.join(Consumer(number, name, level))
    return live.leave(number) if connected else None


def topic_hashes(bits: int, count: int = 300) -> np.ndarray:
    """Hashes of names, the ends of the space among them."""
    hashes = murmur3_bulk([f"persistent://t/n/topic-{at}" for at in range(count)], bits=bits)
    return sort_topics(np.append(hashes, [0, 2**bits - 1])).hash


def scalar_owners(live: LiveRing, bits: int) -> list[int]:
    leading = cohort(sort_consumers(tuple(live.members.consumers.values())))
    if not leading:
        return [NOBODY] * len(live.hash)
    ring = FailoverRing(tuple(consumer.name for consumer in leading), 2**bits)
    return [leading[ring.owner_index(int(value))].consumer_id for value in live.hash]


def check_moves(before: np.ndarray, moves: Moves, after: np.ndarray) -> None:
    exact = moves_between(before, after)
    for given_, expected in (
        (moves.topic, exact.topic),
        (moves.old_owner, exact.old_owner),
        (moves.new_owner, exact.new_owner),
    ):
        assert given_.tolist() == expected.tolist()


@settings(max_examples=100, deadline=None)
@given(CHANGES, BITS, st.sampled_from((3, 20, 100)))
def test_after_any_history_the_ring_is_the_one_made_of_who_is_there(
    steps: list[Change], bits: int, points: int
) -> None:
    hashes = topic_hashes(bits)
    live = LiveRing(hashes, points=points, bits=bits)
    for step in steps:
        before = live.owner.copy()
        moves = change(live, step)
        if moves is None:
            continue
        check_moves(before, moves, live.owner)
        fresh = LiveRing(hashes, live.members.consumers.values(), points=points, bits=bits)
        assert live.owner.tolist() == fresh.owner.tolist()
        assert live.points.packed.tolist() == fresh.points.packed.tolist()
        if points == 100:
            assert live.owner.tolist() == scalar_owners(live, bits)


@settings(max_examples=40, deadline=None)
@given(CHANGES, st.sampled_from((8, 11)), IDS)
def test_a_join_that_leaves_again_moves_everything_back(steps: list[Change], bits: int, number: int) -> None:
    live = LiveRing(topic_hashes(bits), points=20, bits=bits)
    for step in steps:
        change(live, step)
    if number in live.members.consumers:
        live.leave(number)
    owners, packed = live.owner.copy(), live.points.packed.copy()
    there = live.join(Consumer(number, "c-1"))
    back = live.leave(number)
    assert (back.topic.tolist(), back.new_owner.tolist()) == (there.topic.tolist(), there.old_owner.tolist())
    assert (live.owner.tolist(), live.points.packed.tolist()) == (owners.tolist(), packed.tolist())


@pytest.mark.parametrize("bits", [12, 16, 31])
def test_a_rolling_restart_of_a_thousand_consumers_ends_bit_identical(bits: int) -> None:
    """Names are distinct, so it does not matter who came first; at 12 bits every point has many claimants."""
    consumers = [Consumer(number, f"host-{number}") for number in range(1_000)]
    live = LiveRing(topic_hashes(bits, 5_000), consumers, bits=bits)
    owners, packed = live.owner.tobytes(), live.points.packed.tobytes()
    for consumer in consumers:
        gone = live.leave(consumer.consumer_id)
        assert consumer.consumer_id not in live.owner[gone.topic]
        back = live.join(consumer)
        assert back.topic.tolist() == gone.topic.tolist()
    assert live.owner.tobytes() == owners
    assert live.points.packed.tobytes() == packed


def test_a_topic_costs_eight_bytes_and_a_point_eight() -> None:
    live = LiveRing(topic_hashes(31, 998), [Consumer(number, f"c{number:02}") for number in range(10)])
    assert live.hash.nbytes + live.owner.nbytes == 8 * 1_000
    assert live.points.packed.nbytes == 8 * 10 * 100


def test_who_is_not_connected_cannot_leave() -> None:
    live = LiveRing(np.zeros(3, dtype=np.int32))
    with pytest.raises(KeyError):
        live.leave(1)
    assert live.owner.tolist() == [NOBODY] * 3
