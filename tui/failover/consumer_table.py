"""The consumers of the shown subscription, row by row, kept up to date by their ids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.coordinate import Coordinate
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import Reactive, reactive, var
from textual.widgets import DataTable

from engine.views.model import ConsumerRow
from themes.palettes import Palette, palette
from tui.failover.columns import Cells, Column, consumer_columns
from tui.failover.lines import consumer_line


@dataclass(frozen=True, slots=True, eq=False)
class LiveCell:
    """A cell that reads its text when it is drawn, so that a step costs what is in sight, not what is in the table."""

    table: ConsumerTable
    consumer_id: int
    columns: tuple[Column, ...]

    def __rich__(self) -> Text:
        return self.table.cell_text(self.consumer_id, self.columns)


class ConsumerTable(DataTable[LiveCell], inherit_bindings=False):
    """The stock table with rows keyed by consumer id: rows come and go one by one, the others stay."""

    DEFAULT_CSS = """
    ConsumerTable { height: 1fr; overflow-x: hidden; scrollbar-size-vertical: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select_cursor", "Partitions", show=False),
        Binding("up,k", "cursor_up", "Up", show=False),
        Binding("down,j", "cursor_down", "Down", show=False),
        Binding("pageup", "page_up", "Page up", show=False),
        Binding("pagedown", "page_down", "Page down", show=False),
        Binding("g", "scroll_top", "First row", show=False),
        Binding("G", "scroll_bottom", "Last row", show=False),
    ]

    _keeps_place = False
    _width = 0
    virtual_size: Reactive[Size] = Reactive(Size(0, 0))
    """The stock one arranges the whole screen anew for every row that comes or goes; see the watcher."""
    rows_shown: reactive[tuple[ConsumerRow, ...]] = reactive(())
    """The consumers in the dispatcher's order."""
    selected: var[int] = var(-1)  # not ``reactive``: moving the cursor paints two rows, and no more is needed
    """Id of the consumer the cursor should stand on; -1 for none."""
    colours: reactive[Palette] = reactive(palette)
    """Colours of tags and bars."""

    @dataclass
    class Selected(Message):
        """The cursor stands on another consumer."""

        consumer_id: int

    @dataclass
    class Opened(Message):
        """A consumer's partitions are wanted."""

        consumer_id: int

    def __init__(
        self,
        *,
        ascii_only: bool = False,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - Textual's own name
        classes: str | None = None,
        disabled: bool = False,
    ) -> None:
        super().__init__(
            cursor_type="row",
            cell_padding=0,
            cursor_foreground_priority="renderable",
            name=name,
            id=id,
            classes=classes,
            disabled=disabled,
        )
        self._ascii_only = ascii_only
        self._shown: tuple[Column, ...] = ()
        self._row_of: dict[int, ConsumerRow] = {}
        self._order: tuple[int, ...] = ()
        self._write = Cells(self.colours, 0.0, ascii_only)

    def on_resize(self) -> None:
        """Other columns may fit."""
        self._refill_or_update()

    def validate_cursor_coordinate(self, value: Coordinate) -> Coordinate:
        """Row 0 while there is no row: the stock table clamps to row -1 then, which it cannot find."""
        row, column = super().validate_cursor_coordinate(value)
        return Coordinate(max(0, row), max(0, column))

    def watch_show_vertical_scrollbar(self) -> None:
        """A scrollbar takes a cell of the width."""
        self.call_after_refresh(self._refill_or_update)

    def watch_virtual_size(self, old: Size, new: Size) -> None:
        """Only when the scrollbar comes or goes must the screen be arranged anew."""
        height = self.size.height
        if (new.height > height) is not (old.height > height):
            self.refresh(layout=True)
        elif new.height > height:
            self.vertical_scrollbar.window_virtual_size = new.height
            self.scroll_y = self.validate_scroll_y(self.scroll_y)

    def watch_rows_shown(self) -> None:
        """Other facts."""
        self._refill_or_update()

    def watch_colours(self) -> None:
        """Other colours."""
        self._refill_or_update()

    def watch_selected(self, consumer_id: int) -> None:
        """Put the cursor on the selected consumer."""
        self._place_cursor(consumer_id)

    def _refill_or_update(self) -> None:
        width = self.scrollable_content_region.width
        if width <= 0:
            return
        self._width = width
        shown = consumer_columns(self.rows_shown, width)
        if shown != self._shown:
            self._shown = shown
            self._order = ()
            self.clear(columns=True)
            for columns in self._cells():
                heading = Text("", no_wrap=True).join(column.heading() for column in columns)
                self.add_column(heading, key=columns[0].key, width=sum(column.width for column in columns))
        self._keeps_place = True
        with self.prevent(DataTable.RowHighlighted):
            self._update_rows()
        self._keeps_place = False
        self._place_cursor(self.selected)

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """As always, but rows that come and go arrange nothing anew: the stock table asks for it with each of them."""
        return super().refresh(*regions, repaint=repaint, layout=layout and not self._keeps_place, recompose=recompose)

    def _cells(self) -> tuple[tuple[Column, ...], ...]:
        """The columns as cells of the stock table: it draws cell by cell at a price, so the numbers share one."""
        return (self._shown[:2], self._shown[2:])

    def _update_rows(self) -> None:
        """Take rows away, add new ones, bring them into order; the cells of the others read their new values."""
        self._write = Cells(
            self.colours, max((row.rate_share for row in self.rows_shown), default=0.0), self._ascii_only
        )
        self._row_of = {row.consumer_id: row for row in self.rows_shown}
        wanted = tuple(self._row_of)
        stands = [consumer_id for consumer_id in self._order if consumer_id in self._row_of]
        for gone in [consumer_id for consumer_id in self._order if consumer_id not in self._row_of]:
            self.remove_row(str(gone))
        known = set(stands)
        for consumer_id in wanted:
            if consumer_id not in known:
                stands.append(consumer_id)
                self.add_row(*(LiveCell(self, consumer_id, columns) for columns in self._cells()), key=str(consumer_id))
        self._order = wanted
        if self.show_vertical_scrollbar:  # now, not when the stock table is idle: that would be a paint of its own
            self.vertical_scrollbar.window_virtual_size = len(wanted) + self.header_height
        if tuple(stands) != wanted:
            ranks = {consumer_id: rank for rank, consumer_id in enumerate(wanted)}
            self.sort("tag", key=lambda cell: ranks[cell.consumer_id])
        elif wanted:
            # One cell written anew tells the table that something changed; it then asks all cells in sight.
            self.update_cell(str(wanted[0]), "tag", LiveCell(self, wanted[0], self._cells()[0]))

    def cell_text(self, consumer_id: int, columns: tuple[Column, ...]) -> Text:
        """What stands in a cell now."""
        row = self._row_of.get(consumer_id)
        return Text() if row is None else consumer_line(row, columns, self._write)

    def _place_cursor(self, consumer_id: int) -> None:
        key = str(consumer_id)
        if key in self.rows:
            with self.prevent(DataTable.RowHighlighted):
                self.move_cursor(row=self.get_row_index(key), animate=False)

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        """The stock table's word for "the cursor moved" becomes ours."""
        event.stop()
        if event.row_key.value is not None:
            self.post_message(self.Selected(int(event.row_key.value)))

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Enter or a click on the marked row."""
        event.stop()
        if event.row_key.value is not None:
            self.post_message(self.Opened(int(event.row_key.value)))
