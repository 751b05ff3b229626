"""Rows that are made when somebody looks at them: a list of a million costs what one screen of it costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from engine.computed import Computed

T_co = TypeVar("T_co", covariant=True)


class LazyRows(Computed[T_co]):
    """``count`` rows, each made by ``make(index)`` whenever it is asked for.

    >>> rows = LazyRows(10**6, lambda at: at * at)
    >>> len(rows), rows[-1], rows[2:5]
    (1000000, 999998000001, (4, 9, 16))
    """

    __slots__ = ("_count", "_make")

    def __init__(self, count: int, make: Callable[[int], T_co]) -> None:
        self._count, self._make = count, make

    def __len__(self) -> int:
        return self._count

    def item(self, at: int) -> T_co:
        """The row at a place."""
        return self._make(at)

    def __iter__(self) -> Iterator[T_co]:
        return map(self._make, range(self._count))
