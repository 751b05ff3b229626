"""The strip of the screen of brokers: what every cycle unloads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rich.segment import Segment
from rich.style import Style
from textual.reactive import reactive
from textual.strip import Strip

from engine.views.brokers.model import StripCell
from themes.palettes import hex_colour
from tui.kit.line_widget import LineWidget

_LEVELS: Final = "▁▂▃▄▅▆▇█"
_ASCII_LEVELS: Final = ".:-=+*#@"
_LABEL: Final = 9
_TOTAL: Final = 8
_NOW: Final = Style(reverse=True, bold=True)
_BOLD: Final = Style(bold=True)
_BACK: Final = Style(bold=True, underline=True)
_LATER: Final = Style()


@dataclass(frozen=True, slots=True)
class CycleStrip:
    """All cycles, how many are over in what is shown, and the three totals."""

    cells: tuple[StripCell, ...]
    shown: int
    totals: tuple[str, str, str]


class StripPanel(LineWidget):
    """Three lines over all cycles: how many unloads (digits), topics interrupted and messages/s moved (heights).

    A cycle in which a bundle comes back to a broker that it had left is marked.
    """

    DEFAULT_CSS = """
    StripPanel { height: 3; width: 1fr; }
    """

    strip: reactive[CycleStrip | None] = reactive(None)
    """What is shown."""

    def render_line(self, y: int) -> Strip:
        width, given = self.size.width, self.strip
        plain = self.rich_style  # worked out anew whenever it is asked for
        if given is None or y > 2:
            return Strip.blank(width, plain)
        label = (" unloads", " topics", " msg/s")[y].ljust(_LABEL)
        room = max(1, width - _LABEL - _TOTAL)
        count = len(given.cells)
        pitch = max(1, min(4, room // max(1, count)))
        fits = room // pitch
        first = 0 if count <= fits else min(max(0, given.shown - fits // 2), count - fits)
        values = [(cell.unloads, cell.topics, cell.msgs_per_sec)[y] for cell in given.cells]
        most = max(values, default=0)
        segments = [Segment(label, plain)]
        for at in range(first, min(count, first + fits)):
            char = _digit(int(values[at])) if y == 0 else self._height(values[at], most)
            style = plain + self._style(given, at, values[at])
            segments.append(Segment(char, style))
            back = y == 0 and given.cells[at].returns > 0 and pitch > 1
            sign = ("<" if self.ascii_only else "↩") if back else ""
            segments += [Segment(sign, style), Segment(" " * (pitch - 1 - len(sign)), plain)]
        segments.append(Segment(f" {given.totals[y]}", plain))
        return self.painted(Strip(segments).adjust_cell_length(width, plain))

    def _style(self, given: CycleStrip, at: int, value: float) -> Style:
        colours = self.colours
        now = _NOW if at == given.shown else _LATER
        if colours.mono:
            return (_BACK if given.cells[at].returns else _BOLD if value > 0 else _LATER) + now
        ink = colours.bad if given.cells[at].returns else colours.warn if value > 0 else colours.dim
        return Style.parse(hex_colour(ink)) + now

    def _height(self, value: float, most: float) -> str:
        levels = _ASCII_LEVELS if self.ascii_only else _LEVELS
        if not value > 0 or not most > 0:
            return " " if self.ascii_only else "·"
        return levels[min(len(levels) - 1, int(value / most * (len(levels) - 1) + 0.5))]


def _digit(number: int) -> str:
    return "." if not number else str(number) if number < 10 else "+"
