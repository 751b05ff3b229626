"""A bundle's hash range as an axis: where its topics are, and where it would be cut."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt
from textual.strip import Strip

from themes.palettes import Palette, Rgb
from tui.drawing.canvas import BOLD, Canvas
from tui.drawing.colour import NO_COLOUR, mix, pack
from tui.drawing.glyphs import Glyphs, fitted, glyphs_of
from tui.drawing.ring_dots import ascends

AXIS_LINES: Final = 4
"""How many lines a drawing has."""


def _none() -> npt.NDArray[np.uint32]:
    return np.zeros(0, dtype=np.uint32)


@dataclass(frozen=True, slots=True, eq=False)
class SplitPicture:
    """One bundle and its cuts."""

    lower: int
    """First hash of the bundle."""
    upper: int
    """End of the bundle, above ``lower``."""
    cuts: tuple[int, ...] = ()
    """Ascending, strictly between the ends; the hash of a cut begins the part on its right."""
    hashes: npt.NDArray[np.uint32] = field(default_factory=_none)
    """Hashes of the topics inside, in any order."""
    weights: npt.NDArray[np.float64] | None = None
    """How much each topic counts (messages per second, say); None counts topics."""
    labels: tuple[str, ...] = ()
    """What to say about each part, from left to right."""

    def __post_init__(self) -> None:
        assert self.lower < self.upper, "a bundle has an extent"
        ends = (self.lower, *self.cuts, self.upper)
        assert all(left < right for left, right in pairwise(ends)), "cuts ascend inside the bundle"
        assert self.weights is None or self.weights.shape == self.hashes.shape, "one weight per topic"


def draw_split(picture: SplitPicture, width: int, palette: Palette, *, ascii_only: bool = False) -> list[Strip]:
    """Four lines of ``width`` cells: density of the topics, axis with cuts, hashes of ends and cuts, part labels.

    Parts take turns in two colours; a cut is also a line through the first two rows. O(topics + width).
    """
    glyphs = glyphs_of(ascii_only)
    mono = palette.mono
    canvas = Canvas(
        width, AXIS_LINES, NO_COLOUR if mono else pack(palette.text), NO_COLOUR if mono else pack(palette.background)
    )
    if width <= 0:
        return canvas.strips()
    columns = [column_of(picture, cut, width) for cut in picture.cuts]
    for column in range(width):
        part = sum(column >= cut for cut in columns)
        ink = NO_COLOUR if mono else pack(_part_colour(part, palette))
        canvas.put(1, column, glyphs.rule, ink)
    for column, level in enumerate(density(picture, width, len(glyphs.levels) - 1).tolist()):
        canvas.put(0, column, glyphs.levels[level], int(canvas.foreground[1, column]))
    for column in columns:
        for row in (0, 1):
            canvas.put(row, column, glyphs.cut, NO_COLOUR if mono else pack(palette.text), attributes=BOLD)
    _draw_hashes(canvas, picture, columns, palette)
    _draw_labels(canvas, picture, columns, palette, glyphs)
    return canvas.strips()


def column_of(picture: SplitPicture, value: int, width: int) -> int:
    """The cell of a hash on the axis.

    >>> column_of(SplitPicture(0, 0x100), 0x80, 10)
    5
    """
    return min(width - 1, max(0, (value - picture.lower) * width // (picture.upper - picture.lower)))


def density(picture: SplitPicture, width: int, top: int) -> npt.NDArray[np.int64]:
    """Height of each column, 0..top: 0 where there is nothing, else at least 1; the fullest column has ``top``.

    >>> density(SplitPicture(0, 100, hashes=np.array([1, 2, 3, 80], dtype=np.uint32)), 4, 6).tolist()
    [6, 0, 0, 2]
    """
    totals = _totals(picture, width)
    if totals.max(initial=0.0) <= 0:
        return np.zeros(width, dtype=np.int64)
    heights: npt.NDArray[np.int64] = np.ceil(totals / totals.max() * top).astype(np.int64)
    return heights


def _totals(picture: SplitPicture, width: int) -> npt.NDArray[np.float64]:
    """What each column holds. Hashes in order are cut at the columns' ends, O(width log topics) where topics count."""
    hashes, weights, extent = picture.hashes, picture.weights, picture.upper - picture.lower
    if ascends(hashes):
        starts = [picture.lower - (-column * extent // width) for column in range(width)]
        last = int(np.searchsorted(hashes, np.uint32(picture.upper), side="right"))
        # Keys of the hashes' own type: with others all hashes would be converted.
        cuts = np.append(np.searchsorted(hashes, np.array(starts, dtype=np.uint32)), last)
        if weights is None:
            return np.diff(cuts).astype(np.float64)
        return np.array([weights[start:end].sum() for start, end in pairwise(cuts.tolist())])
    inside = (hashes >= picture.lower) & (hashes <= picture.upper)
    offsets = hashes[inside].astype(np.int64) - picture.lower
    cells = np.minimum(offsets * width // extent, width - 1)
    inside_weights = None if weights is None else weights[inside]
    return np.bincount(cells, weights=inside_weights, minlength=width).astype(np.float64)


def _part_colour(part: int, palette: Palette) -> Rgb:
    if part % 2 == 0:
        return palette.accent
    return palette.warn if palette.depth == "16" else mix(palette.warn, palette.text, 0.15)


def _draw_hashes(canvas: Canvas, picture: SplitPicture, columns: list[int], palette: Palette) -> None:
    """The ends' hashes first, then those of the cuts that find room."""
    dim = NO_COLOUR if palette.mono else pack(palette.dim)
    text = NO_COLOUR if palette.mono else pack(palette.text)
    ends = (f"0x{picture.lower:08x}", f"0x{picture.upper:08x}")
    taken = [False] * canvas.width
    wanted = [(0, ends[0], dim), (canvas.width - len(ends[1]), ends[1], dim)]
    wanted += [(column - 4, f"0x{cut:08x}", text) for cut, column in zip(picture.cuts, columns, strict=True)]
    for start, label, ink in wanted:
        at = max(0, min(start, canvas.width - len(label)))
        around = taken[max(0, at - 1) : at + len(label) + 1]
        if len(label) > canvas.width or any(around):
            continue
        canvas.write(2, at, label, ink)
        taken[at : at + len(label)] = [True] * len(label)


def _draw_labels(canvas: Canvas, picture: SplitPicture, columns: list[int], palette: Palette, glyphs: Glyphs) -> None:
    """Each part's label in the middle of its part, cut to fit."""
    ends = [0, *columns, canvas.width]
    for part, label in enumerate(picture.labels[: len(ends) - 1]):
        left, right = ends[part], ends[part + 1]
        text = fitted(label, max(0, right - left - 1), glyphs)
        ink = NO_COLOUR if palette.mono else pack(_part_colour(part, palette))
        canvas.write(3, left + (right - left - len(text)) // 2, text, ink)
