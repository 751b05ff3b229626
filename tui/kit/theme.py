"""Textual themes made of the palettes, so that stylesheets and drawings use the same colours."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

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
