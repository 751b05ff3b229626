"""The columns of a table of consumers that brokers reported, marked as such, and what is in their cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rich.style import Style
from rich.text import Text

from engine.views.reported.model import ReportedConsumer
from themes.palettes import Palette, hex_colour
from tui.kit.columns import Column, Value
from tui.kit.reported_words import (
    BLOCKED_SIGN,
    REPORTED_SIGN,
    Tagged,
    fitting_text,
    obstacle_texts,
    waiting_text,
)
from tui.kit.wording import quantity

REPORTED_ORDER: Final = ("permits", "unack", "waits", "blocked")
"""The keys of the columns in the order in which they are shown."""
_BLOCKED_CELLS: Final = (11, 24)


@dataclass(frozen=True, slots=True)
class ReportedColumns:
    """``important`` ones are there where they say something of somebody, the ``others`` where anything was reported."""

    important: tuple[Column, ...] = ()
    others: tuple[Column, ...] = ()


def reported_columns(consumers: Sequence[ReportedConsumer]) -> ReportedColumns:
    """Return the columns for what was reported of some consumers, the most important first; none for nobody."""
    if not consumers:
        return ReportedColumns()
    important = []
    if any(each.obstacles for each in consumers):
        important.append(
            Column("blocked", f"{REPORTED_SIGN}blocked", _BLOCKED_CELLS[0], left=True, most=_BLOCKED_CELLS[1])
        )
    waiting = max((len(waiting_text(each)) for each in consumers), default=0)
    if waiting:
        important.append(Column("waits", f"{REPORTED_SIGN}waiting", max(waiting + 1, len("waiting") + 2)))
    return ReportedColumns(
        tuple(important), (Column("permits", f"{REPORTED_SIGN}permits", 9), Column("unack", f"{REPORTED_SIGN}unack", 7))
    )


def reported_cell(consumer: ReportedConsumer | None, column: Column, colours: Palette, rows: Sequence[Tagged]) -> Text:
    """Return the cell of one of the columns; ``rows`` are all of the table, for the letters of others."""
    if consumer is None:
        return Text(" " * column.width, no_wrap=True)
    bad = f"bold {hex_colour(colours.bad)}"
    if column.key == "blocked":
        text = fitting_text(obstacle_texts(consumer, rows), column.width - 1)
        return Text(text.ljust(column.width), bad, no_wrap=True)
    if column.key == "waits":
        style = f"bold {hex_colour(colours.warn)}" if consumer.obstacles else ""
        return Text(waiting_text(consumer).rjust(column.width - 1) + " ", style, no_wrap=True)
    number = consumer.permits if column.key == "permits" else consumer.unacked
    sign = "-" if number < 0 else ""
    style = hex_colour(colours.dim) if not number else ""
    return Text(f"{sign}{quantity(abs(number))}".rjust(column.width - 1) + " ", style, no_wrap=True)


def reported_value(consumer: ReportedConsumer | None, key: str) -> Value:
    """Return what such a column is sorted by and exported with."""
    if consumer is None:
        return None
    match key:
        case "blocked":
            return len(consumer.obstacles)
        case "waits":
            return consumer.waiting_slots or consumer.waiting
    return consumer.permits if key == "permits" else consumer.unacked


def tag_cell(tag: str, consumer: ReportedConsumer | None, width: int, colours: Palette, style: Style) -> Text:
    """Return the letters of a consumer, after a sign where it cannot be served."""
    blocked = consumer is not None and bool(consumer.obstacles)
    text = Text(BLOCKED_SIGN if blocked else " ", f"bold {hex_colour(colours.bad)}", no_wrap=True)
    text.append(tag.ljust(width - 1), style + Style(bold=True))
    return text
