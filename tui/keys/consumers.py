"""The table of a Key_Shared subscription's consumers: which columns fit a width, and what is in their cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from rich.cells import cell_len
from rich.text import Text

from engine.views.keys.model import KeyConsumerRow
from themes.palettes import Palette, hex_colour
from tui.drawing.bars import bar_text
from tui.drawing.colour import letter_style
from tui.drawing.glyphs import glyphs_of
from tui.kit.columns import ScreenColumn, Table, numbers, table_of, texts
from tui.kit.list_panel import RowForm
from tui.kit.reported import reported_columns, tag_cell
from tui.kit.wording import percent, quantity, safe_name, shorten_middle

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


def key_consumers_table(colours: Palette, ascii_only: bool) -> Table[KeyConsumerRow]:
    """The table of consumers; a whole bar stands for the one with most slots."""
    return table_of(partial(_declared, colours, ascii_only))


def _declared(
    colours: Palette, ascii_only: bool, sample: Sequence[KeyConsumerRow], rows: Sequence[KeyConsumerRow], width: int
) -> list[ScreenColumn[KeyConsumerRow]]:
    """Tag, name, share of the slots and keys are always there; unacknowledged and waiting messages come next (reported
    ones where there are, and then keys only where some are known), then what moved, the bar of shares, messages,
    draining slots, points that were lost to others and declared ranges.
    """
    dim, warn = hex_colour(colours.dim), f"bold {hex_colour(colours.warn)}"
    largest = max((row.share for row in rows), default=0.0)
    longest = max((cell_len(safe_name(row.name)) for row in sample), default=0) + 1
    whole = min(max(longest, len("consumer") + 1), _NAME_CELLS[1])
    seen = any(row.reported is not None for row in sample)

    def count(
        key: str,
        label: str,
        number: Callable[[KeyConsumerRow], int],
        width: int = 6,
        *,
        warns: bool = False,
        **how: Any,
    ) -> ScreenColumn[KeyConsumerRow]:
        def style(row: KeyConsumerRow) -> str:
            return dim if number(row) == 0 else warn if warns else ""

        return ScreenColumn(key, label, width, numbers(lambda row: quantity(number(row)), style), number, **how)

    def tag(row: KeyConsumerRow, width: int) -> Text:
        if row.reported is not None:
            return tag_cell(row.tag, row.colour, row.reported, width, colours)
        text = Text(BYSTANDER if row.bystander else " ", warn, no_wrap=True)
        text.append(row.tag, letter_style(colours, row.colour))
        return text.append(" " * (width - 1 - len(row.tag)))

    def bar(row: KeyConsumerRow, width: int) -> Text:
        drawing = bar_text(row.share / largest if largest > 0 else 0.0, width - 1, glyphs_of(ascii_only))
        return Text(drawing + " ", hex_colour(colours.consumer_colour(row.colour)), no_wrap=True)

    def ranges(row: KeyConsumerRow, width: int) -> Text:
        return Text(shorten_middle(row.declared or "none", width - 1).ljust(width), dim, no_wrap=True)

    tags = max((len(row.tag) for row in sample), default=1) + 2
    has_keys = not seen or any(row.keys for row in sample)
    room = width - tags - 6 - 6 * has_keys - max(_NAME_CELLS[0], min(whole, _EASY_NAME))
    moved = max((len(" ".join(_differences(row))) + 1 for row in sample), default=0)
    moved = max(moved, _CHANGE_CELLS) if moved <= room - _BEFORE_CHANGE else _CHANGE_CELLS
    # Messages that were never simulated are computed to be none, which would only contradict what was reported.
    return [
        ScreenColumn("tag", "", tags, tag, left=True),
        ScreenColumn(
            "name", "consumer", whole, texts(lambda row: safe_name(row.name)), lambda row: row.name,
            easy=_EASY_NAME, least=_NAME_CELLS[0],
        ),
        ScreenColumn(
            "share", "slots", 6,
            numbers(lambda row: percent(row.share), lambda row: dim if percent(row.share).strip("0.%") == "" else ""),
            lambda row: row.share,
        ),
        ScreenColumn("bar", "", _BAR_CELLS[0], bar, rank=5, left=True, most=_BAR_CELLS[1]),
        ScreenColumn(
            "change", "moved", moved, partial(_change, colours), lambda row: row.gained_slots - row.lost_slots, rank=6,
        ),
        count("keys", "keys", lambda row: row.keys, there=has_keys),
        count("messages", "msgs", lambda row: row.messages, rank=7),
        count("unacked", "unacked", lambda row: row.unacked, 8, rank=3, there=not seen),
        count("waiting", "wait", lambda row: row.waiting, rank=4, there=not seen, warns=True),
        count(
            "draining", "drain", lambda row: row.draining, rank=8, warns=True,
            there=any(row.draining for row in sample),
        ),
        count(
            "points", "points", lambda row: row.points - row.lost_points, 7, rank=9,
            there=any(row.points for row in sample),
        ),
        ScreenColumn(
            "declared", "declared", _DECLARED_CELLS[0], ranges, lambda row: row.declared,
            rank=10, left=True, most=_DECLARED_CELLS[1], there=any(row.declared for row in sample),
        ),
        *reported_columns(sample, rows, colours, rank=1, less=2),
    ]  # fmt: skip


def _differences(row: KeyConsumerRow) -> list[str]:
    gained, lost = row.gained_slots, row.lost_slots
    return [f"+{quantity(gained)}"] * bool(gained) + [f"-{quantity(lost)}"] * bool(lost)


def _change(colours: Palette, row: KeyConsumerRow, width: int) -> Text:
    """What came and went; where there is no room for both, the larger one and a mark that there is another."""
    parts = _differences(row)
    if len(" ".join(parts)) >= width:
        parts = [parts[0 if row.gained_slots > row.lost_slots else 1] + "…"]
    text = Text(no_wrap=True)
    for at, words in enumerate(parts):
        text.append(" " if at else "")
        text.append(words, hex_colour(colours.good if words[0] == "+" else colours.bad))
    text.pad_left(max(0, width - 1 - text.cell_len))
    text.pad_right(1)
    return text


CONSUMERS: Final[RowForm[KeyConsumerRow]] = RowForm("consumer", lambda row: row.consumer_id, key_consumers_table)
