"""Rows for virtual tables, as text: partitions of a consumer, and consumers where they are too many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.style import Style
from rich.text import Text

from engine.views.model import ConsumerRow, PartitionRow
from themes.palettes import Palette, hex_colour
from tui.failover.columns import Cells, Column, consumer_columns
from tui.kit.wording import fit, quantity, short_topic

_WIDE: Final = 64


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
