"""The mouse on the ring and on the timeline: what is under it is said, a click selects or goes there."""

from __future__ import annotations

from textual.content import Content
from textual.pilot import Pilot

from tests.tui.screens_under_test import app_of, run
from tui.failover.screen import MainScreen
from tui.kit.ring_panel import RingPanel
from tui.kit.timeline_line import TimelineLine


def said(widget: RingPanel | TimelineLine) -> str:
    return widget.tooltip.plain if isinstance(widget.tooltip, Content) else ""


def test_hover_names_consumer_range_and_heir_and_a_click_selects() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("c")
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, MainScreen)
        ring, names = screen.query_one(RingPanel), {row.name for row in screen.query_one(RingPanel).rows}
        chosen: set[int] = set()
        heirs = 0
        for column in range(ring.size.width):
            offset = (column, ring.size.height // 2)
            await pilot.hover(ring, offset=(offset[0] + 1, offset[1] + 1))
            text = said(ring)
            if " of the ring" in text:
                first, heir = text.split("\n")[:2]
                assert first.split()[1].rstrip(":") in names and heir.removeprefix("heir: ") in names
                assert heir.removeprefix("heir: ") not in first
                heirs += 1
            if text:
                await pilot.click(ring, offset=(offset[0] + 1, offset[1] + 1))
                await pilot.pause()
                chosen.add(screen.selected)
                row = next(row for row in ring.rows if row.consumer_id == screen.selected)
                assert text.startswith(f"{row.tag} {row.name}")
        assert heirs and len(chosen) > 1

    run(app, story)


def test_a_click_on_the_timeline_goes_to_that_step() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("c", "x", "x")
        await pilot.pause()
        line = app.screen.query_one(TimelineLine)
        before = len(line._words(line.timeline)[0]) if line.timeline is not None else 0
        for step in (1, 3, 0, 2):
            await pilot.hover(line, offset=(before + 2 * step, 0))
            assert said(line).startswith(f"step {step}: " if step else "as opened")
            await pilot.click(line, offset=(before + 2 * step, 0))
            await pilot.pause()
            assert app.store.timeline.cursor == step

    run(app, story)
