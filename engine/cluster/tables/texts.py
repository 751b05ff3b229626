"""A large number of texts in one buffer, without a Python object per text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import Final

import numpy as np

from engine.bulk_hashing import ByteColumn
from engine.memo import Computed

CHUNK: Final = 1 << 16
"""How many texts are built at a time when all of them are needed."""


class Texts(Computed[str]):
    """Texts in one buffer of bytes, built on demand."""

    __slots__ = ("_data", "column")

    def __init__(self, column: ByteColumn) -> None:
        self.column = column
        self._data = np.ascontiguousarray(column.data).data

    @classmethod
    def of(cls, texts: Sequence[str]) -> Texts:
        """Copy texts into a buffer. O(bytes)."""
        data = [text.encode("utf-8", "surrogatepass") for text in texts]
        ends = np.cumsum(np.fromiter(map(len, data), dtype=np.int64, count=len(data)))
        return cls(ByteColumn(np.concatenate(([0], ends)), np.frombuffer(b"".join(data), dtype=np.uint8)))

    def __len__(self) -> int:
        return len(self.column)

    def item(self, at: int) -> str:
        """The text at an index."""
        start, end = int(self.column.offsets[at]), int(self.column.offsets[at + 1])
        return str(self._data[start:end], "utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(self.chunks())

    def chunks(self) -> Iterator[list[str]]:
        """Yield all texts in chunks, to save memory."""
        for low in range(0, len(self), CHUNK):
            offsets = self.column.offsets[low : low + CHUNK + 1]
            data = bytes(self._data[int(offsets[0]) : int(offsets[-1])])
            bounds = list(pairwise((offsets - offsets[0]).tolist()))
            if data.isascii():
                text = data.decode("ascii")
                yield [text[start:end] for start, end in bounds]
            else:
                yield [data[start:end].decode("utf-8", "surrogatepass") for start, end in bounds]

    def containing(self, part: str, limit: int) -> list[int]:
        """The indices of the first ``limit`` texts that contain ``part``, ignoring the case of ASCII letters. O(bytes).

        >>> Texts.of(["shop/Orders", "shop/clicks", "orders-2"]).containing("ORDER", 9)
        [0, 2]
        """
        places: list[int] = []
        needle, offsets = part.encode("utf-8", "surrogatepass").lower(), self.column.offsets
        for low in range(0, len(self), CHUNK):
            base, end = int(offsets[low]), int(offsets[min(low + CHUNK, len(self))])
            data = bytes(self._data[base:end]).lower()
            at = data.find(needle)
            while at >= 0 and len(places) < limit:
                place = int(np.searchsorted(offsets, base + at, side="right")) - 1
                stop = int(offsets[place + 1]) - base
                if at + len(needle) <= stop:  # not across the end of the text
                    places.append(place)
                    at = stop
                else:
                    at += 1
                at = data.find(needle, at) if at < len(data) else -1
            if len(places) >= limit:
                break
        return places

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Texts):
            return isinstance(other, Sequence) and len(self) == len(other) and all(map(str.__eq__, self, other))
        return np.array_equal(self.column.offsets, other.column.offsets) and np.array_equal(
            self.column.data, other.column.data
        )

    def __hash__(self) -> int:
        return hash((len(self), self[0] if len(self) else ""))
