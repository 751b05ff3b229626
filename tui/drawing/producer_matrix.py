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
from themes.palettes import Palette, Rgb
from tui.drawing.canvas import BOLD, REVERSE, Canvas
from tui.drawing.colour import NO_COLOUR, contrasting, legible, mix, pack
from tui.drawing.glyphs import glyphs_of
from tui.drawing.matrix_grid import FOOT, HEAD, Grid, MatrixPicture, bin_of, grid_for

REASON_WORDS: Final = ("eager", "lazy start", "router", "key", "added")
LETTERS: Final = " elrka"
"""Without colours: a letter for each reason, from ``NOT_OPEN`` on."""
_ROUND: Final = tuple(digit * 10**power for power in range(7) for digit in (1, 2, 5))


def reason_ink(reason: int, palette: Palette) -> Rgb:
    """The colour of a reason; eager is muted, since it says least."""
    inks = (mix(palette.accent, palette.background, 0.25), palette.consumer_colour(0), palette.consumer_colour(1))
    return (palette.rim, *inks, palette.consumer_colour(3), palette.good)[reason]


def draw_heads(canvas: Canvas, picture: MatrixPicture, grid: Grid, palette: Palette, *, ascii_only: bool) -> None:
    """Partition numbers as far as they fit, and below them what is not served, new, or marked."""
    partitions = picture.cells.shape[1]
    dim = NO_COLOUR if palette.mono else pack(palette.dim)
    end = grid.left + grid.columns * max(1, grid.wide)
    taken = range(0)
    if 0 <= picture.column < partitions:
        number = str(picture.column)
        start = max(0, min(grid.column_of(picture.column, partitions), canvas.width - len(number)))
        canvas.write(0, start, number, NO_COLOUR if palette.mono else pack(palette.text), attributes=BOLD)
        taken = range(start - 1, start + len(number) + 1)
    free = grid.left
    for partition in _ticks(partitions, grid):
        at, text = grid.column_of(partition, partitions), str(partition)
        fits = free <= at <= max(end, grid.left + len(text)) - len(text)
        if fits and not any(cell in taken for cell in range(at, at + len(text))):
            canvas.write(0, at, text, dim)
            free = at + len(text) + 1

    def mark(partition: int, char: str, ink: Rgb) -> None:
        at = grid.column_of(partition, partitions)
        canvas.put(1, at, char, NO_COLOUR if palette.mono else pack(ink), attributes=BOLD)

    for partition in range(picture.new_from, partitions):
        mark(partition, "+", palette.good)
    for partition in picture.failing:
        mark(partition, "x" if ascii_only else "✗", palette.bad)
    if 0 <= picture.column < partitions and picture.column not in picture.failing:
        mark(picture.column, "v" if ascii_only else "▾", palette.text)


def _ticks(partitions: int, grid: Grid) -> range:
    """Round numbers that leave room between them."""
    room = grid.columns * max(1, grid.wide)
    apart = (len(str(partitions)) + 2) * partitions / max(1, room)
    step = next(step for step in _ROUND if step >= apart)
    return range(0, partitions, step)


def draw_labels(canvas: Canvas, picture: MatrixPicture, grid: Grid, palette: Palette, *, ascii_only: bool) -> None:
    """Tags in the producers' colours where each has a line, else their numbers every few lines; the marked one."""
    producers = picture.cells.shape[0]
    dim = NO_COLOUR if palette.mono else pack(palette.dim)
    if grid.per_line == 1:
        for row, tag in enumerate(picture.tags):
            at, letters, marked = grid.line_of(row, producers), tag.rjust(grid.left - 2), row == picture.selected
            if palette.mono:
                canvas.write(at, 1, letters, NO_COLOUR, attributes=BOLD | (REVERSE if marked else 0))
                continue
            colour = palette.consumer_colour(picture.colours[row])
            if marked:
                canvas.write(at, 1, letters, pack(contrasting(colour)), background=pack(colour), attributes=BOLD)
            else:
                canvas.write(at, 1, letters, pack(legible(colour, palette.background)), attributes=BOLD)
    else:
        for line in range(0, grid.lines, 4):
            first = 2 * line if grid.per_line else (line * producers) // grid.lines
            if first < producers:
                canvas.write(HEAD + line, 0, str(first).rjust(grid.left - 1), dim)
    if 0 <= picture.selected < producers:
        at = grid.line_of(picture.selected, producers)
        if grid.per_line != 1:
            text = NO_COLOUR if palette.mono else pack(palette.text)
            canvas.write(at, 0, str(picture.selected).rjust(grid.left - 1), text, attributes=BOLD)
        canvas.put(at, grid.left - 1, ">" if ascii_only else "▸", NO_COLOUR if palette.mono else pack(palette.accent))


def draw_bars(canvas: Canvas, picture: MatrixPicture, grid: Grid, palette: Palette, *, ascii_only: bool) -> None:
    """Producer objects at each partition, and messages or their rates; where messages wait the ink is another one."""
    plain = NO_COLOUR if palette.mono else pack(palette.dim)
    inks = (palette.accent, palette.good)
    top = HEAD + grid.lines
    waits = _binned(picture.pending, grid) > 0
    flows = picture.msgs_per_sec.size > 0
    messages = picture.msgs_per_sec if flows else picture.messages + picture.pending
    words = ("producers", "in/s" if flows else "messages")
    for values, word, ink in zip((picture.objects, messages), words, inks, strict=True):
        binned = _binned(values, grid)
        most = float(binned.max(initial=0))
        number = f"{most:,.0f}" if most >= 100 else f"{most:,.4g}"
        labels = (f"{word} at each partition, at most {number}", f"{word}, at most {number}", word)
        room = canvas.width - grid.left
        canvas.write(top, grid.left, next((label for label in labels if len(label) <= room), ""), plain)
        packed = np.full(binned.size, NO_COLOUR if palette.mono else pack(ink))
        if word != "producers" and not palette.mono:
            packed = np.where(waits, pack(palette.warn), packed)
        _draw_columns(canvas, top + 1, grid, (binned / (most or 1), packed), glyphs_of(ascii_only).levels)
        top += 1 + grid.bars


def _binned(values: npt.NDArray[np.int64] | npt.NDArray[np.float64], grid: Grid) -> npt.NDArray[np.float64]:
    """The largest value of each column."""
    lefts = (np.arange(grid.columns) * values.size) // grid.columns
    most: npt.NDArray[np.float64] = np.maximum.reduceat(values.astype(np.float64), lefts)
    return most


def _draw_columns(
    canvas: Canvas, top: int, grid: Grid, bars: tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]], levels: str
) -> None:
    """A column of ``grid.bars`` lines for each of ``bars``, heights 0..1 and inks; what is not 0 shows."""
    heights, inks = bars
    steps = len(levels) - 1
    wide = max(1, grid.wide)
    units = np.where(heights > 0, np.maximum(1, np.round(heights * steps * grid.bars)), 0).astype(np.int64)
    for column, unit in enumerate(units.tolist()):
        for line in range(grid.bars):
            level = min(steps, max(0, unit - (grid.bars - 1 - line) * steps))
            if level:
                for offset in range(wide - 1 if wide >= 3 else wide):
                    canvas.put(top + line, grid.left + column * wide + offset, levels[level], int(inks[column]))


def draw_legend(canvas: Canvas, picture: MatrixPicture, palette: Palette, *, mono: bool, many: bool) -> None:
    """What the inks mean, of those that occur; with less room without blanks, and then as many as fit.

    ``many``: a point is several pairs, so without colours its height shows how many are open.
    """
    there = np.bincount((picture.cells & REASON).ravel(), minlength=ADDED + 1)
    entries: list[tuple[str, Rgb, str]] = []
    if mono and many:
        entries.append(("#", palette.text, "higher: more is open"))
    elif not picture.by_producer:
        entries = [
            (LETTERS[reason] if mono else "■", reason_ink(reason, palette), word)
            for reason, word in enumerate(REASON_WORDS, start=EAGER)
            if there[reason]
        ]
    if (picture.cells & LOST).any():
        entries.append(("x" if mono else "■", palette.bad, "lost"))
    if (picture.cells & FRESH).any() and not (mono and many):
        entries.append(("E" if mono else "■", palette.text, "new in this step"))
    roomy = sum(len(word) + 4 for _, _, word in entries) <= canvas.width
    plain, row, at = NO_COLOUR if palette.mono else pack(palette.dim), canvas.height - 1, 1 if roomy else 0
    for sign, ink, word in entries:
        shown = word if roomy else word.split()[0].rstrip(":")
        if at + len(shown) + 1 > canvas.width:
            break
        canvas.put(row, at, sign, NO_COLOUR if palette.mono else pack(ink), attributes=BOLD)
        if mono and not roomy:
            shown = f":{shown}"
        canvas.write(row, at + (2 if roomy else 1), shown, plain)
        at += len(shown) + (4 if roomy else 2)


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
