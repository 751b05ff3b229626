"""Rows of two runs of a fleet, joined by what they are about. Arrays in, arrays out: no loop over rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]
NOTHING: Final = -1
"""The code of a row without a value."""
_ROOM: Final = 2**62


@dataclass(frozen=True, eq=False, slots=True)
class Coded:
    """One column of both runs. Equal values have equal codes, and ``names[code]`` is the value of a code."""

    names: Sequence[str]
    before: Ints
    after: Ints

    def name(self, code: int) -> str | None:
        return None if code == NOTHING else self.names[code]


def keyed(*columns: Coded) -> tuple[Ints, Ints]:
    """The key of each row of both runs: equal where all the columns are equal. O(rows log rows)."""
    count = len(columns[0].before)
    keys = np.zeros(count + len(columns[0].after), dtype=np.int64)
    highest = 0
    for column in columns:
        size = len(column.names) + 1
        if (highest + 1) * size > _ROOM:
            keys = np.unique(keys, return_inverse=True)[1].astype(np.int64)
            highest = len(keys)
        keys = keys * size + (np.concatenate([column.before, column.after]) - NOTHING)
        highest = (highest + 1) * size
    return keys[:count], keys[count:]


def matched(before: Ints, after: Ints) -> tuple[Ints, Ints]:
    """Rows of both runs with equal keys, as two lists of places; of several rows with one key the first counts.

    >>> matched(np.array([7, 5, 9]), np.array([9, 7, 7]))
    (array([0, 2]), array([1, 0]))
    """
    _, first, second = np.intersect1d(before, after, return_indices=True)
    return first.astype(np.int64), second.astype(np.int64)


def missing_in(keys: Ints, others: Ints) -> Ints:
    """Where ``keys`` has what ``others`` lacks, once for each key, in the order of the rows.

    >>> missing_in(np.array([7, 5, 9, 5]), np.array([9]))
    array([0, 1])
    """
    values, places = np.unique(keys, return_index=True)
    return np.sort(places[~np.isin(values, others)]).astype(np.int64)
