"""Textual's themes: on their ground the ring keeps the colours of consumers; each is shown while it is marked."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot
from textual.theme import BUILTIN_THEMES

from tests.tui.screens_under_test import app_of, run
from themes import OTHERS, OURS
from themes.palettes import THEMES, palette
from tui.kit.ring_panel import RingPanel
from tui.kit.themed_app import colours_of


def test_every_theme_of_textual_has_its_name_but_those_of_sixteen_colours() -> None:
    assert OURS == THEMES
    assert set(OTHERS) == {name for name in BUILTIN_THEMES if not name.startswith("ansi-")}


@pytest.mark.parametrize("name", OTHERS)
def test_consumers_keep_their_colours_on_another_ground(name: str) -> None:
    theme = BUILTIN_THEMES[name]
    colours, ours = colours_of(theme, "truecolor"), palette("dark" if theme.dark else "light")
    assert colours.consumers == ours.consumers and colours.good == ours.good
    assert sum(colours.background) < 384 if theme.dark else sum(colours.background) > 384
    assert colours_of(theme, "256") == palette(ours.theme, "256")


@pytest.mark.parametrize(("key", "kept"), [("enter", "nord"), ("escape", "ringside-dark")])
def test_a_marked_theme_is_shown_and_stays_only_where_it_is_chosen(key: str, kept: str) -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        screen = app.screen
        app.search_themes()
        await pilot.pause()
        await pilot.press(*"nord")
        while app.theme != "nord":
            await pilot.pause()
        assert screen.query_one(RingPanel).colours.background == app.colours.background
        assert app.colours.background != palette().background
        await pilot.press(key)
        while app.screen is not screen:
            await pilot.pause()
        await pilot.pause()
        assert app.theme == kept

    run(app, story)


def test_a_theme_can_be_named_at_the_start() -> None:
    app = app_of(theme="solarized-light")

    async def story(_pilot: Pilot[int]) -> None:
        assert app.theme == "solarized-light"
        assert app.screen.query_one(RingPanel).colours == app.colours

    run(app, story)
