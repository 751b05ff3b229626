"""Texts that are searched at every letter that is typed: one buffer of bytes, compared as a whole."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_KNOWN: Final = "abcdefghijklmnopqrstuvwxyz0123456789-_./:"
"""Letters with an index of their rows: the first letter that is typed fits most of the rows."""
_ROWS: Final = 1 << 16
_PIECE: Final = 1 << 20
"""Bytes searched at a time: what fits the processor's cache."""
_MANY: Final = 3
"""From one hit in so many rows on, the rows are found by reducing all bytes, which costs the same for any hits."""


class Haystack:
    """The texts of an array without their case. O(bytes) to build and to search, whatever is searched for."""

    def __init__(self, texts: Any) -> None:
        folded = pc.cast(pc.utf8_lower(pc.fill_null(texts, "")), pa.large_string())
        end, nothing = (pa.scalar(text, pa.large_string()) for text in ("\n", ""))
        # With a line end after each, no text is empty, and no match goes across two of them.
        whole = pc.binary_join_element_wise(folded, nothing, end)
        _, offsets, data = whole.buffers()
        self._count = len(whole)
        ends = np.frombuffer(offsets, dtype=np.int64)[whole.offset : whole.offset + self._count + 1]
        self._data = np.frombuffer(data, dtype=np.uint8)[: ends[-1]] if self._count else np.zeros(0, dtype=np.uint8)
        self._starts = ends[:-1]
        self._kept: dict[bytes, NDArray[np.int64]] = {}
        self._letters: NDArray[np.uint64] | None = None
        self._frequency = np.bincount(self._data[:: max(1, len(self._data) // 65_536)], minlength=256)

    def find(self, text: str) -> NDArray[np.bool_]:
        """Which rows (n,) hold ``text``, whatever its case.

        >>> Haystack(pa.array(["Orders", "billing", None])).find("OR").tolist()
        [True, False, False]
        """
        letters = text.lower().encode("utf-8", "surrogatepass")
        matches = np.zeros(self._count, dtype=bool)
        if not letters:
            return ~matches
        if b"\n" in letters or len(letters) > len(self._data):
            return matches
        if len(letters) == 1 and text.lower() in _KNOWN:
            return self._rows_with(_KNOWN.index(text.lower()))
        places = self._places(letters)
        if len(places) * _MANY < self._count:
            matches[np.searchsorted(self._starts, places, side="right") - 1] = True
            return matches
        marks = np.zeros(len(self._data), dtype=np.uint8)
        marks[places] = 1
        return np.maximum.reduceat(marks, self._starts).view(bool)

    def _places(self, letters: bytes) -> NDArray[np.int64]:
        """Where a text begins. One that continues an earlier one, as people type, is looked for at its places only."""
        known = max((searched for searched in self._kept if letters.startswith(searched)), key=len, default=b"")
        if known:
            places = self._kept[known]
            # A line end follows every text, so this stays inside the buffer.
            for at in range(len(known), len(letters)):
                places = places[self._data[places + at] == letters[at]]
        else:
            self._kept.clear()
            places = self._scanned(letters)
        self._kept[letters] = places
        return places

    def _scanned(self, letters: bytes) -> NDArray[np.int64]:
        # The rarest letter first: it leaves the fewest places to look at for the others.
        first, *others = sorted(range(len(letters)), key=lambda at: int(self._frequency[letters[at]]))
        room = len(self._data) - len(letters) + 1
        positions = []
        for start in range(0, room, _PIECE):
            end = min(start + _PIECE, room)
            places = np.flatnonzero(self._data[first + start : first + end] == letters[first]) + start
            for at in others:
                places = places[self._data[places + at] == letters[at]]
            positions.append(places)
        return np.concatenate(positions)

    def _rows_with(self, letter: int) -> NDArray[np.bool_]:
        if self._letters is None:
            bits = np.zeros(256, dtype=np.uint64)
            bits[[ord(letter) for letter in _KNOWN]] = np.uint64(1) << np.arange(len(_KNOWN), dtype=np.uint64)
            pieces = [np.zeros(0, dtype=np.uint64)]
            for first in range(0, self._count, _ROWS):
                starts = self._starts[first : first + _ROWS]
                end = self._starts[first + _ROWS] if first + _ROWS < self._count else len(self._data)
                pieces.append(np.bitwise_or.reduceat(bits[self._data[starts[0] : end]], starts - starts[0]))
            self._letters = np.concatenate(pieces)
        has_letter: NDArray[np.bool_] = (self._letters & (np.uint64(1) << np.uint64(letter))) != 0
        return has_letter
