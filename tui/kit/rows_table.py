"""A table that knows its rows: sorted by any column with a key or a click on its heading, and given away as a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic

from textual.binding import Binding, BindingType

from tui.kit.columns import AS_THEY_COME, Order, Row, Value, in_order
from tui.kit.line_table import Lines, LineTable, PlacedColumn
from tui.kit.reported_words import REPORTED_SIGN

ALL_COLUMNS_CELLS = 2_000
"""A width at which no column is left out."""


class RowsTable(LineTable, Generic[Row], inherit_bindings=True):
    """``,`` sorts by the next column and at last by none, ``;`` turns the order round; so do clicks on a heading."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("comma", "sort", "Sort", key_display=",", show=False, tooltip="Sort by the next column"),
        Binding("semicolon", "turn_round", "Turn", key_display=";", show=False, tooltip="Turn the order round"),
    ]

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id, classes=classes)
        self.order = AS_THEY_COME
        self.listed: Sequence[Row] = ()
        """The rows as they are shown."""
        self._rows: Sequence[Row] = ()
        self._lines_of: Callable[[Sequence[Row], Order], Lines] | None = None
        self._value: Callable[[Row, str], Value] = _nothing

    def show(
        self,
        rows: Sequence[Row],
        lines_of: Callable[[Sequence[Row], Order], Lines],
        value: Callable[[Row, str], Value],
    ) -> None:
        """Show other rows in the order that was chosen; ``value`` is what a row has in the column of a key."""
        self._rows, self._lines_of, self._value = rows, lines_of, value
        self._list()

    def _list(self) -> None:
        assert self._lines_of is not None
        self.listed = in_order(self._rows, self.order, self._value)
        self.lines = self._lines_of(self.listed, self.order)

    # the order

    def action_sort(self) -> None:
        """Sort by the next column that has a heading; after the last one leave the rows as they come."""
        keys = [column.key for column in self._sortable(self._shown_columns())]
        at = keys.index(self.order.key) + 1 if self.order.key in keys else 0
        self.sort_by(keys[at] if at < len(keys) else "")

    def action_turn_round(self) -> None:
        """Turn the order round; rows that are not sorted have none."""
        if self.order.key:
            self._sort(Order(self.order.key, not self.order.descending))

    def sort_by(self, key: str) -> None:
        """Sort by a column: numbers with the largest first, texts from a on."""
        first = next((found for row in self._rows if (found := self._value(row, key)) is not None), "")
        self._sort(Order(key, descending=not isinstance(first, str)))

    def heading_clicked(self, x: int) -> None:
        """Sort by the column of a heading, or turn its order round."""
        right = 0
        for column in self._shown_columns():
            right += column.width
            if x < right:
                if column.key == self.order.key:
                    self.action_turn_round()
                elif column in self._sortable([column]):
                    self.sort_by(column.key)
                return

    def _sort(self, order: Order) -> None:
        """Take an order; the cursor stays on its row."""
        if self._lines_of is None:
            return
        marked = self.listed[self.cursor] if self.listed else None
        self.order = order
        with self.prevent(LineTable.Moved):
            self._list()
            self.cursor = next((at for at, row in enumerate(self.listed) if row is marked), 0)

    def _shown_columns(self) -> Sequence[PlacedColumn]:
        return self.lines.columns(self.scrollable_content_region.width) if self.lines.columns is not None else ()

    def _sortable(self, columns: Sequence[PlacedColumn]) -> list[PlacedColumn]:
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
        if self.lines.columns is None:
            return []
        columns = self._sortable(self.lines.columns(ALL_COLUMNS_CELLS))
        names = {each.key: "reported_" * each.label.startswith(REPORTED_SIGN) + each.key for each in columns}
        return [{name: self._value(row, key) for key, name in names.items()} for row in self.listed]

    def marked_record(self) -> dict[str, Value]:
        """Return the values of the row with the cursor; none where there is no row."""
        return self.as_records()[self.cursor] if self.listed else {}


def _nothing(_row: Any, _key: str) -> Value:
    return None
