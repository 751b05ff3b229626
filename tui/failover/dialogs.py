"""The dialogs of the main screen: adding a consumer, and the partitions that one is active for."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from rich.style import Style
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input

from engine.cluster.commands import AddConsumer
from engine.compare.verdict import Verdict
from engine.errors import Rejection
from engine.views.failover.model import PartitionRow
from themes import stylesheet
from themes.palettes import Palette, hex_colour
from tui.kit.dialog import Dialog
from tui.kit.line_table import Lines, LineTable
from tui.kit.plain_text import PlainLabel, set_subtitle, set_title
from tui.kit.prompt import TypedLine
from tui.kit.single_paint import SinglePaintModal
from tui.kit.verdict_words import verdict_text
from tui.kit.wording import counted, fit, msgs_per_sec, quantity, safe_name, short_topic, shorten_middle

_WIDE: Final = 64


class AddConsumerScreen(Dialog[AddConsumer]):
    """Asks for the name and the priority level of a consumer to connect."""

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

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield PlainLabel("name", classes="dialog--label")
            yield TypedLine(self._suggested, id="name")
            yield PlainLabel("priority level (lower is first)", classes="dialog--label")
            yield TypedLine("0", id="priority", restrict=r"[-+]?[0-9]*", max_length=11)
            yield PlainLabel("", classes="dialog--label", id="verdict")
            yield PlainLabel("", classes="dialog--error")
            yield PlainLabel("enter connects, tab next field, escape cancels", classes="dialog--help")

    def on_mount(self) -> None:
        self._judge()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._judge()

    def _judge(self) -> None:
        """Say what connecting it would do, as far as what is typed can be carried out."""
        level = self.text_of("priority").strip() or "0"
        found = None
        if re.fullmatch(r"[-+]?[0-9]+", level):
            found = self._preview(AddConsumer(self._subscription, self.text_of("name"), int(level)))
        text = verdict_text(found) if isinstance(found, Verdict) else ""
        self.query_one("#verdict", PlainLabel).update(text)

    def submit(self) -> None:
        level = self.text_of("priority").strip() or "0"
        try:
            number = int(level)
        except ValueError:
            self.complain(f"{level!r} is no priority level: write a whole number, 0 comes before 1", "priority")
            return
        self.finish(AddConsumer(self._subscription, self.text_of("name"), number))

    def field_of(self, refused: Rejection) -> str:
        return "priority" if "priority" in refused.field.lower() else "name"


class PartitionsScreen(SinglePaintModal[str]):
    """Lists the partitions that one consumer is active for; is dismissed with the one chosen with enter, or with ""."""

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


def partition_heading(width: int) -> Text:
    """The headings above ``partition_line``."""
    name_width, bundle = _partition_widths(width)
    tail = f"{'bundle':<22}" if bundle else ""
    return Text(f" {'partition':<{name_width}} {'hash':>8}  {'msg/s':>6}  {'unacked':>8}  {tail}", no_wrap=True)


def partition_line(row: PartitionRow, width: int, colours: Palette) -> Text:
    """One partition: its name, the hash of it, its traffic, and its bundle where there is room."""
    name_width, bundle = _partition_widths(width)
    mark = "*" if row.moved else " "
    text = Text(no_wrap=True)
    text.append(mark, Style.parse(f"bold {hex_colour(colours.accent)}"))
    text.append(fit(short_topic(row.name), name_width))
    text.append(f" {row.topic_hash:08x}", hex_colour(colours.dim))
    text.append(f"  {quantity(row.msgs_per_sec):>6}  {quantity(row.unacked_messages):>8}")
    if bundle:
        text.append(f"  {row.bundle:<22}", hex_colour(colours.dim))
    return text


def _partition_widths(width: int) -> tuple[int, bool]:
    fixed = 1 + 9 + 8 + 10
    bundle = width >= _WIDE + 22
    return max(8, width - fixed - (24 if bundle else 0)), bundle
