"""The cycles of a forecast in one line: a mark for what each one does, spread over the room there is."""

from __future__ import annotations

from dataclasses import dataclass

from textual.strip import Strip

from themes.palettes import ROLES, Palette
from tui.drawing.canvas import BOLD, DIM, REVERSE, Canvas
from tui.drawing.colour import NO_COLOUR, pack
from tui.drawing.glyphs import glyphs_of, plain

WIDEST_PITCH = 6


@dataclass(frozen=True, slots=True)
class CycleMark:
    """One character, and the role of its colour in the palette."""

    char: str
    role: str

    def __post_init__(self) -> None:
        assert len(self.char) == 1, "a mark is one character"
        assert self.role in ROLES, "a role of the palette"


def draw_cycles(
    marks: tuple[CycleMark, ...], shown: int, width: int, palette: Palette, *, ascii_only: bool = False
) -> Strip:
    """Position 0 is now, position k the state after cycle k; the one shown is reversed. O(width).

    Where there are more cycles than cells, those around the shown one stay in sight, with an arrow at a cut end.

    >>> from themes.palettes import palette
    >>> marks = (CycleMark("/", "warn"), CycleMark(".", "dim"))
    >>> draw_cycles(marks, 1, 7, palette("dark", "mono"), ascii_only=True).text
    'o--/--.'
    """
    glyphs = glyphs_of(ascii_only)
    mono = palette.mono
    canvas = Canvas(width, 1, NO_COLOUR if mono else pack(palette.rim), NO_COLOUR if mono else pack(palette.background))
    if width <= 0:
        return canvas.line(0)
    count = len(marks) + 1
    pitch = max(1, min(WIDEST_PITCH, (width - 1) // max(1, count - 1)))
    fits = (width - 1) // pitch + 1
    first = 0 if count <= fits else min(max(0, shown - fits // 2), count - fits)
    last = min(count, first + fits) - 1
    for column in range((last - first) * pitch + 1):
        canvas.put(0, column, glyphs.rule, NO_COLOUR if mono else pack(palette.rim), attributes=DIM if mono else 0)
    for position in range(first, last + 1):
        mark = marks[position - 1] if position else CycleMark(glyphs.dot, "text")
        attributes = BOLD | REVERSE if position == shown else BOLD
        ink = NO_COLOUR if mono else pack(palette.text if position == shown else getattr(palette, mark.role))
        canvas.put(0, (position - first) * pitch, plain(mark.char, ascii_only), ink, attributes=attributes)
    arrow = NO_COLOUR if mono else pack(palette.accent)
    if first > 0 and shown != first:
        canvas.put(0, 0, glyphs.more_left, arrow, attributes=BOLD)
    if last < count - 1 and shown != last:
        canvas.put(0, (last - first) * pitch, glyphs.more_right, arrow, attributes=BOLD)
    return canvas.line(0)
