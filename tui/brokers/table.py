"""Lines of the screen "brokers": usage beside the limit, what the shedder makes of it, and a letter for each bundle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rich.cells import cell_len
from rich.text import Text

from engine.views.brokers_model import BrokerRow
from themes.palettes import Palette, Rgb, consumer_tag, hex_colour
from tui.brokers.words import SHORT_OUTCOMES
from tui.drawing.bars import bar_text
from tui.drawing.glyphs import glyphs_of
from tui.kit.wording import bytes_per_sec, fit, percent, quantity, safe_name

NAME_CELLS: Final = (10, 26)
BAR_CELLS: Final = (8, 24)
OUTCOME_CELLS: Final = 11
_RESOURCES: Final = 150
"""From this width on every resource has a column of its own."""
_BYTES: Final = 100
LEAST_BLOCKS: Final = 8


@dataclass(frozen=True, slots=True)
class BrokerColumns:
    """Widths in cells for one width of the table; 0 leaves a column out."""

    name: int
    bar: int
    bytes: int
    outcome: int
    resources: int
    blocks: int


def broker_columns(rows: Sequence[BrokerRow], width: int) -> BrokerColumns:
    """Name, bar, share and rates always, the verdict where there is one, then resources; the rest is for bundles."""
    longest = max((cell_len(safe_name(row.broker)) for row in rows), default=0)
    name = min(max(longest, NAME_CELLS[0]), NAME_CELLS[1] if width >= _BYTES else 18) + 1
    outcome = OUTCOME_CELLS if any(row.judged is not None for row in rows) else 0
    octets = 10 if width >= _BYTES else 0
    resources = 30 if width >= _RESOURCES else 0
    left = width - 1 - name - 7 - 8 - octets - outcome - resources
    bar = max(BAR_CELLS[0], min(BAR_CELLS[1], left // 3))
    return BrokerColumns(name, bar, octets, outcome, resources, max(0, left - bar - 1))


def broker_heading(rows: Sequence[BrokerRow], width: int) -> Text:
    """The headings above ``broker_line``."""
    columns = broker_columns(rows, width)
    text = f" {'broker':<{columns.name}}{'usage':<{columns.bar + 7}}{'msg/s':>7} "
    text += f"{'bytes/s':>{columns.bytes - 1}} " if columns.bytes else ""
    text += f"{'verdict':<{columns.outcome}}" if columns.outcome else ""
    if columns.resources:
        text += f"{'cpu':>5} {'mem':>5} {'dir.':>5} {'in':>5} {'out':>5} "
    return Text(text + ("bundles" if columns.blocks >= LEAST_BLOCKS else ""), no_wrap=True)


def broker_line(row: BrokerRow, rows: Sequence[BrokerRow], width: int, colours: Palette, *, ascii_only: bool) -> Text:
    """One broker: its largest weighted resource beside the limit, its traffic, the verdict, and its bundles."""
    columns = broker_columns(rows, width)
    dim = hex_colour(colours.dim)
    colour = _colour(row, colours)
    text = Text(no_wrap=True)
    text.append("+" if row.presence == "added" else " ", f"bold {hex_colour(colours.good)}")
    text.append(fit(safe_name(row.broker), columns.name - 1) + " ")
    text.append_text(usage_bar(row, columns.bar, colour, colours, ascii_only=ascii_only))
    text.append(f"{percent(row.usage):>6} ", f"bold {hex_colour(colour)}" if row.judged == "sheds" else "")
    text.append(f"{quantity(row.msgs_per_sec):>7} ", dim)
    if columns.bytes:
        text.append(f"{bytes_per_sec(row.bytes_per_sec):>{columns.bytes - 1}} ", dim)
    if columns.outcome:
        said = "" if row.judged is None else SHORT_OUTCOMES[row.judged]
        style = f"bold {hex_colour(colours.warn)}" if row.judged == "sheds" else dim
        text.append(f"{said:<{columns.outcome}}", style)
    if columns.resources:
        for each in row.resources:
            shown = f"{100 * each.used:.0f}%" if each.is_known else "-"
            text.append(f"{shown:>5} ", "" if each.weight else dim)
    text.append_text(blocks_text(row, columns.blocks, colours))
    return text


def usage_bar(row: BrokerRow, width: int, colour: Rgb, colours: Palette, *, ascii_only: bool) -> Text:
    """A bar of the whole resource, with a mark at the limit that this shedder compares the usage with."""
    glyphs = glyphs_of(ascii_only)
    mark = -1 if row.mark is None else min(width - 1, int(max(0.0, row.mark) * width))
    text = Text(no_wrap=True)
    for place, char in enumerate(bar_text(row.usage, width, glyphs)):
        if place == mark:
            ground = f" on {hex_colour(colour)}" if char == "█" and not colours.mono else ""
            text.append(glyphs.cut, f"bold {hex_colour(colours.text)}{ground}")
        else:
            text.append(char, hex_colour(colour))
    return text


def blocks_text(row: BrokerRow, width: int, colours: Palette) -> Text:
    """A letter for each bundle, that of its namespace, the largest bundle first; one that leaves is reversed.

    Where there is no room for all, the number of the others stands at the end.
    """
    text = Text(no_wrap=True)
    if width < LEAST_BLOCKS:
        return text
    if not row.blocks:
        text.append("none" if row.idle_until is None else f"none until cycle {row.idle_until}"[:width], "italic")
        return text
    more = ""
    shown = len(row.blocks)
    if shown > width:
        more = f" +{shown - width + 6}"
        shown = width - len(more)
        more = f" +{len(row.blocks) - shown}"
    for block in row.blocks[:shown]:
        style = hex_colour(colours.consumer_colour(block.namespace))
        sign = "reverse bold " if block.leaves else "bold underline " if block.arrived else ""
        text.append(consumer_tag(block.namespace)[-1], sign + style)
    text.append(more, hex_colour(colours.dim))
    return text


def _colour(row: BrokerRow, colours: Palette) -> Rgb:
    if row.judged == "sheds" or (row.mark is not None and row.usage >= row.mark):
        return colours.bad
    return colours.warn if row.mark is not None and row.usage >= 0.9 * row.mark else colours.good
