"""Palettes: the colour of each role, per theme and per colour depth of the terminal.

The colours themselves are data (``palettes.toml``). Colour is never the only carrier of a meaning: a consumer's letter
tag is the second one, and the only one in ``mono``.
"""

from __future__ import annotations

import tomllib
from functools import lru_cache
from typing import Any, Final, Literal, get_args

from msgspec import Struct

from themes import ROOT

ThemeName = Literal["dark", "light"]
Depth = Literal["truecolor", "256", "16", "mono"]
Rgb = tuple[int, int, int]

THEMES: Final[tuple[ThemeName, ...]] = get_args(ThemeName)
DEPTHS: Final[tuple[Depth, ...]] = get_args(Depth)
ROLES: Final[tuple[str, ...]] = (
    "background",
    "surface",
    "text",
    "dim",
    "accent",
    "ring_track",
    "muted",
    "rim",
    "active",
    "standby",
    "good",
    "warn",
    "bad",
)


class Palette(Struct, frozen=True):
    """The colours of one theme at one depth, as (red, green, blue) with 0..255 each.

    In ``256`` and ``16`` every colour is one the terminal has, so nothing shifts on its way out. In ``mono`` only light
    and dark are left and drawings use letter tags instead.
    """

    theme: ThemeName
    depth: Depth
    consumers: tuple[Rgb, ...]
    background: Rgb
    surface: Rgb
    text: Rgb
    dim: Rgb
    accent: Rgb
    ring_track: Rgb
    muted: Rgb
    rim: Rgb
    active: Rgb
    standby: Rgb
    good: Rgb
    warn: Rgb
    bad: Rgb
    muted_strength: float
    """How much of a consumer's colour is left in a muted arc, 0..1."""

    @property
    def mono(self) -> bool:
        """Whether colours carry nothing, so that letters must."""
        return self.depth == "mono"

    def consumer_colour(self, index: int) -> Rgb:
        """The colour of the consumer with this index (0-based); colours repeat after the last one."""
        return self.consumers[index % len(self.consumers)]

    def variables(self) -> dict[str, str]:
        """Names and hex values for stylesheets: ``ring-track`` and the other roles, ``consumer-0`` and so on."""
        named = {role.replace("_", "-"): hex_colour(getattr(self, role)) for role in ROLES}
        return named | {f"consumer-{index}": hex_colour(colour) for index, colour in enumerate(self.consumers)}


def hex_colour(colour: Rgb) -> str:
    """``#rrggbb`` of a colour.

    >>> hex_colour((230, 159, 0))
    '#e69f00'
    """
    return "#{:02x}{:02x}{:02x}".format(*colour)


def consumer_tag(index: int) -> str:
    """The letter tag of the consumer with this index (0-based): A to Z, then AA, AB, as columns of a sheet are named.

    >>> [consumer_tag(index) for index in (0, 25, 26, 27, 701, 702)]
    ['A', 'Z', 'AA', 'AB', 'ZZ', 'AAA']
    """
    tag = ""
    rest = index + 1
    while rest > 0:
        rest, letter = divmod(rest - 1, 26)
        tag = chr(ord("A") + letter) + tag
    return tag


@lru_cache(maxsize=len(THEMES) * len(DEPTHS))
def palette(theme: ThemeName = "dark", depth: Depth = "truecolor") -> Palette:
    """The palette of a theme at a colour depth; the same value each time."""
    table = _tables()[theme][depth]
    return Palette(
        theme=theme,
        depth=depth,
        consumers=tuple(_rgb(text) for text in table["consumers"].split()),
        muted_strength=float(table["muted_strength"]),
        **{role: _rgb(table[role]) for role in ROLES},
    )


@lru_cache(maxsize=1)
def _tables() -> dict[str, Any]:
    return tomllib.loads((ROOT / "palettes.toml").read_text(encoding="utf-8"))


def _rgb(text: str) -> Rgb:
    return int(text[0:2], 16), int(text[2:4], 16), int(text[4:6], 16)
