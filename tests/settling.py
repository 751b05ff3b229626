"""Pauses of screen tests that end when the app has nothing left to do, also on a machine that is busy with others.

Textual's own pause compares the CPU time of the process with the clock: a process that is not given the CPU for a
moment looks idle to it, and a test would look at a screen that is still being changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.patience import HANG_S

QUIET_TURNS: Final = 3
MOST_TURNS: Final = 20_000
"""An app that never comes to rest by itself is left after so many turns of its loop."""


@pytest.fixture(scope="session", autouse=True)
def pauses_until_idle() -> Iterator[None]:
    """To be imported by the ``conftest.py`` of a folder that runs apps."""
    from textual import pilot

    sleep = pilot.wait_for_idle

    async def wait_for_idle(*least_and_most: float) -> None:
        await sleep(*least_and_most)
        await nothing_left_to_do()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pilot, "wait_for_idle", wait_for_idle)
        patch.setattr(pilot.Pilot._wait_for_screen, "__defaults__", (HANG_S,))
        yield


async def nothing_left_to_do() -> None:
    """Let the running loop turn until nothing is ready and no timer is due, a few turns in a row."""
    loop: Any = asyncio.get_running_loop()
    quiet = 0
    for _ in range(MOST_TURNS):
        await asyncio.sleep(0)
        busy = bool(loop._ready) or (loop._scheduled and loop._scheduled[0].when() <= loop.time())
        quiet = 0 if busy else quiet + 1
        if quiet == QUIET_TURNS:
            return
