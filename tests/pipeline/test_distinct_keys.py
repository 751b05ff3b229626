"""Equal keys are put together exactly, also when most of them share a hash."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline import distinct_keys
from pipeline.distinct_keys import Keys, blocks, distinct, hashed, joined_keys, opened

EVENTS = st.lists(st.tuples(st.integers(0, 2), st.binary(max_size=2), st.integers(0, 5)))


def made(events: list[tuple[int, bytes, int]]) -> Keys:
    space = np.array([event[0] for event in events], dtype=np.int64)
    msgs = np.array([event[2] for event in events], dtype=np.int64)
    return hashed(["a", "b", "c"], space, pa.array([event[1] for event in events], pa.binary()), msgs)


def counted(keys: Keys) -> list[tuple[str, bytes, int, int]]:
    names = [keys.spaces[number] for number in keys.space.tolist()]
    return sorted(zip(names, keys.key.to_pylist(), keys.rows.tolist(), keys.msgs.tolist(), strict=True))


@settings(max_examples=100, deadline=None)
@given(EVENTS, EVENTS, st.integers(1, 5), st.sampled_from([0, 1, 31]))
def test_sums_of_keys_are_those_of_a_dictionary(first: Any, second: Any, parts: int, bits: int) -> None:
    """With 0 or 1 bits of hash nearly all keys collide; blocks that met again give the same sums."""
    rows: Counter[tuple[str, bytes]] = Counter()
    msgs: Counter[tuple[str, bytes]] = Counter()
    for space, key, count in (*first, *second):
        rows["abc"[space], key] += 1
        msgs["abc"[space], key] += count
    with pytest.MonkeyPatch.context() as patch:
        real = distinct_keys.murmur3_bulk
        patch.setattr(distinct_keys, "murmur3_bulk", lambda names: real(names) & ((1 << bits) - 1))
        sent = [block for each in (first, second) for block in blocks(distinct(made(each)), parts)]
    met = [
        distinct(joined_keys([opened(block) for part, block in sent if part == wanted]))
        for wanted in sorted({part for part, _ in sent})
    ]
    found = [row for keys in met for row in counted(keys)]
    assert sorted(found) == sorted((*key, rows[key], msgs[key]) for key in rows)
