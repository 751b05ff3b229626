"""Equal keys are put together exactly, in one task and again where the parts of several meet."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.jobs.keys_folding import by_hash, distinct
from pipeline.reading.trace_rows import EVENTS as EVENT_COLUMNS

EVENTS = st.lists(st.tuples(st.integers(0, 2), st.binary(max_size=2), st.integers(0, 5)))


def table_of(events: list[tuple[int, bytes, int]]) -> Any:
    columns = ["abc"[space] for space, _, _ in events], [key for _, key, _ in events], [1] * len(events)
    rows = [*columns, [msgs for _, _, msgs in events]]
    arrays = [pa.array(values, field.type) for values, field in zip(rows, EVENT_COLUMNS, strict=True)]
    return pa.Table.from_arrays(arrays, schema=EVENT_COLUMNS)


def counted(keys: Any) -> list[tuple[str, bytes, int, int]]:
    return sorted(zip(*(keys[name].to_pylist() for name in ("space", "key", "rows", "msgs")), strict=True))


@settings(max_examples=100, deadline=None)
@given(EVENTS, EVENTS, st.integers(1, 5))
def test_sums_of_keys_are_those_of_a_dictionary(first: Any, second: Any, parts: int) -> None:
    rows: Counter[tuple[str, bytes]] = Counter()
    msgs: Counter[tuple[str, bytes]] = Counter()
    for space, key, count in (*first, *second):
        rows["abc"[space], key] += 1
        msgs["abc"[space], key] += count
    sent = [part for each in (first, second) for part in by_hash(distinct([table_of(each)]), parts)]
    met = [distinct([keys for part, keys in sent if part == wanted]) for wanted in sorted({part for part, _ in sent})]
    result = [row for keys in met for row in counted(keys)]
    assert sorted(result) == sorted((*key, rows[key], msgs[key]) for key in rows)
