"""Textual's themes: on their ground the ring keeps the colours of consumers; each is shown while it is marked."""

from __future__ import annotations

import pytest
from textual.command import CommandList
from textual.pilot import Pilot
from textual.theme import BUILTIN_THEMES
from textual.widgets import OptionList

from tests.tui.screens_under_test import app_of, run
from themes import OTHERS, OURS
from themes.palettes import THEMES, palette
from tui.kit.command_palette import PlainCommandPalette
from tui.kit.ring_panel import RingPanel
from tui.kit.themed_app import colours_of, theme_name


def test_every_theme_of_textual_has_its_name_but_those_of_sixteen_colours() -> None:
    assert OURS == THEMES
    assert set(OTHERS) == {name for name in BUILTIN_THEMES if not name.startswith("ansi-")}


@pytest.mark.parametrize("name", OTHERS)
def test_consumers_keep_their_colours_on_another_ground(name: str) -> None:
    theme = BUILTIN_THEMES[name]
    colours, ours = colours_of(theme, "truecolor"), palette("dark" if theme.dark else "light")
    assert colours.consumers == ours.consumers
    assert sum(colours.background) < 384 if theme.dark else sum(colours.background) > 384
    assert colours_of(theme, "256") == palette(ours.theme, "256")


def contrast(one: str, other: str) -> float:
    """By WCAG 2.2, of two colours in hexadecimal."""

    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", [*THEMES, *OTHERS])
def test_words_of_every_theme_are_read_on_its_ground(name: str) -> None:
    """What stylesheets use for words has 3:1 at least, on the ground and on the surface; plain words have 4.5:1."""
    app = app_of(theme=name)
    variables = app.get_css_variables()
    for role in ("foreground", "dim", "accent", "good", "warn", "bad", "active", "standby"):
        for ground in ("background", "surface"):
            measured = contrast(variables[role].lower()[:7], variables[ground].lower()[:7])
            assert measured >= (4.5 if role == "foreground" else 3), (role, ground, measured)


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


def test_a_theme_that_was_marked_last_is_not_shown_after_the_list_was_left() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        app.search_themes()
        await pilot.pause()
        listed = app.screen.query_one(CommandList)
        option = listed.get_option_at_index(3)
        app.post_message(PlainCommandPalette.OptionHighlighted(OptionList.OptionHighlighted(listed, option, 3)))
        app.post_message(PlainCommandPalette.Closed(option_selected=False))
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert app.theme == theme_name("dark")

    run(app, story)


def test_a_theme_can_be_named_at_the_start() -> None:
    app = app_of(theme="solarized-light")

    async def story(_pilot: Pilot[int]) -> None:
        assert app.theme == "solarized-light"
        assert app.screen.query_one(RingPanel).colours == app.colours

    run(app, story)
