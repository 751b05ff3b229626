"""A table of named rows with a filter, a selected row, and a line of totals below it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Struct
from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.reactive import var

from engine.text import counted
from themes.palettes import Palette, palette
from tui.kit.columns import Table
from tui.kit.line_table import LineTable, RowsTable
from tui.kit.plain_text import PlainStatic, set_subtitle, set_title


class Named(Protocol):
    """A row with a name."""

    @property
    def name(self) -> str: ...


Row = TypeVar("Row", bound=Named)


class RowForm(Struct, Generic[Row], frozen=True):
    """How rows are shown: what one is called, its id, the table in a palette, maybe in ASCII."""

    noun: str
    id_of: Callable[[Row], int]
    table: Callable[[Palette, bool], Table[Row]]


class ListPanel(Vertical, Generic[Row]):
    """Lists the rows whose names match the filter; the cursor is on the selected row where that is listed."""

    rows: var[tuple[Row, ...]] = var(())
    selected: var[int] = var(-1)
    """The id of the selected row, -1 for none."""
    filter_text: var[str] = var("")
    """A part of the names that are listed, in any case; "" lists all."""
    remark: var[str] = var("")
    """What the title says behind the number of rows; "" for nothing."""
    totals: var[tuple[str, ...]] = var(())
    """Texts for the line below the table, the longest first."""
    colours: var[Palette] = var(palette)

    @dataclass
    class Selected(Message):
        """The cursor was moved to another row."""

        row_id: int

    @dataclass
    class Opened(Message):
        """A row was chosen with enter or a click."""

        row_id: int

    def __init__(self, form: RowForm[Row], *, ascii_only: bool, id: str) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id, classes="panel")
        self._form = form
        self._ascii_only = ascii_only
        self._table: RowsTable[Row] = RowsTable(id="table")
        self._foot = PlainStatic(id="foot")
        self._ready = False

    def compose(self) -> ComposeResult:
        yield self._table
        yield self._foot

    def on_mount(self) -> None:
        self._ready = True
        self._list()

    def watch_rows(self) -> None:
        self._list()

    def watch_filter_text(self) -> None:
        self._list()

    def watch_colours(self) -> None:
        self._list()

    def watch_remark(self) -> None:
        self._list()

    def watch_selected(self) -> None:
        self._place_cursor()

    def watch_totals(self) -> None:
        self.fit_totals()

    def fit_totals(self) -> None:
        """Write the longest of the totals that fits."""
        width = self._foot.content_size.width
        shortest = self.totals[-1] if self.totals else ""
        fitting = next((text for text in self.totals if len(text) <= width), shortest)
        self._foot.update(fitting, layout=False)

    def _list(self) -> None:
        if not self._ready:
            return
        part = self.filter_text.casefold()
        matching = tuple(row for row in self.rows if part in row.name.casefold()) if part else self.rows
        some = f"{len(matching):,} of " if part else ""
        remark = f", {self.remark}" if self.remark else ""
        set_title(self, f"[2] {some}{counted(len(self.rows), self._form.noun)}{remark}")
        set_subtitle(self, f"filter: {self.filter_text}" if part else "")
        table = self._form.table(self.colours, self._ascii_only)
        with self._table.prevent(LineTable.Moved):
            self._table.show(matching, table.lines, table.value)
        self._place_cursor()

    @property
    def table(self) -> RowsTable[Row]:
        return self._table

    @property
    def listed(self) -> Sequence[Row]:
        """The rows that match the filter, as they are sorted."""
        return self._table.listed

    def _place_cursor(self) -> None:
        ids = (self._form.id_of(row) for row in self.listed)
        at = next((at for at, row_id in enumerate(ids) if row_id == self.selected), None)
        if at is not None:
            # The table would report a move that it was given, and two of them in a row would chase each other.
            with self._table.prevent(LineTable.Moved):
                self._table.cursor = at

    @on(LineTable.Moved)
    def _moved(self, message: LineTable.Moved) -> None:
        message.stop()
        if not message.is_stale:
            self.post_message(self.Selected(self._id_at(message.index)))

    @on(LineTable.Opened)
    def _opened(self, message: LineTable.Opened) -> None:
        message.stop()
        if not message.is_stale:
            self.post_message(self.Opened(self._id_at(message.index)))

    def _id_at(self, index: int) -> int:
        return self._form.id_of(self.listed[index])


AnyList = ListPanel[Any]


NOTHING_SELECTED = -1


def kept(ids: Sequence[int], selected: int) -> int:
    """Return the selected row, or the first one where that is gone.

    >>> kept([3, 5], 5), kept([3, 5], 4), kept([], 4)
    (5, 3, -1)
    """
    if selected in ids:
        return selected
    return ids[0] if ids else NOTHING_SELECTED


def stepped(ids: Sequence[int], selected: int, by: int) -> int:
    """Return the row ``by`` places further, around the end.

    >>> stepped([3, 5, 8], 8, 1), stepped([3, 5, 8], 3, -1), stepped([], -1, 1)
    (3, 8, -1)
    """
    if not ids:
        return selected
    at = ids.index(selected) if selected in ids else -1
    return ids[(at + by) % len(ids)]


def after_removing(ids: Sequence[int], removed: int) -> int:
    """Return the row to select once one is removed: the next one below, else the nearest above.

    >>> after_removing([3, 5, 8], 5), after_removing([3, 5, 8], 8), after_removing([3], 3)
    (8, 5, -1)
    """
    at = ids.index(removed) if removed in ids else 0
    others = [*ids[at + 1 :], *ids[:at][::-1]]
    return others[0] if others else NOTHING_SELECTED
