"""Inks over their ground, at every coverage, in colours that the terminal has."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
from rich.color import Color, ColorSystem

from themes.palettes import Depth, Palette, Rgb
from tui.drawing.arcs import IntArray


def shades(inks: tuple[Rgb, ...], palette: Palette, levels: int) -> IntArray:
    """Every ink laid over the background at every coverage, in colours the terminal has.

    Args:
        inks: the colours.
        palette: background and depth.
        levels: the highest coverage level; level 0 is bare background.

    Returns:
        Packed colours of shape (inks, levels + 1).
    """
    return _shades(inks, palette.background, palette.depth, levels)


@lru_cache(maxsize=64)
def _shades(inks: tuple[Rgb, ...], background: Rgb, depth: Depth, levels: int) -> IntArray:
    share = np.arange(levels + 1, dtype=np.float64) / levels
    if depth in {"16", "mono"}:
        share = np.round(share + 1e-9)  # sixteen colours have nothing between an ink and the ground
    base = np.asarray(background, dtype=np.float64)
    ink = np.asarray(inks, dtype=np.float64).reshape(len(inks), 1, 3)
    mixed = np.rint(base + (ink - base) * share[None, :, None]).astype(np.int64)
    table = _terminal_colours(depth)
    if table is not None:
        distance = ((mixed[:, :, None, :] - table[None, None, :, :]) ** 2).sum(axis=3)
        mixed = table[distance.argmin(axis=2)]
    packed: IntArray = mixed[..., 0] << 16 | mixed[..., 1] << 8 | mixed[..., 2]
    packed.flags.writeable = False
    return packed


@lru_cache(maxsize=4)
def _terminal_colours(depth: Depth) -> IntArray | None:
    """The colours of a terminal of this depth, by the values rich matches them with; None when it has all."""
    if depth == "truecolor":
        return None
    if depth == "16":
        return np.asarray(_SIXTEEN, dtype=np.int64)
    steps = (0, 95, 135, 175, 215, 255)
    cube = [(red, green, blue) for red in steps for green in steps for blue in steps]
    # Why not all: rich sends colours that are nearly grey to the ramp of greys, so those would shift on their way.
    kept = [colour for number, colour in enumerate(cube, 16) if _number_in_256(colour) == number]
    greys = [(level, level, level) for level in range(8, 248, 10)]
    return np.asarray([*kept, *greys], dtype=np.int64)


def _number_in_256(colour: Rgb) -> int | None:
    return Color.from_rgb(*colour).downgrade(ColorSystem.EIGHT_BIT).number


_SIXTEEN: Final[tuple[Rgb, ...]] = (
    (0, 0, 0),
    (170, 0, 0),
    (0, 170, 0),
    (170, 85, 0),
    (0, 0, 170),
    (170, 0, 170),
    (0, 170, 170),
    (170, 170, 170),
    (85, 85, 85),
    (255, 85, 85),
    (85, 255, 85),
    (255, 255, 85),
    (85, 85, 255),
    (255, 85, 255),
    (85, 255, 255),
    (255, 255, 255),
)
