"""One key more is the same as the whole table made again."""

from __future__ import annotations

from typing import Literal

from hypothesis import given
from hypothesis import strategies as st

from engine.balance.java_maps import CopiedOrder, MapOrder, hash_order, spread_hash

KINDS: tuple[Literal["hash", "concurrent"], ...] = ("hash", "concurrent")


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


@given(
    st.lists(st.text("Aabc1", max_size=4), unique=True, min_size=1, max_size=120),
    st.lists(st.integers(0, 200), max_size=60),
    st.booleans(),
)
def test_the_order_of_a_copy_follows_its_map_key_by_key(keys: list[str], changes: list[int], is_partial: bool) -> None:
    """Keys are taken out and put in again, as bundles that no report has for a while; the reference copies anew."""

    def copied(key: str) -> bool:
        return not is_partial or "b" not in key

    order = MapOrder("concurrent").updated(keys)
    live = CopiedOrder(order, copied)
    for change in changes:
        key = keys[change % len(keys)]
        if key in order.keys:
            order = order.updated(remove=[key])
            live.remove(key)
        else:
            order = order.updated([key])
            live.add(key)
        expected = hash_order(filter(copied, order)).keys
        assert (tuple(live), len(live)) == (expected, len(expected))
        assert sorted(expected, key=live.rank) == list(expected)
