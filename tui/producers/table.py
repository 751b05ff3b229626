"""The table of producers: which columns fit a width, and what is in their cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from rich.cells import cell_len
from rich.text import Text

from engine.views.producers.model import ProducerRow
from themes.palettes import Palette, hex_colour
from tui.drawing.bars import bar_text
from tui.drawing.colour import letter_style
from tui.drawing.glyphs import glyphs_of
from tui.kit.columns import Column, Columns, Lines, NameColumn, Order, Value, fitting, table_lines
from tui.kit.list_panel import RowForm
from tui.kit.wording import cut_end, fit, quantity, safe_name

_NAME_CELLS: Final = (7, 26)
_LAST_CELLS: Final = (16, 46)
_BAR_CELLS: Final = (5, 14)
_EASY_NAME: Final = 16


def producer_columns(rows: Sequence[ProducerRow], width: int) -> Columns:
    """The columns for a table ``width`` cells wide, most important first to stay.

    Tag, name and opened partitions are always there; rates where there are any and sent messages come next, then what
    the last step opened, waiting messages where there are any, the router, what happened last, the client where there
    are several, the state.
    """
    longest = max((cell_len(_name(row)) for row in rows), default=0) + 1
    clients = len({row.client for row in rows}) > 1
    pending = [row.pending_msgs for row in rows]
    return fitting(
        width,
        NameColumn("producer", min(max(longest, len("producer") + 1), _NAME_CELLS[1]), _EASY_NAME, _NAME_CELLS[0]),
        [
            Column("tag", "", max((len(row.tag) for row in rows), default=1) + 2, left=True),
            _numbers("opened", "open", (row.opened for row in rows)),
        ],
        [
            *([_numbers("rate", "in/s", rates)] if (rates := _rates(rows)) else []),
            _numbers("sent", "sent", (row.sent_msgs for row in rows)),
            *([_numbers("pending", "wait", pending)] if any(pending) else []),
            Column("gained", "new", 1 + _numbers("gained", "new", (row.gained for row in rows)).width),
            *([Column("client", "client", 7, left=True)] if clients else []),
            Column("router", "router", max((len(row.router) for row in rows), default=6) + 1, left=True),
            Column("bar", "", _BAR_CELLS[0], left=True, most=_BAR_CELLS[1]),
            *([Column("state", "state", 8)] if any(row.state != "Ready" for row in rows) else []),
            _numbers("known", "of", (row.known for row in rows)),
            Column("start", "start", 6, left=True),
            Column("last", "what happened last", _LAST_CELLS[0], left=True, most=_LAST_CELLS[1]),
        ],
        (
            *(
                "tag",
                "name",
                "client",
                "router",
                "start",
                "opened",
                "known",
                "bar",
                "gained",
                "rate",
                "sent",
                "pending",
            ),
            *("state", "last"),
        ),
    )


def _rates(rows: Sequence[ProducerRow]) -> list[float]:
    return [row.msgs_per_sec for row in rows if row.msgs_per_sec is not None]


def _numbers(key: str, label: str, numbers: Iterable[float]) -> Column:
    """A column as wide as its heading and its numbers are."""
    return Column(key, label, 1 + max(len(label), *(len(quantity(number)) for number in numbers), 0))


@dataclass(frozen=True, slots=True)
class ProducerCells:
    """How to write cells: the palette in use, and whether only ASCII may be used."""

    colours: Palette
    ascii_only: bool = False

    def text(self, row: ProducerRow, column: Column) -> Text:
        """One cell, exactly ``column.width`` wide."""
        colour = hex_colour(self.colours.consumer_colour(row.colour))
        dim = hex_colour(self.colours.dim)
        room = column.width - 1
        match column.key:
            case "tag":
                text = Text(" ", no_wrap=True).append(row.tag, letter_style(self.colours, row.colour))
                return text.append(" " * (column.width - 1 - len(row.tag)))
            case "name":
                return Text(fit(_name(row), room) + " ", "" if row.state == "Ready" else dim, no_wrap=True)
            case "bar":
                bar = bar_text(row.opened / max(1, row.known), room, glyphs_of(self.ascii_only))
                return Text(bar + " ", colour, no_wrap=True)
            case "last":
                return Text(fit(cut_end(safe_name(row.last), room), room) + " ", dim, no_wrap=True)
            case "router" | "client" | "start":
                words = {"router": row.router, "client": row.client, "start": "lazy" if row.lazy else "eager"}
                return Text(fit(words[column.key], room) + " ", dim, no_wrap=True)
            case "gained":
                gained = f"+{quantity(row.gained)}" if row.gained else ""
                return Text(gained.rjust(room) + " ", hex_colour(self.colours.good), no_wrap=True)
            case "state":
                style = dim if row.state == "Ready" else f"bold {hex_colour(self.colours.bad)}"
                return Text(row.state.rjust(room) + " ", style, no_wrap=True)
        return self._number(row, column)

    def _number(self, row: ProducerRow, column: Column) -> Text:
        if column.key == "rate" and row.msgs_per_sec is None:
            return Text("-".rjust(column.width - 1) + " ", hex_colour(self.colours.dim), no_wrap=True)
        numbers: dict[str, float] = {
            "opened": row.opened,
            "known": row.known,
            "rate": row.msgs_per_sec or 0.0,
            "sent": row.sent_msgs,
            "pending": row.pending_msgs,
        }
        number = numbers[column.key]
        style = hex_colour(self.colours.dim) if not number or column.key == "known" else ""
        if column.key == "pending" and number:
            style = f"bold {hex_colour(self.colours.warn)}"
        if column.key == "opened" and row.connected < row.opened:
            style = f"bold {hex_colour(self.colours.bad)}"
        return Text(quantity(number).rjust(column.width - 1) + " ", style, no_wrap=True)


def _name(row: ProducerRow) -> str:
    return safe_name(row.name) if row.name else f"#{row.number}"


def producer_value(row: ProducerRow, key: str) -> Value:
    """Return what a column is sorted by and exported with."""
    values: dict[str, Value] = {
        "name": _name(row),
        "client": row.client,
        "router": row.router,
        "start": "lazy" if row.lazy else "eager",
        "opened": row.opened,
        "known": row.known,
        "gained": row.gained,
        "sent": row.sent_msgs,
        "rate": row.msgs_per_sec,
        "pending": row.pending_msgs,
        "state": row.state,
        "last": row.last,
    }
    return values.get(key)


def producer_lines(rows: Sequence[ProducerRow], colours: Palette, ascii_only: bool, order: Order) -> Lines:
    """Return the table of these producers."""
    return table_lines(rows, producer_columns, ProducerCells(colours, ascii_only).text, order)


PRODUCERS: Final[RowForm[ProducerRow]] = RowForm("producer", lambda row: row.number, producer_lines, producer_value)
