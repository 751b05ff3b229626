"""The table of consumers: which columns fit a width, and what is in their cells."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from msgspec import Struct
from rich.cells import cell_len
from rich.style import Style
from rich.text import Text

from engine.views.failover.model import ConsumerRow
from themes.palettes import Palette, hex_colour
from tui.drawing.bars import bar_text
from tui.drawing.glyphs import glyphs_of
from tui.kit.columns import Column, Columns, Lines, NameColumn, Order, Value, fitting, table_lines
from tui.kit.list_panel import RowForm
from tui.kit.reported import REPORTED_ORDER, reported_cell, reported_columns, reported_value, tag_cell
from tui.kit.wording import fit, percent, quantity, safe_name

_LEAST_NAME: Final = 9
_EASY_NAME: Final = 14
_MOST_NAME: Final = 40
_BAR_CELLS: Final = (4, 40)


@lru_cache(maxsize=4096)
def _name_cells(name: str) -> int:
    """How wide a name is on the screen; a table of thousands asks at every step."""
    return cell_len(safe_name(name))


def consumer_columns(rows: Sequence[ConsumerRow], width: int) -> Columns:
    """The columns for a table ``width`` cells wide, most important first to stay.

    Tag, name and active partitions are always there; ring and rate share come next, then the bar, the priority level
    where levels differ, messages per second, and how many partitions moved to and from it at this step. What brokers
    reported comes before these where it says something.
    """
    longest = max((_name_cells(row.name) for row in rows), default=0) + 1
    # All that are active somewhere: who has how many of them changes with every step, so the widths would too.
    active = max(8, len(f"{sum(row.active_partitions for row in rows):,}") + 1)
    levels = {row.priority_level for row in rows}
    priority = Column("prio", "prio", max(5, *(len(str(level)) + 1 for level in levels), 0))
    seen = reported_columns([row.reported for row in rows if row.reported is not None])
    return fitting(
        width,
        NameColumn("consumer", min(max(longest, _LEAST_NAME), _MOST_NAME), _EASY_NAME, _LEAST_NAME),
        [
            Column("tag", "", max((len(row.tag) for row in rows), default=1) + 2, left=True),
            Column("active", "active", active),
        ],
        [
            *seen.important,
            Column("ring", "ring", 7),
            *seen.others,
            Column("rate", "rate", 7),
            *([priority] if len(levels) > 1 else []),
            Column("bar", "", _BAR_CELLS[0], left=True, most=_BAR_CELLS[1]),
            Column("msgs", "out/s", 8),
            Column("change", "moved", 8),
            *([] if len(levels) > 1 else [priority]),
        ],
        ("tag", "name", "prio", "active", "change", "ring", "rate", "bar", "msgs", *REPORTED_ORDER),
    )


class Cells(Struct, frozen=True):
    """How to write cells: the palette in use, the longest bar's share, and whether only ASCII may be used."""

    colours: Palette
    longest: float
    ascii_only: bool = False
    rows: Sequence[ConsumerRow] = ()

    def text(self, row: ConsumerRow, column: Column) -> Text:
        """One cell, exactly ``column.width`` wide."""
        colour = Style.parse(hex_colour(self.colours.consumer_colour(row.colour)))
        dim = Style.parse(hex_colour(self.colours.dim))
        if column.key in REPORTED_ORDER:
            return reported_cell(row.reported, column, self.colours, self.rows)
        if column.key == "tag":
            return tag_cell(row.tag, row.reported, column.width, self.colours, colour)
        if column.key == "bar":
            return Text(self._bar(row, column.width - 1) + " ", colour, no_wrap=True)
        if column.key == "name":
            return Text(fit(safe_name(row.name), column.width - 1) + " ", dim if row.standby else "", no_wrap=True)
        if column.key == "change":
            return self._change(row, column.width)
        text = self._number(row, column.key)
        faint = row.standby or text.strip("0.%") == ""
        return Text(text.rjust(column.width - 1) + " ", dim if faint else "", no_wrap=True)

    def _bar(self, row: ConsumerRow, width: int) -> str:
        share = (row.rate_share or 0.0) / self.longest if self.longest > 0 else 0.0
        return bar_text(share, width, glyphs_of(self.ascii_only))

    def _change(self, row: ConsumerRow, width: int) -> Text:
        gained, lost = (f"{count:,}" if count else "" for count in (row.gained, row.lost))
        if len(gained) + len(lost) + 3 > width - 1:  # two signs and the blank between them
            gained, lost = (quantity(count) if count else "" for count in (row.gained, row.lost))
        text = Text(no_wrap=True)
        if gained:
            text.append(f"+{gained}", hex_colour(self.colours.good))
        if lost:
            text.append(f"{' ' if gained else ''}-{lost}", hex_colour(self.colours.bad))
        text.truncate(width - 1, overflow="ellipsis")
        text.pad_left(max(0, width - 1 - text.cell_len))
        text.pad_right(1)
        return text

    @staticmethod
    def _number(row: ConsumerRow, key: str) -> str:
        if key == "prio":
            return str(row.priority_level)
        if key == "active":
            return "standby" if row.standby else f"{row.active_partitions:,}"
        if key == "ring":
            return percent(row.ring_share)
        return percent(row.rate_share) if key == "rate" else quantity(row.msgs_per_sec)


def consumer_value(row: ConsumerRow, key: str) -> Value:
    """Return what a column is sorted by and exported with."""
    if key in REPORTED_ORDER:
        return reported_value(row.reported, key)
    values: dict[str, Value] = {
        "name": row.name,
        "prio": row.priority_level,
        "active": row.active_partitions,
        "ring": row.ring_share,
        "rate": row.rate_share,
        "msgs": row.msgs_per_sec,
        "change": row.gained - row.lost,
    }
    return values.get(key)


def consumer_lines(rows: Sequence[ConsumerRow], colours: Palette, ascii_only: bool, order: Order) -> Lines:
    """Return the table of these consumers; a whole bar stands for the busiest of them."""
    cells = Cells(colours, max((row.rate_share or 0.0 for row in rows), default=0.0), ascii_only, rows)
    return table_lines(rows, consumer_columns, cells.text, order)


CONSUMERS: Final[RowForm[ConsumerRow]] = RowForm(
    "consumer", lambda row: row.consumer_id, consumer_lines, consumer_value
)
