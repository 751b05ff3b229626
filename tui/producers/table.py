"""The table of producers, and the lines of what happened: which columns fit a width, and what is in their cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from rich.cells import cell_len
from rich.text import Text

from engine.views.producers.model import ProducerRow, ProducerStep, StatisticsRow, StatisticsView
from themes.palettes import Palette, hex_colour
from tui.drawing.bars import bar_text
from tui.drawing.colour import letter_style
from tui.drawing.glyphs import glyphs_of
from tui.kit.columns import Column, Columns, Lines, NameColumn, Order, Value, fitting, table_lines
from tui.kit.event_list import GLYPHS
from tui.kit.list_panel import RowForm
from tui.kit.wording import cut_end, fit, quantity, safe_name, shorten_middle
from tui.producers.words import entry_text

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


_BAD_KINDS: Final = frozenset({"kill", "fail"})
_GOOD_KINDS: Final = frozenset({"add", "recover"})


def step_line(step: ProducerStep, width: int, colours: Palette) -> Text:
    """One step: number, a sign for its kind, what was done, and on the right what it opened, cut, and came to."""
    dim = hex_colour(colours.dim)
    role = colours.good if step.kind in _GOOD_KINDS else colours.bad if step.kind in _BAD_KINDS else colours.accent
    text = Text(no_wrap=True)
    text.append(f"{step.step:>3} ", dim)
    text.append(f"{GLYPHS.get(step.kind, '*')} ", f"bold {hex_colour(colours.dim if step.kind == 'open' else role)}")
    effect = _effect(step)
    words = safe_name(step.text)
    left = width - text.cell_len
    if cell_len(words) + cell_len(effect) + 2 > left:
        effect = cut_end(effect, max(12, left * 2 // 5, left - cell_len(words) - 2))
    text.append(shorten_middle(words, max(8, left - (cell_len(effect) + 2 if effect else 0))))
    if effect:
        text.append("  ")
        text.append(effect, hex_colour(colours.warn) if "failed" in step.effect or "refused" in step.effect else dim)
    return text


def _effect(step: ProducerStep) -> str:
    parts = [f"{step.opened:,} opened"] * bool(step.opened) + [f"{step.gone:,} gone"] * bool(step.gone)
    return ", ".join([*parts, *([safe_name(step.effect)] if step.effect else [])])


def happened_line(message: str, width: int, colours: Palette) -> Text:
    """One thing that happened to a producer."""
    bad = any(word in message for word in ("failed", "lost", "refused", "kept out", "stays at"))
    sign, role = ("!", colours.bad) if bad else (">", colours.good)
    text = Text(no_wrap=True)
    text.append(f"{sign} ", f"bold {hex_colour(role)}")
    text.append(cut_end(safe_name(message), max(1, width - 2)))
    return text


def statistics_heading(statistics: StatisticsView, width: int) -> Text:
    """Both lists side by side; the one in force is marked."""
    left, right = _halves(width)
    text = Text(no_wrap=True)
    for title, cells in (("by name", left), ("by position", right)):
        mark = " (in force)" if title == statistics.in_force else ""
        text.append(fit(f" {title}{mark}", cells))
    return text


def statistics_line(statistics: StatisticsView, at: int, width: int, colours: Palette) -> Text:
    """The entry of each list at this place."""
    left, right = _halves(width)
    text = Text(no_wrap=True)
    for rows, cells in ((statistics.by_name.entries, left), (statistics.by_position.entries, right)):
        text.append_text(_entry(rows[at] if at < len(rows) else None, cells, colours))
    return text


def _entry(row: StatisticsRow | None, cells: int, colours: Palette) -> Text:
    if row is None:
        return Text(" " * cells, no_wrap=True)
    text = Text(no_wrap=True)
    whose = entry_text(row)
    rate = f"{quantity(round(row.msgs_per_sec * 60, 2))}/min"
    name_cells = max(4, min(22, cells - len(whose) - 12))
    text.append(f" {fit(safe_name(row.name) if row.name else '-', name_cells)}")
    text.append(f"{rate:>9} ", "" if row.msgs_per_sec else hex_colour(colours.dim))
    text.append(whose, f"bold {hex_colour(colours.warn)}" if row.mixture else hex_colour(colours.dim))
    text.truncate(cells)
    text.pad_right(max(0, cells - text.cell_len))
    return text


def _halves(width: int) -> tuple[int, int]:
    return width - width // 2, width // 2
