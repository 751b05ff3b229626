"""A line for each broker: a bar per resource with the threshold of the shedder, and its bundles as blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rich.text import Text

from engine.views.brokers.model import RESOURCES, Bar, Block, BrokerRow
from themes.palettes import Palette, consumer_tag, hex_colour
from tui.brokers.words import RESOURCE_TEXTS
from tui.drawing.bars import bar_text
from tui.drawing.glyphs import glyphs_of
from tui.kit.columns import Column, Columns, Lines, Order, Value, heading
from tui.kit.wording import fit, safe_name, shorten_middle

_PERCENT: Final = 5
_LEAST_BLOCKS: Final = 14


@dataclass(frozen=True, slots=True)
class Room:
    """Cells for one width of the table: name, each bar, whether a number follows it, blocks."""

    name: int
    bar: int
    numbers: bool
    blocks: int


def room_of(longest: int, width: int) -> Room:
    """Names of up to ``longest`` cells in full where they fit, then numbers beside the bars, then bundles."""
    numbers = width >= 100
    name = min(longest + 2, 40 if width >= 160 else 24 if numbers else 20)
    left = width - name
    bar = 6 if not numbers else 8 if width < 150 else 12
    cells = bar + 1 + (_PERCENT if numbers else 0)
    return Room(name, bar, numbers, max(_LEAST_BLOCKS, left - 5 * cells))


def broker_columns(room: Room) -> Columns:
    """The name, each resource, and the bundles, which are sorted by their bytes."""
    cells = room.bar + 1 + (_PERCENT if room.numbers else 0)
    resources = (Column(name, RESOURCE_TEXTS[name], cells, left=True) for name in RESOURCES)
    return (
        Column("broker", "broker", room.name, left=True),
        *resources,
        Column("bytes_per_sec", "bundles by traffic", room.blocks, left=True),
    )


def broker_lines(rows: Sequence[BrokerRow], order: Order, colours: Palette, *, ascii_only: bool) -> Lines:
    """The rows, already in order, as lines."""
    longest = max((len(safe_name(row.broker)) for row in rows), default=8)
    most = max((row.bytes_per_sec for row in rows), default=0.0)
    return Lines(
        len(rows),
        lambda at, width: broker_line(rows[at], room_of(longest, width), most, colours, ascii_only=ascii_only),
        lambda width: heading(broker_columns(room_of(longest, width)), order),
        lambda width: broker_columns(room_of(longest, width)),
    )


def broker_value(row: BrokerRow, key: str) -> Value:
    """Return what a column is sorted by and exported with: shares of what there is, from 0 to 1."""
    if key == "broker":
        return row.broker
    if key == "bytes_per_sec":
        return row.bytes_per_sec
    share = next((bar.share for bar in row.bars if bar.resource == key), math.nan)
    return None if math.isnan(share) else share


def broker_line(row: BrokerRow, room: Room, most: float, colours: Palette, *, ascii_only: bool = False) -> Text:
    """A broker's line; ``most`` is the largest traffic of a broker, in bytes/s, which all blocks are drawn beside."""
    sign = "+" if row.is_new else "?" if row.older_ms else " "
    text = Text(no_wrap=True)
    name = shorten_middle(safe_name(row.broker), room.name - 2)
    text.append(f"{sign}{fit(name, room.name - 2)} ", hex_colour(colours.warn) if sign != " " else "bold")
    for bar in row.bars:
        text.append_text(bar_cells(bar, room.bar, colours, ascii_only=ascii_only))
        if room.numbers:
            text.append(("-" if math.isnan(bar.share) else f"{bar.share:.0%}").rjust(_PERCENT - 1) + " ")
        text.append(" ")
    share = row.bytes_per_sec / most if most > 0 else 1.0
    text.append_text(block_cells(row.blocks, max(1, round(room.blocks * share)), room.blocks, colours))
    return text


def bar_cells(bar: Bar, width: int, colours: Palette, *, ascii_only: bool = False) -> Text:
    """A bar, red from its threshold on, with a line at the threshold. A fault is a word instead."""
    if math.isnan(bar.share):
        return Text(fit("no num" if bar.fault == "not-a-number" else "?", width), hex_colour(colours.dim))
    glyphs = glyphs_of(ascii_only)
    over = bar.threshold is not None and bar.share > bar.threshold
    ink = colours.bad if over or bar.fault else colours.accent if bar.counts else colours.dim
    drawn = bar_text(min(max(bar.share, 0.0), 1.0), width, glyphs).ljust(width)
    text = Text(drawn, f"{hex_colour(ink)} on {hex_colour(colours.ring_track)}" if not colours.mono else "")
    if bar.threshold is None or bar.threshold > 1:
        return text
    at = min(width - 1, int(bar.threshold * width))
    mark = Text("|" if ascii_only else "┃", "bold" if colours.mono else f"bold {hex_colour(colours.text)}")
    return text[:at] + mark + text[at + 1 :]


def block_cells(blocks: Sequence[Block], width: int, most: int, colours: Palette) -> Text:
    """Bundles as blocks of ``width`` cells together, each as wide as its part of the bytes.

    A block begins with the letter of its namespace, small where the next cycle takes the bundle. With more bundles
    than cells there is one block for each namespace, with the number of its bundles.
    """
    if not blocks:
        return Text("-", hex_colour(colours.dim))
    if len(blocks) > width:
        return _by_namespace(blocks, most, colours)
    total = sum(block.bytes_per_sec for block in blocks)
    spare = width - len(blocks)
    text, given, seen = Text(no_wrap=True), 0, 0.0
    for block in blocks:
        seen += block.bytes_per_sec
        cells = round(spare * seen / total) - given if total > 0 else 0
        given += cells
        tag = consumer_tag(block.namespace)[0]
        text.append((tag.lower() if block.leaves else tag) + "-" * cells, _ink(block, colours))
    return text


def _by_namespace(blocks: Sequence[Block], width: int, colours: Palette) -> Text:
    groups: dict[int, list[Block]] = {}
    for block in blocks:
        groups.setdefault(block.namespace, []).append(block)
    text = Text(no_wrap=True)
    for namespace, group in groups.items():
        leaving = sum(block.leaves for block in group)
        tag = consumer_tag(namespace)
        word = f"{tag.lower() if leaving else tag}{len(group)} "
        if len(text) + len(word) > width - 1:
            text.append("…", hex_colour(colours.dim))
            break
        text.append(word, _ink(group[0], colours))
    return text


def _ink(block: Block, colours: Palette) -> str:
    if colours.mono:
        return "bold underline" if block.leaves else "bold" if block.arrived else ""
    colour = hex_colour(colours.consumer_colour(block.namespace))
    return f"{'bold underline ' if block.leaves else ''}{colour}"
