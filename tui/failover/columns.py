"""The consumer table as text: which columns fit a width, and what stands in their cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text

from engine.views.model import ConsumerRow
from themes.palettes import Palette, hex_colour
from tui.drawing.bars import bar_text
from tui.drawing.glyphs import glyphs_of
from tui.kit.columns import Column
from tui.kit.wording import fit, percent, quantity, safe_name

_MIN_NAME: Final = 9
_MAX_NAME: Final = 40
_MIN_BAR: Final = 4
_MAX_BAR: Final = 40


@lru_cache(maxsize=4096)
def _name_cells(name: str) -> int:
    """How wide a name stands there; a table of thousands asks with every step."""
    return cell_len(safe_name(name))


def consumer_columns(rows: Sequence[ConsumerRow], width: int) -> tuple[Column, ...]:
    """The columns for a table ``width`` cells wide, most important first to stay.

    Tag, name and active partitions always stand; ring and rate share come next, then the bar, the priority level where
    levels differ, messages per second, and how many partitions moved to and from it at this step.
    """
    tag_width = max((len(row.tag) for row in rows), default=1) + 2
    longest = max((_name_cells(row.name) for row in rows), default=0) + 1
    name_width = min(max(longest, _MIN_NAME), _MAX_NAME)
    # All that are active somewhere: who has how many of them changes with every step, so the widths would too.
    active_width = max(8, len(f"{sum(row.active_partitions for row in rows):,}") + 1)
    kept = [Column("tag", "", tag_width), Column("active", "active", active_width)]
    room = width - sum(column.width for column in kept) - min(name_width, 14)
    levels = len({row.priority_level for row in rows}) > 1
    wanted = [
        Column("ring", "ring", 7),
        Column("rate", "rate", 7),
        *([Column("prio", "prio", 5)] if levels else []),
        Column("bar", "", _MIN_BAR),
        Column("msgs", "msg/s", 8),
        Column("change", "moved", 8),
        *([] if levels else [Column("prio", "prio", 5)]),
    ]
    for column in wanted:
        if column.width > room:
            continue
        kept.append(column)
        room -= column.width
    room += min(name_width, 14)
    given_name = min(name_width, max(room, _MIN_NAME))
    room -= given_name
    order = ("tag", "name", "prio", "active", "change", "ring", "rate", "bar", "msgs")
    by_key = {column.key: column for column in [*kept, Column("name", "consumer", given_name)]}
    if "bar" in by_key:
        by_key["bar"] = Column("bar", "", min(_MAX_BAR, _MIN_BAR + max(room, 0)))
    return tuple(by_key[key] for key in order if key in by_key)


@dataclass(frozen=True, slots=True)
class Cells:
    """How to write cells: the palette in use, the longest bar's share, and whether only ASCII may be used."""

    colours: Palette
    longest: float
    ascii_only: bool = False

    def text(self, row: ConsumerRow, column: Column) -> Text:
        """One cell, exactly ``column.width`` wide."""
        colour = Style.parse(hex_colour(self.colours.consumer_colour(row.colour)))
        dim = Style.parse(hex_colour(self.colours.dim))
        if column.key == "tag":
            return Text(f" {row.tag}".ljust(column.width), colour + Style(bold=True), no_wrap=True)
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
        share = row.rate_share / self.longest if self.longest > 0 else 0.0
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
