"""The first reading of a running cluster: its progress is on the screen, and esc keeps what was read so far."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace

import pytest
from msgspec import structs
from textual.pilot import Pilot

from tests.patience import HANG_S
from tests.playing.clock import CountingClock
from tests.playing.server import Played, PlayingServer, ReceivedRequest, failing, playing
from tests.tui.screens_under_test import run, text_of
from tui.app import OpeningScreen, RingsideApp
from tui.cli.pictures import STOPPED, Pictures
from tui.kit import live_line
from tui.kit.screen import DashboardScreen
from tui.kit.session import Opening, Session
from tui.sources.cluster.access import Access
from tui.sources.cluster.outcomes import ClusterOutOfReachError, Fault
from tui.sources.cluster.pace import Limits
from tui.sources.cluster.source import Feed, FirstReading, Source, StoppedError

pytestmark = pytest.mark.real_time  # the cluster answers in a thread
LIMITS = replace(Limits(), at_once=1, rate=1e6)
STATISTICS = "/partitioned-stats"


@pytest.fixture(autouse=True)
def now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_line, "now_ms", CountingClock().utc_ms)


class Held:
    """Answers nothing from the n-th of these requests on, until the client has gone away."""

    def __init__(self, ending: str, nth: int = 1) -> None:
        self.ending = ending
        self.nth = nth
        self.reached = threading.Event()
        self.is_over = False

    def __call__(self, request: ReceivedRequest) -> Played | None:
        if self.is_over or not request.path.partition("?")[0].endswith(self.ending):
            return None
        self.nth -= 1
        if self.nth > 0:
            return None
        self.reached.set()
        return Played(hangs=True)


class Opened:
    """What ``ringside live`` shows, with a feed that reads when the test says so."""

    def __init__(self, server: PlayingServer) -> None:
        self.source = Source(Access(server.url), limits=LIMITS)
        self.first = FirstReading(self.source, CountingClock())
        self.pictures = Pictures()
        self.follower = self.source.follower(CountingClock())
        self.feed: Feed[Session] = Feed(self.follower, HANG_S, self.pictures.newer)
        opening = Opening(self.source.access.origin, self.load, self.first)
        self.app = RingsideApp(opening, animate=False, depth="truecolor")

    def load(self) -> Session:
        reading = self.first.read()
        return structs.replace(self.pictures.session(reading), feed=self.feed, stopped_at=reading.stopped_at)

    def codes(self) -> list[str]:
        return [notice.code for notice in self.app.store._notes]

    def refresh(self) -> list[Session]:
        arrived: list[Session] = []
        missed: list[str] = []
        self.feed.turn(arrived.append, missed.append)
        assert missed == []
        return arrived


async def until(pilot: Pilot[int], true: Callable[[], bool]) -> None:
    async with asyncio.timeout(HANG_S):
        while not true():
            await pilot.pause()


def test_esc_keeps_what_was_read_and_the_next_refresh_reads_the_rest() -> None:
    held = Held("/stats")
    with playing(held) as server:
        opened = Opened(server)
        app = opened.app

        async def story(pilot: Pilot[int]) -> None:
            await until(pilot, lambda: held.reached.is_set() and "requests" in text_of(app))
            assert "s left" in text_of(app)
            await pilot.press("escape")
            await until(pilot, lambda: isinstance(app.screen, DashboardScreen))
            assert "9 of 10 topics; the next" in text_of(app)
            assert STOPPED in opened.codes()
            server.requests.clear()
            held.is_over = True
            (scene,) = await asyncio.to_thread(opened.refresh)
            app.store.arrive(scene)
            await pilot.pause()
            assert "of 10 topics" not in text_of(app)
            assert STOPPED not in opened.codes()
            assert app.store.moment == (1, 1)
            assert any(request.path.endswith(held.ending) for request in server.requests)

        run(app, story)
    assert app.failure is None


def test_nothing_is_asked_after_esc() -> None:
    held = Held(STATISTICS)
    with playing(held) as server:
        opened = Opened(server)

        def stopped() -> None:
            assert held.reached.wait(HANG_S)
            opened.first.stop()

        stopping = threading.Thread(target=stopped)
        stopping.start()
        with pytest.raises(StoppedError):
            opened.first.read()
        stopping.join()
        assert server.requests[-1].path.endswith(STATISTICS)


def test_esc_before_there_is_anything_to_show_ends_with_a_sentence() -> None:
    held = Held("/version")
    with playing(held) as server:
        opened = Opened(server)

        async def story(pilot: Pilot[int]) -> None:
            await until(pilot, held.reached.is_set)
            assert isinstance(opened.app.screen, OpeningScreen)
            await pilot.press("escape")
            await until(pilot, lambda: opened.app.failure is not None)

        run(opened.app, story)
    assert isinstance(opened.app.failure, StoppedError)
    assert opened.app.return_code == 1


@pytest.mark.parametrize("key", ["ctrl+c", "q"])
def test_leaving_does_not_wait_for_the_reading(key: str) -> None:
    held = Held(STATISTICS)
    with playing(held) as server:
        opened = Opened(server)

        async def story(pilot: Pilot[int]) -> None:
            await until(pilot, held.reached.is_set)
            await pilot.press(key)

        run(opened.app, story)
    assert opened.app.return_code == 0
    assert opened.app.failure is None


def test_other_keys_wait_for_the_picture() -> None:
    held = Held("/stats")
    with playing(held) as server:
        opened = Opened(server)

        async def story(pilot: Pilot[int]) -> None:
            await until(pilot, held.reached.is_set)
            await pilot.press("question_mark", "escape")
            await until(pilot, lambda: "all keys" in text_of(opened.app).lower())

        run(opened.app, story)


def test_a_cluster_out_of_reach_ends_the_app_with_its_reason() -> None:
    with playing(failing("", Played(b"<html>", 200, length=10))) as server:
        opened = Opened(server)

        async def story(pilot: Pilot[int]) -> None:
            await until(pilot, lambda: opened.app.failure is not None)

        run(opened.app, story)
    failure = opened.app.failure
    assert isinstance(failure, ClusterOutOfReachError)
    assert failure.gap.fault is Fault.CUT
