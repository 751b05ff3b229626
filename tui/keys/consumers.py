"""The table of a Key_Shared subscription's consumers: which columns fit a width, and what is in their cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rich.cells import cell_len
from rich.text import Text

from engine.views.keys.model import KeyConsumerRow
from themes.palettes import Palette, hex_colour
from tui.drawing.bars import bar_text
from tui.drawing.colour import letter_style
from tui.drawing.glyphs import glyphs_of
from tui.kit.columns import Column, Columns, Lines, NameColumn, Order, Value, fitting, table_lines
from tui.kit.list_panel import RowForm
from tui.kit.reported import REPORTED_ORDER, reported_cell, reported_columns, reported_value, tag_cell
from tui.kit.wording import fit, percent, quantity, safe_name, shorten_middle

_NAME_CELLS: Final = (6, 32)
_EASY_NAME: Final = 13
"""A name of this width is not shortened for the sake of another column."""
_BAR_CELLS: Final = (4, 30)
_DECLARED_CELLS: Final = (14, 28)
_CHANGE_CELLS: Final = 8
_BEFORE_CHANGE: Final = 6 + 6 + _BAR_CELLS[0]
"""What unacknowledged and waiting messages and the bar take before what moved."""
BYSTANDER: Final = "!"
"""Before the tag of a consumer that lost slots although another one joined or left."""


def key_columns(rows: Sequence[KeyConsumerRow], width: int) -> Columns:
    """The columns for a table ``width`` cells wide, most important first to stay.

    Tag, name, share of the slots and keys are always there; unacknowledged and waiting messages come next (reported
    ones where there are, and then keys only where some are known), then what moved, the bar of shares, messages,
    draining slots, points that were lost to others and declared ranges.
    """
    longest = max((cell_len(safe_name(row.name)) for row in rows), default=0) + 1
    whole = min(max(longest, len("consumer") + 1), _NAME_CELLS[1])
    seen = reported_columns([row.reported for row in rows if row.reported is not None])
    always = [
        Column("tag", "", max((len(row.tag) for row in rows), default=1) + 2, left=True),
        Column("share", "slots", 6),
        *([Column("keys", "keys", 6)] if not seen.others or any(row.keys for row in rows) else []),
    ]
    room = width - sum(column.width for column in always) - max(_NAME_CELLS[0], min(whole, _EASY_NAME))
    change = max((len(" ".join(_differences(row))) + 1 for row in rows), default=0)
    change = max(change, _CHANGE_CELLS) if change <= room - _BEFORE_CHANGE else _CHANGE_CELLS
    # Messages that were never simulated are computed to be none, which would only contradict what was reported.
    computed = [] if seen.others else [Column("unacked", "unacked", 8), Column("waiting", "wait", 6)]
    declared = Column("declared", "declared", _DECLARED_CELLS[0], left=True, most=_DECLARED_CELLS[1])
    return fitting(
        width,
        NameColumn("consumer", whole, _EASY_NAME, _NAME_CELLS[0]),
        always,
        [
            *seen.important,
            *seen.others,
            *computed,
            Column("bar", "", _BAR_CELLS[0], left=True, most=_BAR_CELLS[1]),
            Column("change", "moved", change),
            Column("messages", "msgs", 6),
            *([Column("draining", "drain", 6)] if any(row.draining for row in rows) else []),
            *([Column("points", "points", 7)] if any(row.points for row in rows) else []),
            *([declared] if any(row.declared for row in rows) else []),
        ],
        (
            *("tag", "name", "share", "bar", "change", "keys", "messages", "unacked", "waiting", "draining", "points"),
            *("declared", *REPORTED_ORDER),
        ),
    )


@dataclass(frozen=True, slots=True)
class KeyCells:
    """How to write cells: the palette in use, the largest share of slots, and whether only ASCII may be used."""

    colours: Palette
    largest: float
    ascii_only: bool = False
    rows: Sequence[KeyConsumerRow] = ()

    def text(self, row: KeyConsumerRow, column: Column) -> Text:
        """One cell, exactly ``column.width`` wide."""
        colour = hex_colour(self.colours.consumer_colour(row.colour))
        dim = hex_colour(self.colours.dim)
        if column.key in REPORTED_ORDER:
            return reported_cell(row.reported, column, self.colours, self.rows)
        match column.key:
            case "tag" if row.reported is not None:
                return tag_cell(row.tag, row.colour, row.reported, column.width, self.colours)
            case "tag":
                text = Text(BYSTANDER if row.bystander else " ", f"bold {hex_colour(self.colours.warn)}", no_wrap=True)
                text.append(row.tag, letter_style(self.colours, row.colour))
                return text.append(" " * (column.width - 1 - len(row.tag)))
            case "bar":
                share = row.share / self.largest if self.largest > 0 else 0.0
                bar = bar_text(share, column.width - 1, glyphs_of(self.ascii_only))
                return Text(bar + " ", colour, no_wrap=True)
            case "name":
                return Text(fit(safe_name(row.name), column.width - 1) + " ", no_wrap=True)
            case "declared":
                declared = shorten_middle(row.declared or "none", column.width - 1)
                return Text(declared.ljust(column.width), dim, no_wrap=True)
            case "change":
                return self._change(row, column.width)
        number = _number(row, column.key)
        style = dim if number.strip("0.%") == "" else ""
        if number != "0" and column.key in ("waiting", "draining"):
            style = f"bold {hex_colour(self.colours.warn)}"
        return Text(number.rjust(column.width - 1) + " ", style, no_wrap=True)

    def _change(self, row: KeyConsumerRow, width: int) -> Text:
        """What came and went; where there is no room for both, the larger one and a mark that there is another."""
        parts = _differences(row)
        if len(" ".join(parts)) >= width:
            parts = [parts[0 if row.gained_slots > row.lost_slots else 1] + "…"]
        text = Text(no_wrap=True)
        for at, words in enumerate(parts):
            text.append(" " if at else "")
            text.append(words, hex_colour(self.colours.good if words[0] == "+" else self.colours.bad))
        text.pad_left(max(0, width - 1 - text.cell_len))
        text.pad_right(1)
        return text


def _differences(row: KeyConsumerRow) -> list[str]:
    gained, lost = row.gained_slots, row.lost_slots
    return [f"+{quantity(gained)}"] * bool(gained) + [f"-{quantity(lost)}"] * bool(lost)


def _number(row: KeyConsumerRow, key: str) -> str:
    if key == "share":
        return percent(row.share)
    if key == "points":
        return quantity(row.points - row.lost_points)
    counts = {
        "keys": row.keys,
        "messages": row.messages,
        "unacked": row.unacked,
        "waiting": row.waiting,
        "draining": row.draining,
    }
    return quantity(counts[key])


def key_consumer_value(row: KeyConsumerRow, key: str) -> Value:
    """Return what a column is sorted by and exported with."""
    if key in REPORTED_ORDER:
        return reported_value(row.reported, key)
    values: dict[str, Value] = {
        "name": row.name,
        "share": row.share,
        "keys": row.keys,
        "change": row.gained_slots - row.lost_slots,
        "messages": row.messages,
        "unacked": row.unacked,
        "waiting": row.waiting,
        "draining": row.draining,
        "points": row.points - row.lost_points,
        "declared": row.declared,
    }
    return values.get(key)


def key_consumer_lines(rows: Sequence[KeyConsumerRow], colours: Palette, ascii_only: bool, order: Order) -> Lines:
    """Return the table of these consumers; a whole bar stands for the one with most slots."""
    cells = KeyCells(colours, max((row.share for row in rows), default=0.0), ascii_only, rows)
    return table_lines(rows, key_columns, cells.text, order)


CONSUMERS: Final[RowForm[KeyConsumerRow]] = RowForm(
    "consumer", lambda row: row.consumer_id, key_consumer_lines, key_consumer_value
)
