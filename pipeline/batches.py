"""Regroup the rows of a task, and pass their texts to the engine's hashes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.bulk_hashing import ByteColumn
from engine.memo import Computed

ROWS_TOGETHER: Final = 1 << 18


def in_chunks(batches: Iterator[Any], *, rows_together: int = ROWS_TOGETHER) -> Iterator[Any]:
    """Yield tables of about ``rows_together`` rows, with each column in one chunk."""
    held: list[Any] = []
    rows = 0
    for batch in batches:
        if batch.num_rows:
            held.append(batch)
            rows += batch.num_rows
        if rows >= rows_together:
            yield pa.Table.from_batches(held).combine_chunks()
            held, rows = [], 0
    if held:
        yield pa.Table.from_batches(held).combine_chunks()


def whole_groups(
    batches: Iterator[Any], columns: Sequence[str], *, rows_together: int = ROWS_TOGETHER
) -> Iterator[Any]:
    """Yield tables of at least ``rows_together`` rows that never cut a group, which is rows with equal ``columns``.

    The rows of a group must be adjacent in ``batches``. O(rows), and a binary search in each batch.
    """
    done: list[Any] = []
    waiting: list[Any] = []
    rows = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        cut = _start_of_last_group(batch, columns)
        if waiting and (cut or _group_at(batch, 0, columns) != _group_at(waiting[0], 0, columns)):
            done += waiting
            rows += sum(kept.num_rows for kept in waiting)
            waiting = []
        done += [batch.slice(0, cut)] if cut else []
        rows += cut
        waiting.append(batch.slice(cut))
        if rows >= rows_together:
            yield pa.Table.from_batches(done).combine_chunks()
            done, rows = [], 0
    if done or waiting:
        yield pa.Table.from_batches([*done, *waiting]).combine_chunks()


def _start_of_last_group(batch: Any, columns: Sequence[str]) -> int:
    low, high = 0, batch.num_rows - 1
    last = _group_at(batch, high, columns)
    while low < high:
        middle = (low + high) // 2
        if _group_at(batch, middle, columns) == last:
            high = middle
        else:
            low = middle + 1
    return low


def _group_at(batch: Any, row: int, columns: Sequence[str]) -> tuple[Any, ...]:
    return tuple(batch[name][row].as_py() for name in columns)


def begins_of(values: NDArray[Any]) -> NDArray[np.int64]:
    """Where each run of equal values begins."""
    return np.flatnonzero(np.append(True, values[1:] != values[:-1])[: len(values)])


def runs(values: NDArray[Any]) -> Iterator[tuple[int, int]]:
    """Begin and end of each run of equal values.

    >>> list(runs(np.array([7, 7, 9])))
    [(0, 2), (2, 3)]
    """
    return pairwise([*begins_of(values).tolist(), len(values)])


def by_part(rows: Any, part: NDArray[np.int64]) -> Iterator[tuple[int, Any]]:
    """Each part that has rows, and its rows in their order; ``part`` is the part of each row. O(n log n)."""
    if rows.num_rows and (part == part[0]).all():
        yield int(part[0]), rows
        return
    order = np.argsort(part, kind="stable")
    rows, part = rows.take(pa.array(order)), part[order]
    for begin, end in runs(part):
        yield int(part[begin]), rows.slice(begin, end - begin)


def same_text(text: str, count: int) -> Any:
    """A column with one text, as a dictionary."""
    return pa.DictionaryArray.from_arrays(np.zeros(count, dtype=np.int32), pa.array([text], pa.string()))


class Texts(Computed[str]):
    """An Arrow column of texts without nulls as a sequence; only those that are asked for become objects."""

    __slots__ = ("_column",)

    def __init__(self, column: Any) -> None:
        self._column = column

    def __len__(self) -> int:
        return len(self._column)

    def item(self, at: int) -> str:
        """The text at a place."""
        text: str = self._column[at].as_py()
        return text

    def __iter__(self) -> Iterator[str]:
        return iter(self._column.to_pylist())


def byte_column(strings: Any) -> ByteColumn:
    """An Arrow column of texts or bytes as the engine's bulk hashes take it, without copying its bytes."""
    array = one_chunk(strings) if isinstance(strings, pa.ChunkedArray) else strings
    assert array.type in (pa.string(), pa.binary()), f"{array.type} has other offsets"
    _, offsets, data = array.buffers()
    return ByteColumn.from_buffers(offsets, data, len(array), array.offset)


def one_chunk(column: Any) -> Any:
    """A chunked column as one array; combining a single chunk would copy it."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def codes_of(column: Any) -> tuple[list[Any], Any]:
    """The distinct values of a column without nulls, and (n,) int64 with the index of the value of each row."""
    encoded = column.dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.unify_dictionaries()
        if not encoded.num_chunks:
            return [], np.zeros(0, dtype=np.int64)
        values = encoded.chunk(0).dictionary.to_pylist()
        return values, np.concatenate([chunk.indices.to_numpy() for chunk in encoded.chunks]).astype(np.int64)
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype(np.int64)
