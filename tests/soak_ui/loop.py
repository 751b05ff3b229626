"""An event loop whose clock jumps to the next timer, and which measures the CPU time of every callback.

Nothing sleeps: where a program waits for a tenth of a second, the clock is a tenth of a second later at once. What
would run in a thread of its own runs when the loop has nothing else to do. So the same steps happen in the same order
every time, as fast as the processor can.
"""

from __future__ import annotations

import asyncio
import selectors
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context
from dataclasses import dataclass, field
from time import thread_time
from typing import Any, Final

import pytest

from tests.soak_ui.pace import slowness

NOTICED_SECONDS: Final = 0.020
"""Callbacks that take less are not worth to be measured exactly."""
START: Final = 1000.0
"""What the clock shows at first; any number would do."""
ENDLESS: Final = 200_000
"""So many callbacks for one step, and it is taken for one that never ends."""


class NothingLeftError(Exception):
    """The driver waits for something that nobody will do."""


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


class SimulatedLoop(asyncio.SelectorEventLoop):
    """The loop of one session."""

    def __init__(self) -> None:
        self.now = START
        self.measured = Measured()
        self._jobs: deque[Callable[[], None]] = deque()
        super().__init__(_Jumping(self))

    def time(self) -> float:
        return self.now

    # what is measured

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
            if spent > NOTICED_SECONDS and spent > measured.longest.cpu_seconds:
                spent /= slowness()
            if spent > measured.longest.cpu_seconds:
                measured.longest = Block(spent, _owner(callback), tuple(measured.messages))
            if measured.callbacks > ENDLESS:
                self.stop()

    # threads

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        """Run it when there is nothing else to do."""
        answer = self.create_future()

        def job() -> None:
            try:
                result = func(*args)
            except BaseException as error:
                if not answer.cancelled():
                    answer.set_exception(error)
            else:
                if not answer.cancelled():
                    answer.set_result(result)

        self.run_when_idle(job)
        return answer

    def run_when_idle(self, job: Callable[[], None]) -> None:
        """Instead of a thread of its own."""
        self._jobs.append(job)

    def wait(self, seconds: float | None) -> None:
        """Nothing is ready: do what waits for an idle moment, else let the time pass."""
        if self._jobs:
            self._jobs.popleft()()
        elif seconds is None:
            raise NothingLeftError("the driver waits, and there is no timer, no callback and no thread left")
        else:
            self.now += seconds


class _Jumping(selectors.DefaultSelector):  # type: ignore[misc, valid-type]
    """Does not wait for anything."""

    def __init__(self, loop: SimulatedLoop) -> None:
        super().__init__()
        self._of = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout > 0:
            self._of.wait(timeout)
        return super().select(0)


class _JobInsteadOfThread:
    """Stands in for ``threading.Thread`` where the screen computes something in one."""

    def __init__(self, target: Callable[[], None], **_: object) -> None:
        self._target = target

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SimulatedLoop)
        loop.run_when_idle(self._target)


def _owner(callback: Callable[..., object]) -> str:
    task = getattr(callback, "__self__", None)
    if isinstance(task, asyncio.Task):
        return task.get_name()
    return getattr(callback, "__qualname__", repr(callback))


@contextmanager
def simulated() -> Iterator[SimulatedLoop]:
    """A loop that all clocks of the screen library agree with."""
    loop = SimulatedLoop()
    with pytest.MonkeyPatch.context() as patch:
        for place in (
            "textual._time.get_time",
            "textual.message_pump.time",
            "textual.widget.monotonic",
            "textual.command.monotonic",
        ):
            patch.setattr(place, loop.time)
        for place in ("tui.beside.Thread", "tui.sources.fleet_results.Thread"):
            patch.setattr(place, _JobInsteadOfThread)
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
