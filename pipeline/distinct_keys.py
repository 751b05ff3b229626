"""Merge equal keys, and split them by hash.

A table of keys has the columns ``space`` (a dictionary of names), ``key`` (bytes), ``rows`` of the trace with this key
and their ``msgs``, as ``pipeline.reading.trace_rows.EVENTS``, and ``hash``, the Murmur3 hash of the key. Sorting
compares hashes only; keys with equal hashes are compared by their bytes, so the result is exact. After sorting, the
keys of a part of the hash space are one slice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.bulk_hashing import murmur3_bulk
from pipeline.batches import byte_column, codes_of
from pipeline.blocks import joined

_SPACE_BITS: Final = 24
_HASH_BITS: Final = 31


def hashed(events: Any) -> Any:
    """Events with the hash of each key. O(bytes)."""
    return events.append_column("hash", pa.array(murmur3_bulk(byte_column(events["key"])).astype(np.int32)))


def distinct(tables: Sequence[Any]) -> Any:
    """Every key of every space once, with the sums of its rows and messages, by ascending hash. O(n log n).

    >>> events = {"space": ["s"] * 3, "key": [b"a", b"b", b"a"], "rows": [1, 1, 1], "msgs": [1, 2, 3]}
    >>> once = distinct([hashed(pa.table(events))])
    >>> sorted(zip(once["key"].to_pylist(), once["msgs"].to_pylist()))
    [(b'a', 4), (b'b', 2)]
    """
    keys = joined(tables, ("space",))
    if not keys.num_rows:
        return keys
    spaces, space = codes_of(keys["space"])
    assert len(spaces) < 1 << _SPACE_BITS, f"{len(spaces)} subscriptions are too many for one trace"
    key, values = keys["key"].chunk(0), [keys[name].to_numpy() for name in ("rows", "msgs")]
    code = (keys["hash"].to_numpy().astype(np.int64) << _SPACE_BITS) | space
    order = np.argsort(code)
    code = code[order]
    begins = _begins(code, key, order)
    meeting = begins[1:] & (code[1:] == code[:-1])
    if meeting.any():
        # Different keys with one hash: equal ones may not be adjacent, so these few are sorted by their bytes.
        places = np.flatnonzero(np.isin(code, code[1:][meeting]))
        texts = key.take(pa.array(order[places])).to_pylist()
        ranked = sorted(range(len(places)), key=lambda at: (int(code[places[at]]), texts[at]))
        order[places] = order[places][ranked]
        begins = _begins(code, key, order)
    first = np.flatnonzero(begins)
    sums = (pa.array(np.add.reduceat(value[order], first)) for value in values)
    once = keys.select(["space", "key", "hash"]).take(pa.array(order[first]))
    for name, value in zip(("rows", "msgs"), sums, strict=True):
        once = once.append_column(name, value)
    return once


def _begins(code: NDArray[np.int64], key: Any, order: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(n,) whether a key differs from the one before it; bytes are compared only where the hashes are equal."""
    begins = np.append(True, code[1:] != code[:-1])
    like = np.flatnonzero(~begins)
    differ = pc.not_equal(key.take(pa.array(order[like])), key.take(pa.array(order[like - 1])))
    begins[like] = differ.to_numpy(zero_copy_only=False)
    return begins


def by_part(keys: Any, parts: int) -> Iterator[tuple[int, Any]]:
    """Keys in order of ascending hash, as (part, keys) of each of so many parts of the hash space that has any."""
    bounds = np.searchsorted(keys["hash"].to_numpy(), (np.arange(parts + 1) << _HASH_BITS) // parts)
    for part in range(parts):
        begin, end = int(bounds[part]), int(bounds[part + 1])
        if end > begin:
            yield part, keys.slice(begin, end - begin)
