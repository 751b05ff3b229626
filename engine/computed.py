"""Sequences whose items are made when somebody looks at them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TypeVar, overload

T_co = TypeVar("T_co", covariant=True)


class Computed(Sequence[T_co]):
    """A sequence that makes each item from columns: a list of a million costs what one screen of it costs.

    >>> class Squares(Computed[int]):
    ...     def __len__(self):
    ...         return 10**6
    ...     def item(self, at):
    ...         return at * at
    >>> Squares()[-1], Squares()[2:5]
    (999998000001, (4, 9, 16))
    """

    __slots__ = ()

    @abstractmethod
    def item(self, at: int) -> T_co:
        """The item at a place from 0 to ``len(self) - 1``."""

    @overload
    def __getitem__(self, at: int) -> T_co: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[T_co, ...]: ...
    def __getitem__(self, at: int | slice) -> T_co | tuple[T_co, ...]:
        if isinstance(at, slice):
            return tuple(map(self.item, range(*at.indices(len(self)))))
        place = at + len(self) if at < 0 else at
        if not 0 <= place < len(self):
            raise IndexError(at)
        return self.item(place)
