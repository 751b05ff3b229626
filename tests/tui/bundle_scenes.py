"""The screen "bundles" on the recorded scene and on small made-up states."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace
from textual.pilot import Pilot

from engine.cluster.state import ClusterState
from engine.cluster.timeline import Timeline
from engine.scenarios.embedded import embedded
from tests.tui.screens_under_test import run, text_of
from tui.app import RingsideApp
from tui.bundles.screen import BundlesScreen
from tui.kit.session import Session


def flow_state(**settings: Any) -> ClusterState:
    """The recorded scene with four bundles, three of them above the limit of 40 messages a second."""
    state = embedded("flow-split").state
    return replace(state, settings=replace(state.settings, **settings))


def bundles_app(state: ClusterState | None = None, **how: Any) -> RingsideApp:
    """A still app; ``b`` opens the screen."""
    timeline = Timeline.start(flow_state() if state is None else state, 7, "a test")
    return RingsideApp(Session(timeline), **(dict[str, Any](animate=False, depth="truecolor") | how))


def bundles_screen(app: RingsideApp) -> BundlesScreen:
    """The screen in front."""
    screen = app.screen
    assert isinstance(screen, BundlesScreen), screen
    return screen


def after_b(app: RingsideApp, *keys: str, size: tuple[int, int] = (120, 40)) -> str:
    """The screen as text after ``b`` and more keys."""
    seen: list[str] = []

    async def story(pilot: Pilot[int]) -> None:
        for key in ("b", *keys):
            await pilot.press(key)
            await app.workers.wait_for_complete()
            await pilot.pause()
        seen.append(text_of(app))

    run(app, story, size)
    return seen[0]
