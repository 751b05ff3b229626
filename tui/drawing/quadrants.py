"""Four quadrants of a cell, two colours: the best a character cell can do.

When a cell holds more than two colours, the two most different ones stay. A colour is only ever averaged with the
background (its coverage), never with another owner's colour.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]

LEVELS: Final = 8
"""Coverage is counted from 0 (background) to this."""
GLYPHS: Final = np.array([ord(char) for char in " ▘▝▀▖▌▞▛▗▚▐▜▄▙▟█"], dtype=np.uint32)
"""Glyph per set of quadrants: upper left 1, upper right 2, lower left 4, lower right 8."""
_BITS: Final = np.array([1, 2, 4, 8], dtype=np.int64)
_FIRST: Final = np.array([0, 0, 0, 1, 1, 2], dtype=np.int64)
_SECOND: Final = np.array([1, 2, 3, 2, 3, 3], dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class TwoColours:
    """Cells reduced to one glyph and two packed colours each; arrays of shape (cells,)."""

    glyphs: npt.NDArray[np.uint32]
    foreground: IntArray
    background: IntArray


def two_colours(inks: IntArray, levels: IntArray, shades: IntArray) -> TwoColours:
    """Reduce cells of four quadrants. O(cells).

    Args:
        inks: index of the ink per quadrant, shape (cells, 4), in the order of ``GLYPHS``' bits.
        levels: coverage 0..LEVELS per quadrant, same shape.
        shades: packed colour per ink and level.
    """
    packed = shades[inks, levels]
    rgb = np.stack((packed >> 16 & 255, packed >> 8 & 255, packed & 255), axis=-1)
    distances = ((rgb[:, _FIRST] - rgb[:, _SECOND]) ** 2).sum(axis=2)
    widest = distances.argmax(axis=1)
    rows = np.arange(len(inks))
    to_first = ((rgb - rgb[rows, _FIRST[widest]][:, None]) ** 2).sum(axis=2)
    to_second = ((rgb - rgb[rows, _SECOND[widest]][:, None]) ** 2).sum(axis=2)
    second = to_second < to_first
    background = _shade(inks, levels, ~second, shades)
    foreground = np.where(second.any(axis=1), _shade(inks, levels, second, shades), background)
    bits = np.where(foreground == background, 0, (second * _BITS).sum(axis=1))
    return TwoColours(GLYPHS[bits], foreground, background)


def one_colour(inks: IntArray, levels: IntArray, shades: IntArray) -> IntArray:
    """One packed colour per cell: the ink that covers most of it, at the coverage it has. For ASCII output."""
    ink, level = whole_cells(inks, levels)
    return np.asarray(shades[ink, level], dtype=np.int64)


def whole_cells(inks: IntArray, levels: IntArray) -> tuple[IntArray, IntArray]:
    """The ink that covers most of each cell, and how much of the cell all inks together cover (0..LEVELS)."""
    covered = ((inks[:, :, None] == inks[:, None, :]) * levels[:, None, :]).sum(axis=2)
    rows = np.arange(len(inks))
    return inks[rows, covered.argmax(axis=1)], np.rint(levels.sum(axis=1) / 4 + 1e-9).astype(np.int64)


def _shade(inks: IntArray, levels: IntArray, members: npt.NDArray[np.bool_], shades: IntArray) -> IntArray:
    """The colour of a group of quadrants: its strongest ink, at the mean coverage of that ink in the group."""
    rows = np.arange(len(inks))
    ink = inks[rows, np.where(members, levels, -1).argmax(axis=1)]
    counted = members & ((inks == ink[:, None]) | (levels == 0))
    total = (levels * counted).sum(axis=1)
    level = np.rint(total / np.maximum(counted.sum(axis=1), 1)).astype(np.int64)
    return np.asarray(shades[ink, level], dtype=np.int64)
