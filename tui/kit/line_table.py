"""Tables that ask for the lines they show and own none, so that a million rows cost what one screen costs.

``LineTable`` shows any lines; ``RowsTable`` knows the rows behind them, sorts them and gives them away as data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final, Generic

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip

from engine.memo import LazyRows
from themes.palettes import hex_colour
from tui.drawing.colour import legible
from tui.kit.background import Computing, run_beside
from tui.kit.bindings import Binding
from tui.kit.columns import AS_THEY_COME, NOTHING, REPORTED_SIGN, Column, Lines, Order, Row, Value, places_in_order
from tui.kit.line_widget import ScrolledLines


class LineTable(ScrolledLines, can_focus=True, inherit_bindings=False):
    """Rows with a cursor, drawn on demand: O(height) for a frame, whatever the number of rows."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"line-table--heading", "line-table--cursor"}
    DEFAULT_CSS = """
    LineTable { height: 1fr; overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("g", "to(0)", "First row", show=False),
        Binding("G", "to(-1)", "Last row", show=False),
        Binding("enter", "open", "Open", show=False),
    ]

    lines: reactive[Lines] = reactive(NOTHING)
    cursor: reactive[int] = reactive(0)
    """Index of the row that is marked."""

    @dataclass
    class OfRow(Message):
        """About a row. Rows may come and go before it is read, so ``index`` is always one of the present rows."""

        table: LineTable

        @property
        def control(self) -> LineTable:
            return self.table

        @property
        def index(self) -> int:
            """The row that the cursor is on now."""
            return self.table.cursor

        @property
        def is_stale(self) -> bool:
            """Whether all rows are gone, so that there is nothing to do."""
            return not self.table.lines.count

    class Moved(OfRow):
        """The cursor is on another row."""

    @dataclass
    class Opened(OfRow):
        """A row was chosen with enter or a click."""

        chosen: int
        lines: Lines

        @property
        def index(self) -> int:
            """The row that was chosen; among other rows than those it was chosen from, the row of the cursor."""
            return self.chosen if self.lines is self.table.lines else self.table.cursor

    @property
    def _heading_height(self) -> int:
        return 0 if self.lines.heading is None else 1

    def validate_cursor(self, cursor: int) -> int:
        """Keep the cursor on a row."""
        return max(0, min(cursor, self.lines.count - 1))

    def watch_lines(self) -> None:
        """Other rows: fit the scrolling range and keep the cursor inside."""
        self.set_range(Size(0, self.lines.count + self._heading_height))
        self.cursor = self.validate_cursor(self.cursor)
        self.refresh()

    def watch_cursor(self, old: int, new: int) -> None:
        """Keep the marked row in sight and report the move."""
        for row in (old, new):  # scrolling paints all rows, and no more is needed
            self.refresh_line(row + self._heading_height)
        self._show_cursor()
        if old != new and self.lines.count:
            self.post_message(self.Moved(self))

    def on_resize(self) -> None:
        """Keep the marked row in sight when the room changes."""
        self._show_cursor()

    def _show_cursor(self) -> None:
        if self.lines.count:
            top = self._heading_height
            region = Region(0, self.cursor + top if self.cursor else 0, 1, 1)
            self.scroll_to_region(region.grow((top, 0, 0, 0)), animate=False, force=True)

    def action_move(self, by: int) -> None:
        self.cursor += by

    def action_page(self, direction: int) -> None:
        self.cursor += direction * max(1, self.size.height - self._heading_height - 1)

    def action_to(self, index: int) -> None:
        self.cursor = index if index >= 0 else self.lines.count + index

    def action_scroll_home(self) -> None:
        self.action_to(0)

    def action_scroll_end(self) -> None:
        self.action_to(-1)

    def action_open(self) -> None:
        if self.lines.count:
            self.post_message(self.Opened(self, self.cursor, self.lines))

    def on_click(self, event: events.Click) -> None:
        """A click marks a row, on the marked row it opens it."""
        if self._heading_height and event.y == 0:
            self.heading_clicked(event.x)
        index = event.y + self.scroll_offset.y - self._heading_height
        if event.y < self._heading_height or not 0 <= index < self.lines.count:
            return
        if index == self.cursor:
            self.action_open()
        self.cursor = index

    def heading_clicked(self, x: int) -> None:
        """Called for a click on the headings, ``x`` cells from the left."""

    def render_line(self, y: int) -> Strip:
        """One line of the screen: the heading stays, the rows scroll below it."""
        width = self.scrollable_content_region.width
        base = self.ground
        if self.lines.heading is not None and y == 0:
            style = base + self.get_component_rich_style("line-table--heading")
            return self._strip(self.lines.heading(width), width, style)
        index = y + self.scroll_offset.y - self._heading_height
        if not 0 <= index < self.lines.count:
            return Strip.blank(width, base)
        if index == self.cursor:
            style = base + self.get_component_rich_style("line-table--cursor")
            return _legible(self._strip(self.lines.line(index, width), width, style))
        return self._strip(self.lines.line(index, width), width, base)

    def _strip(self, text: Text, width: int, style: Style) -> Strip:
        if style.reverse:  # without colours: one ground for the whole row, also below what is dim
            text = Text(text.plain, no_wrap=True)
        segments = list(text.render(self.app.console, end=""))
        return Strip(Segment.apply_style(segments, style)).adjust_cell_length(width, style)


def _legible(strip: Strip) -> Strip:
    """The marked row without letters that its ground swallows; bars keep their colours."""
    return Strip([_legible_segment(segment) for segment in strip], strip.cell_length)


def _legible_segment(segment: Segment) -> Segment:
    text, style = segment.text, segment.style
    if style is None or style.color is None or style.bgcolor is None or not any(map(str.isalnum, text)):
        return segment
    ink, ground = style.color.triplet, style.bgcolor.triplet
    if ink is None or ground is None:
        return segment
    return Segment(text, style + Style(color=hex_colour(legible(ink, ground))))


ALL_COLUMNS_CELLS: Final = 2_000
"""A width at which no column is left out."""
ARRANGED_AT_ONCE: Final = 1_000
"""How many rows are filtered and sorted before the next key is read; more would keep it waiting."""


class RowsTable(LineTable, Generic[Row], inherit_bindings=True):
    """``,`` sorts by the next column and at last by none, ``;`` reverses the order; so do clicks on a heading."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("comma", "sort", "Sort", key_display=",", show=False, tooltip="Sort by the next column"),
        Binding("semicolon", "reverse", "Reverse", key_display=";", show=False, tooltip="Reverse the order"),
    ]

    class Arranged(Message):
        """The rows that fit are listed in their order."""

    def __init__(
        self,
        *,
        id: str | None = None,  # noqa: A002 - Textual's own name
        classes: str | None = None,
        beside: bool = False,
    ) -> None:
        """``beside`` arranges very many rows beside the screen: until they are, the table shows what it shows."""
        super().__init__(id=id, classes=classes)
        self.order = AS_THEY_COME
        self.listed: Sequence[Row] = ()
        """The rows as they are shown."""
        self._listed_of: Sequence[Row] = ()
        self._places: Sequence[int] = range(0)
        self._rows: Sequence[Row] = ()
        self._lines_of: Callable[[Sequence[Row], Order], Lines] | None = None
        self._value: Callable[[Row, str], Value] = _nothing
        self._fits: Callable[[Row], bool] | None = None
        self._arranging = Computing() if beside else None
        if self._arranging is not None:
            self._arranging.start = partial(run_beside, self, group="arranging", exclusive=True)

    def show(
        self,
        rows: Sequence[Row],
        lines_of: Callable[[Sequence[Row], Order], Lines],
        value: Callable[[Row, str], Value],
        fits: Callable[[Row], bool] | None = None,
    ) -> None:
        """Show rows, or those of them that fit, in the order that was chosen.

        ``value`` is what a row has in the column of a key.
        """
        self._rows, self._lines_of, self._value, self._fits = rows, lines_of, value, fits
        self._arrange()

    def _arrange(self) -> None:
        assert self._lines_of is not None
        compute = partial(places_in_order, self._rows, self.order, self._value, self._fits)
        take = partial(self._take, self._rows, self._lines_of, self.order)
        if self._arranging is None:
            take(compute())
        elif len(self._rows) <= ARRANGED_AT_ONCE or (not self.order.key and self._fits is None):
            self._arranging.cancel()
            take(compute())
        else:
            self._arranging.begin("the order of the rows", compute, take)

    def _take(
        self,
        rows: Sequence[Row],
        lines_of: Callable[[Sequence[Row], Order], Lines],
        order: Order,
        places: Sequence[int],
    ) -> None:
        """List the rows at these places; while the rows are the same objects, the cursor stays on its row."""
        marked = self._places[self.cursor] if rows is self._listed_of and self._places else None
        self._listed_of, self._places = rows, places
        as_they_come = isinstance(places, range)
        self.listed = rows if as_they_come else LazyRows(len(places), lambda at: rows[places[at]])
        if marked is not None and marked in places:
            with self.prevent(LineTable.Moved):
                self.lines = lines_of(self.listed, order)
                self.cursor = places.index(marked)
        else:
            self.lines = lines_of(self.listed, order)
            if marked is not None:
                self.cursor = 0
        self.post_message(self.Arranged())

    # the order

    def action_sort(self) -> None:
        """Sort by the next column that has a heading; after the last one leave the rows as they come."""
        keys = [column.key for column in self._sortable(self._shown_columns())]
        at = keys.index(self.order.key) + 1 if self.order.key in keys else 0
        self.sort_by(keys[at] if at < len(keys) else "")

    def action_reverse(self) -> None:
        """Reverse the order; rows that are not sorted have none."""
        if self.order.key:
            self._sort(Order(self.order.key, not self.order.descending))

    def sort_by(self, key: str) -> None:
        """Sort by a column: numbers with the largest first, texts from a on. "" leaves the rows as they come."""
        if not key:
            self._sort(AS_THEY_COME)
            return
        first = next((value for row in self._rows if (value := self._value(row, key)) is not None), "")
        self._sort(Order(key, descending=not isinstance(first, str)))

    def heading_clicked(self, x: int) -> None:
        """Sort by the column of a heading, or reverse its order."""
        right = 0
        for column in self._shown_columns():
            right += column.width
            if x < right:
                if column.key == self.order.key:
                    self.action_reverse()
                elif column in self._sortable([column]):
                    self.sort_by(column.key)
                return

    def _sort(self, order: Order) -> None:
        self.order = order
        if self._lines_of is not None:
            self._arrange()

    def _shown_columns(self) -> Sequence[Column]:
        return self.lines.columns(self.scrollable_content_region.width) if self.lines.columns is not None else ()

    def _sortable(self, columns: Sequence[Column]) -> list[Column]:
        return [
            column
            for column in columns
            if column.label and any(self._value(row, column.key) is not None for row in self._rows)
        ]

    # the rows as data

    def as_records(self) -> list[dict[str, Value]]:
        """Return the rows in their order with the values of all columns, by the keys of the columns.

        What was reported, and not computed, has names that say so.
        """
        return self.records_later()()

    def records_later(self) -> Callable[[], list[dict[str, Value]]]:
        """Return a function that makes the records of the rows listed now; any thread can call it at any later time."""
        return partial(_records, self.listed, self._value, self._names())

    def marked_record(self) -> dict[str, Value]:
        """Return the values of the row with the cursor; none where there is no row."""
        records = _records(self.listed[self.cursor : self.cursor + 1], self._value, self._names())
        return records[0] if records else {}

    def _names(self) -> dict[str, str]:
        """The names of the columns as data, by their keys; none where the table has no columns."""
        if self.lines.columns is None:
            return {}
        columns = self._sortable(self.lines.columns(ALL_COLUMNS_CELLS))
        return {column.key: "reported_" * column.label.startswith(REPORTED_SIGN) + column.key for column in columns}


def _records(
    rows: Sequence[Row], value: Callable[[Row, str], Value], names: Mapping[str, str]
) -> list[dict[str, Value]]:
    return [{name: value(row, key) for key, name in names.items()} for row in rows] if names else []


def _nothing(_row: Any, _key: str) -> Value:
    return None
