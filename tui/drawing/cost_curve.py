"""Producer objects over the number of partitions, for each way to start: three lines on a scale of powers of ten."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from themes.palettes import Palette, Rgb
from tui.drawing.canvas import BOLD, Canvas
from tui.drawing.colour import NO_COLOUR, pack

_DOTS: Final = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
"""Bits of a braille character by row and column."""
_BRAILLE: Final = 0x2800
_LEFT: Final = 5
"""Cells of the scale beside the lines."""


@dataclass(frozen=True, slots=True, eq=False)
class CostPicture:
    """``partitions`` ascending, and for each line its values there; ``marks`` are letters, used without colours.

    ``here`` is the number of partitions there are, ``observed`` the objects there are.
    """

    partitions: npt.NDArray[np.float64]
    lines: tuple[npt.NDArray[np.float64], ...]
    marks: str
    here: float
    observed: float

    @property
    def top(self) -> float:
        """The highest power of ten that is reached, as an exponent, at least 1."""
        highest = max([1.0, self.observed, *(float(line.max(initial=1.0)) for line in self.lines)])
        return max(1.0, math.log10(highest))


def line_inks(palette: Palette) -> tuple[Rgb, Rgb, Rgb]:
    """The colours of eager, lazy and partial."""
    return palette.bad, palette.consumer_colour(1), palette.good


def draw_costs(picture: CostPicture, width: int, height: int, palette: Palette, *, ascii_only: bool = False) -> Canvas:
    """The lines with powers of ten at the left, the numbers of partitions below, and the topic as it is now."""
    plain = NO_COLOUR if palette.mono else pack(palette.text)
    dim = NO_COLOUR if palette.mono else pack(palette.dim)
    canvas = Canvas(width, height, plain, NO_COLOUR if palette.mono else pack(palette.background))
    left, lines = _LEFT, height - 1
    columns = width - left
    if columns < 8 or lines < 2 or picture.partitions.size < 2:
        return canvas
    here = left + _column(picture, picture.here, columns)
    for row in range(lines):
        canvas.put(row, here, "|" if ascii_only else "┊", dim)
    for power in range(0, math.floor(picture.top) + 1, math.ceil((picture.top + 1) / lines)):
        row = lines - 1 - round(power / picture.top * (lines - 1))
        canvas.write(row, 0, _power(power).rjust(left - 1), dim)
    inks = [NO_COLOUR if palette.mono else pack(ink) for ink in line_inks(palette)]
    letters = ascii_only or palette.mono
    for line, ink, mark in zip(picture.lines, inks, picture.marks, strict=True):
        if letters:
            _letters(canvas, picture, line, ink, mark)
        else:
            _braille(canvas, picture, line, ink)
    row = lines - 1 - round(math.log10(max(1.0, picture.observed)) / picture.top * (lines - 1))
    canvas.put(row, here, "X" if ascii_only else "◆", plain, attributes=BOLD)
    _axis(canvas, picture, here, palette)
    return canvas


def _axis(canvas: Canvas, picture: CostPicture, here: int, palette: Palette) -> None:
    left, plain = _LEFT, NO_COLOUR if palette.mono else pack(palette.text)
    dim = NO_COLOUR if palette.mono else pack(palette.dim)
    first, last = f"{picture.partitions[0]:,.0f}", f"{picture.partitions[-1]:,.0f}"
    row, middle = canvas.height - 1, f"{picture.here:,.0f} partitions"
    at = max(left + len(first) + 1, min(here - len(middle) // 2, canvas.width - len(last) - len(middle) - 1))
    canvas.write(row, left, first, dim)
    canvas.write(row, canvas.width - len(last), last, dim)
    if at + len(middle) < canvas.width - len(last):
        canvas.write(row, at, middle, plain)


def _column(picture: CostPicture, partitions: float, columns: int) -> int:
    low, high = float(picture.partitions[0]), float(picture.partitions[-1])
    return min(columns - 1, max(0, round((partitions - low) / (high - low) * (columns - 1))))


def _heights(picture: CostPicture, line: npt.NDArray[np.float64], samples: int) -> npt.NDArray[np.float64]:
    """Heights 0..1 at evenly spaced numbers of partitions."""
    at = np.linspace(float(picture.partitions[0]), float(picture.partitions[-1]), samples)
    values = np.interp(at, picture.partitions, line)
    heights: npt.NDArray[np.float64] = np.log10(np.maximum(1.0, values)) / picture.top
    return heights


def _braille(canvas: Canvas, picture: CostPicture, line: npt.NDArray[np.float64], ink: int) -> None:
    left, lines = _LEFT, canvas.height - 1
    columns = canvas.width - left
    dots = np.round((1 - _heights(picture, line, columns * 2)) * (lines * 4 - 1)).astype(np.int64)
    cells = np.zeros((lines, columns), dtype=np.int64)
    before = int(dots[0])
    for x, y in enumerate(dots.tolist()):
        for dot in range(min(before, y), max(before, y) + 1):  # no holes where it is steep
            cells[dot // 4, x // 2] |= int(_DOTS[dot % 4, x % 2])
        before = y
    for row, column in np.argwhere(cells > 0).tolist():
        there = int(canvas.chars[row, left + column]) - _BRAILLE  # another line may pass through the same cell
        shared = there if 0 < there < 256 else 0
        canvas.put(row, left + column, chr(_BRAILLE + int(cells[row, column]) | shared), ink)


def _letters(canvas: Canvas, picture: CostPicture, line: npt.NDArray[np.float64], ink: int, mark: str) -> None:
    left, lines = _LEFT, canvas.height - 1
    columns = canvas.width - left
    for column, height in enumerate(_heights(picture, line, columns).tolist()):
        canvas.put(round((1 - height) * (lines - 1)), left + column, mark, ink)


def _power(power: int) -> str:
    """A power of ten in at most four characters.

    >>> [_power(exponent) for exponent in (0, 2, 3, 5, 6)]
    ['1', '100', '1k', '100k', '1M']
    """
    unit, rest = divmod(power, 3)
    return f"{10**rest}{('', 'k', 'M', 'G')[min(unit, 3)]}"
