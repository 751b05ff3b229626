"""A virtual loop that measures the CPU time of every callback."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context
from dataclasses import dataclass, field
from time import thread_time
from typing import Any, Final

from tests.soak_ui.pace import slowness
from tests.virtual_time import NothingLeftError, VirtualLoop, clocks_agree

NOTICED_SECONDS: Final = 0.020
"""Callbacks that take less are not worth to be measured exactly."""
ENDLESS: Final = 200_000
"""So many callbacks for one step, and it is taken for one that never ends."""


@dataclass(slots=True)
class Block:
    """The longest callback of a step: its CPU time, whose it was, and the messages that it handled.

    The time is what it would have been with the processor to itself (see ``pace``).
    """

    cpu_seconds: float = 0.0
    owner: str = ""
    messages: tuple[str, ...] = ()


@dataclass(slots=True)
class Measured:
    """What callbacks took since the last ``reset``."""

    longest: Block = field(default_factory=Block)
    cpu_seconds: float = 0.0
    callbacks: int = 0
    messages: list[str] = field(default_factory=list)

    def reset(self) -> None:
        self.longest = Block()
        self.cpu_seconds = 0.0
        self.callbacks = 0


class SimulatedLoop(VirtualLoop):
    """The loop of one session. ``player`` is the task that makes its steps; what that takes is no block of the app."""

    def __init__(self) -> None:
        self.measured = Measured()
        self.player: asyncio.Task[object] | None = None
        super().__init__()

    def call_soon(self, callback: Callable[..., object], *args: Any, context: Context | None = None) -> asyncio.Handle:
        return super().call_soon(self._measure, callback, args, context=context)

    def call_soon_threadsafe(
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        return super().call_soon_threadsafe(self._measure, callback, args, context=context)

    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return super().call_at(when, self._measure, callback, args, context=context)

    def _measure(self, callback: Callable[..., object], args: tuple[Any, ...]) -> None:
        measured = self.measured
        measured.messages.clear()
        begin = thread_time()
        try:
            callback(*args)
        finally:
            spent = thread_time() - begin
            measured.cpu_seconds += spent
            measured.callbacks += 1
            if self.player is not None and getattr(callback, "__self__", None) is self.player:
                spent = 0.0
            if spent > NOTICED_SECONDS and spent > measured.longest.cpu_seconds:
                spent /= slowness()
            if spent > measured.longest.cpu_seconds:
                measured.longest = Block(spent, _owner(callback), tuple(measured.messages))
            if measured.callbacks > ENDLESS:
                self.stop()


def _owner(callback: Callable[..., object]) -> str:
    task = getattr(callback, "__self__", None)
    if isinstance(task, asyncio.Task):
        return task.get_name()
    return getattr(callback, "__qualname__", repr(callback))


@contextmanager
def simulated() -> Iterator[SimulatedLoop]:
    """A loop that all clocks of the screen library agree with."""
    loop = SimulatedLoop()
    with clocks_agree() as patch:
        # A traceback with the values of all variables is written for people, and takes a quarter of a second.
        patch.setattr("textual.app.App._fatal_error", lambda app: app._close_messages_no_wait())
        asyncio.set_event_loop(loop)
        try:
            yield loop
        finally:
            asyncio.set_event_loop(None)
            _cancel_all(loop)
            loop.close()


def _cancel_all(loop: SimulatedLoop) -> None:
    """What a session that failed left behind."""
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left and not loop.is_running():
        loop.measured.reset()
        try:
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        except (RuntimeError, NothingLeftError):
            return
