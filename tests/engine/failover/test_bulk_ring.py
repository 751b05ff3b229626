"""Searching through a table gives what numpy's own search gives, however the keys crowd together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.failover.bulk_ring import CHUNK, FEW, MOST_KEYS, STEPS, search_many


def check(keys: np.ndarray, wanted: np.ndarray, bits: int) -> None:
    result = search_many(keys, wanted, bits)
    assert result.dtype == np.int64
    assert np.array_equal(result, np.searchsorted(keys, wanted))


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from((1, 4, 8, 16, 31, 40)),
    st.integers(0, 3_000),
    st.integers(0, 2**32),
    st.sampled_from((np.int32, np.int64, np.uint32, np.uint64)),
)
def test_any_keys_and_any_wanted_numbers(bits: int, count: int, seed: int, dtype: type[np.integer]) -> None:
    """Few bits make many keys equal; the ends of the space and every key itself are wanted too."""
    generator = np.random.default_rng(seed)
    keys = np.sort(generator.integers(0, 2**bits, count))
    expected = np.concatenate((generator.integers(0, 2**bits, 2 * FEW), keys, [0, 2**bits - 1]))
    check(keys, expected if bits > 31 else expected.astype(dtype), bits)


@pytest.mark.parametrize("count", [1, STEPS - 1, STEPS, STEPS + 1, 3 * STEPS, 4_000])
def test_more_keys_in_one_slice_than_are_tried_one_by_one(count: int) -> None:
    """All keys follow on each other at one place of a wide space, so that they share a slice."""
    for place in (0, 2**30, 2**31 - count):
        keys = np.arange(place, place + count)
        expected = np.concatenate((np.repeat(keys, 1 + FEW // count), [0, 2**31 - 1, max(place - 1, 0)]))
        check(keys, expected, 31)


def test_more_wanted_numbers_than_go_at_a_time_in_any_order() -> None:
    generator = np.random.default_rng(5)
    keys, expected = np.sort(generator.integers(0, 2**31, 10_000)), generator.integers(0, 2**31, 2 * CHUNK + 7)
    check(keys, expected, 31)
    check(keys, expected[::-3], 31)
    check(np.arange(MOST_KEYS + 1), expected, 31)
