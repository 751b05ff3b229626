"""What the matrix of producers and partitions shows, and the cells that each pair gets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

HEAD: Final = 2
"""Lines above the matrix."""
FOOT: Final = 1
_WIDEST_CELL: Final = 6
_TALLEST_CELL: Final = 3
_ROOM_FOR_BARS: Final = 13
"""With fewer lines than these, the matrix takes all that it can use."""
_FEWEST_BARS: Final = 2
_MOST_BARS: Final = 8
IntArray = npt.NDArray[np.int64]


def _none() -> IntArray:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class MatrixPicture:
    """``cells`` is producers x partitions, as in ``ProducersView.matrix``; ``tags`` and ``colours`` go with its rows.

    ``selected`` and ``column`` are the marked producer and partition, -1 for none. ``failing`` are partitions that are
    not served, ``new_from`` the first new one. ``by_producer``: inks show who, not why. ``objects``, ``messages`` and
    ``pending`` have a number for each partition, or are empty: then there are no bars below. ``msgs_per_sec``, unless
    it is empty, takes the place of messages.
    """

    cells: npt.NDArray[np.uint8]
    tags: tuple[str, ...]
    colours: tuple[int, ...]
    selected: int = -1
    column: int = -1
    failing: tuple[int, ...] = ()
    new_from: int = 2**31
    by_producer: bool = False
    objects: IntArray = field(default_factory=_none)
    messages: IntArray = field(default_factory=_none)
    pending: IntArray = field(default_factory=_none)
    msgs_per_sec: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True, slots=True)
class Grid:
    """How the pairs lie on the cells: ``left`` cells of labels, then ``wide`` cells for a partition.

    With ``wide`` 0 there are ``columns`` of several partitions each. ``per_line`` is 1 or 2 producers a line, 0 where a
    point is several; ``tall`` is how many lines a producer has. Below are bars of ``bars`` lines each.
    """

    left: int
    columns: int
    wide: int
    lines: int
    per_line: int
    tall: int = 1
    bars: int = 0
    halves: bool = True

    def column_of(self, partition: int, partitions: int) -> int:
        """The first cell of a partition."""
        return self.left + (partition * self.wide if self.wide else bin_of(partition, partitions, self.columns))

    def line_of(self, producer: int, producers: int) -> int:
        """The line of a producer, from the top of the panel."""
        if self.per_line:
            return HEAD + producer // self.per_line * self.tall
        rows = min(producers, self.lines * (2 if self.halves else 1))
        return HEAD + bin_of(producer, producers, rows) // (2 if self.halves else 1)


def bin_of(index: int, count: int, bins: int) -> int:
    """Which of ``bins`` bins, where bin b begins at b * count // bins, has this index.

    >>> [bin_of(index, 5, 3) for index in range(5)]
    [0, 1, 1, 2, 2]
    """
    return ((index + 1) * bins - 1) // count


def grid_for(producers: int, partitions: int, width: int, height: int, label: int, *, halves: bool = True) -> Grid:
    """The largest cells that fit; ``halves`` says whether two producers can share a line.

    >>> grid_for(10, 12, 60, 20, 3, halves=True)
    Grid(left=3, columns=12, wide=4, lines=10, per_line=1, tall=1, bars=2, halves=True)
    >>> grid_for(100, 1000, 60, 20, 3).per_line
    0
    """
    cells, room = max(1, width - label), max(1, height - HEAD - FOOT)
    wide = min(_WIDEST_CELL, cells // max(1, partitions))
    columns = partitions if wide else min(cells, partitions)
    least = 2 * (1 + _FEWEST_BARS) if room >= _ROOM_FOR_BARS else 0
    lines = room - least
    per_line = 1 if producers <= lines else 2 if halves and producers <= 2 * lines else 0
    tall = min(_TALLEST_CELL, lines // max(1, producers)) if per_line == 1 else 1
    used = min(lines, -(-producers // per_line) * tall) if per_line else lines
    bars = max(0, min(_MOST_BARS, (room - used) // 2 - 1))
    return Grid(label, columns, wide, max(1, used), per_line, tall, bars, halves)
