"""A grid of cells that turns into strips, one row at a time: letter tags, and quadrants in two colours a cell.

Styles are kept per pair of colours, since making one costs more than drawing the cell. When the quadrants of a cell
have more than two colours, the two most different ones stay. A colour is averaged with the background (its coverage),
never with the colour of another owner.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from rich.cells import cell_len
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui.drawing.colour import NO_COLOUR, unpack
from tui.drawing.glyphs import Glyphs

BOLD = 1
DIM = 2
REVERSE = 4
UNDERLINE = 8

SPACE = ord(" ")


@lru_cache(maxsize=16384)
def style_of(foreground: int, background: int, attributes: int = 0) -> Style:
    """The style of two packed colours (``NO_COLOUR`` leaves one out) and attribute bits."""
    return Style(
        color=None if foreground == NO_COLOUR else Color.from_rgb(*unpack(foreground)),
        bgcolor=None if background == NO_COLOUR else Color.from_rgb(*unpack(background)),
        bold=True if attributes & BOLD else None,
        dim=True if attributes & DIM else None,
        reverse=True if attributes & REVERSE else None,
        underline=True if attributes & UNDERLINE else None,
    )


class Canvas:
    """Width x height cells, each with one character, two packed colours and attribute bits.

    Rows and columns count from the top left, from 0. Writing outside is cut off, never an error.
    """

    __slots__ = ("attributes", "background", "chars", "foreground", "height", "width")

    def __init__(self, width: int, height: int, foreground: int, background: int) -> None:
        self.width = max(0, width)
        self.height = max(0, height)
        shape = (self.height, self.width)
        self.chars: npt.NDArray[np.uint32] = np.full(shape, SPACE, dtype=np.uint32)
        self.foreground: npt.NDArray[np.int32] = np.full(shape, foreground, dtype=np.int32)
        self.background: npt.NDArray[np.int32] = np.full(shape, background, dtype=np.int32)
        self.attributes: npt.NDArray[np.uint8] = np.zeros(shape, dtype=np.uint8)

    def put(
        self, row: int, column: int, char: str, foreground: int, *, background: int | None = None, attributes: int = 0
    ) -> None:
        """Write one character; without a background the cell keeps the one it has."""
        if not (0 <= row < self.height and 0 <= column < self.width):
            return
        self.chars[row, column] = ord(char)
        self.foreground[row, column] = foreground
        self.attributes[row, column] = attributes
        if background is not None:
            self.background[row, column] = background

    def write(
        self, row: int, column: int, text: str, foreground: int, *, background: int | None = None, attributes: int = 0
    ) -> None:
        """Write a text.

        ``?`` stands for half a character, and for one of another width than a cell, which would shift the rest.
        """
        for offset, char in enumerate(text):
            shown = char if cell_len(char) == 1 and not _is_half(char) else "?"
            self.put(row, column + offset, shown, foreground, background=background, attributes=attributes)

    def line(self, row: int) -> Strip:
        """The strip of a row, exactly ``width`` cells; a row outside is blank. O(width)."""
        if not (0 <= row < self.height) or self.width == 0:
            return Strip.blank(self.width)
        return self._strips(row, row + 1)[0]

    def strips(self) -> list[Strip]:
        """All rows, top to bottom; much cheaper than row by row."""
        if self.width == 0:
            return [Strip.blank(0)] * self.height
        return self._strips(0, self.height)

    def _strips(self, first: int, end: int) -> list[Strip]:
        chars, attributes = self.chars[first:end], self.attributes[first:end]
        # A blank shows no foreground, so blanks on one ground are one run whatever their foreground is.
        fore = np.where((chars == SPACE) & (attributes & REVERSE == 0), NO_COLOUR, self.foreground[first:end])
        looks = (fore.astype(np.int64) + 1 << 25 | self.background[first:end].astype(np.int64) + 1) << 8 | attributes
        begins = np.ones(looks.shape, dtype=np.bool_)
        begins[:, 1:] = looks[:, 1:] != looks[:, :-1]
        starts = np.flatnonzero(begins)
        text = chars.astype("<u4", copy=False).tobytes().decode("utf-32-le")
        bounds = [*starts.tolist(), len(text)]
        segments = [
            Segment(text[start:stop], _style_of_look(look))
            for start, stop, look in zip(bounds, bounds[1:], looks.ravel()[starts].tolist(), strict=False)
        ]
        ends = np.cumsum(begins.sum(axis=1)).tolist()
        return [Strip(segments[begin:stop], self.width) for begin, stop in zip([0, *ends], ends, strict=False)]


def _is_half(char: str) -> bool:
    """Whether it is a surrogate without its partner, which no terminal can be sent."""
    return "\ud800" <= char <= "\udfff"


@lru_cache(maxsize=16384)
def _style_of_look(look: int) -> Style:
    """The style of a cell's two colours and attributes in one number, as ``_strips`` packs them."""
    return style_of((look >> 33) - 1, (look >> 8 & 0x1FFFFFF) - 1, look & 0xFF)


def spelled(owners: Sequence[int], tag_of: Callable[[int], str], glyphs: Glyphs) -> str:
    """One character per cell of a row: each run of one owner spells its tag as often as the tag fits wholly.

    A run shorter than its tag shows ``+``, since a part of a tag would be the tag of somebody else. O(cells).

    >>> from themes.palettes import consumer_tag
    >>> from tui.drawing.glyphs import ASCII
    >>> spelled([0, 0, 27, 27, 27, 27, 27, 27, 1, 27], consumer_tag, ASCII)
    'AAAB.AB.B+'
    """
    parts = []
    for owner, cells in groupby(owners):
        tag, length = tag_of(owner), len(list(cells))
        if len(tag) > length:
            parts.append(glyphs.unnamed * length)
        elif len(tag) == 1:
            parts.append(tag * length)
        else:
            times = (length + 1) // (len(tag) + 1)
            parts.append(glyphs.faded.join([tag] * times).ljust(length, glyphs.faded))
    return "".join(parts)


def joined(tag: str, char: str) -> int:
    """The attribute of a character of a tag: several letters are underlined, lest ``AB`` be read as ``A`` beside ``B``.

    >>> joined("AB", "A") == UNDERLINE, joined("A", "A"), joined("AB", ".")
    (True, 0, 0)
    """
    return UNDERLINE if len(tag) > 1 and char.isalpha() else 0


IntArray = npt.NDArray[np.int64]

LEVELS: Final = 8
"""Coverage is counted from 0 (background) to this."""
GLYPHS: Final = np.array([ord(char) for char in " ▘▝▀▖▌▞▛▗▚▐▜▄▙▟█"], dtype=np.uint32)
"""Glyph per set of quadrants: upper left 1, upper right 2, lower left 4, lower right 8."""
_BITS: Final = np.array([1, 2, 4, 8], dtype=np.int64)
_FIRST: Final = np.array([0, 0, 0, 1, 1, 2], dtype=np.int64)
_SECOND: Final = np.array([1, 2, 3, 2, 3, 3], dtype=np.int64)


class TwoColours(Struct, frozen=True, eq=False):
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
