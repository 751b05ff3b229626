"""What every screen has: paints after another size, and the dimmed picture below a dialog."""

from __future__ import annotations

import pytest
from rich.console import RenderableType
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.pilot import Pilot
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import Screen
from textual.visual import RichVisual

from engine.cluster.timeline import Timeline
from engine.scenarios.synthetic import synthetic_state
from tests.tui.screens_under_test import run
from themes.palettes import DEPTHS, Depth
from tui.app import RingsideApp
from tui.kit.dialog import Dialog
from tui.kit.screens import DimmedScreen, tinted

SIZE = (120, 40)


class Watched(RingsideApp):
    """Counts its paints."""

    paints = 0

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        if renderable is not None:
            self.paints += 1
        super()._display(screen, renderable)


def watched(depth: Depth | None = None) -> Watched:
    opened = synthetic_state(topics=60, partitions=1, consumers=4)
    return Watched(Timeline.start(opened.state, source="test"), animate=False, depth=depth)


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
