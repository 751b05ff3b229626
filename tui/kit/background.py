"""Long calculations beside the screen: in threads that nobody waits for, and of several the one begun last."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from threading import Thread
from typing import Any, ParamSpec, TypeVar

from textual.dom import DOMNode

P = ParamSpec("P")
R = TypeVar("R")
Work = Callable[[], Coroutine[Any, Any, None]]


async def in_background(compute: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Return what ``compute`` returns or raise what it raises, computed in a thread of its own.

    Unlike ``asyncio.to_thread`` nothing waits for that thread at the end: a loop shuts its pool down by waiting for
    all that runs there, so a quit during a long calculation would leave an empty terminal until it is through.
    For pure calculations only: the end of the process cuts them off anywhere.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[R] = loop.create_future()

    def settle(result: R | None, error: BaseException | None) -> None:
        if answer.done():  # cancelled: the screen that asked is gone
            return
        if error is not None:
            answer.set_exception(error)
        else:
            answer.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result: R | None = None
        failure: BaseException | None = None
        try:
            result = compute(*args, **kwargs)
        except BaseException as error:  # raised where the result is awaited
            failure = error
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, result, failure)

    Thread(target=run, name=f"computing {getattr(compute, '__name__', 'the screen')}", daemon=True).start()
    return await answer


def run_beside(
    screen: DOMNode, work: Callable[[], Coroutine[Any, Any, None]], *, group: str = "default", exclusive: bool = False
) -> None:
    """Start work that ends with its screen; ``exclusive`` cancels earlier work of the same group.

    The function is given, not its coroutine: an app that is closing begins nothing more, and Python warns of a
    coroutine that was made in vain.
    """
    start: Any = work
    # Without a description Textual writes out the work, with everything that a partial holds: 14 ms for a large view.
    screen.run_worker(start, group=group, description=group, exclusive=exclusive)


class Computing:
    """One calculation at a time, beside the screen.

    ``start`` begins work of the app. Where it is None there is no app, and everything is computed at once.
    """

    def __init__(self) -> None:
        self.start: Callable[[Work], object] | None = None
        self.what = ""
        """What is being computed, in words; "" for nothing."""
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
        """Drop the calculation: its thread runs to its end, and the result is ignored."""
        self._turn += 1
        self.what = ""
