"""How the numbers of a column are spread: bars between the lowest and the highest of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

HISTOGRAM_BARS: Final = 24
WIDE: Final = 1000.0
"""Where the highest number is more than this many times the lowest above 0, bars of a histogram grow by factors."""


@dataclass(frozen=True, eq=False)
class Histogram:
    """``counts`` (bars,) of the pieces between ``edges`` (bars + 1,).

    ``by_factors``: each piece is wider than the one before by the same factor; numbers of 0 or less are then counted
    in the first piece. ``without_number`` counts the rows that have none.
    """

    counts: NDArray[np.int64]
    edges: NDArray[np.float64]
    by_factors: bool
    without_number: int

    def bar_of(self, value: float | None) -> int | None:
        """The index of the piece that contains a number."""
        if value is None or not np.isfinite(value) or not self.counts.any():
            return None
        at = int(np.searchsorted(self.edges, value, side="right")) - 1
        return min(max(0, at), len(self.counts) - 1)


class Spread(Protocol):
    """What a panel about a list needs of it: its rows, and how they are spread."""

    @property
    def sorted_by(self) -> str: ...
    def __len__(self) -> int: ...
    def row(self, at: int) -> Mapping[str, Any]: ...
    def histogram(self, column: str, bars: int = ...) -> Histogram: ...


def histogram_of(numbers: NDArray[np.float64], bars: int) -> Histogram:
    """Count the numbers (n,) in so many pieces, which are equally wide or grow by factors (``WIDE``). O(n).

    >>> histogram_of(np.array([1.0, 1.5, 4.0, np.nan]), 3).counts.tolist()
    [2, 0, 1]
    """
    known = numbers[np.isfinite(numbers)]
    without_number = len(numbers) - len(known)
    if not len(known):
        return Histogram(np.zeros(bars, dtype=np.int64), np.linspace(0.0, 1.0, bars + 1), False, without_number)
    low, high = float(known.min()), float(known.max())
    above = known[known > 0.0] if low <= 0.0 else known
    least = float(above.min()) if len(above) else 0.0
    if low >= 0.0 and least > 0.0 and high / least > WIDE:
        edges = np.geomspace(least, high, bars + 1)
        scaled = np.log(np.maximum(known, least) / least) * (bars / np.log(high / least))
        by_factors = True
    else:
        edges = np.linspace(low, high if high > low else low + 1.0, bars + 1)
        scaled = (known - low) * (bars / (edges[-1] - edges[0]))
        by_factors = False
    counts = np.bincount(np.clip(scaled.astype(np.int64), 0, bars - 1), minlength=bars)
    return Histogram(counts.astype(np.int64), edges, by_factors, without_number)
