"""The tables of consumers and of segments, from their declared rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from engine.answer import TableColumn
from engine.views.scalable.dashboard import ConsumerLine, SegmentLine
from themes.palettes import Palette, hex_colour
from tui.drawing.colour import letter_style
from tui.kit.columns import Lines, Order, Table
from tui.kit.declared import lines_of, sorted_by
from tui.kit.list_panel import RowForm

_HARMS: Final = ("stuck", "lost")


def consumers_table(colours: Palette, _ascii_only: bool) -> Table[ConsumerLine]:
    def style(row: ConsumerLine, column: TableColumn) -> str:
        match column.name:
            case "tag":
                return str(letter_style(colours, row.number))
            case "state" | "remark":
                harms, moves = row.state in _HARMS, row.state == "moving"
                return hex_colour(colours.bad if harms else colours.warn if moves else colours.dim)
        return hex_colour(colours.dim) if not getattr(row, column.name) else ""

    return Table(lines_of(ConsumerLine, style), sorted_by(ConsumerLine))


CONSUMERS: Final[RowForm[ConsumerLine]] = RowForm("consumer", lambda row: row.number, consumers_table)


def segment_lines(colours: Palette) -> Callable[[Sequence[SegmentLine], Order], Lines]:
    """The table of segments in a palette."""

    def style(row: SegmentLine, column: TableColumn) -> str:
        value = getattr(row, column.name)
        if column.name == "score" and row.score is not None and row.score > 1.0:
            return f"bold {hex_colour(colours.bad)}"
        if column.name == "state" and row.state in ("waits", "draining"):
            return hex_colour(colours.warn)
        return hex_colour(colours.dim) if not value or row.state == "sealed" else ""

    return lines_of(SegmentLine, style)


SEGMENT_VALUE: Final = sorted_by(SegmentLine)
