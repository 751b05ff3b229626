"""Rows of a fleet's lists as text: numbers right, names left, and a bar that says how uneven it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

from themes.palettes import Palette, Rgb, hex_colour
from tui.drawing.bars import bar_text
from tui.drawing.colour import mix
from tui.drawing.glyphs import Glyphs, glyphs_of
from tui.wording import fit, quantity, safe_name

MANY_TIMES: Final = 4.0
"""From so many times the mean on a bar is as hot as can be; even is 1."""
HEAT_CELLS: Final = 10
_NAME_CELLS: Final = 16


@dataclass(frozen=True, slots=True)
class FleetColumn:
    """One column: its name in the table, its heading, its kind (name, count, times, word) and its least width.

    Of those that do not fit, the ones with the highest ``rank`` are left out.
    """

    name: str
    label: str
    kind: str
    width: int
    rank: int


SUBSCRIPTION_COLUMNS: Final = (
    FleetColumn("namespace", "namespace", "name", _NAME_CELLS, 0),
    FleetColumn("subscription", "subscription", "name", _NAME_CELLS, 0),
    FleetColumn("max_over_mean", "max/mean", "times", 11, 0),
    FleetColumn("heat", "", "heat", HEAT_CELLS + 1, 1),
    FleetColumn("partitions", "parts", "count", 8, 2),
    FleetColumn("consumers", "cons", "count", 7, 2),
    FleetColumn("idle", "idle", "count", 7, 3),
    FleetColumn("findings", "finds", "count", 7, 5),
    FleetColumn("max_over_mean_rate", "by rate", "times", 10, 6),
    FleetColumn("moved", "moved", "count", 8, 7),
    FleetColumn("least_moved", "least", "count", 8, 8),
    FleetColumn("type", "type", "word", 11, 9),
    FleetColumn("policy", "rule", "word", 12, 10),
    FleetColumn("worst_severity", "worst", "word", 9, 11),
)
NAMESPACE_COLUMNS: Final = (
    FleetColumn("namespace", "namespace", "name", _NAME_CELLS, 0),
    FleetColumn("worst_max_over_mean", "max/mean", "times", 11, 0),
    FleetColumn("heat", "", "heat", HEAT_CELLS + 1, 1),
    FleetColumn("topics", "topics", "count", 9, 2),
    FleetColumn("subscriptions", "subs", "count", 8, 3),
    FleetColumn("idle", "idle", "count", 7, 4),
    FleetColumn("msg_rate_out", "out/s", "count", 8, 5),
    FleetColumn("bundles", "bundles", "count", 9, 6),
    FleetColumn("bundles_to_split", "split", "count", 7, 6),
    FleetColumn("findings", "finds", "count", 7, 7),
    FleetColumn("worst_subscription", "worst subscription", "name", _NAME_CELLS, 8),
    FleetColumn("msg_rate_in", "in/s", "count", 8, 9),
    FleetColumn("backlog_size_bytes", "backlog", "count", 9, 10),
    FleetColumn("worst_severity", "worst", "word", 9, 11),
)


@dataclass(frozen=True, slots=True)
class Placed:
    """A column with the width it got, a gap at its end included."""

    column: FleetColumn
    width: int


def placed(columns: Sequence[FleetColumn], width: int) -> tuple[Placed, ...]:
    """The columns that fit, in their order; what is left over goes to the names.

    >>> [each.column.label for each in placed(SUBSCRIPTION_COLUMNS, 50)]
    ['namespace', 'subscription', 'max/mean']
    """
    kept = list(columns)
    while len(kept) > 1 and sum(each.width for each in kept) > width:
        kept.remove(max(kept, key=lambda each: each.rank))
    names = [each for each in kept if each.kind == "name"]
    spare = max(0, width - sum(each.width for each in kept))
    extra, first = divmod(spare, len(names)) if names else (0, 0)
    return tuple(
        Placed(each, each.width + (extra + (first if each is names[0] else 0) if each.kind == "name" else 0))
        for each in kept
    )


def heading(columns: Sequence[Placed], sorted_by: str, *, descending: bool) -> Text:
    """The headings; the one sorted by carries a sign for the direction."""
    text = Text(no_wrap=True)
    for each in columns:
        chosen = each.column.name == sorted_by
        label = each.column.label + ((" v" if descending else " ^") if chosen else "")
        left = each.column.kind in ("name", "word", "heat")
        cell = fit(label, each.width - 1) if left else label[-(each.width - 1) :].rjust(each.width - 1)
        text.append(cell + " ", "bold" if chosen else "")
    return text


def fleet_line(
    row: Mapping[str, Any], columns: Sequence[Placed], heat: str, highest: float, colours: Palette, *, ascii_only: bool
) -> Text:
    """One row; ``heat`` is the column that the bar stands for, ``highest`` its largest number."""
    text = Text(no_wrap=True)
    dim = hex_colour(colours.dim)
    for each in columns:
        room = each.width - 1
        if each.column.kind == "heat":
            value = row[heat]
            share = 0.0 if value is None or highest <= 0 else value / highest
            style = hex_colour(heat_colour(value or 0.0, colours))
            text.append(bar_text(share, room, glyphs_of(ascii_only)) + " ", style)
            continue
        value = row[each.column.name]
        if each.column.kind in ("name", "word"):
            text.append(fit(safe_name(value) if value else "", room) + " ", "" if each.column.kind == "name" else dim)
            continue
        told = "-" if value is None else f"{value:.2f}" if each.column.kind == "times" else quantity(value)
        text.append(told[:room].rjust(room) + " ", dim if not value else "")
    return text


def heat_colour(times: float, colours: Palette) -> Rgb:
    """Good where it is even, bad from ``MANY_TIMES`` the mean on, by way of warning."""
    share = min(1.0, max(0.0, (times - 1.0) / (MANY_TIMES - 1.0)))
    if share <= 0.5:
        return mix(colours.good, colours.warn, share * 2)
    return mix(colours.warn, colours.bad, share * 2 - 1)


def histogram_lines(
    counts: NDArray[np.int64], low: float, high: float, height: int, colours: Palette, *, ascii_only: bool
) -> list[Text]:
    """The bars of a histogram over so many lines, and a line that names both ends and the tallest bar."""
    glyphs: Glyphs = glyphs_of(ascii_only)
    tallest = int(counts.max(initial=0))
    steps = len(glyphs.levels) - 1
    # A few among a million are the ones that are looked for, so heights follow the square root.
    share = np.sqrt(counts / tallest) if tallest else np.zeros(len(counts))
    units = np.where(counts > 0, np.maximum(1, np.rint(share * height * steps)), 0).astype(int)
    wide = 2
    lines = []
    for line in range(height - 1, -1, -1):
        text = Text(no_wrap=True)
        for at, value in enumerate(units.tolist()):
            middle = low + (at + 0.5) * (high - low) / max(1, len(counts))
            level = min(steps, max(0, value - line * steps))
            text.append(glyphs.levels[level] * wide, hex_colour(heat_colour(middle, colours)))
        lines.append(text)
    foot = f"{low:.2f} .. {high:.2f} times the mean, up to {tallest:,} in a bar (heights by square root)"
    return [*lines, Text(foot if tallest else "no numbers to show", hex_colour(colours.dim), no_wrap=True)]
