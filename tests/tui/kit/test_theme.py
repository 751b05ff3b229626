"""Themes: every role that a widget or a stylesheet speaks of exists in every theme, and none speaks in colours."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.theme import BUILTIN_THEMES

from tests.tui.screens_under_test import app_of, main_screen, run, text_of
from themes import stylesheet, stylesheets
from themes.palettes import DEPTHS, THEMES, Depth, ThemeName, palette
from tui.kit.themed_app import depth_of, textual_theme, variables_of

TUI = Path(__file__).resolve().parents[3] / "tui"
ROLE = re.compile(r"\$([a-z][a-z0-9-]*)")
HEX = re.compile(r"#[0-9a-fA-F]{6}\b|\brgb\(")


def roles_in_use() -> set[str]:
    sheets = [path.read_text(encoding="utf-8") for path in stylesheets()]
    folders = ("kit", "failover", "keys", "producers", "bundles", "fleet")
    widgets = [path.read_text(encoding="utf-8") for folder in folders for path in (TUI / folder).glob("*.py")]
    return {role for text in [*sheets, *widgets] for role in ROLE.findall(text)}


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("depth", DEPTHS)
def test_every_role_exists_in_our_themes(theme: ThemeName, depth: Depth) -> None:
    known = textual_theme(theme, depth).to_color_system().generate().keys() | variables_of(palette(theme, depth)).keys()
    assert roles_in_use() - known == set()


@pytest.mark.parametrize("name", ["textual-light", "nord", "dracula"])
def test_a_built_in_theme_works_too(name: str) -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        app.theme = name
        await pilot.pause()
        assert "[2] 3 consumers" in text_of(app)
        assert main_screen(app).colours.theme == ("dark" if BUILTIN_THEMES[name].dark else "light")

    run(app, story)


def test_stylesheets_and_widgets_name_no_colour_themselves() -> None:
    for path in [*stylesheets(), *(TUI / "widgets").glob("*.py"), *(TUI / "screens").glob("*.py")]:
        assert HEX.search(path.read_text(encoding="utf-8")) is None, path.name


def test_stylesheets_are_absolute_and_one_for_each_kind_of_screen() -> None:
    kinds = ["brokers", "bundles", "dialogs", "fleet", "home", "keys", "main", "producers", "scalable", "split"]
    assert [path.stem for path in stylesheets()] == kinds
    assert all(path.is_absolute() for path in stylesheets())
    with pytest.raises(FileNotFoundError, match="there are: " + ", ".join(kinds)):
        stylesheet("nothing")


@pytest.mark.parametrize(
    ("system", "mono", "depth"),
    [
        ("truecolor", False, "truecolor"),
        ("256", False, "256"),
        ("standard", False, "16"),
        (None, False, "mono"),
        ("256", True, "mono"),
    ],
)
def test_the_depth_follows_the_terminal(system: str | None, mono: bool, depth: str) -> None:
    assert depth_of(system, mono=mono) == depth


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("theme", THEMES)
def test_every_theme_and_depth_shows_the_screen(theme: ThemeName, depth: Depth) -> None:
    app = app_of(theme=theme, depth=depth)

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("c", "v", "s")
        await pilot.pause()
        assert "split preview" in text_of(app)

    run(app, story, (80, 24))


def test_no_colour_in_the_environment_means_no_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = app_of(depth=None)
    assert app.depth == "mono"
