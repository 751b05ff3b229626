"""The dialog that finds things by a part of their names and goes there: subscriptions, consumers, topics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar, Final

from rich.cells import cell_len
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Input

from engine.text import counted
from engine.views.search import MOST_MATCHES, Match
from themes import stylesheet
from themes.palettes import Palette, hex_colour
from tui.kit.background import in_background, run_beside
from tui.kit.bindings import Binding
from tui.kit.columns import Column, Columns, NameColumn, fitting, table_lines
from tui.kit.line_table import LineTable
from tui.kit.plain_text import PlainStatic, set_title
from tui.kit.prompt import TypedLine
from tui.kit.screens import RingsideModal
from tui.kit.wording import fit, safe_name

_KIND_CELLS: Final = 13
_NAME_CELLS: Final = (14, 30)
"""The least width of names, and the width from which on the place has room beside them."""
_PLACE_CELLS: Final = 20


class PickerScreen(RingsideModal[Match]):
    """Dismissed with what was chosen, or with None.

    ``find`` looks for what is typed, in a thread of its own; ``title_of`` gives the title of a place.
    """

    CSS_PATH = stylesheet("dialogs")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Go there"),
        Binding("up", "move(-1)", "Up", key_display="↑"),
        Binding("down", "move(1)", "Down", key_display="↓"),
        Binding("escape", "close", "Close"),
        Binding("pageup", "page(-1)", "Page up", show=False, priority=True),
        Binding("pagedown", "page(1)", "Page down", show=False, priority=True),
    ]

    def __init__(
        self, find: Callable[[str], Sequence[Match]], title_of: Callable[[int], str], colours: Palette
    ) -> None:
        super().__init__()
        self._find = find
        self._title_of = title_of
        self._colours = colours
        self._matches: Sequence[Match] = ()

    def compose_box(self) -> ComposeResult:
        with Vertical(classes="dialog -wide -tall"):
            yield TypedLine(placeholder="a part of the name of a subscription, consumer or topic")
            yield LineTable()
            yield PlainStatic(id="said")

    def on_mount(self) -> None:
        """List everything at first."""
        box = self.query_one(".dialog")
        set_title(box, "find and go there")
        field = self.query_one(TypedLine)
        field.cursor_blink = False  # so that a picture is always the same
        field.focus()
        self._look("")

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self._look(event.value)

    def _look(self, part: str) -> None:
        run_beside(self, partial(self._show, part), exclusive=True)

    async def _show(self, part: str) -> None:
        matches = await in_background(self._find, part)
        self._matches = matches
        table = self.query_one(LineTable)
        table.lines = table_lines(matches, self._columns, self._cell)
        table.cursor = 0
        by_kind = [
            sum(match.kind == kind for match in matches) for kind in ("subscription", "consumer", "producer", "topic")
        ]
        more = f"; of more than {MOST_MATCHES} of a kind the first" if max(by_kind) >= MOST_MATCHES else ""
        said = f"{counted(len(matches), 'name')}{more}" if matches else "nothing has such a name"
        self.query_one("#said", PlainStatic).update(said)

    def _columns(self, rows: Sequence[Match], width: int) -> Columns:
        longest = max((cell_len(safe_name(row.name)) for row in rows), default=0) + 1
        return fitting(
            width,
            NameColumn("name", max(longest, _NAME_CELLS[0]), max(min(longest, 60), _NAME_CELLS[1]), _NAME_CELLS[0]),
            [Column("kind", "kind", _KIND_CELLS, left=True)],
            [Column("place", "of", _PLACE_CELLS, left=True, most=40)],
            ("kind", "name", "place"),
        )

    def _cell(self, row: Match, column: Column) -> Text:
        dim = hex_colour(self._colours.dim)
        match column.key:
            case "kind":
                return Text(fit(row.kind, column.width), dim, no_wrap=True)
            case "name":
                return Text(fit(safe_name(row.name), column.width - 1) + " ", no_wrap=True)
        of = "" if row.kind == "subscription" or row.place < 0 else self._title_of(row.place)
        return Text(fit(of, column.width), dim, no_wrap=True)

    # keys and the mouse

    def action_move(self, by: int) -> None:
        self.query_one(LineTable).action_move(by)

    def action_page(self, direction: int) -> None:
        self.query_one(LineTable).action_page(direction)

    def action_close(self) -> None:
        self.dismiss(None)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_choose()

    def action_choose(self) -> None:
        if self._matches:
            self.dismiss(self._matches[self.query_one(LineTable).cursor])

    @on(LineTable.Opened)
    def _opened(self, message: LineTable.Opened) -> None:
        message.stop()
        if not message.is_stale:
            self.dismiss(self._matches[message.index])
