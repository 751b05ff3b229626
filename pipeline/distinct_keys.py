"""Merge equal keys, and split them into blocks by hash.

Sorting compares hashes only; keys with equal hashes are compared by their bytes, so the result is exact. After sorting,
the keys of a part of the hash space are one slice, which travels as one block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.bulk_hashing import ByteColumn, murmur3_bulk

_SPACE_BITS: Final = 24
_HASH_BITS: Final = 31
_BLOCK: Final = pa.schema(
    [("space", pa.int32()), ("hash", pa.int32()), ("key", pa.binary()), ("rows", pa.int64()), ("msgs", pa.int64())]
)
_NAMES: Final = b"spaces"


@dataclass(frozen=True)
class Keys:
    """Keys of some spaces, as columns of length n.

    ``space`` is an index into ``spaces``, ``hash`` the Murmur3 hash, ``key`` an Arrow array of bytes; ``rows`` and
    ``msgs`` are the rows of the trace with this key and their messages.
    """

    spaces: Sequence[str]
    space: NDArray[np.int64]
    hash: NDArray[np.int64]
    key: Any
    rows: NDArray[np.int64]
    msgs: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.space)


def hashed(spaces: Sequence[str], space: NDArray[np.int64], key: Any, msgs: NDArray[np.int64]) -> Keys:
    """The keys of a trace, one per row; ``key`` is one Arrow array without nulls. O(bytes)."""
    _, offsets, data = key.buffers()
    hashes = murmur3_bulk(ByteColumn.from_buffers(offsets, data, len(key), key.offset))
    return Keys(spaces, space, hashes, key, np.ones(len(key), dtype=np.int64), msgs)


def joined_keys(parts: Sequence[Keys]) -> Keys:
    """The keys of all parts, with spaces renumbered by name. O(n)."""
    numbers: dict[str, int] = {}
    space = [
        np.array([numbers.setdefault(name, len(numbers)) for name in part.spaces], dtype=np.int64)[part.space]
        for part in parts
    ]
    return Keys(
        list(numbers),
        np.concatenate(space),
        np.concatenate([part.hash for part in parts]),
        pa.concat_arrays([part.key for part in parts]),
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.msgs for part in parts]),
    )


def distinct(keys: Keys) -> Keys:
    """Every key of every space once, with the sums of its rows and messages, by ascending hash. O(n log n).

    >>> three = hashed(["s"], np.zeros(3, np.int64), pa.array([b"a", b"b", b"a"]), np.array([1, 2, 3]))
    >>> once = distinct(three)
    >>> sorted(zip(once.key.to_pylist(), once.msgs.tolist()))
    [(b'a', 4), (b'b', 2)]
    """
    assert len(keys.spaces) < 1 << _SPACE_BITS, f"{len(keys.spaces)} subscriptions are too many for one trace"
    if not len(keys):
        return keys
    code = (keys.hash << _SPACE_BITS) | keys.space
    order = np.argsort(code)
    code = code[order]
    begins = _begins(code, keys.key, order)
    meeting = begins[1:] & (code[1:] == code[:-1])
    if meeting.any():
        # Different keys with one hash: equal ones may not be adjacent, so these few are sorted by their bytes.
        places = np.flatnonzero(np.isin(code, code[1:][meeting]))
        texts = keys.key.take(pa.array(order[places])).to_pylist()
        ranked = sorted(range(len(places)), key=lambda at: (int(code[places[at]]), texts[at]))
        order[places] = order[places][ranked]
        begins = _begins(code, keys.key, order)
    first = np.flatnonzero(begins)
    return Keys(
        keys.spaces,
        code[first] & ((1 << _SPACE_BITS) - 1),
        code[first] >> _SPACE_BITS,
        keys.key.take(pa.array(order[first])),
        np.add.reduceat(keys.rows[order], first),
        np.add.reduceat(keys.msgs[order], first),
    )


def _begins(code: NDArray[np.int64], key: Any, order: NDArray[np.int64]) -> NDArray[np.bool_]:
    """(n,) whether a key differs from the one before it; bytes are compared only where the hashes are equal."""
    begins = np.append(True, code[1:] != code[:-1])
    like = np.flatnonzero(~begins)
    differ = pc.not_equal(key.take(pa.array(order[like])), key.take(pa.array(order[like - 1])))
    begins[like] = differ.to_numpy(zero_copy_only=False)
    return begins


def blocks(keys: Keys, parts: int) -> list[tuple[int, bytes]]:
    """Split keys in order of ascending hash into (part, block), one block per part of the hash space that has keys."""
    bounds = np.searchsorted(keys.hash, (np.arange(parts + 1) << _HASH_BITS) // parts)
    schema = _BLOCK.with_metadata({_NAMES: msgspec.json.encode(list(keys.spaces))})
    columns = [
        pa.array(keys.space.astype(np.int32)), pa.array(keys.hash.astype(np.int32)), keys.key, pa.array(keys.rows),
        pa.array(keys.msgs),
    ]  # fmt: skip
    table = pa.Table.from_arrays(columns, schema=schema)
    blocks_of_parts = []
    for part in range(parts):
        begin, end = int(bounds[part]), int(bounds[part + 1])
        if end > begin:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, schema) as writer:
                writer.write_table(table.slice(begin, end - begin))
            blocks_of_parts.append((part, sink.getvalue().to_pybytes()))
    return blocks_of_parts


def opened(block: bytes) -> Keys:
    """Read a block."""
    table = pa.ipc.open_stream(block).read_all()
    spaces = msgspec.json.decode(table.schema.metadata[_NAMES], type=list[str])
    space, hashes, rows, msgs = (table[name].to_numpy().astype(np.int64) for name in ("space", "hash", "rows", "msgs"))
    key = table["key"].combine_chunks()
    return Keys(spaces, space, hashes, key.chunk(0) if isinstance(key, pa.ChunkedArray) else key, rows, msgs)
