"""Mixing colours, and which are read on which."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from rich.style import Style

from themes.palettes import Palette, Rgb, hex_colour

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
def contrast(one: Rgb, other: Rgb) -> float:
    """How well one colour is read on another, 1 to 21; source: WCAG 2.2.

    >>> round(contrast((255, 255, 255), (0, 0, 0)), 1), contrast((9, 9, 9), (9, 9, 9))
    (21.0, 1.0)
    """
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@lru_cache(maxsize=4096)
def contrasting(colour: Rgb) -> Rgb:
    """Black or white, whichever is read more easily on this colour.

    >>> contrasting((240, 228, 66)), contrasting((0, 0, 170))
    ((0, 0, 0), (255, 255, 255))
    """
    # Why 0.179: there, black and white have the same contrast ratio.
    return (0, 0, 0) if luminance(colour) > 0.179 else (255, 255, 255)


LEAST_CONTRAST: Final = 3.0
"""Of letters and their ground."""


def legible(ink: Rgb, ground: Rgb) -> Rgb:
    """The ink, or black or white where its ground would swallow letters in it.

    >>> legible((240, 228, 66), (0, 0, 0)), legible((240, 228, 66), (250, 250, 247))
    ((240, 228, 66), (0, 0, 0))
    """
    return ink if contrast(ink, ground) >= LEAST_CONTRAST else contrasting(ground)


def readable(ink: Rgb, grounds: Sequence[Rgb], least: float = LEAST_CONTRAST) -> Rgb:
    """The ink, moved towards black or white until it is read on all these grounds.

    >>> readable((238, 232, 213), [(253, 246, 227)]), readable((0, 0, 0), [(253, 246, 227)])
    ((143, 139, 128), (0, 0, 0))
    """
    end = contrasting(grounds[0])
    tried = (mix(ink, end, step / 20) for step in range(20))
    return next((colour for colour in tried if min(contrast(colour, ground) for ground in grounds) >= least), end)


def letter_style(palette: Palette, number: int) -> Style:
    """How the letter of a consumer is read best: black or white on its colour, as in the ring."""
    if palette.mono:
        return Style(bold=True)
    colour = palette.consumer_colour(number)
    return Style(color=hex_colour(contrasting(colour)), bgcolor=hex_colour(colour), bold=True)
