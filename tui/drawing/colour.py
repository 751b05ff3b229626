"""Mixing colours, and keeping them to what a terminal can show."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from rich.color import Color, ColorSystem

from themes.palettes import Depth, Palette, Rgb

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
NO_COLOUR = -1
"""The packed colour that leaves a terminal's own colour as it is."""


def pack(colour: Rgb) -> int:
    """A colour as one number, 0xrrggbb.

    >>> hex(pack((230, 159, 0)))
    '0xe69f00'
    """
    return colour[0] << 16 | colour[1] << 8 | colour[2]


def unpack(packed: int) -> Rgb:
    """The colour of a packed number; the inverse of :func:`pack`."""
    return packed >> 16 & 255, packed >> 8 & 255, packed & 255


def mix(start: Rgb, end: Rgb, amount: float) -> Rgb:
    """The colour ``amount`` (0..1) of the way from ``start`` to ``end``.

    >>> mix((0, 0, 0), (200, 100, 50), 0.5)
    (100, 50, 25)
    """
    red, green, blue = (round(a + (b - a) * amount) for a, b in zip(start, end, strict=True))
    return red, green, blue


def luminance(colour: Rgb) -> float:
    """Relative luminance of a colour, 0 (black) to 1 (white); source: WCAG 2.2."""
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (c / 255 for c in colour)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@lru_cache(maxsize=4096)
def contrasting(colour: Rgb) -> Rgb:
    """Black or white, whichever is read more easily on this colour.

    >>> contrasting((240, 228, 66)), contrasting((0, 0, 170))
    ((0, 0, 0), (255, 255, 255))
    """
    # Why 0.179: there, black and white have the same contrast ratio.
    return (0, 0, 0) if luminance(colour) > 0.179 else (255, 255, 255)


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
    """The colours of a terminal of this depth that keep their value when rich maps them; None when it has all."""
    if depth == "truecolor":
        return None
    system, numbers = (ColorSystem.EIGHT_BIT, range(16, 256)) if depth == "256" else (ColorSystem.STANDARD, range(16))
    kept: list[Rgb] = []
    for number in numbers:
        red, green, blue = _standard(number)
        if Color.from_rgb(red, green, blue).downgrade(system).number == number:
            kept.append((red, green, blue))
    return np.asarray(kept, dtype=np.int64)


def _standard(number: int) -> Rgb:
    triplet = Color.from_ansi(number).get_truecolor() if number >= 16 else _SIXTEEN[number]
    return triplet[0], triplet[1], triplet[2]


_SIXTEEN: tuple[Rgb, ...] = tuple(
    (high * red + low, high * green + low, high * blue + low)
    for low, high in ((0, 170), (85, 170))
    for blue in (0, 1)
    for green in (0, 1)
    for red in (0, 1)
)
