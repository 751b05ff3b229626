"""Rows of the fleet screen as lines: which columns fit a width, what stands in their cells, how hot they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from rich.style import Style
from rich.text import Text

from themes.palettes import Palette, Rgb, hex_colour
from tui.drawing.bars import bar_text
from tui.drawing.colour import mix
from tui.drawing.glyphs import glyphs_of
from tui.sources.fleet_grid import Grid
from tui.wording import fit, quantity, safe_name

Kind = Literal["text", "count", "ratio", "heat", "moved", "found"]
_HOT: Final = 4.0
"""From this max/mean on a row is as hot as it gets."""
_SHORTEST_NAME: Final = 10
_LONGEST_NAME: Final = 44
_BAR: Final = (6, 24)
_SEVERITIES: Final = ("info", "warning", "error")


@dataclass(frozen=True, slots=True)
class Column:
    """One column: the table's column it is sorted by, its heading, its least width with the gap, what it shows.

    ``rank`` says how soon it goes where there is no room, the highest first.
    """

    key: str
    label: str
    width: int
    kind: Kind
    rank: int = 0


SUBSCRIPTIONS: Final = (
    Column("namespace", "namespace", _SHORTEST_NAME, "text"),
    Column("subscription", "subscription", _SHORTEST_NAME, "text"),
    Column("type", "type", 11, "text", 6),
    Column("partitions", "parts", 7, "count", 3),
    Column("consumers", "cons", 7, "count", 2),
    Column("idle", "idle", 6, "count", 1),
    Column("max_over_mean", "max/mean", 10, "ratio"),
    Column("heat", "", _BAR[0] + 1, "heat", 1),
    Column("msg_rate_out", "msg/s", 7, "count", 3),
    Column("moved", "moved/least", 13, "moved", 5),
    Column("findings", "findings", 10, "found", 4),
)
NAMESPACES: Final = (
    Column("namespace", "namespace", _SHORTEST_NAME, "text"),
    Column("worst_subscription", "worst subscription", _SHORTEST_NAME, "text", 5),
    Column("topics", "topics", 8, "count", 2),
    Column("subscriptions", "subs", 6, "count", 4),
    Column("bundles", "bundles", 9, "count", 5),
    Column("bundles_to_split", "split", 7, "count", 3),
    Column("idle", "idle", 6, "count", 2),
    Column("worst_max_over_mean", "max/mean", 10, "ratio"),
    Column("heat", "", _BAR[0] + 1, "heat", 1),
    Column("msg_rate_in", "msg/s in", 10, "count", 6),
    Column("msg_rate_out", "msg/s", 7, "count", 3),
    Column("findings", "findings", 10, "found", 4),
)


def sorted_keys(columns: Sequence[Column]) -> tuple[str, ...]:
    """What rows can be sorted by, in the order of the columns."""
    return tuple(column.key for column in columns if column.kind != "heat")


def columns_for(columns: Sequence[Column], width: int, kept: str) -> tuple[Column, ...]:
    """The columns that fit ``width`` cells, names and bar widened by what is left; ``kept`` never goes.

    >>> [column.label for column in columns_for(SUBSCRIPTIONS, 58, "max_over_mean")]
    ['namespace', 'subscription', 'idle', 'max/mean', '']
    """
    shown = list(columns)
    for column in sorted(columns, key=lambda each: -each.rank):
        if not column.rank or sum(each.width for each in shown) + _wished(shown) <= width:
            break
        if column.key != kept:
            shown.remove(column)
    spare = max(0, width - sum(each.width for each in shown))
    names = [each for each in shown if each.kind == "text" and each.width == _SHORTEST_NAME]
    bars = sum(each.kind == "heat" for each in shown)
    for_bar = min(_BAR[1] - _BAR[0], spare // 4) * bars
    each_name = min(_LONGEST_NAME - _SHORTEST_NAME, (spare - for_bar) // max(1, len(names)))
    wider = {"heat": for_bar} | {each.key: each_name for each in names}
    return tuple(Column(c.key, c.label, c.width + wider.get(c.key, 0), c.kind, c.rank) for c in shown)


def _wished(shown: Sequence[Column]) -> int:
    """What names want beyond their least width before another column is worth its room."""
    return 5 * sum(each.kind == "text" and each.width == _SHORTEST_NAME for each in shown)


@dataclass(frozen=True, slots=True)
class FleetLines:
    """How to write the rows of one grid. ``ratio`` is the column of the heat, ``worst`` its largest value."""

    grid: Grid
    columns: tuple[Column, ...]
    ratio: str
    worst: float
    colours: Palette
    ascii_only: bool = False

    def heading(self, width: int, key: str, *, descending: bool) -> Text:
        """The headings; the one that the rows are sorted by says in which direction."""
        text = Text(no_wrap=True)
        for column in columns_for(self.columns, width, key):
            label = column.label
            chosen = column.key == key
            if chosen:
                label += "▼" if descending else "▲"
            left = column.kind in ("text", "heat", "found")
            cells = fit(label, column.width - 1) if left else label.rjust(column.width - 1)
            text.append(f"{cells} "[: column.width], "bold" if chosen else "")
        return text

    def line(self, row: int, width: int, key: str) -> Text:
        """One row, in the same columns."""
        text = Text(no_wrap=True)
        for column in columns_for(self.columns, width, key):
            text.append_text(self._cell(row, column))
        return text

    def _cell(self, row: int, column: Column) -> Text:
        room = column.width - 1
        match column.kind:
            case "heat":
                return self._heat(row, room)
            case "found":
                return self._found(row, room)
            case "text":
                told = self.grid.value(row, column.key)
                return Text(fit("" if told is None else safe_name(told), room) + " ")
            case "ratio":
                ratio = self.grid.value(row, column.key)
                style = Style() if ratio is None else self._warm(ratio)
                return Text(("" if ratio is None else ratio_text(ratio)).rjust(room) + " ", style)
            case "moved":
                told = f"{_short(self.grid.value(row, 'moved'))}/{_short(self.grid.value(row, 'least_moved'))}"
                return self._faint(told, room, told == "0/0")
        value = self.grid.value(row, column.key)
        return self._faint(_short(value), room, not value)

    def _faint(self, told: str, room: int, faint: bool) -> Text:
        return Text(told.rjust(room) + " ", hex_colour(self.colours.dim) if faint else "")

    def _heat(self, row: int, room: int) -> Text:
        ratio = self.grid.value(row, self.ratio)
        if ratio is None:
            return Text(" " * (room + 1))
        bar = bar_text(length_of(ratio, self.worst), room, glyphs_of(self.ascii_only))
        return Text(bar + " ", self._warm(ratio))

    def _warm(self, ratio: float) -> Style:
        return Style() if self.colours.mono else Style.parse(hex_colour(heat(ratio, self.colours)))

    def _found(self, row: int, room: int) -> Text:
        count, worst = self.grid.value(row, "findings"), self.grid.value(row, "worst_severity")
        if not count:
            return Text(" " * (room + 1))
        colours = (self.colours.dim, self.colours.warn, self.colours.bad)
        colour = colours[_SEVERITIES.index(worst)] if worst in _SEVERITIES else self.colours.text
        return Text(fit(f"{_short(count)} {worst or ''}", room) + " ", hex_colour(colour))


def _short(value: float | None) -> str:
    return "" if value is None or math.isnan(value) else quantity(value)


def ratio_text(ratio: float) -> str:
    """A max/mean in at most eight characters.

    >>> ratio_text(1.5), ratio_text(12345.6)
    ('1.50', '12.3k')
    """
    return f"{ratio:.2f}" if ratio < 1000 else quantity(ratio)


def heat(ratio: float, colours: Palette) -> Rgb:
    """Green where all have the same (1), by way of yellow to red from ``_HOT`` on, even steps for equal factors."""
    share = min(1.0, max(0.0, math.log(max(ratio, 1.0)) / math.log(_HOT)))
    if share < 0.5:
        return mix(colours.good, colours.warn, 2 * share)
    return mix(colours.warn, colours.bad, 2 * share - 1)


def length_of(ratio: float, worst: float) -> float:
    """How much of its room the bar of a max/mean fills, 0 .. 1: equal factors, equal lengths.

    >>> length_of(1.0, 16.0), length_of(4.0, 16.0), length_of(16.0, 16.0)
    (0.0, 0.5, 1.0)
    """
    if worst <= 1.0 or ratio <= 1.0:
        return 0.0
    return min(1.0, math.log(ratio) / math.log(worst))
