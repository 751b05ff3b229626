"""Pictures of one line: a share of a whole to an eighth of a cell, and an observed value on the range of chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from rich.text import Text
from textual.strip import Strip

from themes.palettes import Palette
from tui.drawing.canvas import BOLD, DIM, Canvas
from tui.drawing.colour import NO_COLOUR, letter_style, mix, pack
from tui.drawing.glyphs import Glyphs, glyphs_of

LETTERS: Final = 26
MANY: Final = "*"
"""The mark of consumers that have more than one letter."""


def bar_text(share: float, width: int, glyphs: Glyphs) -> str:
    """The characters of a bar; a share above nothing shows at least its thinnest part.

    >>> from tui.drawing.glyphs import UNICODE
    >>> bar_text(0.3125, 4, UNICODE), bar_text(0.001, 4, UNICODE)
    ('█▎  ', '▏   ')
    """
    if width <= 0:
        return ""
    parts = len(glyphs.bar)
    filled = min(1.0, max(0.0, share)) * width * parts
    units = max(1, round(filled)) if share > 0 else 0
    whole, rest = divmod(units, parts)
    text = glyphs.bar[-1] * whole + (glyphs.bar[rest - 1] if rest else "")
    return text.ljust(width)


class LuckPicture(Struct, frozen=True):
    """Numbers of keys of the busiest consumer: observed, expected, and the span of most cases; ``most`` is all keys."""

    observed: int
    expected: float
    low: int
    high: int
    most: int

    @property
    def far_end(self) -> float:
        """The number at the right end: some air behind the largest that is marked, and never more than all keys."""
        return max(1.0, min(float(self.most), max(self.observed, self.high, self.expected) * 1.25 + 1))

    @property
    def usual(self) -> bool:
        """Whether the observed value is within the range of chance."""
        return self.low <= self.observed <= self.high


def draw_luck(picture: LuckPicture, width: int, palette: Palette, *, ascii_only: bool = False) -> Strip:
    """A scale from 0 to ``picture.far_end``: the span as a block, a stroke at the mean, a diamond at the observed.

    >>> from themes.palettes import palette
    >>> draw_luck(LuckPicture(8, 5.0, 4, 6, 10), 11, palette("dark", "mono"), ascii_only=True).text
    '----=|=-X--'
    """
    glyphs, mono = glyphs_of(ascii_only), palette.mono
    ink = NO_COLOUR if mono else pack(palette.text)
    ground = NO_COLOUR if mono else pack(palette.background)
    canvas = Canvas(width, 1, ink, ground)
    if width <= 0:
        return canvas.line(0)
    low, high = (column_of(picture, value, width) for value in (picture.low, picture.high))
    span = mix(palette.background, palette.accent, 0.45)
    for column in range(width):
        inside = low <= column <= high
        if inside and not mono and not ascii_only:
            canvas.put(0, column, " ", ink, background=pack(span))
        else:
            char = ("=" if ascii_only else "━") if inside else glyphs.rule
            line = palette.accent if inside else palette.rim
            canvas.put(0, column, char, NO_COLOUR if mono else pack(line), attributes=DIM if mono and not inside else 0)
    back = {"background": pack(span)} if not mono and not ascii_only else {}
    canvas.put(0, column_of(picture, picture.expected, width), glyphs.cut, ink, attributes=BOLD, **back)
    at = column_of(picture, picture.observed, width)
    here = {"background": pack(span)} if low <= at <= high and back else {}
    mark = NO_COLOUR if mono else pack(palette.good if picture.usual else palette.warn)
    canvas.put(0, at, glyphs.highlight, mark, attributes=BOLD, **here)
    return canvas.line(0)


def column_of(picture: LuckPicture, value: float, width: int) -> int:
    """The cell of a number."""
    share = min(1.0, max(0.0, value / picture.far_end))
    return min(width - 1, round(share * (width - 1)))


def shares_bar(parts: Sequence[tuple[int, int]], width: int, palette: Palette) -> Text:
    """A bar of ``width`` cells that consumers have by their shares: pairs of a consumer's number and what it has.

    Each has its colour and, once, its letter; without colours its letter all over.

    >>> from themes.palettes import palette
    >>> shares_bar([(0, 6), (1, 3), (2, 1)], 5, palette("dark", "mono")).plain
    'AAABC'
    """
    text = Text(no_wrap=True)
    total = sum(items for _, items in parts)
    before = done = 0
    for number, items in parts:
        done += items
        end = round(done * width / total)
        cells, before = end - before, end
        if cells <= 0:
            continue
        letter = chr(ord("A") + number) if number < LETTERS else MANY
        if palette.mono:
            text.append(letter * cells)
            continue
        text.append(letter.ljust(cells), letter_style(palette, number))
    text.append(" " * (width - before))
    return text
