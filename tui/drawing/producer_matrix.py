"""The matrix of producers and partitions: who has opened what, and why, from a few large cells down to dust.

Where there is room, a producer has a line and a partition some cells of it; else two producers share a line (half
blocks), and in the end a point is many of both, the brighter the more of its pairs are open.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from engine.views.producers.model import ADDED, EAGER, FRESH, LOST, REASON
from themes.palettes import Palette
from tui.drawing.canvas import BOLD, Canvas
from tui.drawing.colour import NO_COLOUR, contrasting, mix, pack
from tui.drawing.glyphs import glyphs_of
from tui.drawing.matrix_grid import FOOT, HEAD, Grid, MatrixPicture, bin_of, grid_for
from tui.drawing.matrix_margins import (
    LETTERS,
    draw_bars,
    draw_heads,
    draw_labels,
    draw_legend,
    reason_ink,
)

_FRESHNESS: Final = 0.55
"""How much brighter is what the last step opened."""
_FAINTEST: Final = 0.35
"""The strength of the ink of a point with one open pair among many."""


def draw_matrix(
    picture: MatrixPicture, width: int, height: int, palette: Palette, *, ascii_only: bool = False
) -> Canvas:
    """The matrix with partition numbers above, producers' tags beside it, bars and what the inks mean below it.

    O(producers x partitions + width x height).
    """
    mono = palette.mono or ascii_only
    plain = NO_COLOUR if palette.mono else pack(palette.text)
    canvas = Canvas(width, height, plain, NO_COLOUR if palette.mono else pack(palette.background))
    producers, partitions = picture.cells.shape
    if width <= 0 or height <= HEAD + FOOT or not partitions:
        return canvas
    label = max(max((len(tag) for tag in picture.tags[:1000]), default=1), len(str(max(0, producers - 1)))) + 2
    grid = grid_for(producers, partitions, width, height, label, halves=not mono)
    if producers:
        points = _points(picture, grid, halves=not mono)
        if mono:
            _draw_letters(canvas, picture, grid, points, palette, ascii_only=ascii_only)
        else:
            _draw_blocks(canvas, picture, grid, points, palette)
    draw_heads(canvas, picture, grid, palette, ascii_only=ascii_only)
    draw_labels(canvas, picture, grid, palette, ascii_only=ascii_only)
    if grid.bars > 0 and producers and picture.objects.size == partitions:
        draw_bars(canvas, picture, grid, palette, ascii_only=ascii_only)
    many = not grid.per_line or not grid.wide
    draw_legend(canvas, picture, palette, mono=mono, many=many)
    return canvas


@dataclass(frozen=True, slots=True, eq=False)
class _Points:
    """Rows x columns of points: the part of the pairs that is open (0..1), the most frequent reason, and marks."""

    open: npt.NDArray[np.float64]
    reason: npt.NDArray[np.int64]
    lost: npt.NDArray[np.bool_]
    fresh: npt.NDArray[np.bool_]


def _points(picture: MatrixPicture, grid: Grid, *, halves: bool) -> _Points:
    producers, partitions = picture.cells.shape
    rows = producers if grid.per_line else min(producers, grid.lines * (2 if halves else 1))
    tops = (np.arange(rows) * producers) // rows
    lefts = (np.arange(grid.columns) * partitions) // grid.columns

    def counted(mask: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
        down: npt.NDArray[np.int64] = np.add.reduceat(mask, tops, axis=0, dtype=np.int64)
        counts: npt.NDArray[np.int64] = np.add.reduceat(down, lefts, axis=1)
        return counts

    reasons = picture.cells & REASON
    counts = np.stack([counted(reasons == reason) for reason in range(EAGER, ADDED + 1)])
    sizes = np.diff([*tops, producers])[:, None] * np.diff([*lefts, partitions])[None, :]
    total = counts.sum(axis=0)
    return _Points(
        open=total / sizes,
        reason=np.where(total > 0, counts.argmax(axis=0) + EAGER, 0),
        lost=counted((picture.cells & LOST) > 0) > 0,
        fresh=counted((picture.cells & FRESH) > 0) > 0,
    )


def _draw_blocks(canvas: Canvas, picture: MatrixPicture, grid: Grid, points: _Points, palette: Palette) -> None:
    inks = _point_inks(picture, points, palette)
    rows, ground, wide = inks.shape[0], pack(palette.background), max(1, grid.wide)
    for line in range(grid.lines):
        upper_row, lower_row = _rows_of(line, grid)
        if upper_row >= rows:
            break
        for column in range(grid.columns):
            upper = int(inks[upper_row, column])
            lower = int(inks[lower_row, column]) if 0 <= lower_row < rows else ground
            at = grid.left + column * wide
            _draw_cell(canvas, (HEAD + line, at), wide, upper, lower)
            if grid.per_line == 1 and wide >= 2 and line % grid.tall == 0:
                _mark(canvas, (HEAD + line, at), points, (upper_row, column), upper)


def _rows_of(line: int, grid: Grid) -> tuple[int, int]:
    """Which points the upper and the lower half of a line show; -1 for the gap between two tall rows."""
    if grid.per_line != 1:
        return 2 * line, 2 * line + 1
    row, at = divmod(line, grid.tall)
    return row, -1 if grid.tall > 1 and at == grid.tall - 1 else row


def _draw_cell(canvas: Canvas, place: tuple[int, int], wide: int, upper: int, lower: int) -> None:
    row, at = place
    shown = wide - 1 if wide >= 3 else wide  # a gap parts cells that are wide enough
    for offset in range(shown):
        if upper == lower:
            canvas.put(row, at + offset, " ", upper, background=upper)
        else:
            canvas.put(row, at + offset, "▀", upper, background=lower)


def _mark(canvas: Canvas, place: tuple[int, int], points: _Points, point: tuple[int, int], ink: int) -> None:
    """A cross where the connection is lost, a dot where the last step opened."""
    char = "×" if points.lost[point] else "•" if points.fresh[point] else ""
    if char:
        row, at = place
        colour = contrasting((ink >> 16, ink >> 8 & 255, ink & 255))
        canvas.put(row, at, char, pack(colour), background=ink, attributes=BOLD)


def _point_inks(picture: MatrixPicture, points: _Points, palette: Palette) -> npt.NDArray[np.int64]:
    """Packed colours of all points; marked rows and columns have a brighter ground."""
    rows, columns = points.open.shape
    producers, partitions = picture.cells.shape
    ground = np.full((rows, columns, 3), mix(palette.background, palette.ring_track, 0.7), dtype=np.float64)
    lit = np.asarray(mix(palette.ring_track, palette.text, 0.1), dtype=np.float64)
    if 0 <= picture.selected < producers:
        ground[bin_of(picture.selected, producers, rows)] = lit
    if 0 <= picture.column < partitions:
        ground[:, bin_of(picture.column, partitions, columns)] = lit
    if picture.by_producer:
        numbers = [picture.colours[(row * producers) // rows] for row in range(rows)]
        full = np.asarray([palette.consumer_colour(number) for number in numbers], dtype=np.float64)[:, None, :]
    else:
        full = np.asarray([reason_ink(reason, palette) for reason in range(ADDED + 1)], dtype=np.float64)[points.reason]
    bright = np.asarray(palette.text, dtype=np.float64)
    full = np.where(points.fresh[..., None], full + (bright - full) * _FRESHNESS, full)
    full = np.where(points.lost[..., None], np.asarray(palette.bad, dtype=np.float64), full)
    # Light enough to be seen where one pair of hundreds is open.
    amount = np.where(points.open > 0, _FAINTEST + (1 - _FAINTEST) * np.sqrt(points.open), 0.0)[..., None]
    if palette.depth in ("16", "256"):
        amount = np.round(amount + 0.2)
    mixed = np.rint(ground + (full - ground) * amount).astype(np.int64)
    packed: npt.NDArray[np.int64] = mixed[..., 0] << 16 | mixed[..., 1] << 8 | mixed[..., 2]
    return packed


def _draw_letters(
    canvas: Canvas, picture: MatrixPicture, grid: Grid, points: _Points, palette: Palette, *, ascii_only: bool
) -> None:
    """Without colours or blocks: a letter says why; where a point is many, a height says how many."""
    producers, partitions = picture.cells.shape
    rows, columns = points.open.shape
    levels = glyphs_of(ascii_only).levels
    many = rows < producers or columns < partitions
    for line, column in np.argwhere(points.open > 0).tolist():
        level = max(1, round(float(points.open[line, column]) * (len(levels) - 1)))
        char = levels[level] if many else LETTERS[points.reason[line, column]]
        if points.lost[line, column]:
            char = "x"
        elif points.fresh[line, column] and not many:
            char = char.upper()
        ink = NO_COLOUR if palette.mono else pack(reason_ink(int(points.reason[line, column]), palette))
        canvas.put(HEAD + line * grid.tall, grid.left + column * max(1, grid.wide), char, ink)
    for line, column in np.argwhere(points.open == 0).tolist():
        if not many:
            ink = NO_COLOUR if palette.mono else pack(palette.rim)
            canvas.put(HEAD + line * grid.tall, grid.left + column * max(1, grid.wide), ".", ink)
