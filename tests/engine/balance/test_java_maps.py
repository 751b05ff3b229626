"""Java's own maps, asked once (``java/MapOrders.java``), and that one key more is the same as a table made again."""

from __future__ import annotations

import gzip
from itertools import permutations
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.balance.java_maps import MapOrder, hash_order, hash_order_of_all, spread_hash

KINDS: tuple[Literal["hash", "concurrent"], ...] = ("hash", "concurrent")


ANSWERS = Path(__file__).parent / "java" / "map_orders.jsonl.gz"
RECORDS: list[dict[str, Any]] = [
    msgspec.json.decode(line) for line in gzip.decompress(ANSWERS.read_bytes()).splitlines()
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: f"{record['kind']}-{len(record['names'])}")
def test_keys_come_out_as_java_gives_them(record: dict[str, Any]) -> None:
    """``changes``: one-based places of names that are put, negative where one is removed."""
    names = record["names"]
    at_once = MapOrder(record["kind"]).updated(names)
    one_by_one = MapOrder(record["kind"])
    expected = {answer["after"]: tuple(names[place] for place in answer["order"]) for answer in record["orders"]}
    for number, change in enumerate(record["changes"], 1):
        name = [names[abs(change) - 1]]
        one_by_one = one_by_one.updated(name) if change > 0 else one_by_one.updated(remove=name)
        if number > len(names):
            at_once = at_once.updated(name) if change > 0 else at_once.updated(remove=name)
        if number in expected:
            assert one_by_one.keys == expected[number], number
            if number >= len(names):
                assert at_once == one_by_one
    assert at_once.cleared().updated(names).capacity >= at_once.capacity, "a table never shrinks"


def test_a_hash_has_32_bits() -> None:
    """Java's hash code of the word is -2147483648."""
    assert spread_hash("polygenelubricants") == 0x80008000


def test_keys_of_one_bucket_may_have_come_in_any_order() -> None:
    """The upper bits differ: with 16 buckets "a", "q" and "A" lie in one, "b" and "R" in the next, "c" alone behind."""
    keys = ("a", "q", "A", "b", "R", "c", "x")
    order = hash_order(keys)
    assert order.doubtful == (("a", "q", "A"), ("b", "R"))
    assert order.turned_round.keys == ("A", "q", "a", "R", "b", "c", "x")
    for others in permutations(keys[:3]):
        assert hash_order((*others, "b", "R", "c", "x")).keys == (*others, "b", "R", "c", "x")


def test_of_keys_put_and_removed_in_one_step_the_known_ones_keep_their_place() -> None:
    order = hash_order(("a", "q", "A")).updated(["q", "Q", "a"], remove=["a"])
    assert order.keys == ("q", "A", "Q", "a")
    grown = hash_order(f"k{number}" for number in range(12))
    assert grown.updated(["x", "y"], remove=["k0", "k1"]).capacity == grown.capacity == 16


@given(
    st.lists(st.text("Aabc", max_size=4), max_size=40), st.sampled_from(KINDS), st.integers(0, 30), st.integers(0, 40)
)
def test_keys_put_one_by_one_are_in_the_order_of_all_at_once(
    keys: list[str], kind: Literal["hash", "concurrent"], gone: int, again: int
) -> None:
    at_once = MapOrder(kind).updated(keys).updated(remove=keys[:gone]).updated(keys[:again])
    one_by_one = MapOrder(kind)
    for key in keys:
        one_by_one = one_by_one.updated([key])
    one_by_one = one_by_one.updated(remove=keys[:gone])
    for key in keys[:again]:
        one_by_one = one_by_one.updated([key])
    assert (one_by_one.keys, one_by_one.capacity) == (at_once.keys, at_once.capacity)


def test_nine_keys_in_one_bucket_enlarge_a_small_table_also_one_by_one() -> None:
    keys = [text for number in range(40_000) if spread_hash(text := f"k{number}") & 63 == 5][:9]
    order = MapOrder("hash")
    for key in keys:
        order = order.updated([key])
    assert order == MapOrder("hash").updated(keys)
    assert order.capacity > 16


@pytest.mark.parametrize("kind", KINDS)
def test_nine_keys_in_one_bucket_leave_a_table_of_64_as_it_is(kind: Literal["hash", "concurrent"]) -> None:
    keys = [text for number in range(40_000) if spread_hash(text := f"k{number}") & 63 == 5][:9]
    table = MapOrder(kind, (), 64)
    assert table.updated(keys) == MapOrder(kind, tuple(keys), 64)
    assert table.updated(keys[:8]).updated(keys[8:]) == MapOrder(kind, tuple(keys), 64)


@pytest.mark.parametrize("roomy", [False, True])
def test_a_set_made_of_a_collection_has_the_first_table_that_is_not_doubled_for_it(roomy: bool) -> None:
    """Three quarters of a table may be filled; up to Java 18 one key more was reckoned with."""
    for count in range(1, 400):
        capacity = hash_order_of_all([str(at) for at in range(count)], roomy=roomy).capacity
        fitting = [16 << doubled for doubled in range(8) if (16 << doubled) * 3 >= (count + roomy * 0.75) * 4]
        assert capacity == fitting[0], count
