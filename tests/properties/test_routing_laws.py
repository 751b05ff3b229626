"""Laws of routing for all inputs: L7, same bytes, same answer; and what no router may ever do."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from engine.hashing import boost_hash, java_string_hash, murmur3_32, utf8
from engine.routing.clients import (
    JAVA_DEFAULT,
    PYTHON_DEFAULT,
    KeyRouting,
    Message,
    base64_text,
    every_routing,
    partition_of,
)
from engine.routing.publishers import PublisherStats, aggregate_publishers, grouped
from engine.routing.routers import (
    BatchRoundRobinRouter,
    PartialRoundRobinRouter,
    RoundRobinRouter,
    Router,
    SinglePartitionRouter,
    route,
)
from tests.java_text import java_string_hash_of_bytes

ROUTINGS = [routing for routing in every_routing() if routing.known]
JAVA_MURMUR = KeyRouting("java", "Murmur3_32Hash")
PARTITIONS = st.integers(1, 2000)
INTS_32 = st.integers(-(2**31), 2**31 - 1)
CLOCK_MS = st.integers(-(2**40), 2**45)


def keys() -> st.SearchStrategy[str]:
    """Empty ones, any Unicode without half characters, and long ones of every tail length."""
    character = st.characters(exclude_categories=["Cs"])
    return st.text(alphabet=character, max_size=9) | st.builds("{}{}".format, st.just("k" * 40), st.integers(0, 10**9))


def routers(partitions: int) -> st.SearchStrategy[Router]:
    hashing = st.sampled_from(ROUTINGS)
    single = st.builds(SinglePartitionRouter, st.integers(0, partitions - 1), hashing)
    around = st.builds(RoundRobinRouter, INTS_32, INTS_32, st.booleans(), st.integers(-1, 10**6), hashing)
    partial = st.builds(PartialRoundRobinRouter, st.integers(1, 20), st.integers(0, 99), st.just(()), INTS_32)
    numbers = st.integers(1, 2000)
    batch = st.builds(BatchRoundRobinRouter, INTS_32, CLOCK_MS, numbers, numbers, numbers, hashing, numbers, numbers)
    return st.one_of(single, around, partial, batch)


@settings(max_examples=100, deadline=None)
@given(keys(), PARTITIONS)
def test_L7_one_key_has_one_hash_as_text_and_as_bytes_and_one_partition(key: str, partitions: int) -> None:
    data = utf8(key)
    assert JAVA_DEFAULT.hash_of(key) == java_string_hash(key) == java_string_hash_of_bytes(data)
    assert JAVA_MURMUR.hash_of(key) == murmur3_32(data)
    assert PYTHON_DEFAULT.hash_of(key) == boost_hash(data)
    for routing in ROUTINGS:
        assert 0 <= routing.hash_of(key) < 2**routing.key_hash.bits
        if partitions > 1 and not routing.undecided(key):
            assert partition_of(key, routing, partitions) == routing.hash_of(key) % partitions


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=40), PARTITIONS, st.sampled_from(ROUTINGS))
def test_L7_a_key_of_bytes_is_its_base64_text(data: bytes, partitions: int, routing: KeyRouting) -> None:
    """Every byte string has a key that is plain ASCII, and bytes that differ have keys that differ."""
    key = base64_text(data)
    assert key.isascii()
    assert base64_text(data + b"\x00") != key
    if routing.family.bytes_keys == "base64":
        assert partition_of(data, routing, partitions) == partition_of(key, routing, partitions)


@settings(max_examples=100, deadline=None)
@given(st.data(), PARTITIONS, st.none() | keys(), CLOCK_MS)
def test_L7_a_router_answers_alike_every_time_and_always_with_a_partition(
    data: st.DataObject, partitions: int, key: str | None, now_ms: int
) -> None:
    router = data.draw(routers(partitions))
    after, partition = route(router, Message(key), partitions, now_ms)
    assert 0 <= partition < partitions
    assert route(router, Message(key), partitions, now_ms) == (after, partition)


@settings(max_examples=60, deadline=None)
@given(st.data(), PARTITIONS, keys().filter(bool), CLOCK_MS, CLOCK_MS)
def test_L7_a_key_keeps_its_partition_whatever_the_router_and_the_clock(
    data: st.DataObject, partitions: int, key: str, earlier_ms: int, later_ms: int
) -> None:
    """Of all routers but the partial one, which does not look at keys."""
    router = data.draw(routers(partitions).filter(lambda each: not isinstance(each, PartialRoundRobinRouter)))
    after, partition = route(router, Message(key), partitions, earlier_ms)
    assert after == router
    assert route(after, Message(key), partitions, later_ms) == (router, partition)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 12), st.integers(0, 99), st.lists(st.integers(1, 40), min_size=1, max_size=12), INTS_32)
def test_a_partial_router_only_ever_extends_its_list(limit: int, seed: int, counts: list[int], counter: int) -> None:
    router = PartialRoundRobinRouter(limit, seed, (), counter)
    for count in counts:
        before = router.chosen
        router = router.extended(count)
        assert router.chosen[: len(before)] == before
        assert len(set(router.chosen)) == len(router.chosen) == max(len(before), min(limit, count))
        moved, partition = router.turn()
        assert partition in router.chosen
        router = replace(moved, counter=counter)


RATES = st.lists(st.integers(0, 1000).map(float), max_size=6)


@settings(max_examples=60, deadline=None)
@given(st.lists(RATES, max_size=6), st.booleans())
def test_adding_up_publishers_keeps_the_sum_of_their_rates(partitions: list[list[float]], flag: bool) -> None:
    """Whole numbers add without rounding; names are distinct in a partition, so no publisher replaces another."""
    groups = [
        grouped(PublisherStats(f"p{number}", flag, rate) for number, rate in enumerate(rates)) for rates in partitions
    ]
    total = aggregate_publishers(groups).listed()
    assert sum(each.msg_rate_in_msgs_per_sec for each in total) == sum(map(sum, partitions))
    assert len(total) == max(map(len, partitions), default=0)
