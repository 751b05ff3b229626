"""How often values fall between bounds: counted by numpy, drawn as one bar for each piece."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from rich.text import Text

from themes.palettes import Palette, hex_colour
from tui.drawing.bars import bar_text
from tui.drawing.glyphs import Glyphs, glyphs_of
from tui.wording import quantity

RATIO_BOUNDS: Final = (1.005, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0)
"""Above each of them another piece begins; up to the first one all have the same."""
_NONE: Final = "none"
_GAP: Final = 2
_TWO_COLUMNS: Final = 60


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of the axis: its words, how many values fall there, and whether the marked one does."""

    label: str
    count: int
    marked: bool = False


def ratio_pieces(values: npt.NDArray[np.float64], marked: float | None = None) -> tuple[Piece, ...]:
    """Quotients of largest to mean, ``nan`` where there is none. O(n log pieces).

    >>> [(piece.label, piece.count) for piece in ratio_pieces(np.array([1.0, 1.3, 1.5, 40.0, np.nan])) if piece.count]
    [('1', 1), ('to 1.5', 2), ('above 10', 1), ('none', 1)]
    """
    labels = ["1", *(f"to {bound:g}" for bound in RATIO_BOUNDS[1:]), f"above {RATIO_BOUNDS[-1]:g}", _NONE]
    return _pieces(values, RATIO_BOUNDS, labels, marked)


def amount_pieces(values: npt.NDArray[np.float64], marked: float | None = None) -> tuple[Piece, ...]:
    """Amounts by their powers of ten, from nothing to the largest there is. O(n log pieces).

    >>> [(piece.label, piece.count) for piece in amount_pieces(np.array([0.0, 0.5, 7.0, 250.0]))]
    [('0', 1), ('to 1', 1), ('to 10', 1), ('to 100', 0), ('to 1.0k', 1), ('none', 0)]
    """
    largest = float(np.nanmax(values)) if np.isfinite(values).any() else 0.0
    powers = [1.0]
    while powers[-1] < largest and len(powers) < 16:
        powers.append(powers[-1] * 10)
    labels = ["0", *(f"to {quantity(power)}" for power in powers), _NONE]
    return _pieces(values, (0.0, *powers[:-1]), labels, marked)


def _pieces(
    values: npt.NDArray[np.float64], bounds: Sequence[float], labels: Sequence[str], marked: float | None
) -> tuple[Piece, ...]:
    edges = np.asarray(bounds, dtype=np.float64)
    none = len(labels) - 1
    # nan sorts last, which is not where it belongs: it has a piece of its own.
    places = np.where(np.isnan(values), none, np.searchsorted(edges, values, side="left"))
    counts = np.bincount(places, minlength=len(labels)).tolist()
    at = -1
    if marked is not None:
        at = none if np.isnan(marked) else int(np.searchsorted(edges, marked, side="left"))
    return tuple(Piece(label, counts[place], place == at) for place, label in enumerate(labels))


def histogram_lines(pieces: Sequence[Piece], width: int, colours: Palette, *, ascii_only: bool) -> list[Text]:
    """One line for each piece, in two columns where it is wide: label, bar, count; the marked piece has a mark."""
    columns = 2 if width >= _TWO_COLUMNS else 1
    each = (width - _GAP * (columns - 1)) // columns
    half = -(-len(pieces) // columns)
    words = max((len(piece.label) for piece in pieces), default=0)
    digits = max((len(f"{piece.count:,}") for piece in pieces), default=0)
    shape = _Shape(each, words, digits, max((piece.count for piece in pieces), default=0))
    lines = []
    for at in range(half):
        line = Text(no_wrap=True)
        for piece in pieces[at::half]:
            if line:
                line.append(" " * _GAP)
            line.append_text(_line(piece, shape, colours, glyphs_of(ascii_only)))
        lines.append(line)
    return lines


@dataclass(frozen=True, slots=True)
class _Shape:
    """Cells of a line, of its label and of its count, and the count that fills the bar."""

    width: int
    words: int
    digits: int
    most: int


def _line(piece: Piece, shape: _Shape, colours: Palette, glyphs: Glyphs) -> Text:
    room = max(0, shape.width - shape.words - shape.digits - 4)
    ink = hex_colour(colours.accent if piece.marked else colours.active)
    mark = glyphs.more_right if piece.marked else " "
    bar = bar_text(piece.count / shape.most if shape.most else 0.0, room, glyphs)
    text = Text(no_wrap=True)
    text.append(f"{mark}{piece.label:>{shape.words}} ", "bold" if piece.marked else "")
    text.append(bar, "" if colours.mono else ink)
    text.append(f" {piece.count:>{shape.digits},} ", "" if piece.count else hex_colour(colours.dim))
    return text
