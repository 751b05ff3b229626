"""Equal keys are put together exactly, also when most of them share a hash."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.jobs import keys_tasks
from pipeline.jobs.keys_tasks import by_hash, distinct, hashed
from pipeline.reading.trace_rows import EVENTS as EVENT_COLUMNS

EVENTS = st.lists(st.tuples(st.integers(0, 2), st.binary(max_size=2), st.integers(0, 5)))


def hashed_events(events: list[tuple[int, bytes, int]]) -> Any:
    columns = ["abc"[space] for space, _, _ in events], [key for _, key, _ in events], [1] * len(events)
    rows = [*columns, [msgs for _, _, msgs in events]]
    arrays = [pa.array(values, field.type) for values, field in zip(rows, EVENT_COLUMNS, strict=True)]
    return hashed(pa.Table.from_arrays(arrays, schema=EVENT_COLUMNS))


def counted(keys: Any) -> list[tuple[str, bytes, int, int]]:
    return sorted(zip(*(keys[name].to_pylist() for name in ("space", "key", "rows", "msgs")), strict=True))


@settings(max_examples=100, deadline=None)
@given(EVENTS, EVENTS, st.integers(1, 5), st.sampled_from([0, 1, 31]))
def test_sums_of_keys_are_those_of_a_dictionary(first: Any, second: Any, parts: int, bits: int) -> None:
    """With 0 or 1 bits of hash nearly all keys collide; parts that met again give the same sums."""
    rows: Counter[tuple[str, bytes]] = Counter()
    msgs: Counter[tuple[str, bytes]] = Counter()
    for space, key, count in (*first, *second):
        rows["abc"[space], key] += 1
        msgs["abc"[space], key] += count
    with pytest.MonkeyPatch.context() as patch:
        real = keys_tasks.murmur3_bulk
        patch.setattr(keys_tasks, "murmur3_bulk", lambda names: real(names) & ((1 << bits) - 1))
        sent = [part for each in (first, second) for part in by_hash(distinct([hashed_events(each)]), parts)]
    met = [distinct([keys for part, keys in sent if part == wanted]) for wanted in sorted({part for part, _ in sent})]
    result = [row for keys in met for row in counted(keys)]
    assert sorted(result) == sorted((*key, rows[key], msgs[key]) for key in rows)
