"""Which slots and which of the known keys a consumer has; any number of both, drawn on demand."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical

from engine.views.keys_model import ConsumerKeysView, KeyConsumerRow
from themes import stylesheet
from themes.palettes import Palette
from tui.keys.lines import owned_heading, owned_line, piece_heading, piece_line
from tui.kit.line_table import Lines, LineTable
from tui.kit.plain_text import set_subtitle, set_title
from tui.kit.steady import SteadyModal
from tui.kit.wording import counted, percent, safe_name, shorten_middle


class OwnedKeysScreen(SteadyModal[str | None]):
    """Dismissed with the key that was chosen with enter, or with None when it was only read."""

    CSS_PATH = stylesheet("dialogs")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "close", "Close")]

    def __init__(self, view: ConsumerKeysView, row: KeyConsumerRow, colours: Palette) -> None:
        super().__init__()
        self._view = view
        self._row = row
        self._colours = colours

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -wide -tall"), Horizontal():
            yield LineTable(id="owned")
            yield LineTable(id="pieces")

    def on_mount(self) -> None:
        view, colours = self._view, self._colours
        box = self.query_one(Vertical)
        name = shorten_middle(safe_name(view.name), 24)
        slots = f"{counted(view.slots, 'slot')} ({percent(self._row.share)})"
        pieces = counted(len(view.pieces), "piece")
        set_title(box, f"{name}: {slots} in {pieces}, {counted(len(view.keys), 'known key')}")
        set_subtitle(box, "enter explains a key, tab goes to the slots, escape closes")
        owned = self.query_one("#owned", LineTable)
        keys = view.keys
        owned.lines = Lines(len(keys), lambda at, width: owned_line(keys[at], width, colours), owned_heading)
        listed = view.pieces
        self.query_one("#pieces", LineTable).lines = Lines(
            len(listed), lambda at, width: piece_line(listed[at], width, colours), piece_heading
        )
        owned.focus()

    def on_line_table_opened(self, event: LineTable.Opened) -> None:
        event.stop()
        if event.table.id == "owned":
            self.dismiss(self._view.keys[event.index].text)

    def action_close(self) -> None:
        self.dismiss(None)
