"""Columns of tables as text: which of them fit a width, their headings, and the lines of a table made of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, lru_cache, partial
from typing import Any, Final, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace
from rich.text import Text

from engine.text import natural_key
from tui.kit.wording import fit

SAMPLE: Final = 2000
"""How many rows decide the columns of a long table."""
ASCENDING: Final = "^"
DESCENDING: Final = "v"


class Column(Struct, frozen=True):
    """One column: its key, its heading, its width in cells with the gap to the next one, and its side.

    ``most`` is the width that it may grow to where there is room.
    """

    key: str
    label: str
    width: int
    left: bool = False
    most: int = 0

    def heading(self, order: Order) -> Text:
        """Return the heading in the column's width; a sign and bold letters mark the column that rows are sorted by."""
        if order.key != self.key:
            text = self.label.ljust(self.width) if self.left else self.label.rjust(self.width - 1) + " "
            return Text(text[: self.width], no_wrap=True)
        sign = DESCENDING if order.descending else ASCENDING
        label = self.label[: self.width - 1]
        text = f"{label}{sign}".ljust(self.width) if self.left else f"{label}{sign}".rjust(self.width)
        return Text(text, "bold", no_wrap=True)


class NameColumn(Struct, frozen=True):
    """The column of names, which gives way to others: ``whole`` shortens nothing, ``easy`` is kept for it at first."""

    label: str
    whole: int
    easy: int
    least: int


Columns = tuple[Column, ...]


class Order(Struct, frozen=True):
    """By which column a table is sorted; "" leaves rows as they come."""

    key: str = ""
    descending: bool = False


AS_THEY_COME: Final = Order()

Value = float | str | None
"""What a row is sorted by: numbers by size, texts with the numbers in them by size, None and NaN last."""


class Lines(Struct, frozen=True, eq=False):
    """What a table shows: ``line(index, width)`` gives a row as one line of text. Compared by identity.

    ``columns`` gives those at a width, from the left, where the table has columns.
    """

    count: int
    line: Callable[[int, int], Text]
    heading: Callable[[int], Text] | None = None
    columns: Callable[[int], Columns] | None = None


REPORTED_SIGN: Final = "*"
"""Before the heading of a column that a broker reported; the title of the table says when."""
NOTHING = Lines(0, lambda _index, _width: Text())


def fitting(
    width: int, name: NameColumn, always: Sequence[Column], others: Sequence[Column], order: Sequence[str]
) -> Columns:
    """Return the columns for a table of a width, in an order of keys.

    Names and those of ``always`` are there at every width, the others as far as they fit, the most important first.
    What is left goes to the names and then to columns that may grow, the last of ``others`` first.

    >>> columns = fitting(20, NameColumn("who", 9, 6, 4), [Column("n", "n", 5)], [Column("bar", "", 4, most=7)],
    ...                   ("name", "n", "bar"))
    >>> [(column.key, column.width) for column in columns]
    [('name', 9), ('n', 5), ('bar', 6)]
    """
    headed = len(name.label) + 1  # of short names the heading is the widest
    name = replace(name, least=max(name.least, headed), whole=max(name.whole, headed))
    reserved = max(name.least, min(name.whole, name.easy))
    room = width - sum(column.width for column in always) - reserved
    kept = list(always)
    for column in others:
        if column.width <= room:
            kept.append(column)
            room -= column.width
    given = min(name.whole, max(room + reserved, name.least))
    room -= given - reserved
    by_key = {column.key: column for column in [*kept, Column("name", name.label, given, left=True)]}
    for column in reversed(others):
        if column.most and column.key in by_key and room > 0:
            more = min(room, column.most - column.width)
            by_key[column.key] = replace(column, width=column.width + more)
            room -= more
    return tuple(by_key[key] for key in order if key in by_key)


def heading(columns: Sequence[Column], order: Order = AS_THEY_COME) -> Text:
    """Return the headings as one line."""
    return Text("", no_wrap=True).join(column.heading(order) for column in columns)


Row = TypeVar("Row")


def places_in_order(
    rows: Sequence[Row], order: Order, value: Callable[[Row, str], Value], fits: Callable[[Row], bool] | None = None
) -> Sequence[int]:
    """Places of the rows that fit, sorted by a column. O(n log n), and each row is asked for once.

    Equal ones stay in their order, those without a value come last. All fit where ``fits`` is None.

    >>> pairs = [("b-10", 1), ("b-9", 1), ("a", 2)]
    >>> places_in_order(pairs, Order("n"), lambda row, key: row[0 if key == "name" else 1])
    [0, 1, 2]
    >>> places_in_order(["b-10", "b-9", "c"], Order("name"), lambda row, key: row, lambda row: row != "c")
    [1, 0]
    """
    if not order.key:
        return range(len(rows)) if fits is None else [at for at, row in enumerate(rows) if fits(row)]
    keys = {at: value(row, order.key) for at, row in enumerate(rows) if fits is None or fits(row)}
    # NaN compares with nothing: one of them would leave all others unsorted.
    unknown = {at: None for at, key in keys.items() if _is_unknown(key)}
    known = (at for at in keys if at not in unknown)
    return [*sorted(known, key=lambda at: _sort_key(keys[at]), reverse=order.descending), *unknown]


def _is_unknown(value: Value) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _sort_key(value: Value) -> Any:
    return natural_key(value.casefold()) if isinstance(value, str) else value


Cell = Callable[[Row, int], Text]
"""Writes a cell for a row in so many cells of the screen, the gap to the next column included."""


class ScreenColumn(Struct, Generic[Row], frozen=True):
    """A column of a table on a screen: ``cell`` writes it, rows are sorted by ``value`` and exported with it.

    Columns with a ``rank`` are there as far as they fit, the lowest first, unless they say nothing (not ``there``). The
    one with ``least`` is that of names: ``width`` shortens nothing, ``easy`` is kept for it at first.
    """

    key: str
    label: str
    width: int
    cell: Cell[Row]
    value: Callable[[Row], Value] = lambda _row: None
    rank: int = 0
    left: bool = False
    most: int = 0
    there: bool = True
    easy: int = 0
    least: int = 0

    @property
    def column(self) -> Column:
        return Column(self.key, self.label, self.width, self.left, self.most)


Style = Callable[[Row], str] | str


def texts(text: Callable[[Row], str], style: Style[Row] = "") -> Cell[Row]:
    """Cells of words: on the left, shortened where they have to be."""
    return lambda row, width: Text(fit(text(row), width - 1) + " ", _styled(style, row), no_wrap=True)


def numbers(text: Callable[[Row], str], style: Style[Row] = "") -> Cell[Row]:
    """Cells of numbers: on the right."""
    return lambda row, width: Text(text(row).rjust(width - 1) + " ", _styled(style, row), no_wrap=True)


def _styled(style: Style[Row], row: Row) -> str:
    return style if isinstance(style, str) else style(row)


def placed(columns: Sequence[ScreenColumn[Row]], width: int) -> Columns:
    """The columns that fit a width, in their order."""
    name = next(each for each in columns if each.least)
    others = sorted((each for each in columns if each.rank and each.there), key=lambda each: each.rank)
    return fitting(
        width,
        NameColumn(name.label, name.width, name.easy, name.least),
        [each.column for each in columns if not (each.rank or each.least) and each.there],
        [each.column for each in others],
        [each.key for each in columns],
    )


Declare = Callable[[Sequence[Row], Sequence[Row], int], Sequence[ScreenColumn[Row]]]
"""Declares the columns of a table: for the first ``SAMPLE`` of its rows, which decide widths, all of them, and its
width in cells."""


class Table(Struct, Generic[Row], frozen=True):
    """How rows are shown: ``lines`` of rows in an order, and the ``value`` that a column is sorted by and exported."""

    lines: Callable[[Sequence[Row], Order], Lines]
    value: Callable[[Row, str], Value]


def table_of(declare: Declare[Row]) -> Table[Row]:
    """Return the table of the columns that are declared."""
    values = cache(lambda: {each.key: each.value for each in declare((), (), 0)})
    return Table(partial(_lines, declare), lambda row, key: values()[key](row))


def _lines(declare: Declare[Row], rows: Sequence[Row], order: Order) -> Lines:
    @lru_cache(maxsize=2)  # once for all lines of a width
    def at(width: int) -> tuple[Columns, list[Cell[Row]]]:
        declared = declare(rows[:SAMPLE], rows, width)
        columns, cells = placed(declared, width), {each.key: each.cell for each in declared}
        return columns, [cells[column.key] for column in columns]

    def line(place: int, width: int) -> Text:
        cells = (cell(rows[place], column.width) for column, cell in zip(*at(width), strict=True))
        return Text("", no_wrap=True).join(cells)

    return Lines(len(rows), line, lambda width: heading(at(width)[0], order), lambda width: at(width)[0])


def row_line(row: Row, columns: Sequence[Column], cell: Callable[[Row, Column], Text]) -> Text:
    """Return a row as one line of its cells."""
    return Text("", no_wrap=True).join(cell(row, column) for column in columns)


def table_lines(
    rows: Sequence[Row],
    columns_of: Callable[[Sequence[Row], int], Columns],
    cell: Callable[[Row, Column], Text],
    order: Order = AS_THEY_COME,
) -> Lines:
    """Return rows, already in order, as the lines of a table; the first ``SAMPLE`` rows decide which columns it has."""
    columns = lru_cache(maxsize=2)(lambda width: columns_of(rows[:SAMPLE], width))  # once for all lines of a width
    return Lines(
        len(rows),
        lambda at, width: row_line(rows[at], columns(width), cell),
        lambda width: heading(columns(width), order),
        columns,
    )
