"""The table of consumers: which columns fit a width, and what is in their cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Final

from rich.cells import cell_len
from rich.text import Text

from engine.views.failover.model import ConsumerRow
from themes.palettes import Palette, hex_colour
from tui.drawing.bars import bar_text
from tui.drawing.glyphs import glyphs_of
from tui.kit.columns import Cell, ScreenColumn, Table, numbers, table_of, texts
from tui.kit.list_panel import RowForm
from tui.kit.reported import reported_columns, tag_cell
from tui.kit.wording import percent, quantity, safe_name

_LEAST_NAME: Final = 9
_EASY_NAME: Final = 14
_MOST_NAME: Final = 40
_BAR_CELLS: Final = (4, 40)


@lru_cache(maxsize=4096)
def _name_cells(name: str) -> int:
    """How wide a name is on the screen; a table of thousands asks at every step."""
    return cell_len(safe_name(name))


def consumers_table(colours: Palette, ascii_only: bool) -> Table[ConsumerRow]:
    """The table of consumers; a whole bar stands for the busiest of them."""
    return table_of(partial(_declared, colours, ascii_only))


def _declared(
    colours: Palette, ascii_only: bool, sample: Sequence[ConsumerRow], rows: Sequence[ConsumerRow], _width: int
) -> list[ScreenColumn[ConsumerRow]]:
    """Tag, name and active partitions are always there; ring and rate share come next, then the bar, the priority level
    where levels differ, messages per second, and how many partitions moved to and from it at this step. What brokers
    reported comes before these where it says something.
    """
    dim, longest = hex_colour(colours.dim), max((row.rate_share or 0.0 for row in rows), default=0.0)
    widest = max((_name_cells(row.name) for row in sample), default=0) + 1
    # All that are active somewhere: who has how many of them changes with every step, so the widths would too.
    active = max(8, len(f"{sum(row.active_partitions for row in sample):,}") + 1)
    levels = {row.priority_level for row in sample}

    def numbered(text: Callable[[ConsumerRow], str]) -> Cell[ConsumerRow]:
        return numbers(text, lambda row: dim if row.standby or text(row).strip("0.%") == "" else "")

    def bar(row: ConsumerRow, width: int) -> Text:
        share = (row.rate_share or 0.0) / longest if longest > 0 else 0.0
        drawing = bar_text(share, width - 1, glyphs_of(ascii_only))
        return Text(drawing + " ", hex_colour(colours.consumer_colour(row.colour)), no_wrap=True)

    return [
        ScreenColumn(
            "tag", "", max((len(row.tag) for row in sample), default=1) + 2,
            lambda row, width: tag_cell(row.tag, row.colour, row.reported, width, colours), left=True,
        ),
        ScreenColumn(
            "name", "consumer", min(max(widest, _LEAST_NAME), _MOST_NAME),
            texts(lambda row: safe_name(row.name), lambda row: dim if row.standby else ""),
            lambda row: row.name, easy=_EASY_NAME, least=_LEAST_NAME,
        ),
        ScreenColumn(
            "prio", "prio", max(5, *(len(str(level)) + 1 for level in levels), 0),
            numbered(lambda row: str(row.priority_level)), lambda row: row.priority_level,
            rank=5 if len(levels) > 1 else 9,
        ),
        ScreenColumn(
            "active", "active", active,
            numbered(lambda row: "standby" if row.standby else f"{row.active_partitions:,}"),
            lambda row: row.active_partitions,
        ),
        ScreenColumn("change", "moved", 8, partial(_change, colours), lambda row: row.gained - row.lost, rank=8),
        ScreenColumn(
            "ring", "ring", 7, numbered(lambda row: percent(row.ring_share)), lambda row: row.ring_share, rank=2
        ),
        ScreenColumn(
            "rate", "rate", 7, numbered(lambda row: percent(row.rate_share)), lambda row: row.rate_share, rank=4
        ),
        ScreenColumn("bar", "", _BAR_CELLS[0], bar, rank=6, left=True, most=_BAR_CELLS[1]),
        ScreenColumn(
            "msgs", "out/s", 8, numbered(lambda row: quantity(row.msgs_per_sec)), lambda row: row.msgs_per_sec, rank=7
        ),
        *reported_columns(sample, rows, colours, rank=1, less=3),
    ]  # fmt: skip


def _change(colours: Palette, row: ConsumerRow, width: int) -> Text:
    gained, lost = (f"{count:,}" if count else "" for count in (row.gained, row.lost))
    if len(gained) + len(lost) + 3 > width - 1:  # two signs and the blank between them
        gained, lost = (quantity(count) if count else "" for count in (row.gained, row.lost))
    text = Text(no_wrap=True)
    if gained:
        text.append(f"+{gained}", hex_colour(colours.good))
    if lost:
        text.append(f"{' ' if gained else ''}-{lost}", hex_colour(colours.bad))
    text.truncate(width - 1, overflow="ellipsis")
    text.pad_left(max(0, width - 1 - text.cell_len))
    text.pad_right(1)
    return text


CONSUMERS: Final[RowForm[ConsumerRow]] = RowForm("consumer", lambda row: row.consumer_id, consumers_table)
