"""A calculation beside the loop: its answer, its failure, and a loop that ends before it."""

from __future__ import annotations

import asyncio
from threading import Event, current_thread, main_thread

import pytest

from tests.patience import HANG_S
from tui.kit.background import in_background

pytestmark = pytest.mark.real_time


def test_the_answer_comes_from_another_thread() -> None:
    assert asyncio.run(in_background(current_thread)) is not main_thread()
    assert asyncio.run(in_background(divmod, 17, 5)) == (3, 2)


def test_what_fails_there_fails_here() -> None:
    with pytest.raises(ZeroDivisionError):
        asyncio.run(in_background(divmod, 1, 0))


def test_the_loop_ends_without_waiting() -> None:
    """Whoever asked is gone; the answer that comes later troubles nobody."""
    started, release, through = Event(), Event(), Event()

    def slow() -> None:
        started.set()
        release.wait(HANG_S)
        through.set()

    async def leave() -> None:
        task = asyncio.create_task(in_background(slow))
        await asyncio.sleep(0)
        assert started.wait(HANG_S)
        task.cancel()

    asyncio.run(leave())
    assert not through.is_set()
    release.set()
    assert through.wait(HANG_S)
