"""Before there is anything to show: the frame stands, keys are heard, and a failure ends the app in order."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from engine.cluster.timeline import Timeline
from engine.errors import InputError
from tests.patience import HANG_S
from tests.tui.screens_under_test import cluster, run, text_of
from tui.app import OpeningScreen, RingsideApp
from tui.failover.screen import MainScreen
from tui.kit.session import Opening, Session

pytestmark = pytest.mark.real_time  # what opens is loaded in a thread
ROOT = Path(__file__).resolve().parents[2]


class Gate:
    """A scene that is loaded when the test says so."""

    def __init__(self, make: Callable[[], Session]) -> None:
        self.make = make
        self.opened = threading.Event()

    def load(self) -> Session:
        assert self.opened.wait(HANG_S), "the test lets it pass"
        return self.make()


def scene() -> Session:
    return Session(Timeline.start(cluster(), 7, "a test"))


def refused() -> Session:
    raise InputError("nothing of this can be used")


def opening(gate: Gate) -> RingsideApp:
    return RingsideApp(Opening("a scene", gate.load), animate=False, depth="truecolor")


async def until(pilot: Pilot[int], true: Callable[[], bool]) -> None:
    """Let the app work until something holds."""
    async with asyncio.timeout(HANG_S):
        while not true():
            await pilot.pause()


def shows_the_main_screen(app: RingsideApp) -> bool:
    return isinstance(app.screen, MainScreen) and "billing-2" in text_of(app)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_the_frame_is_that_of_the_main_screen_and_says_what_is_opened(size: tuple[int, int]) -> None:
    gate = Gate(scene)
    app = opening(gate)
    frames: list[dict[str, object]] = []

    async def story(pilot: Pilot[int]) -> None:
        text = text_of(app)
        assert "opening a scene …" in text
        assert all(title in text for title in ("[1] hash ring", "[2] consumers", "[3] bundles", "[4] events", "q Quit"))
        frames.append({panel: app.query_one(f"#{panel}").region for panel in ("ring", "consumers", "events", "keys")})
        gate.opened.set()
        await until(pilot, lambda: shows_the_main_screen(app))
        frames.append({panel: app.query_one(f"#{panel}").region for panel in ("ring", "consumers", "events", "keys")})

    run(app, story, size)
    before, after = frames
    assert before["keys"] == after["keys"]
    assert before["ring"] == after["ring"]
    assert before["consumers"] == after["consumers"]


def test_keys_pressed_early_are_carried_out_in_their_order() -> None:
    gate = Gate(scene)
    app = opening(gate)

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("colon", *"kill", "space", *"billing-2", "enter", "c", "question_mark")
        assert isinstance(app.screen, OpeningScreen)
        gate.opened.set()
        await until(pilot, lambda: "all keys" in text_of(app).lower())
        assert [row.name for row in app.store.shown.failover_view.consumers] == ["billing-0", "billing-1"]
        assert app.store.timeline.length == 2

    run(app, story)


def test_an_early_key_does_not_wait_for_ever_for_the_one_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The widget that a key goes up from, or the screen it opened, may be gone before it answers."""
    monkeypatch.setattr(RingsideApp, "_follow_key", lambda self, node: None)
    gate = Gate(scene)
    app = opening(gate)

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("c", "question_mark")
        gate.opened.set()
        await until(pilot, lambda: "all keys" in text_of(app).lower())
        assert app.store.timeline.length == 1

    run(app, story)


def test_q_quits_before_anything_is_shown() -> None:
    gate = Gate(scene)
    app = opening(gate)

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("q")
        gate.opened.set()

    run(app, story)
    assert app.return_code == 0
    assert app.failure is None


def test_what_the_loading_raises_ends_the_app_and_is_handed_out() -> None:
    gate = Gate(refused)
    app = opening(gate)

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("c")
        gate.opened.set()
        await until(pilot, lambda: app.failure is not None)

    run(app, story)
    assert str(app.failure) == "nothing of this can be used"
    assert app.return_code == 1


def test_the_frame_needs_neither_engine_nor_numpy(tmp_path: Path) -> None:
    program = "import sys, tui.app, tui.app, tui.cli.screen; print(*sorted(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, check=True)
    loaded = set(ran.stdout.split())
    assert "numpy" not in loaded
    ground_floor = {"engine.answer", "engine.errors", "engine.memo", "engine.text"}  # which import nothing above them
    assert not {name for name in loaded if name.startswith("engine.")} - ground_floor
