"""Textual themes made of the palettes, and style sheets that are parsed once for each theme."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from textual.cache import LRUCache
from textual.css.stylesheet import Stylesheet
from textual.theme import Theme

from themes.palettes import Depth, Palette, ThemeName, hex_colour, palette

CONSUMER_COLOURS: Final = 24
"""How many ``$consumer-N`` variables every theme has; palettes with fewer colours repeat."""
_DEPTH_OF_COLOUR_SYSTEM: Final[dict[str | None, Depth]] = {
    "truecolor": "truecolor",
    "256": "256",
    "standard": "16",
    "windows": "16",
    None: "mono",
}


def depth_of(colour_system: str | None, *, mono: bool) -> Depth:
    """The palette depth for what Rich found out about the terminal (``Console.color_system``)."""
    return "mono" if mono else _DEPTH_OF_COLOUR_SYSTEM.get(colour_system, "truecolor")


def theme_name(theme: ThemeName) -> str:
    """The name under which our theme stands in Textual's list."""
    return f"ringside-{theme}"


@lru_cache(maxsize=8)
def variables_of(colours: Palette) -> dict[str, str]:
    """Every variable of ours for stylesheets: the roles of the palette and ``consumer-0`` to ``consumer-23``."""
    cycle = {f"consumer-{i}": hex_colour(colours.consumer_colour(i)) for i in range(CONSUMER_COLOURS)}
    return colours.variables() | cycle


def textual_theme(theme: ThemeName, depth: Depth) -> Theme:
    """One of our themes at a colour depth, as Textual wants it."""
    colours = palette(theme, depth)
    hexes = colours.variables()
    cursor = hexes["accent"]
    return Theme(
        name=theme_name(theme),
        primary=hexes["accent"],
        secondary=hexes["dim"],
        accent=hexes["accent"],
        foreground=hexes["text"],
        background=hexes["background"],
        surface=hexes["surface"],
        panel=hexes["ring-track"],
        success=hexes["good"],
        warning=hexes["warn"],
        error=hexes["bad"],
        dark=theme == "dark",
        variables=variables_of(colours)
        | {
            "border": hexes["rim"],
            "border-blurred": hexes["rim"],
            "block-cursor-background": cursor,
            "block-cursor-foreground": hexes["background"],
            "block-cursor-blurred-background": hexes["ring-track"],
            "block-cursor-blurred-foreground": hexes["text"],
            "block-cursor-text-style": "bold",
            "input-cursor-background": hexes["text"],
            "input-cursor-foreground": hexes["background"],
            "footer-key-foreground": hexes["accent"],
            "scrollbar": hexes["rim"],
            "scrollbar-background": hexes["background"],
            "scrollbar-corner-color": hexes["background"],
        },
    )


SHEETS_KEPT = 128
"""More than all widgets and screens have."""


class ParsedOnce(Stylesheet):
    """Keeps what it has parsed, by the variables of the theme. Rules are only read once they are parsed.

    Textual parses all style sheets again whenever a screen brings one of its own and whenever the theme changes: half
    of the time that a first dialog takes to open.
    """

    def __init__(self, *, variables: dict[str, str] | None = None) -> None:
        super().__init__(variables=variables)
        self._kept: dict[frozenset[tuple[str, str]], LRUCache[tuple[Any, ...], Any]] = {}
        self._parse_cache = self._kept_for(self._variables)

    def set_variables(self, variables: dict[str, str]) -> None:
        """Use other variables; rules that were parsed with the present ones are kept."""
        self._parse_cache = LRUCache(SHEETS_KEPT)  # the stock method empties it
        super().set_variables(variables)
        self._parse_cache = self._kept_for(variables)

    def reparse(self) -> None:
        """Parse what has not been parsed with the present variables."""
        self.parse()

    def prepare(self, variables: dict[str, str]) -> None:
        """Parse all sheets with other variables, so that changing to these takes less time."""
        ahead = ParsedOnce(variables=variables)
        ahead.source = self.source.copy()
        ahead._parse_cache = self._kept_for(variables)
        ahead.parse()

    def _kept_for(self, variables: Mapping[str, str]) -> LRUCache[tuple[Any, ...], Any]:
        return self._kept.setdefault(frozenset(variables.items()), LRUCache(SHEETS_KEPT))
