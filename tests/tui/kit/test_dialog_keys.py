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
from tui.app import RingsideApp
from tui.kit.footer import KeyFooter, key_hints_of_dialog
from tui.kit.heirs_screen import HeirsScreen
from tui.kit.screens import RingsideModal
from tui.kit.session import Session


def dialogs(above: type[RingsideModal[object]] = RingsideModal) -> Iterator[type[RingsideModal[object]]]:
    for cls in above.__subclasses__():
        yield cls
        yield from dialogs(cls)


@pytest.mark.parametrize("dialog", sorted(set(dialogs()), key=lambda cls: cls.__name__))
def test_every_dialog_shows_how_to_close_it_and_does_what_it_shows(dialog: type[RingsideModal[object]]) -> None:
    hints = key_hints_of_dialog(dialog.shown_keys(), App())
    assert hints[-1].key == "esc" and hints[-1].always
    for hint in hints:
        name = hint.action.partition(".")[2].partition("(")[0]
        assert hint.action.startswith("screen.app.") or name == "none" or callable(getattr(dialog, f"action_{name}"))


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
            assert shown(pilot) == ["a", "/", "y", "e", "esc"]
            assert next(iter(app.get_system_commands(dialog))).title == "All failures (a)"
            await pilot.click(KeyFooter, offset=(1, 0))
            await pilot.pause()
            assert isinstance(dialog._shown, LossesView)
            assert shown(pilot) == ["enter", "/", "y", "e", "esc"]

    asyncio.run(run())
