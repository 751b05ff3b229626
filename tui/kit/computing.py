"""Steps that take long are computed beside the screen, one at a time, and taken only if nothing else happened since."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from tui.kit.background import in_background

R = TypeVar("R")
Work = Callable[[], Coroutine[Any, Any, None]]


class Computing:
    """What is being computed at the moment.

    ``start`` begins work of the app. Where it is None, nobody has to be kept waiting, and all is computed at once.
    """

    def __init__(self) -> None:
        self.start: Callable[[Work], object] | None = None
        self.what = ""
        """What is computed, in words; "" for nothing."""
        self._turn = 0

    def begin(self, what: str, compute: Callable[[], R], take: Callable[[R], None]) -> None:
        """Give what ``compute`` returns to ``take``, unless it is cancelled or something else is begun before."""
        assert self.start is not None, "without an app all is computed at once"
        self._turn += 1
        turn, self.what = self._turn, what

        async def work() -> None:
            result = await in_background(compute)
            if turn == self._turn:
                self.what = ""
                take(result)

        self.start(work)

    def cancel(self) -> None:
        """Forget what is computed; its thread ends without anybody who listens."""
        self._turn += 1
        self.what = ""
