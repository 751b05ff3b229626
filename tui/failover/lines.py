"""Rows for virtual tables, as text: partitions of a consumer, events, and consumers where they are too many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text

from engine.views.model import ConsumerRow, EventLine, PartitionRow
from themes.palettes import Palette, hex_colour
from tui.failover.columns import Cells, Column, consumer_columns
from tui.kit.wording import event_effect, event_effect_short, fit, quantity, safe_name, short_topic, shorten_middle

GLYPHS: Final = {
    "add": "+",
    "kill": "-",
    "setting": "~",
    "topic": "#",
    "split": "/",
    "release": "^",
    "send": ">",
    "ack": "=",
    "wait": ".",
    "fail": "!",
    "recover": "=",
    "open": "o",
}
_WIDE: Final = 64


def event_line(event: EventLine, width: int, colours: Palette, noun: str = "partition") -> Text:
    """One step: number, a sign for its kind, what was done, and on the right what it moved."""
    role = {"add": colours.good, "kill": colours.bad, "open": colours.dim}.get(event.kind, colours.accent)
    dim = hex_colour(colours.dim)
    text = Text(no_wrap=True)
    text.append(f"{event.step:>3} ", dim)
    text.append(f"{GLYPHS.get(event.kind, '*')} ", f"bold {hex_colour(role)}")
    effect = event_effect(event, noun)
    words = safe_name(event.text)
    if text.cell_len + cell_len(words) + cell_len(effect) + 3 > width:
        effect = event_effect_short(event)
    room = max(8, width - text.cell_len - (cell_len(effect) + 2 if effect else 0))
    text.append(shorten_middle(words, room))
    if effect:
        text.append("  ")
        text.append(effect, dim if event.moved == 0 else "")
    if event.unacked_at_risk and effect:
        at = text.plain.rfind(";") if ";" in effect else text.plain.rfind(",")
        text.stylize(hex_colour(colours.warn), max(at, 0))
    return text


def consumer_heading(rows: Sequence[ConsumerRow], width: int) -> Text:
    """The headings of the consumer table as one line."""
    return Text("", no_wrap=True).join(column.heading() for column in consumer_columns(rows, width))


def consumer_line(row: ConsumerRow, columns: Sequence[Column], write: Cells) -> Text:
    """One consumer as one line of the virtual table."""
    return Text("", no_wrap=True).join(write.text(row, column) for column in columns)


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
