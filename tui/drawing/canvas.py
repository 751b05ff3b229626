"""A grid of cells that turns into strips, one row at a time.

Styles are made once per pair of colours and kept, since making one costs more than drawing the cell.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from rich.cells import cell_len
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui.drawing.colour import NO_COLOUR, unpack

BOLD = 1
DIM = 2
REVERSE = 4

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
        """Write a text; characters that are not one cell wide are shown as ``?`` so that nothing shifts."""
        for offset, char in enumerate(text):
            shown = char if cell_len(char) == 1 else "?"
            self.put(row, column + offset, shown, foreground, background=background, attributes=attributes)

    def line(self, row: int) -> Strip:
        """The strip of a row, exactly ``width`` cells; a row outside is blank. O(width)."""
        if not (0 <= row < self.height) or self.width == 0:
            return Strip.blank(self.width)
        chars, fore = self.chars[row], self.foreground[row]
        back, attributes = self.background[row], self.attributes[row]
        # A blank shows no foreground, so blanks on one ground are one run whatever their foreground is.
        shown = np.where((chars == SPACE) & (attributes & REVERSE == 0), NO_COLOUR, fore)
        change = (shown[1:] != shown[:-1]) | (back[1:] != back[:-1]) | (attributes[1:] != attributes[:-1])
        starts = [0, *(np.flatnonzero(change) + 1).tolist()]
        text = chars.astype("<u4", copy=False).tobytes().decode("utf-32-le")
        keys = zip(shown[starts].tolist(), back[starts].tolist(), attributes[starts].tolist(), strict=True)
        ends = [*starts[1:], self.width]
        segments = [
            Segment(text[start:end], style_of(*key)) for start, end, key in zip(starts, ends, keys, strict=True)
        ]
        return Strip(segments, self.width)

    def strips(self) -> list[Strip]:
        """All rows, top to bottom."""
        return [self.line(row) for row in range(self.height)]
