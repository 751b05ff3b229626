"""The margins of the matrix of producers: partition numbers, tags, bars of the partitions, and the legend."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from engine.views.producers.model import ADDED, EAGER, FRESH, LOST, REASON
from themes.palettes import Palette, Rgb
from tui.drawing.canvas import BOLD, REVERSE, Canvas
from tui.drawing.colour import NO_COLOUR, mix, pack
from tui.drawing.glyphs import glyphs_of
from tui.drawing.matrix_grid import HEAD, Grid, MatrixPicture

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
            ink = NO_COLOUR if palette.mono else pack(palette.consumer_colour(picture.colours[row]))
            marked = row == picture.selected
            at = grid.line_of(row, producers)
            canvas.write(at, 1, tag.rjust(grid.left - 2), ink, attributes=BOLD | (REVERSE if marked else 0))
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
        labels = (f"{word} at each partition, at most {most:,.6g}", f"{word}, at most {most:,.6g}", word)
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
