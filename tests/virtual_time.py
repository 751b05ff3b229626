"""An event loop whose clock jumps to the next timer: nothing sleeps, however long a program waits.

Where a program waits for a tenth of a second, the clock is a tenth of a second later at once. What would run in a
thread of its own runs when the loop has nothing else to do. So the same steps happen in the same order every time, as
fast as the processor can, and on a busy machine in the same way as on a calm one.
"""

from __future__ import annotations

import asyncio
import selectors
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any, Final

import pytest

from tests.patience import HANG_S

START: Final = 1000.0
"""What the clock shows at first; any number would do."""
QUIET_TURNS: Final = 3
MOST_TURNS: Final = 20_000
"""An app that never comes to rest by itself is left after so many turns of its loop."""


class NothingLeftError(Exception):
    """A task waits for something that will never happen."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """The loop of one app."""

    def __init__(self) -> None:
        self.now = START
        self._jobs: deque[Callable[[], None]] = deque()
        super().__init__(_Jumping(self))

    def time(self) -> float:
        return self.now

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
            raise NothingLeftError("there is no timer, no callback and no thread left that could go on")
        else:
            self.now += seconds


class _Jumping(selectors.DefaultSelector):  # type: ignore[misc, valid-type]
    """Does not wait for anything."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._of = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout > 0:
            self._of.wait(timeout)
        return super().select(0)


class _JobInsteadOfThread(threading.Thread):
    """Stands in for ``threading.Thread`` where the screen computes something in one: a job of a virtual loop."""

    def start(self) -> None:
        loop = _running()
        if loop is None:
            super().start()
        else:
            loop.run_when_idle(self.run)


class _Policy(asyncio.DefaultEventLoopPolicy):
    """Every new loop is a virtual one."""

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        return VirtualLoop()


def _running() -> VirtualLoop | None:
    loop = asyncio._get_running_loop()
    return loop if isinstance(loop, VirtualLoop) else None


def _time() -> float:
    loop = _running()
    return monotonic() if loop is None else loop.now


@contextmanager
def clocks_agree() -> Iterator[pytest.MonkeyPatch]:
    """The screen library asks the running loop what time it is, and threads of the screen are jobs of that loop."""
    with pytest.MonkeyPatch.context() as patch:
        for place in (
            "textual._time.get_time",
            "textual.message_pump.time",
            "textual.widget.monotonic",
            "textual.command.monotonic",
        ):
            patch.setattr(place, _time)
        for place in ("tui.kit.background.Thread", "tui.sources.fleet_results.Thread"):
            patch.setattr(place, _JobInsteadOfThread)
        yield patch


@pytest.fixture(autouse=True)
def virtual_time(request: pytest.FixtureRequest) -> Iterator[None]:
    """To be imported by the ``conftest.py`` of a folder that runs apps.

    Tests that are about threads are marked with ``real_time``: there a pause lasts until the app has nothing to do.
    """
    from textual import pilot

    if request.node.get_closest_marker("real_time"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pilot, "wait_for_idle", _nothing_left_to_do)
            patch.setattr(pilot.Pilot._wait_for_screen, "__defaults__", (HANG_S,))
            yield
        return
    before = asyncio.get_event_loop_policy()
    with clocks_agree() as patch:
        patch.setattr(pilot, "wait_for_idle", _next_frame)
        asyncio.set_event_loop_policy(_Policy())
        try:
            yield
        finally:
            asyncio.set_event_loop_policy(before)


async def _next_frame(*_: float) -> None:
    """A frame is painted every sixtieth of a second."""
    await asyncio.sleep(0.02)


async def _nothing_left_to_do(*_: float) -> None:
    """Let the running loop turn until nothing is ready and no timer is due, a few turns in a row.

    Textual's own pause compares the CPU time of the process with the clock: a process that is not given the CPU for a
    moment looks idle to it.
    """
    await asyncio.sleep(0.02)
    loop: Any = asyncio.get_running_loop()
    quiet = 0
    for _ in range(MOST_TURNS):
        await asyncio.sleep(0)
        busy = bool(loop._ready) or (loop._scheduled and loop._scheduled[0].when() <= loop.time())
        quiet = 0 if busy else quiet + 1
        if quiet == QUIET_TURNS:
            return
