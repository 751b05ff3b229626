"""Partial round robin: the list it goes round.

Cases of ``PartitionedProducerImplTest`` and ``PartialPartitionedProducerTest``.
"""

from __future__ import annotations

from collections import Counter

import pytest

from engine.errors import Rejection
from engine.routing.clients import Message
from engine.routing.routers import PartialRoundRobinRouter, partial_round_robin
from tests.engine.routing.walks import keyless, partition_of_key, walk


def test_ten_messages_meet_as_many_partitions_as_the_limit_says() -> None:
    taken = walk(PartialRoundRobinRouter(3), keyless(10), 10)[1]
    assert len(set(taken)) == 3
    assert taken == (taken[:3] * 4)[:10]


def test_the_list_follows_growing_partitions_only_up_to_the_limit() -> None:
    router = PartialRoundRobinRouter(3)
    sizes = []
    for partitions in (2, 3, 4):
        router = router.extended(partitions)
        sizes.append(len(router.chosen))
    assert sizes == [2, 3, 3]
    assert router.extended(9) is router


def test_the_list_is_empty_until_the_first_message() -> None:
    router = partial_round_robin(3)
    assert isinstance(router, PartialRoundRobinRouter)
    assert router.chosen == ()


def test_one_seed_draws_one_list_and_seeds_differ() -> None:
    drawn = [PartialRoundRobinRouter(5, seed).extended(100).chosen for seed in range(50)]
    assert drawn[7] == PartialRoundRobinRouter(5, 7).extended(100).chosen
    assert len(set(drawn)) == 50


def test_no_partition_is_favoured() -> None:
    """4 of 8 partitions over 800 seeds: each is drawn about 400 times (standard deviation 14)."""
    drawn = Counter(
        partition for seed in range(800) for partition in PartialRoundRobinRouter(4, seed).extended(8).chosen
    )
    assert len(drawn) == 8
    assert all(330 < count < 470 for count in drawn.values())


def test_keys_do_not_decide() -> None:
    keys = [Message(str(number)) for number in range(10)]
    taken = walk(PartialRoundRobinRouter(3), keys, 10)[1]
    assert taken == walk(PartialRoundRobinRouter(3), keyless(10), 10)[1]
    assert taken != [partition_of_key(message.key or "", "JavaStringHash", 10) for message in keys]


@pytest.mark.parametrize("limit", [0, -1, -(2**31)])
def test_a_limit_below_one_is_refused(limit: int) -> None:
    refusal = partial_round_robin(limit)
    assert isinstance(refusal, Rejection)
    assert refusal.error == "IllegalArgumentException"
    assert refusal.field == "numPartitionsLimit"
    assert refusal.message == "numPartitionsLimit should be greater than or equal to 1"
