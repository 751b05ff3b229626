"""One paint for one key, and the dimmed picture below a dialog."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import pytest
from rich.console import RenderableType
from rich.segment import Segment
from rich.style import Style
from textual.app import App, ComposeResult
from textual.color import Color
from textual.pilot import Pilot
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import Screen
from textual.visual import RichVisual
from textual.widgets import Static

from engine.cluster.timeline import Timeline
from engine.scenarios.synthetic import synthetic_state
from tests.tui.screens_under_test import run
from themes.palettes import DEPTHS, Depth
from tui.app import RingsideApp
from tui.kit.dialog import Dialog
from tui.kit.screens import POSTPONED_AT_MOST, DimmedScreen, RingsideScreen, tinted
from tui.kit.session import Session

SIZE = (120, 40)


class Watched(RingsideApp):
    """Counts its paints, and those of something that is not arranged yet."""

    paints = 0
    too_early = 0

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        if renderable is not None:
            self.paints += 1
            self.too_early += screen._layout_required and isinstance(screen, RingsideScreen)
        super()._display(screen, renderable)


def watched(depth: Depth | None = None) -> Watched:
    opened = synthetic_state(topics=60, partitions=1, consumers=4)
    return Watched(Session(Timeline.start(opened.state, source="test")), animate=False, depth=depth)


@pytest.mark.parametrize("keys", [("a", "escape"), ("s", "escape"), ("f", "escape"), ("z", "z"), ("b", "escape"), "x"])
def test_what_a_key_brings_up_is_painted_when_it_is_arranged(keys: Iterable[str]) -> None:
    app = watched()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.pause()
        for key in keys:
            app.paints = app.too_early = 0
            await pilot.press(key)
            await pilot.pause()
            assert app.paints > 0
            assert app.too_early == 0

    run(app, story, SIZE)


def test_another_size_is_arranged_and_painted() -> None:
    app = watched()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("a")
        await pilot.pause()
        app.paints = 0
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert app.paints > 0
        assert [screen.size for screen in app.screen_stack] == [(80, 24)] * 2

    run(app, story, SIZE)


class Restless(RingsideScreen[None]):
    """Something in it asks to be arranged as soon as it was arranged."""

    arranged = 0

    def compose(self) -> ComposeResult:
        yield Static("never the same")

    def _refresh_layout(self, *how: object, **more: object) -> None:
        super()._refresh_layout(*how, **more)  # type: ignore[arg-type]
        self.arranged += 1
        if self.arranged < 10 * POSTPONED_AT_MOST:
            self.query(Static).refresh(layout=True)


def test_what_is_arranged_for_ever_is_painted_all_the_same() -> None:
    """A paint is put off so many times in a row and no more."""
    painted_after: list[int] = []

    class Shown(App[None]):
        def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
            if renderable is not None and isinstance(screen, Restless):
                painted_after.append(screen.arranged)
            super()._display(screen, renderable)

    async def story() -> None:
        app = Shown()
        async with app.run_test() as pilot:
            screen = Restless()
            await app.push_screen(screen)
            while screen.arranged < 10 * POSTPONED_AT_MOST:
                await pilot.pause()
            await pilot.pause()

    asyncio.run(story())
    assert painted_after[0] <= POSTPONED_AT_MOST + 2
    assert len(painted_after) >= 5


@pytest.mark.parametrize("depth", DEPTHS)
def test_the_dimmed_ground_is_the_one_that_textual_paints(depth: Depth) -> None:
    """Cell by cell: text and style."""
    app = watched(depth)

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("a")
        await pilot.pause()
        dialog = app.screen
        assert isinstance(dialog, Dialog)
        stock = BackgroundScreen(app.screen_stack[0], dialog.styles.background)
        width, height = SIZE
        ours = DimmedScreen(stock).render_strips(width, height, dialog.visual_style, None)  # type: ignore[arg-type]
        theirs = RichVisual(dialog, stock).render_strips(width, height, dialog.visual_style, None)  # type: ignore[arg-type]
        assert len(ours) == height
        for mine, other in zip(ours, theirs, strict=True):
            assert list(Segment.simplify(mine)) == list(Segment.simplify(other))

    run(app, story, SIZE)


def test_a_tint_takes_links_and_covers_both_colours() -> None:
    link = Style.parse("#ffffff on #000000 bold") + Style.from_meta({"@click": "app.quit"})
    dimmed = tinted(Style.parse("on #102030"), link, Color(0, 0, 0, 0.5))
    assert dimmed.meta == {}
    assert dimmed.bold
    assert dimmed.color is not None
    assert dimmed.color.name == "#7f7f7f"
