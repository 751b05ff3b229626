"""A dialog shows its own keys in place of those of the screen below, and the palette lists them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from textual.app import App
from textual.pilot import Pilot

import tui.brokers.dialogs
import tui.failover.dialogs
import tui.keys.dialogs
import tui.kit.diff_screen
import tui.kit.heirs_screen
import tui.kit.picker
import tui.live.differences
import tui.live.what_if
import tui.producers.dialogs  # noqa: F401
from engine.cluster.timeline import Timeline
from engine.scenarios.embedded import embedded_default
from engine.views.comparing.heirs import HeirsView, LossesView
from tests.tui.screens_under_test import run
from tui.app import RingsideApp
from tui.kit.footer import KeyFooter, key_hints_of_dialog
from tui.kit.heirs_screen import FAILURE_SECONDS, HeirsScreen
from tui.kit.help import HelpScreen
from tui.kit.screens import RingsideModal
from tui.kit.session import Session
from tui.kit.side_ring import SideRing
from tui.kit.table_screens import TableDialog


def dialogs(above: type[RingsideModal[object]] = RingsideModal) -> Iterator[type[RingsideModal[object]]]:
    for cls in above.__subclasses__():
        yield cls
        yield from dialogs(cls)


@pytest.mark.parametrize("dialog", sorted(set(dialogs()), key=lambda cls: cls.__name__))
def test_every_dialog_shows_how_to_close_it_and_does_what_it_shows(dialog: type[RingsideModal[object]]) -> None:
    hints = key_hints_of_dialog(dialog.shown_keys(), App())
    assert hints[-1].key == "esc" and hints[-1].always
    for hint in hints:
        place, _, action = hint.action.partition(".")
        name = action.partition("(")[0]
        assert name == "none" or callable(getattr({"app": App, "screen": dialog}[place], f"action_{name}"))


def shown(pilot: Pilot[int]) -> list[str]:
    return [hint.key for hint in pilot.app.screen.query_one(KeyFooter).keys]


def test_the_footer_and_the_palette_are_those_of_the_dialog() -> None:
    async def run() -> None:
        opened = embedded_default()
        app = RingsideApp(Session(Timeline.start(opened.state, opened.seed, opened.source)), animate=False)
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press("h")
            await pilot.pause()
            dialog = app.screen
            assert isinstance(dialog, HeirsScreen) and isinstance(dialog._shown, HeirsView)
            assert shown(pilot) == ["a", "/", "y", "e", "?", "esc"]
            assert next(iter(app.get_system_commands(dialog))).title == "All failures (a)"
            await pilot.click(KeyFooter, offset=(1, 0))
            await pilot.pause()
            assert isinstance(dialog._shown, LossesView)
            assert shown(pilot) == ["enter", "space", "/", "y", "e", "?", "esc"]

    asyncio.run(run())


def test_the_film_of_failures_shows_each_in_turn_and_stops_by_itself_or_by_the_key() -> None:
    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("c", "h", "a", "space")
        await pilot.pause()
        dialog, loop = pilot.app.screen, asyncio.get_running_loop()
        assert isinstance(dialog, HeirsScreen) and isinstance(dialog._shown, LossesView)
        ring, begun = dialog.query_one(SideRing), loop.time()
        rows = dialog._shown.rows
        for place, row in enumerate(rows):
            while dialog.table.cursor < place:
                await pilot.pause()
            await pilot.pause()
            assert abs(loop.time() - begun - place * FAILURE_SECONDS) < FAILURE_SECONDS / 4
            assert row.consumer_id not in {one.consumer_id for one in ring.rows} and len(ring.rows) == len(rows) - 1
            assert ring.ring is not None and int(ring.ring.topic_moved.sum()) == row.moved
            assert 0.0 < ring.intensity <= 1.0
        await asyncio.sleep(60)
        assert dialog.table.cursor == len(rows) - 1
        await pilot.press("space")  # from the first one again
        await asyncio.sleep(1.5 * FAILURE_SECONDS)
        assert dialog.table.cursor == 1
        await pilot.press("space")
        await asyncio.sleep(60)
        assert dialog.table.cursor == 1
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(dialog._shown, HeirsView) and not ring.display
        await pilot.press("space")  # one failure has no film
        assert not ring.display

    opened = embedded_default()
    timeline = Timeline.start(opened.state, opened.seed, opened.source)
    run(RingsideApp(Session(timeline), depth="truecolor"), story)


@pytest.mark.parametrize("key", ["d", "h"])
def test_a_question_mark_lists_the_keys_of_a_dialog_with_a_table(key: str) -> None:
    async def run() -> None:
        opened = embedded_default()
        app = RingsideApp(Session(Timeline.start(opened.state, opened.seed, opened.source)), animate=False)
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press(key)
            await pilot.pause()
            dialog = app.screen
            assert isinstance(dialog, TableDialog)
            await pilot.press("question_mark")
            await pilot.pause()
            assert isinstance(app.screen, HelpScreen)
            [(_, own), (_, of_table)] = app.screen._groups
            assert {"e", "/", "?"} <= {line.keys for line in own} and of_table
            await pilot.press("escape")
            await pilot.pause()
            assert app.screen is dialog

    asyncio.run(run())
