"""A small memory for answers that depend on large frozen values: by identity, so that asking costs no comparison."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Final, Generic, TypeVar

V = TypeVar("V")

REMEMBERED_ANSWERS: Final = 24
"""How many answers one memory keeps; enough for two cursors, a preview and a handful of subscriptions."""


class Remembered(Generic[V]):
    """The last answers, by the identity of their large parts and the value of their small ones.

    The parts are kept alive with the answer, so an identity cannot be given to another object while it is in use. The
    parts must be immutable; then remembering changes no result. Several threads may ask: a forecast beside the screen
    asks what the screen asks. Two that miss the same answer at once both compute it, and get the one kept first.
    """

    __slots__ = ("_answers", "_lock")

    def __init__(self) -> None:
        self._answers: OrderedDict[Hashable, tuple[tuple[object, ...], V]] = OrderedDict()
        self._lock = Lock()

    def get(self, parts: tuple[object, ...], small: tuple[Hashable, ...], compute: Callable[[], V]) -> V:
        """The remembered answer, or a new one. O(1) when remembered."""
        key = (tuple(map(id, parts)), small)
        found = self._found(key)
        if found is not None:
            return found[1]
        # Unlocked: it takes long, and may ask this memory itself.
        answer = compute()
        with self._lock:
            _, kept = self._answers.setdefault(key, (parts, answer))
            if len(self._answers) > REMEMBERED_ANSWERS:
                self._answers.popitem(last=False)
        return kept

    def known(self, parts: tuple[object, ...], small: tuple[Hashable, ...]) -> V | None:
        """The remembered answer, None where it would have to be computed. O(1)."""
        found = self._found((tuple(map(id, parts)), small))
        return found[1] if found is not None else None

    def _found(self, key: Hashable) -> tuple[tuple[object, ...], V] | None:
        with self._lock:
            # Another thread may throw out the oldest answer between the look and the move.
            found = self._answers.get(key)
            if found is not None:
                self._answers.move_to_end(key)
            return found
