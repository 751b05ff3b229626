"""Words and numbers off a picture of a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from textual.screen import Screen
from textual.widget import Widget

from tests.soak_ui.terminal import Cell, Picture

_WORD: Final = re.compile(r"\S+")
_UNITS: Final = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}


@dataclass(frozen=True, slots=True)
class Line:
    """A row of a widget, cell by cell: what is wide takes two."""

    cells: tuple[Cell, ...]

    def text(self, begin: int = 0, end: int | None = None) -> str:
        return "".join(text for text, _ in self.cells[begin:end])


def lines_of(screen: Screen[object], picture: Picture, widget: Widget) -> list[Line]:
    """What the terminal shows of the inside of a widget; nothing where it is not in sight."""
    seen = screen._compositor.visible_widgets.get(widget)
    if seen is None:
        return []
    # A prompt of several lines leaves a panel less room than it has.
    region = widget.content_region.intersection(screen.region).intersection(seen[1])
    return [Line(tuple(picture.rows[y][region.x : region.right])) for y in range(region.y, region.bottom)]


def title_of(screen: Screen[object], picture: Picture, widget: Widget) -> str:
    """The upper edge of a widget."""
    if widget not in screen._compositor.visible_widgets:
        return ""
    region = widget.region.intersection(screen.region)
    return Line(tuple(picture.rows[region.y][region.x : region.right])).text() if region.height else ""


def headings(line: Line) -> Iterator[tuple[str, int, int]]:
    """The words of a heading, and the cells where each begins and ends."""
    for match in _WORD.finditer(line.text()):
        yield match.group(), match.start(), match.end()


def number_before(line: Line, end: int) -> str:
    """The last word that ends at a cell."""
    words = line.text(0, end).split()
    return words[-1] if words else ""


def says(text: str, value: float) -> bool:
    """Whether a printed number represents a value.

    >>> [says(text, 1234.0) for text in ("1,234", "1.2k", "1k", "1.3k", "12%")]
    [True, True, True, False, False]
    """
    plain, unit = text.replace(",", ""), 1.0
    if plain.endswith("%"):
        plain, unit = plain[:-1], 0.01
    elif plain[-1:] in _UNITS:
        plain, unit = plain[:-1], _UNITS[plain[-1]]
    try:
        number = float(plain)
    except ValueError:
        return False
    digits = len(plain.partition(".")[2])
    return abs(number * unit - value) <= 0.5001 * unit * 10.0**-digits
