"""Rows of a table, sorted and filtered as arrays of their places; only the rows that are looked at are built."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import and_, or_
from threading import Lock
from typing import Any, Final, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tui.sources.fleet_histogram import HISTOGRAM_BARS, Histogram, histogram_of

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


_SAMPLE: Final = 100_000
T = TypeVar("T")


class Columns:
    """A table, and what sorting and filtering need of its columns, computed once when first needed.

    ``searched`` are the columns of text in which a filter looks. Another thread may call ``warm``.
    """

    def __init__(self, table: Any, searched: Sequence[str]) -> None:
        self.table = table.unify_dictionaries()
        self.names: tuple[str, ...] = tuple(table.column_names)
        self.searched = tuple(name for name in searched if name in self.names)
        self._computed: dict[tuple[str, str], Any] = {}
        self._locks: dict[tuple[str, str], Lock] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self.table)

    def row(self, place: int) -> Mapping[str, Any]:
        """One row by column name."""
        return {name: self.table.column(name)[place].as_py() for name in self.names}

    def numbers(self, name: str) -> NDArray[np.float64]:
        """What a column is sorted by, (n,): its numbers, or for texts their ranks; NaN where there is none."""
        return self._once("numbers", name, self._numbers)

    def keys(self, name: str) -> NDArray[np.uint64]:
        """Words (n,) that ascend with these numbers, those without one last; their low bits have room for a place."""
        return self._once("keys", name, lambda column: _sort_keys(self.numbers(column)))

    def histogram(self, name: str, bars: int) -> Histogram:
        """How all rows are spread over a column."""
        return self._once(f"histogram {bars}", name, lambda column: histogram_of(self.numbers(column), bars))

    def highest(self, name: str) -> float:
        """The largest number of a column, 0.0 for none."""
        return self._once("highest", name, lambda column: _highest(self.numbers(column)))

    def find(self, name: str, text: str) -> NDArray[np.bool_]:
        """Which rows (n,) have ``text`` in a column of texts."""
        words, codes = self._once("words", name, self._words)
        matches: NDArray[np.bool_] = words.find(text)
        return matches if codes is None else matches[codes]

    def is_text(self, name: str) -> bool:
        """Whether a column holds texts."""
        kind = self.table.schema.field(name).type
        return bool(pa.types.is_string(kind.value_type if pa.types.is_dictionary(kind) else kind))

    def warm(self) -> None:
        """Compute all that a key may need."""
        for name in self.names:
            if not pa.types.is_nested(self.table.schema.field(name).type):
                self.keys(name)
            if self.is_text(name):
                self.find(name, "a")

    def _once(self, kind: str, name: str, compute: Callable[[str], T]) -> T:
        key = (kind, name)
        with self._lock:
            lock = self._locks.setdefault(key, Lock())
        with lock:
            if key not in self._computed:
                self._computed[key] = compute(name)
            value: T = self._computed[key]
            return value

    def _numbers(self, name: str) -> NDArray[np.float64]:
        column = self.table.column(name)
        if self.is_text(name):
            words, codes = self._coded(name)
            ranks = pc.rank(words, tiebreaker="dense").to_numpy(zero_copy_only=False).astype(np.float64)
            ranks[words.is_null().to_numpy(zero_copy_only=False)] = np.nan
            of_rows: NDArray[np.float64] = ranks if codes is None else ranks[codes]
            return of_rows
        if pa.types.is_timestamp(column.type):
            column = pc.cast(pc.cast(column, pa.timestamp("us", column.type.tz), safe=False), pa.int64())
        numbers: NDArray[np.float64] = _one_array(pc.cast(column, pa.float64())).to_numpy(zero_copy_only=False)
        return numbers

    def _words(self, name: str) -> tuple[Haystack, NDArray[np.int32] | None]:
        words, codes = self._coded(name)
        return Haystack(words), codes

    def _coded(self, name: str) -> tuple[Any, NDArray[np.int32] | None]:
        """Different words and the index of each row's; the column itself and None where most words occur once."""
        column = _one_array(self.table.column(name))
        if not pa.types.is_dictionary(column.type):
            sample = column.slice(0, _SAMPLE)
            if 2 * pc.count_distinct(sample, mode="all").as_py() > len(sample):
                return column, None
            column = column.dictionary_encode()
        words = pa.concat_arrays([column.dictionary, pa.nulls(1, column.dictionary.type)])
        return words, column.indices.fill_null(len(words) - 1).to_numpy(zero_copy_only=False)


@dataclass(frozen=True, eq=False)
class Listing:
    """Some rows of ``columns`` in some order: ``rows`` (n,) int64 are their places. Immutable.

    ``mask`` says of every row of the table whether the filter lets it through, None without a filter.
    """

    columns: Columns
    rows: NDArray[np.int64]
    sorted_by: str = ""
    descending: bool = True
    filter_text: str = ""
    mask: NDArray[np.bool_] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.rows)

    def row(self, at: int) -> Mapping[str, Any]:
        """One row by column name."""
        return self.columns.row(int(self.rows[at]))

    def values(self, column: str) -> NDArray[np.float64]:
        """A column of numbers in this order; NaN where there is none. O(n)."""
        return self.columns.numbers(column)[self.rows]

    def let_through(self, mask: NDArray[np.bool_] | None, text: str) -> Listing:
        """The rows that a mask over all rows of the table lets through, in this order. O(n)."""
        rows = self.rows
        if mask is not None:
            rows = rows[mask[rows]] if self.sorted_by else np.flatnonzero(mask)
        return Listing(self.columns, rows, self.sorted_by, self.descending, text, mask)

    def histogram(self, column: str, bars: int = HISTOGRAM_BARS) -> Histogram:
        """How the rows are spread over a column. O(n)."""
        if self.mask is None:
            return self.columns.histogram(column, bars)
        return histogram_of(self.columns.numbers(column)[self.mask], bars)


def whole(columns: Columns) -> Listing:
    """All rows in the order of the table."""
    return Listing(columns, np.arange(len(columns), dtype=np.int64))


def ordered(listing: Listing, column: str, *, descending: bool) -> Listing:
    """The same rows sorted by a column, equal ones in the order of the table, without a value last. O(n log n)."""
    keys, mask = listing.columns.keys(column), listing.mask
    rows = _order(keys if mask is None else keys[mask], descending=descending)
    rows = rows if mask is None else np.flatnonzero(mask)[rows]
    return Listing(listing.columns, rows, column, descending, listing.filter_text, mask)


def filtered(unfiltered: Listing, text: str, labels: Mapping[str, str] | None = None) -> Listing:
    """The rows that fit all words of ``text``, in their order. O(bytes of the texts), no row is built.

    A word is a part of a name, or a label (``labels``: to names of columns) with ``>``, ``<`` or ``=`` and a number or
    a part of a text: ``orders idle>2 type=key``.
    """
    masks = [_mask(unfiltered.columns, word, labels or {}) for word in text.split()]
    return unfiltered.let_through(reduce(and_, masks) if masks else None, text if masks else "")


def half_typed(unfiltered: Listing, text: str, labels: Mapping[str, str]) -> str | None:
    """The first word that needs a number and has none: ``filtered`` ignores it."""
    for word in text.split():
        for sign in "><=":
            label, separator, value = word.partition(sign)
            name = labels.get(label.lower())
            known = bool(separator) and name is not None and name in unfiltered.columns.names
            if known and name is not None and not unfiltered.columns.is_text(name):
                if _number(value) is None:
                    return word
                break
    return None


def _mask(columns: Columns, word: str, labels: Mapping[str, str]) -> NDArray[np.bool_]:
    for sign in "><=":
        label, separator, value = word.partition(sign)
        name = labels.get(label.lower())
        if not separator or name is None or name not in columns.names:
            continue
        if columns.is_text(name):
            if sign == "=":
                return columns.find(name, value)
            continue
        number = _number(value)
        if number is None:
            # Half typed: everything stays until there is a number.
            return np.ones(len(columns), dtype=bool)
        numbers = columns.numbers(name)
        return numbers > number if sign == ">" else numbers < number if sign == "<" else numbers == number
    matches = [columns.find(name, word) for name in columns.searched]
    return reduce(or_, matches, np.zeros(len(columns), dtype=bool))


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _sort_keys(numbers: NDArray[np.float64]) -> NDArray[np.uint64]:
    bits = (numbers + 0.0).view(np.int64)  # -0.0 and 0.0 differ in their bits
    keys = np.where(bits < 0, ~bits, bits | np.int64(-(2**63))).view(np.uint64)
    without_number = np.isnan(numbers)
    low = _low_bits(len(keys))
    if np.any(keys[~without_number] & ((np.uint64(1) << low) - np.uint64(1))):
        # Numbers with more digits than there is room for are replaced by their ranks.
        ranks = np.unique(numbers[~without_number], return_inverse=True)[1]
        keys[~without_number] = ranks.astype(np.uint64) << low
    keys[without_number] = np.uint64(2**64 - 1)
    return keys


def _low_bits(count: int) -> np.uint64:
    """How many bits a place takes."""
    return np.uint64(max(1, count - 1).bit_length())


def _order(keys: NDArray[np.uint64], *, descending: bool) -> NDArray[np.int64]:
    """The places of keys in their order; equal ones ascend, those without a number come last.

    A key and its place share one word of 64 bits, and words are sorted several times faster than places by their keys.
    """
    low = _low_bits(len(keys))
    ones = (np.uint64(1) << low) - np.uint64(1)
    words = ((~keys if descending else keys) & ~ones) | np.arange(len(keys), dtype=np.uint64)
    words.sort()
    at = (words & ones).astype(np.int64)
    # In descending order the words of those without a number are zeros, which come first.
    return np.roll(at, -int(np.searchsorted(words, ones, side="right"))) if descending else at


def _highest(numbers: NDArray[np.float64]) -> float:
    ranked = numbers[np.isfinite(numbers)]
    return float(ranked.max()) if len(ranked) else 0.0


def _one_array(column: Any) -> Any:
    """A column as one array."""
    combined = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return pa.concat_arrays(combined.chunks) if isinstance(combined, pa.ChunkedArray) else combined
