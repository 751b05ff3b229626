"""The strip of the screen of brokers: what every cycle unloads, and where there is room how full each broker is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from rich.segment import Segment
from rich.style import Style
from textual.reactive import reactive
from textual.strip import Strip

from engine.views.brokers.model import Course, StripCell
from themes.palettes import hex_colour
from tui.kit.line_widget import LineWidget
from tui.kit.wording import fit, percent, safe_name

_LEVELS: Final = "▁▂▃▄▅▆▇█"
_ASCII_LEVELS: Final = ".:-=+*#@"
_LABEL: Final = 9
_LONG_LABEL: Final = 18
"""Where brokers are named."""
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
    courses: tuple[Course, ...] = ()
    """Brokers that have lines of their own above the three, in this order."""
    course_lines: int = 0
    """How many lines each of them has."""

    @property
    def lines(self) -> int:
        return 3 + len(self.courses) * self.course_lines


class StripPanel(LineWidget):
    """Three lines over all cycles: how many unloads (digits), topics interrupted and messages/s moved (heights).

    A cycle in which a bundle comes back to a broker that it had left is marked. Above them is the usage of brokers
    before each cycle, in percent and as columns.
    """

    DEFAULT_CSS = """
    StripPanel { height: 3; width: 1fr; }
    """

    strip: reactive[CycleStrip | None] = reactive(None)
    """What is shown."""

    def watch_strip(self) -> None:
        """Take the room of the brokers' lines."""
        self.styles.height = 3 if self.strip is None else self.strip.lines

    def render_line(self, y: int) -> Strip:
        width, given = self.size.width, self.strip
        plain = self.rich_style  # worked out anew whenever it is asked for
        if given is None or y >= given.lines:
            return Strip.blank(width, plain)
        label_cells = _LONG_LABEL if given.courses else _LABEL
        room = max(1, width - label_cells - _TOTAL)
        count = len(given.cells)
        pitch = max(1, min(8 if given.courses else 4, room // max(1, count)))
        fits = room // pitch
        first = 0 if count <= fits else min(max(0, given.shown - fits // 2), count - fits)
        shown = range(first, min(count, first + fits))
        y -= given.lines - 3
        if y < 0:
            course, line = divmod(y + given.lines - 3, given.course_lines)
            segments = self._course(given, given.courses[course], line, shown, pitch)
            return self.painted(Strip(segments).adjust_cell_length(width, plain))
        label = (" unloads", " topics", " msg/s")[y].ljust(label_cells)
        values = [(cell.unloads, cell.topics, cell.msgs_per_sec)[y] for cell in given.cells]
        most = max(values, default=0)
        segments = [Segment(label, plain)]
        for at in shown:
            char = _digit(int(values[at])) if y == 0 else self._height(values[at], most)
            style = plain + self._style(given, at, values[at])
            segments.append(Segment(char, style))
            back = y == 0 and given.cells[at].returns > 0 and pitch > 1
            sign = ("<" if self.ascii_only else "↩") if back else ""
            segments += [Segment(sign, style), Segment(" " * (pitch - 1 - len(sign)), plain)]
        segments.append(Segment(f" {given.totals[y]}", plain))
        return self.painted(Strip(segments).adjust_cell_length(width, plain))

    def _course(self, given: CycleStrip, course: Course, line: int, shown: range, pitch: int) -> list[Segment]:
        """One line of a broker: its name with the percentages, or a part of the columns below them."""
        plain = self.rich_style
        name = safe_name(course.broker) if line == 0 else ""
        segments = [Segment(f" {fit(name, _LONG_LABEL - 2)} ", plain)]
        for at in shown:
            usage = course.usages[at]
            known = 0.0 if usage is None or not math.isfinite(usage) else usage
            if line == 0:
                text = percent(usage if usage == known else None)
                text = text if len(text) < pitch else ""
            else:
                tall = given.course_lines - 1
                text = self._part(known * tall - (tall - line)) * max(1, pitch - 1)
            ink = self.colours.warn if course.sheds[at] else self.colours.text if line == 0 else self.colours.accent
            strong = _BOLD if course.sheds[at] else _LATER
            style = plain + (strong if self.colours.mono else Style.parse(hex_colour(ink)))
            segments += [Segment(text, style + _NOW if at == given.shown and line == 0 else style)]
            segments += [Segment(" " * (pitch - len(text)), plain)]
        return segments

    def _part(self, filled: float) -> str:
        """A cell of a column that is so full, 0 to 1."""
        levels = " " + (_ASCII_LEVELS if self.ascii_only else _LEVELS)
        return levels[round(min(1.0, max(0.0, filled)) * 8)]

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
