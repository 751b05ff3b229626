"""Work that is put off or kept: sequences computed item by item on demand, and answers remembered by identity."""

from __future__ import annotations

from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from threading import Lock
from typing import Final, Generic, TypeVar, overload

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


class LazyRows(Computed[T_co]):
    """``count`` rows, each made by ``make(index)`` on demand.

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


V = TypeVar("V")

REMEMBERED_ANSWERS: Final = 24
"""How many answers one memory keeps; enough for two cursors, a preview and a handful of subscriptions."""


class Remembered(Generic[V]):
    """The last answers, by the identity of their large parts and the value of their small ones.

    The parts are kept alive with the answer, so an identity cannot be given to another object while it is in use. The
    parts must be immutable; then remembering changes no result. Several threads may ask: a forecast in another thread
    asks what the screen asks. Two that miss the same answer at once both compute it, and get the one kept first.
    """

    __slots__ = ("_answers", "_lock")

    def __init__(self) -> None:
        self._answers: OrderedDict[Hashable, tuple[tuple[object, ...], V]] = OrderedDict()
        self._lock = Lock()

    def get(self, parts: tuple[object, ...], small: tuple[Hashable, ...], compute: Callable[[], V]) -> V:
        """The remembered answer, or a new one. O(1) when remembered."""
        key = (tuple(map(id, parts)), small)
        kept_answer = self._still_valid(key)
        if kept_answer is not None:
            return kept_answer[1]
        # Unlocked: it takes long, and may ask this memory itself.
        answer = compute()
        with self._lock:
            _, kept = self._answers.setdefault(key, (parts, answer))
            if len(self._answers) > REMEMBERED_ANSWERS:
                self._answers.popitem(last=False)
        return kept

    def known(self, parts: tuple[object, ...], small: tuple[Hashable, ...]) -> V | None:
        """The remembered answer, None where it would have to be computed. O(1)."""
        kept_answer = self._still_valid((tuple(map(id, parts)), small))
        return kept_answer[1] if kept_answer is not None else None

    def _still_valid(self, key: Hashable) -> tuple[tuple[object, ...], V] | None:
        with self._lock:
            # Another thread may throw out the oldest answer between the look and the move.
            kept_answer = self._answers.get(key)
            if kept_answer is not None:
                self._answers.move_to_end(key)
            return kept_answer


class RememberedEach(Generic[V]):
    """The values of the items of a list, each by the identity of its large parts and the value of a small one.

    Where a step changes two rows of a thousand, two are made; where it changes none, the list is the same object. The
    parts must be immutable, as those of ``Remembered``. Of each list the last state is kept.
    """

    __slots__ = ("_lists",)

    def __init__(self) -> None:
        self._lists: OrderedDict[Hashable, tuple[_Items[V], tuple[V, ...]]] = OrderedDict()

    def get(
        self, of: Hashable, items: Iterable[tuple[Hashable, tuple[object, ...]]], make: Callable[..., V]
    ) -> tuple[V, ...]:
        """What ``make`` gives for the small part and the large ones of each item. No two items have the same parts."""
        before, listed = self._lists.get(of, ({}, ()))
        now: _Items[V] = {}
        for small, parts in items:
            key = (small, *map(id, parts))
            now[key] = before.get(key) or (parts, make(small, *parts))
        if len(now) != len(listed) or any(new[1] is not old for new, old in zip(now.values(), listed, strict=True)):
            listed = tuple(value for _, value in now.values())
        self._lists[of] = now, listed
        self._lists.move_to_end(of)
        if len(self._lists) > REMEMBERED_ANSWERS:
            with suppress(KeyError):  # another thread may have thrown the last one out
                self._lists.popitem(last=False)
        return listed


_Items = dict[Hashable, tuple[tuple[object, ...], V]]
