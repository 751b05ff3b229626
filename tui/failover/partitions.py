"""The partitions one consumer is active for; any number of them, drawn on demand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from engine.views.model import PartitionRow
from themes import stylesheet
from themes.palettes import Palette
from tui.failover.lines import partition_heading, partition_line
from tui.kit.line_table import Lines, LineTable
from tui.kit.plain_text import set_subtitle, set_title
from tui.kit.steady import SteadyModal
from tui.kit.wording import counted, msgs_per_sec, safe_name, shorten_middle


class PartitionsScreen(SteadyModal[str]):
    """Dismissed with the topic that was chosen with enter, or with "" when it was only read."""

    CSS_PATH = stylesheet("dialogs")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "close", "Close")]

    def __init__(self, name: str, msgs_rate: float, rows: Sequence[PartitionRow], colours: Palette) -> None:
        super().__init__()
        self._consumer = name
        self._rate = msgs_rate
        self._rows = rows
        self._colours = colours

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -wide -tall"):
            yield LineTable()

    def on_mount(self) -> None:
        rows, colours = self._rows, self._colours
        box = self.query_one(Vertical)
        name = shorten_middle(safe_name(self._consumer), 40)
        set_title(box, f"{name} is active for {counted(len(rows), 'partition')}, {msgs_per_sec(self._rate)}")
        set_subtitle(box, "enter explains one, escape closes")
        table = self.query_one(LineTable)
        table.lines = Lines(len(rows), lambda i, width: partition_line(rows[i], width, colours), partition_heading)
        table.focus()

    def on_line_table_opened(self, event: LineTable.Opened) -> None:
        event.stop()
        self.dismiss(self._rows[event.index].name)

    def action_close(self) -> None:
        self.dismiss("")
