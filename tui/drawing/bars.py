"""Bars of one line: a share of a whole, exact to an eighth of a cell."""

from __future__ import annotations

from textual.strip import Strip

from themes.palettes import Palette, Rgb
from tui.drawing.canvas import BOLD, Canvas
from tui.drawing.colour import NO_COLOUR, pack
from tui.drawing.glyphs import Glyphs, glyphs_of


def share_bar(
    share: float,
    width: int,
    palette: Palette,
    *,
    colour: Rgb | None = None,
    mark: float | None = None,
    ascii_only: bool = False,
) -> Strip:
    """A bar of ``width`` cells filled by ``share``.

    Args:
        share: 0..1; more is drawn as full, less as empty.
        colour: of the filled part; None takes the accent.
        mark: where to set a line, 0..1, such as the fair share; None for none.

    >>> from themes.palettes import palette
    >>> share_bar(0.5, 4, palette("dark", "mono"), ascii_only=True).text
    '##  '
    """
    glyphs = glyphs_of(ascii_only)
    mono = palette.mono
    fill = NO_COLOUR if mono else pack(palette.accent if colour is None else colour)
    ground = NO_COLOUR if mono else pack(palette.ring_track)
    canvas = Canvas(width, 1, fill, ground)
    for column, char in enumerate(bar_text(share, width, glyphs)):
        if char == "█" and not mono:
            canvas.put(0, column, " ", fill, background=fill)
        else:
            canvas.put(0, column, char, fill)
    if mark is not None and width > 0:
        column = min(width - 1, int(max(0.0, mark) * width))
        canvas.put(0, column, glyphs.cut, NO_COLOUR if mono else pack(palette.text), attributes=BOLD)
    return canvas.line(0)


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
