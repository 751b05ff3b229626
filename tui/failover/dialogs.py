"""The dialogs of the main screen: adding a consumer, and the partitions that one is active for."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from rich.cells import cell_len
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Input

from engine.cluster.commands import AddConsumer
from engine.compare.verdict import Verdict
from engine.errors import Rejection
from engine.text import counted
from engine.views.failover.model import PartitionRow
from themes.palettes import Palette, hex_colour
from tui.kit.bindings import Binding
from tui.kit.columns import ScreenColumn, Table, numbers, table_of, texts
from tui.kit.dialog import Dialog
from tui.kit.plain_text import PlainLabel, set_title
from tui.kit.prompt import TypedLine
from tui.kit.table_screens import TableDialog
from tui.kit.verdict_words import verdict_text
from tui.kit.wording import fit, out_rate, quantity, safe_name, short_topic, shorten_middle

_NAME_CELLS: Final = (10, 38)
"""The least width of names, and the width from which on other columns have room beside them."""
_BUNDLE_CELLS: Final = 23


class AddConsumerScreen(Dialog[AddConsumer]):
    """Asks for the name and the priority level of a consumer to connect."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "Connect")]

    def __init__(
        self,
        subscription: str,
        title: str,
        suggested: str,
        accept: Callable[[AddConsumer], Rejection | None],
        preview: Callable[[AddConsumer], Verdict | Rejection | None],
    ) -> None:
        """``preview`` says what a consumer would change, before it is connected."""
        super().__init__(f"add a consumer to {title}", accept)
        self._preview = preview
        self._subscription = subscription
        self._suggested = suggested

    def compose_box(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield PlainLabel("name", classes="dialog--label")
            yield TypedLine(self._suggested, id="name")
            yield PlainLabel("priority level (lower is first)", classes="dialog--label")
            yield TypedLine("0", id="priority", restrict=r"[-+]?[0-9]*", max_length=11)
            yield PlainLabel("", classes="dialog--label", id="verdict")
            yield PlainLabel("", classes="dialog--error")

    def on_mount(self) -> None:
        self._judge()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._judge()

    def _judge(self) -> None:
        """Say what connecting it would do, where what is typed can be carried out."""
        level = self.text_of("priority").strip() or "0"
        verdict = None
        if re.fullmatch(r"[-+]?[0-9]+", level):
            verdict = self._preview(AddConsumer(self._subscription, self.text_of("name"), int(level)))
        text = verdict_text(verdict) if isinstance(verdict, Verdict) else ""
        self.query_one("#verdict", PlainLabel).update(text)

    def submit(self) -> None:
        level = self.text_of("priority").strip() or "0"
        try:
            number = int(level)
        except ValueError:
            self.complain(f"{level!r} is not a priority level: write a whole number, 0 comes before 1", "priority")
            return
        self.finish(AddConsumer(self._subscription, self.text_of("name"), number))

    def field_of(self, refused: Rejection) -> str:
        return "priority" if "priority" in refused.field.lower() else "name"


class PartitionsScreen(TableDialog):
    """Lists the partitions that one consumer is active for; is dismissed with the one chosen with enter, or with ""."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "none", "Explain")]
    filename = "partitions.csv"

    def __init__(self, name: str, msgs_rate: float | None, rows: Sequence[PartitionRow], colours: Palette) -> None:
        super().__init__()
        self._consumer = name
        self._rate = msgs_rate
        self._partitions = rows
        self._colours = colours

    def on_mount(self) -> None:
        rows = self._partitions
        box = self.query_one(".dialog")
        name = shorten_middle(safe_name(self._consumer), 40)
        set_title(box, f"{name} is active for {counted(len(rows), 'partition')}, {out_rate(self._rate)}")
        self.show_rows(rows, partitions_of(self._colours), lambda row: (row.name, row.bundle))
        self.table.focus()

    def chosen(self, row: PartitionRow) -> None:
        self.dismiss(row.name)


def partitions_of(colours: Palette) -> Table[PartitionRow]:
    """The table of partitions: ``*`` marks those that the last step moved; bundles are there where names keep room."""
    dim, accent = hex_colour(colours.dim), f"bold {hex_colour(colours.accent)}"

    def declare(
        sample: Sequence[PartitionRow], _rows: Sequence[PartitionRow], _width: int
    ) -> list[ScreenColumn[PartitionRow]]:
        longest = max((cell_len(short_topic(row.name)) for row in sample), default=0) + 1
        least, easy = _NAME_CELLS
        return [
            ScreenColumn(
                "moved", "", 1, lambda row, _: Text("*" if row.moved else " ", accent, no_wrap=True), left=True
            ),
            ScreenColumn(
                "name", "partition", max(longest, least), texts(lambda row: short_topic(row.name)),
                lambda row: row.name, easy=max(longest, easy), least=least,
            ),
            ScreenColumn("hash", "hash", 10, numbers(_hash_text, dim), _hash_text, rank=1),
            ScreenColumn(
                "rate", "out/s", 8, numbers(lambda row: quantity(row.msgs_per_sec)), lambda row: row.msgs_per_sec
            ),
            ScreenColumn(
                "unacked", "unacked", 9, numbers(lambda row: quantity(row.unacked_messages)),
                lambda row: row.unacked_messages,
            ),
            ScreenColumn(
                "bundle", " bundle", _BUNDLE_CELLS,
                lambda row, width: Text(" " + fit(row.bundle, width - 1), dim, no_wrap=True),
                lambda row: row.bundle, rank=2, left=True,
            ),
        ]  # fmt: skip

    return table_of(declare)


def _hash_text(row: PartitionRow) -> str:
    return f"{row.topic_hash:08x}"
