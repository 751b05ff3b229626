"""Known bugs of clients in routing (``tests/known_pulsar_bugs.md``), each as a property that is true here."""

from __future__ import annotations

import pytest

from engine.hashing import java_string_hash, murmur3_32
from engine.routing.clients import Message
from engine.routing.routers import PartialRoundRobinRouter, RoundRobinRouter, partial_round_robin, round_robin
from tests.engine.routing.walks import hash_of, keyless, partition_of_key, walk


def test_R01_a_client_s_default_hash_decides_so_one_key_has_several_partitions() -> None:
    """Java's default, its alternative and the hash of the Python client; they agree on few keys by chance only."""
    keys = [f"order-{number}" for number in range(200)]
    by_java, by_murmur, by_boost = (
        [partition_of_key(key, hashing, 97) for key in keys]
        for hashing in ("JavaStringHash", "Murmur3_32Hash", "BoostHash")
    )
    for one, other in ((by_java, by_murmur), (by_java, by_boost), (by_murmur, by_boost)):
        assert sum(a == b for a, b in zip(one, other, strict=True)) < 15


@pytest.mark.parametrize(
    ("key", "java", "murmur"),
    [("", 0, 0), ("a", 97, 0x3C2569B2), ("hello", 99162322, 0x248BFA47), ("test", 3556498, 0xBA6BD213 & 0x7FFFFFFF)],
)
def test_R01_each_scheme_has_its_published_values(key: str, java: int, murmur: int) -> None:
    assert hash_of(key, "JavaStringHash") == java
    assert hash_of(key, "Murmur3_32Hash") == murmur


def murmur3_by_the_book(data: bytes) -> int:
    """MurmurHash3 x86 32 from its description, byte by byte; the top bit cleared."""
    mask = 2**32 - 1

    def turned(value: int, bits: int) -> int:
        return (value << bits | value >> (32 - bits)) & mask

    def scrambled(block: int) -> int:
        return turned(block * 0xCC9E2D51 & mask, 15) * 0x1B873593 & mask

    state = 0
    whole = len(data) // 4 * 4
    for at in range(0, whole, 4):
        state = (turned(state ^ scrambled(int.from_bytes(data[at : at + 4], "little")), 13) * 5 + 0xE6546B64) & mask
    state ^= scrambled(int.from_bytes(data[whole:], "little")) ^ len(data)
    state = (state ^ state >> 16) * 0x85EBCA6B & mask
    state = (state ^ state >> 13) * 0xC2B2AE35 & mask
    return (state ^ state >> 16) & 0x7FFFFFFF


@pytest.mark.parametrize("length", range(18))
@pytest.mark.parametrize("first", [0x00, 0x41, 0x80, 0xEF])
def test_R02_murmur3_is_right_for_every_tail_and_for_bytes_above_127(length: int, first: int) -> None:
    data = bytes((first + number * 7) % 256 for number in range(length))
    assert murmur3_32(data) == murmur3_by_the_book(data)


@pytest.mark.parametrize("length", range(18))
def test_R02_keys_that_are_no_ascii_hash_by_their_utf8_bytes(length: int) -> None:
    key = ("\u00e9\u65e5\U0001f600x" * 5)[:length]
    assert hash_of(key, "Murmur3_32Hash") == murmur3_by_the_book(key.encode())


def test_R03_while_batching_round_robin_moves_on_at_the_boundary_and_not_per_message() -> None:
    """A thousand messages in one period have one partition; the next period has the next one."""
    clock = [1000] * 500 + [1009] * 500 + [1010] * 500 + [1019, 1020, 1050]
    taken = walk(round_robin(0, switch_ms=10), keyless(len(clock)), 7, clock)[1]
    assert set(taken[:1000]) == {100 % 7}
    assert set(taken[1000:1501]) == {101 % 7}
    assert taken[1501:] == [102 % 7, 105 % 7]


def test_R03_without_batching_it_moves_on_with_every_message_whatever_the_clock() -> None:
    assert walk(round_robin(0, batching=False), keyless(6), 7, [1000] * 6)[1] == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("limit", [1, 3, 8, 40])
def test_R05_the_chosen_partitions_only_grow_at_the_end(limit: int) -> None:
    router = PartialRoundRobinRouter(limit, seed=11)
    for partitions in (1, 2, 5, 5, 9, 30, 8):
        before = router.chosen
        router = router.extended(partitions)
        assert router.chosen[: len(before)] == before
        assert len(router.chosen) == len(set(router.chosen)) == max(len(before), min(limit, partitions))
        assert all(partition < 30 for partition in router.chosen)


def test_R05_a_limit_beyond_the_partitions_takes_them_all_and_new_ones_later() -> None:
    router = PartialRoundRobinRouter(100).extended(4)
    assert sorted(router.chosen) == [0, 1, 2, 3]
    assert sorted(router.extended(6).chosen) == [0, 1, 2, 3, 4, 5]


def test_R05_a_limit_below_one_is_no_router() -> None:
    assert not isinstance(partial_round_robin(0), PartialRoundRobinRouter)
    assert isinstance(partial_round_robin(1), PartialRoundRobinRouter)


def test_R05_the_counters_go_on_past_2_to_the_31() -> None:
    """Five partitions do not divide 2**32: the sequence jumps at the wrap, 2 and then 2, and never leaves 0 .. 4."""
    last = 2**31 - 1
    router, taken = walk(RoundRobinRouter(0, last - 1, batching=False), keyless(4), 5)
    assert taken == [1, 2, 2, 3]
    assert isinstance(router, RoundRobinRouter)
    assert router.counter == -(2**31) + 2
    partial, taken = walk(PartialRoundRobinRouter(5, 0, (10, 11, 12, 13, 14), last - 1), keyless(4), 20)
    assert taken == [11, 12, 12, 13]
    assert isinstance(partial, PartialRoundRobinRouter)
    assert partial.counter == -(2**31) + 2


def test_R05_a_key_is_ignored_even_where_it_has_a_partition_of_its_own() -> None:
    router = PartialRoundRobinRouter(2, 0, (1, 2))
    assert java_string_hash("a") % 5 == 2
    assert walk(router, [Message("a")] * 4, 5)[1] == [1, 2, 1, 2]
