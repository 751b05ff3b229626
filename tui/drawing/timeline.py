"""Marks in one line: the steps of a timeline with cursor and forks, and the cycles of a forecast."""

from __future__ import annotations

from msgspec import Struct, field
from textual.strip import Strip

from themes.palettes import ROLES, Palette, Rgb
from tui.drawing.canvas import BOLD, DIM, REVERSE, Canvas
from tui.drawing.colour import NO_COLOUR, pack
from tui.drawing.glyphs import Glyphs, glyphs_of, plain


class StepMark(Struct, frozen=True):
    """How a kind of step is shown: one character, and the role of its colour in the palette."""

    char: str
    role: str = "text"

    def __post_init__(self) -> None:
        assert len(self.char) == 1, "a mark is one character"
        assert self.role in ROLES, "a role of the palette"


class TimelinePicture(Struct, frozen=True):
    """A history of steps; position 0 is the state before the first one, position k the state after step k."""

    steps: tuple[StepMark, ...]
    cursor: int
    """The position shown, 0..len(steps); later steps are undone and fade."""
    forks: frozenset[int] = field(default_factory=frozenset)
    """Positions from which another branch goes on."""

    def __post_init__(self) -> None:
        assert 0 <= self.cursor <= len(self.steps), "the cursor is on a step"


def draw_timeline(picture: TimelinePicture, width: int, palette: Palette, *, ascii_only: bool = False) -> Strip:
    """The timeline in ``width`` cells; longer ones scroll with the cursor in the middle. O(width).

    The cursor is reversed, so it shows without colours; steps after it are dim. An arrow at an end says that there is
    more.
    """
    glyphs = glyphs_of(ascii_only)
    canvas = _blank(width, palette)
    first, pitch = window(len(picture.steps) + 1, picture.cursor, width)
    positions = range(first, min(len(picture.steps), first + (width - 1) // pitch) + 1) if width > 0 else range(0)
    for position in positions:
        column = (position - first) * pitch
        char, colour, attributes = _mark(picture, position, pitch, palette, glyphs)
        canvas.put(0, column, char, NO_COLOUR if palette.mono else pack(colour), attributes=attributes)
        if pitch == 2 and position < len(picture.steps):
            forked = position in picture.forks
            line = pack(palette.accent if forked else palette.rim)
            canvas.put(0, column + 1, glyphs.fork if forked else glyphs.rule, NO_COLOUR if palette.mono else line)
    ink = NO_COLOUR if palette.mono else pack(palette.accent)
    if first > 0 and picture.cursor != first:
        canvas.put(0, 0, glyphs.more_left, ink, attributes=BOLD)
    if positions and positions[-1] < len(picture.steps) and picture.cursor != positions[-1]:
        canvas.put(0, width - 1, glyphs.more_right, ink, attributes=BOLD)
    return canvas.line(0)


def window(positions: int, cursor: int, width: int) -> tuple[int, int]:
    """The first position shown, and how many cells each takes.

    >>> window(5, 2, 20), window(15, 7, 20), window(100, 50, 20)
    ((0, 2), (0, 1), (40, 1))
    """
    pitch = 2 if positions * 2 - 1 <= width else 1
    if positions <= width or width <= 0:
        return 0, pitch
    return min(max(0, cursor - width // 2), positions - width), 1


def _blank(width: int, palette: Palette) -> Canvas:
    if palette.mono:
        return Canvas(width, 1, NO_COLOUR, NO_COLOUR)
    return Canvas(width, 1, pack(palette.dim), pack(palette.background))


def _mark(
    picture: TimelinePicture, position: int, pitch: int, palette: Palette, glyphs: Glyphs
) -> tuple[str, Rgb, int]:
    """Character, colour and attributes of a position."""
    ahead = position > picture.cursor
    forked = position in picture.forks and pitch == 1
    mark = picture.steps[position - 1] if position > 0 else StepMark(glyphs.rule, "dim")
    if position == picture.cursor:
        return plain(mark.char, glyphs.ascii_only), palette.text, BOLD | REVERSE
    colour: Rgb = palette.muted if ahead else getattr(palette, "accent" if forked else mark.role)
    # Why: with one cell per position a fork has no cell of its own, so it takes the place of the step's mark.
    char = glyphs.fork if forked else plain(mark.char, glyphs.ascii_only)
    return char, colour, DIM if ahead and palette.mono else 0


WIDEST_PITCH = 6


class CycleMark(Struct, frozen=True):
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
