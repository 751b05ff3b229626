"""The consumers of the shown subscription, row by row, kept up to date by their ids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import DataTable

from engine.views.model import ConsumerRow
from themes.palettes import Palette, palette
from tui.columns import Cells, Column, consumer_columns


class ConsumerTable(DataTable[Text], inherit_bindings=False):
    """The stock table with rows keyed by consumer id: only cells that differ are written."""

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

    rows_shown: reactive[tuple[ConsumerRow, ...]] = reactive(())
    """The consumers in the dispatcher's order."""
    selected: reactive[int] = reactive(-1)
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
        self._columns_shown: tuple[Column, ...] = ()
        self._written: dict[int, tuple[ConsumerRow, float]] = {}
        self._order: tuple[int, ...] = ()

    def on_resize(self) -> None:
        """Other columns may fit."""
        self._refill_or_update()

    def watch_rows_shown(self) -> None:
        """Other facts: write the cells that differ."""
        self._refill_or_update()

    def watch_colours(self) -> None:
        """Other colours: every cell differs."""
        self._written.clear()
        self._refill_or_update()

    def watch_selected(self, consumer_id: int) -> None:
        """Put the cursor on the selected consumer."""
        self._place_cursor(consumer_id)

    def _refill_or_update(self) -> None:
        width = self.scrollable_content_region.width
        if width <= 0:
            return
        shown = consumer_columns(self.rows_shown, width)
        if shown != self._columns_shown:
            self._columns_shown = shown
            self._written.clear()
            self._order = ()
            self.clear(columns=True)
            for column in shown:
                self.add_column(column.heading(), key=column.key, width=column.width)
        with self.prevent(DataTable.RowHighlighted):
            self._update_rows()
        self._place_cursor(self.selected)

    def _update_rows(self) -> None:
        longest = max((row.rate_share for row in self.rows_shown), default=0.0)
        write = Cells(self.colours, longest, self._ascii_only)
        present = {row.consumer_id for row in self.rows_shown}
        for gone in [consumer_id for consumer_id in self._order if consumer_id not in present]:
            self.remove_row(str(gone))
            self._written.pop(gone, None)
        stands = [consumer_id for consumer_id in self._order if consumer_id in present]
        for row in self.rows_shown:
            known = self._written.get(row.consumer_id)
            key = str(row.consumer_id)
            if known is None and key in self.rows:
                for column in self._columns_shown:
                    self.update_cell(key, column.key, write.text(row, column))
            elif known is None:
                stands.append(row.consumer_id)
                self.add_row(*(write.text(row, column) for column in self._columns_shown), key=key)
            elif known != (row, longest):
                self._update_row(key, row, write)
            self._written[row.consumer_id] = (row, longest)
        self._order = tuple(row.consumer_id for row in self.rows_shown)
        if tuple(stands) != self._order:
            self._sort(self._order)

    def _update_row(self, key: str, row: ConsumerRow, write: Cells) -> None:
        for column in self._columns_shown:
            text = write.text(row, column)
            before = self.get_cell(key, column.key)
            if before != text or before.style != text.style:
                self.update_cell(key, column.key, text)

    def _sort(self, wanted: tuple[int, ...]) -> None:
        """Bring the rows into the dispatcher's order; a row's tag cell says which consumer it is."""
        ranks = {id(self.get_cell(str(consumer_id), "tag")): rank for rank, consumer_id in enumerate(wanted)}
        self.sort("tag", key=lambda cell: ranks.get(id(cell), len(ranks)))

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
