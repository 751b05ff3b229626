"""What a dashboard that is open for days may cost: memory, and the patience of whoever presses a key."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Final

import pytest
from msgspec.structs import replace

from tests.playing.clock import CountingClock
from tests.playing.server import playing, recorded
from tests.tui.live.large import BEGAN_MS, ORDERS, large_reading
from tests.tui.live.test_live import Hand, app_with
from tui.cli import pictures as of_readings
from tui.cli.pictures import Pictures
from tui.kit.store import Store
from tui.sources.cluster.access import Access
from tui.sources.cluster.source import Feed, Source

DAY_S: Final = 24 * 3600
REFRESHES: Final = 72
MOMENTS: Final = 6
"""Moments that are kept here, so that the oldest ones are soon left."""
GROWTH: Final = 20
"""Objects a refresh: Python's own tables breathe by five or six, and a reading that is kept has 37 of its own."""
FEW: Final = 600
LARGE: Final = 10_000


@pytest.fixture(autouse=True)
def virtual_time() -> None:
    """Here requests go over real sockets to another thread, so the loop's clock is the real one."""


def test_a_day_of_refreshes_takes_no_more_memory_once_caches_are_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Consumers come and go, topics are written to, and every reading is shown; a session holds the last of them."""
    monkeypatch.setattr(of_readings, "MOST_MOMENTS", MOMENTS)
    clock = CountingClock(BEGAN_MS)
    with playing() as server, closing(Source(Access(server.url)).follower(clock)) as follower:
        pictures = Pictures()
        first = pictures.session(follower.read())
        store = Store(replace(first, feed=Feed(follower, 10.0, pictures.newer)))
        held: list[int] = []
        for turn in range(REFRESHES):
            server.requests.clear()
            clock.waits.clear()
            rate = b'"msgRateOut":%d.5' % (turn * 7919 % 1000)
            changed = recorded()[ORDERS].replace(b'"msgRateOut":0.0', rate)
            server.answers[ORDERS] = changed if turn % 3 else changed.replace(b'"c-1"', b'"c-%d"' % (turn % 50 + 9))
            store.arrive(pictures.newer(follower.read()))
            assert store.shown.failover_view.status.subscription
            clock.now += DAY_S / REFRESHES
            if turn % (REFRESHES // 6) == REFRESHES // 6 - 1:
                gc.collect()
                held.append(sys.getallocatedblocks())
    assert clock.now >= DAY_S
    # Caches fill for some hours; from then on nothing may be added.
    assert held[-1] - held[3] < GROWTH * (REFRESHES // 6) * 2, held


async def calls_of_arrivals(partitions: int) -> list[int]:
    """How many functions the screen calls to take in each of some readings; the work on a reading is beside it."""
    feed, pictures = Hand(), Pictures()
    app = app_with(feed, pictures, pictures.session(large_reading(partitions, 0)))
    scenes = [pictures.newer(large_reading(partitions, 10 * turn, f"c-{turn % 3}")) for turn in (1, 2)]
    counts: list[int] = []
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        assert feed.arrived is not None
        for scene in scenes:
            with counted_calls() as calls:
                feed.arrived(scene)
                await pilot.pause()
                await pilot.pause()
            counts.append(calls.total())
            assert len(app.store.timeline.state.topics) >= 1
    return counts


@contextmanager
def counted_calls() -> Iterator[Counter[str]]:
    """Calls in this thread, of Python's functions and of C's."""
    calls: Counter[str] = Counter()
    sys.setprofile(lambda _frame, event, _arg: calls.update((event,)) if event.endswith("call") else None)
    try:
        yield calls
    finally:
        sys.setprofile(None)


def test_what_the_screen_does_for_a_reading_does_not_grow_with_topics() -> None:
    few, many = (asyncio.run(calls_of_arrivals(partitions)) for partitions in (FEW, LARGE))
    assert max(many) < 1.2 * max(few), (few, many)
