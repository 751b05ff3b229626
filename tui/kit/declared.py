"""Tables of declared answers: columns, cells, values to sort by, and the same as plain text.

What a column is called and means is said once, at its member (``engine.answer``); here it gets its place on a screen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final, Literal

from rich.cells import cell_len
from rich.text import Text

from engine.answer import Kind, TableColumn, Value, columns_of
from engine.text import visible
from tui.kit.columns import SAMPLE, Column, Columns, Lines, Order, heading, row_line
from tui.kit.wording import UNKNOWN, fit, quantity, sparkline

_LEAST: Final = {Kind.NAME: 13}
"""Names may be shortened; words, such as the code of a cause, are shown whole or not at all."""
_MOST: Final = 44
"""From which width on a column of texts gives way, and the largest that it gets, gaps included."""
_BAR: Final = 9
_LONGEST_BAR: Final = 53
_MOMENTS: Final = 12
"""So many of the newest moments have a trend."""
EMPTY: Final = (None, "", ())
Style = Callable[[Any, TableColumn], str]
"""The style of a cell: of a row, in a column."""
Bar = Callable[[Any, int], Text]
"""Draws the parts of a whole in so many cells."""


def value_text(value: Any, kind: Kind) -> str:
    """A value as people read it; a bar is drawn by others.

    >>> value_text(None, Kind.COUNT), value_text(2.5, Kind.RATIO), value_text((3, None, 6), Kind.TREND)
    ('–', '2.50', '▄ █')
    """
    if kind is Kind.TREND:
        return sparkline(value[-_MOMENTS:])
    if value is None:
        return UNKNOWN
    if isinstance(value, str):
        return visible(value)
    if kind is Kind.ID:
        return str(value)
    return f"{value:,.2f}" if kind is Kind.RATIO and value < 10_000 else quantity(value)


def lines_of(row: type, style: Style, bar: Bar | None = None) -> Callable[[Sequence[Any], Order], Lines]:
    """Return what draws rows of a type as a table, in an order; ``bar`` where they have one."""
    declared = {column.name: column for column in columns_of(row)}

    def lines(rows: Sequence[Any], order: Order) -> Lines:
        placed = lru_cache(maxsize=2)(lambda width: _placed(rows[:SAMPLE], row, width, order))

        def cell(each: Any, column: Column) -> Text:
            known, room, value = declared[column.key], column.width - 1, getattr(each, column.key)
            if known.kind is Kind.BAR and bar is not None:
                return bar(value, room).append(" ")
            text = value_text(value, known.kind)
            text = text.rjust(room) if known.kind.is_number else fit(text, room)
            return Text(f"{text} ", style(each, known), no_wrap=True)

        return Lines(
            len(rows),
            lambda at, width: row_line(rows[at], placed(width), cell),
            lambda width: heading(placed(width), order),
            placed,
        )

    return lines


def sorted_by(row: type) -> Callable[[Any, str], Value]:
    """Return what gives the value of a row that its table is sorted by and exported with."""
    pictures = {column.name for column in columns_of(row) if column.kind.is_picture}
    return lambda each, name: None if name in pictures else getattr(each, name)


def _placed(rows: Sequence[Any], row: type, width: int, order: Order) -> Columns:
    """The columns that fit, in their order, always with the one that is sorted by; what is left goes to names."""
    columns = [column for column in columns_of(row) if any(getattr(each, column.name) not in EMPTY for each in rows)]
    whole = {column.name: _whole(rows, column) for column in columns}
    least = {column.name: min(whole[column.name], _LEAST.get(column.kind, _MOST)) for column in columns}
    while len(columns) > 1 and sum(least[column.name] for column in columns) > width:
        columns.remove(max(columns, key=lambda column: -1 if column.name == order.key else column.rank))
    room = max(0, width - sum(least[column.name] for column in columns))
    widths = dict(least)
    growing = sorted(columns, key=lambda column: (column.kind is not Kind.NAME, column.rank))
    for column in growing:
        more = min(room, whole[column.name] - least[column.name])
        widths[column.name] += more
        room -= more
    for bar in [column for column in columns if column.kind is Kind.BAR]:
        more = min(room, _LONGEST_BAR - widths[bar.name])
        widths[bar.name] += more
        room -= more
    return tuple(Column(each.name, each.heading, widths[each.name], left=not each.kind.is_number) for each in columns)


def _whole(rows: Sequence[Any], column: TableColumn) -> int:
    """The width at which nothing of a column is shortened, with its gap and the sign of the order."""
    if column.kind is Kind.BAR:
        return _BAR
    values = set(map(attrgetter(column.name), rows))
    values.discard(None)
    if column.kind.is_text and (joined := "".join(values)).isascii() and joined.isprintable():
        longest = max(map(len, values), default=0)  # of a thousand names 20 times as fast
    else:
        longest = max((cell_len(value_text(value, column.kind)) for value in values), default=0)
    return min(max(longest, len(column.heading) + 1) + 1, _MOST)


def page_rows(rows: Sequence[Any], row: type) -> list[tuple[str, ...]]:
    """The table as rows of text, headings first; bars, and columns without any value, are left out."""
    columns = _of_page(rows, row)
    return [
        tuple(column.heading.upper() for column in columns),
        *(tuple(value_text(getattr(each, column.name), column.kind) for column in columns) for each in rows),
    ]


def aligns(rows: Sequence[Any], row: type) -> tuple[Literal["<", ">"], ...]:
    """The sides of the columns of ``page_rows``: numbers right."""
    return tuple(">" if column.kind.is_number else "<" for column in _of_page(rows, row))


def _of_page(rows: Sequence[Any], row: type) -> list[TableColumn]:
    return [column for column in _with_values(rows, row) if column.kind is not Kind.BAR]


def _with_values(rows: Sequence[Any], row: type) -> list[TableColumn]:
    return [column for column in columns_of(row) if any(getattr(each, column.name) not in EMPTY for each in rows)]
