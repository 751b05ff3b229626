"""Palettes: complete, apart for every kind of sight, and kept to what each terminal has."""

from __future__ import annotations

from itertools import combinations, product
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from rich.color import Color, ColorSystem
from textual.pilot import Pilot

from tests.tui.screens_under_test import app_of, main_screen, run
from themes import stylesheet, stylesheets
from themes.palettes import DEPTHS, ROLES, THEMES, Depth, ThemeName, consumer_tag, hex_colour, palette
from tui.drawing.colour import contrast, contrasting, legible, letter_style, mix, pack, unpack
from tui.drawing.shades import shades
from tui.kit.line_table import LineTable

# How dichromats see linear RGB: Machado, Oliveira and Fernandes (2009), severity 1.
SIGHTS = {
    "normal": np.eye(3),
    "protan": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deutan": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}


def cielab(colour: tuple[int, int, int], sight: str) -> npt.NDArray[np.float64]:
    """A colour as somebody with this sight sees it, in CIELAB under D65."""
    part = np.array(colour) / 255
    linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    seen = np.clip(SIGHTS[sight] @ linear, 0, 1)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = (float(np.cbrt(v)) if v > 0.008856 else 7.787 * v + 16 / 116 for v in to_xyz @ seen / [0.9505, 1, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("theme", THEMES)
def test_the_first_eight_consumers_are_apart_for_every_sight(theme: ThemeName, sight: str) -> None:
    """At least ten units of CIELAB between any two; two or three are a just visible difference."""
    seen = [cielab(palette(theme).consumer_colour(index), sight) for index in range(8)]
    assert min(float(np.linalg.norm(a - b)) for a, b in combinations(seen, 2)) > 10


@pytest.mark.parametrize(("theme", "depth"), list(product(THEMES, ("truecolor", "256"))))
def test_all_consumer_colours_differ_from_each_other_and_from_the_ground(theme: ThemeName, depth: Depth) -> None:
    colours = palette(theme, depth)
    assert len(set(colours.consumers)) == len(colours.consumers) == 24
    seen = [cielab(colour, "normal") for colour in (*colours.consumers, colours.background)]
    assert min(float(np.linalg.norm(a - b)) for a, b in combinations(seen, 2)) > 10


@pytest.mark.parametrize(("theme", "depth"), list(product(THEMES, DEPTHS)))
def test_text_is_readable_on_the_ground(theme: ThemeName, depth: Depth) -> None:
    """Contrast of at least 7 for text and 4.5 for what stands back (WCAG 2.2, AAA and AA)."""
    colours = palette(theme, depth)
    assert contrast(colours.text, colours.background) >= 7
    assert contrast(colours.dim, colours.background) >= 4.5


def test_colours_repeat_after_the_last_and_tags_never_do() -> None:
    colours = palette("dark")
    assert colours.consumer_colour(24) == colours.consumer_colour(0)
    tags = [consumer_tag(index) for index in range(20_000)]
    assert len(set(tags)) == len(tags)
    assert [tags[index] for index in (0, 25, 26, 51, 52, 701, 702)] == ["A", "Z", "AA", "AZ", "BA", "ZZ", "AAA"]


@pytest.mark.parametrize("theme", THEMES)
def test_sixteen_colours_are_those_a_terminal_has(theme: ThemeName) -> None:
    """Each goes out and comes back as itself, and has a number of its own."""
    colours = palette(theme, "16")
    used = {*colours.consumers, *(getattr(colours, role) for role in ROLES)}
    numbers = {Color.from_rgb(*colour).downgrade(ColorSystem.STANDARD).number for colour in used}
    assert len(numbers) == len(used)


@pytest.mark.parametrize(("theme", "depth"), list(product(THEMES, DEPTHS)))
def test_shades_run_from_the_ground_to_the_ink_in_colours_the_terminal_has(theme: ThemeName, depth: Depth) -> None:
    colours = palette(theme, depth)
    table = shades(colours.consumers, colours, 8)
    ground, full = table[:, 0].tolist(), table[:, 8].tolist()
    if depth != "256":
        assert ground == [pack(colours.background)] * len(ground)
        assert full == [pack(colour) for colour in colours.consumers]
    if depth == "16":
        assert {unpack(shade) for shade in table.ravel().tolist()} == {*colours.consumers, colours.background}
    if depth == "256":
        numbers = {Color.from_rgb(*unpack(shade)).downgrade(ColorSystem.EIGHT_BIT).number for shade in full}
        assert len(numbers) == len(colours.consumers)


def test_variables_name_every_role_and_consumer() -> None:
    names = palette("light").variables()
    assert names["ring-track"] == hex_colour(palette("light").ring_track)
    assert {role.replace("_", "-") for role in ROLES} | {f"consumer-{index}" for index in range(24)} == set(names)


def test_mixing_ends_at_both_ends() -> None:
    assert mix((1, 2, 3), (200, 100, 50), 0.0) == (1, 2, 3)
    assert mix((1, 2, 3), (200, 100, 50), 1.0) == (200, 100, 50)
    assert contrasting((255, 255, 255)) == (0, 0, 0)


def test_stylesheets_are_handed_out_as_absolute_paths_and_a_missing_one_is_named() -> None:
    assert all(path.is_absolute() and path.suffix == ".tcss" and path.is_file() for path in stylesheets())
    with pytest.raises(FileNotFoundError, match="no stylesheet 'no-such-sheet'"):
        stylesheet("no-such-sheet")
    assert Path(stylesheets.__code__.co_filename).with_name("palettes.toml").is_file()


@pytest.mark.parametrize(("theme", "depth"), list(product(THEMES, DEPTHS)))
def test_letters_are_read_on_every_ground(theme: ThemeName, depth: Depth) -> None:
    colours = palette(theme, depth)
    for number, ink in enumerate(colours.consumers):
        for ground in (colours.background, mix(colours.background, colours.accent, 0.4), ink):
            assert contrast(legible(ink, ground), ground) >= 3
        style = letter_style(colours, number)
        if not colours.mono:
            assert style.color is not None and style.bgcolor is not None
            assert contrast(style.color.get_truecolor(), style.bgcolor.get_truecolor()) >= 4.5


@pytest.mark.parametrize("theme", [*THEMES, "nord", "solarized-light", "rose-pine-dawn"])
def test_no_letter_of_a_marked_row_is_swallowed(theme: str) -> None:
    app = app_of(theme=theme)

    async def story(pilot: Pilot[int]) -> None:
        table = main_screen(app).query_one("#consumers #table", LineTable)
        for number in range(table.lines.count):
            table.cursor = number
            await pilot.pause()
            row = table.render_line(number - table.scroll_offset.y + 1)
            inks = [segment.style for segment in row if any(map(str.isalnum, segment.text))]
            assert len(inks) >= 4
            for style in inks:
                assert style is not None and style.color is not None and style.bgcolor is not None
                assert contrast(style.color.get_truecolor(), style.bgcolor.get_truecolor()) >= 3, style

    run(app, story, size=(200, 60))
