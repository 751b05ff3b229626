"""A fleet's lists as text: rows with bars of unevenness, histograms, and the panel about the row under the cursor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from rich.console import Group
from rich.text import Text

from engine.text import counted
from engine.views.fleet.runs import Trend
from engine.views.fleet.summary import unknown_of
from themes.palettes import Palette, Rgb, hex_colour
from tui.drawing.bars import bar_text
from tui.drawing.colour import mix
from tui.drawing.glyphs import glyphs_of
from tui.fleet.columns import MANY_TIMES, NAMESPACES, FleetList, Placed, severity_style
from tui.fleet.words import about_row, trend_text, wrapped
from tui.kit.plain_text import PlainStatic, set_subtitle, set_title
from tui.kit.wording import at_least, fit, quantity, safe_name
from tui.sources.fleet_histogram import Histogram, Spread

BAR_CELLS: Final = 2
"""How wide a bar of a histogram is."""


def heading(columns: Sequence[Placed], sorted_by: str, *, descending: bool) -> Text:
    """The headings; the one sorted by carries a sign for the direction."""
    text = Text(no_wrap=True)
    for column in columns:
        chosen = column.column.name == sorted_by
        label = column.column.label + ((" v" if descending else " ^") if chosen else "")
        room = column.width - 1
        cell = label[-room:].rjust(room) if column.column.is_number else fit(label, room)
        text.append(cell, "bold underline" if chosen else "")
        text.append(" ")
    return text


def fleet_line(
    row: Mapping[str, Any],
    columns: Sequence[Placed],
    shown: FleetList,
    highest: float,
    colours: Palette,
    *,
    ascii_only: bool,
) -> Text:
    """One row of a list; ``highest`` is the largest number of the column that its bars stand for."""
    text = Text(no_wrap=True)
    dim = hex_colour(colours.dim)
    for column in columns:
        room, kind = column.width - 1, column.column.kind
        if kind == "heat":
            value = row[shown.heat]
            share = 0.0 if value is None or highest <= 0 else value / highest
            style = hex_colour(heat_colour(value or 0.0, colours, shown.hot))
            text.append(bar_text(share, room, glyphs_of(ascii_only)) + " ", style)
            continue
        value = row[column.column.name]
        if kind == "severity":
            word = row["severity"] if column.column.name == "severity_level" else value
            text.append(fit(word or "", room) + " ", severity_style(word, colours))
        elif kind == "text":
            sentence = safe_name(value) if value else column.column.empty
            if len(sentence) > room:
                sentence = sentence[: room - 1] + glyphs_of(ascii_only).ellipsis
            text.append(sentence.ljust(room) + " ")
        elif kind in ("name", "word"):
            name = safe_name(value) if value else column.column.empty
            text.append(fit(name, room) + " ", "" if kind == "name" else dim)
        else:
            lacking = row.get(unknown_of(column.column.name))
            number = "-" if value is None else at_least(number_text(float(value), kind), lacking)
            text.append(number.rjust(room) + " ", dim if not value else "")
    return text


def heat_colour(value: float, colours: Palette, hot: tuple[float, float] = (1.0, MANY_TIMES)) -> Rgb:
    """Good up to the first number of ``hot``, bad from the second on, with warning half-way."""
    fine, bad = hot
    share = min(1.0, max(0.0, (value - fine) / (bad - fine)))
    if share <= 0.5:
        return mix(colours.good, colours.warn, share * 2)
    return mix(colours.warn, colours.bad, share * 2 - 1)


def histogram_lines(
    histogram: Histogram, height: int, colours: Palette, *, hot: tuple[float, float] | None, ascii_only: bool
) -> list[Text]:
    """The bars in ``height`` lines, the lowest one last; ``hot`` colours them like the bars of the rows."""
    glyphs = glyphs_of(ascii_only)
    tallest = int(histogram.counts.max(initial=0))
    steps = len(glyphs.levels) - 1
    # Heights follow the square root, so that a few rows among a million, which people look for, are seen.
    share = np.sqrt(histogram.counts / tallest) if tallest else np.zeros(len(histogram.counts))
    units = np.where(histogram.counts > 0, np.maximum(1, np.rint(share * height * steps)), 0).astype(int)
    middles = ((histogram.edges[:-1] + histogram.edges[1:]) / 2).tolist()
    styles = [
        hex_colour(heat_colour(middle, colours, hot) if hot is not None else colours.accent) for middle in middles
    ]
    lines = []
    for line in range(height - 1, -1, -1):
        text = Text(no_wrap=True)
        for value, style in zip(units.tolist(), styles, strict=True):
            level = min(steps, max(0, value - line * steps))
            text.append(glyphs.levels[level] * BAR_CELLS, style)
        lines.append(text)
    return lines


def axis_line(histogram: Histogram, at: int | None, kind: str, colours: Palette, *, ascii_only: bool) -> Text:
    """The line below the bars: the lowest number left, the highest right, and a mark below bar ``at``.

    Numbers that are all the same have only one end.

    >>> from themes.palettes import palette
    >>> spread = Histogram(np.array([1, 0, 0, 0, 0, 1]), np.linspace(1.0, 3.0, 7), False, 0)
    >>> axis_line(spread, 0, "count", palette("dark", "mono"), ascii_only=True).plain
    '^^ 1       3'
    """
    width = len(histogram.counts) * BAR_CELLS
    mark = ("^" if ascii_only else "▲") * BAR_CELLS
    low, high = (_at_end(float(value), kind) for value in (histogram.edges[0], histogram.edges[-1]))
    if not histogram.counts[1:].any():
        high = ""
    start = -1 if at is None else at * BAR_CELLS
    # The mark is below its bar, so a number in its way moves inwards.
    left = f"{'':{start}}{mark} {low}" if 0 <= start <= len(low) else low
    after = width - start - BAR_CELLS
    right = f"{high} {mark}{'':{after}}" if at is not None and after <= len(high) else high
    room = max(1, width - len(left) - len(right))
    middle = " by factors " if histogram.by_factors and room > 20 else ""
    text = Text(f"{left}{middle:^{room}}{right}", hex_colour(colours.dim), no_wrap=True)
    if at is None:
        return text
    if left == low and right == high:
        text = Text(text.plain[:start] + mark + text.plain[start + BAR_CELLS :], hex_colour(colours.dim), no_wrap=True)
    text.stylize(f"bold {hex_colour(colours.text)}", start, start + BAR_CELLS)
    return text


def _at_end(value: float, kind: str) -> str:
    small = kind == "count" and 0 < value < 0.1
    return f"{value:.1g}" if small else number_text(value, kind)


def number_text(value: float, kind: str) -> str:
    """A number of a column of this kind.

    >>> number_text(0.5, "share"), number_text(2.5, "times"), number_text(1200.0, "count")
    ('50%', '2.50', '1.2k')
    """
    if kind == "share":
        return f"{value:.0%}"
    return f"{value:,.2f}" if kind == "times" and value < 10_000 else quantity(value)


ABOUT_LINES: Final = 2
FRAME: Final = 2
MOST_BARS: Final = 150
_BARS_HIGH: Final = ((50, 8), (36, 5), (0, 2))
"""Pairs of a least height of the window and the lines of bars that it has."""


class FleetSpread(PlainStatic):
    """Two lines about a row, then a histogram of the column sorted by; without numbers there are more lines instead."""

    def __init__(self, colours: Palette, *, ascii_only: bool, id: str, classes: str) -> None:  # noqa: A002 - Textual's
        super().__init__(id=id, classes=classes)
        self._colours = colours
        self._ascii_only = ascii_only
        self._shown: FleetList | None = None
        self._listing: Spread | None = None
        self._trends: Mapping[tuple[str, str], Trend] = {}
        self._marked = 0
        self._high = _BARS_HIGH[-1][1]
        self._column = ""
        self._kind = ""
        self._spread: Histogram | None = None
        self._bars: list[Text] = []

    def fit(self, window_height: int) -> None:
        """Take the height that the window allows."""
        self._high = next(high for least, high in _BARS_HIGH if window_height >= least)
        self._set_height()
        self._draw_bars()

    def show(self, shown: FleetList, listing: Spread, trends: Mapping[tuple[str, str], Trend]) -> None:
        """Show how rows are spread over the column they are sorted by, or over the heat."""
        self._shown, self._listing, self._trends = shown, listing, trends
        numbers = {column.name: column.kind for column in shown.columns if column.is_number}
        by = listing.sorted_by if listing.sorted_by in numbers else shown.heat
        self._column, self._kind = by, numbers.get(by, "")
        self._set_height()
        self._draw_bars()

    def _set_height(self) -> None:
        high = self._lines() + FRAME
        if self.styles.height is None or self.styles.height.value != high:
            self.styles.height = high

    def _lines(self) -> int:
        """A panel of words alone gets one line more, and so does one with trends."""
        return self._about_lines + self._high + 1 + (self._shown is not None and not self._shown.heat)

    @property
    def _about_lines(self) -> int:
        return ABOUT_LINES + self._has_trends

    @property
    def _has_trends(self) -> bool:
        return self._shown is not None and self._shown.table == NAMESPACES.table and bool(self._trends)

    def mark(self, index: int) -> None:
        """Describe the row under the cursor, and mark its bar."""
        self._marked = index
        self._draw()

    def on_resize(self) -> None:
        """Draw as many bars as there is room for."""
        self._draw_bars()

    def _draw_bars(self) -> None:
        shown, listing = self._shown, self._listing
        if shown is None or listing is None:
            return
        if not shown.heat:
            self._spread, self._bars = None, []
            set_title(self, f"the {shown.noun} under the cursor")
        else:
            bars = max(8, min(MOST_BARS, self.content_size.width // BAR_CELLS))
            self._spread = spread = listing.histogram(self._column, bars)
            hot = shown.hot if self._column == shown.heat else None
            self._bars = histogram_lines(spread, self._high, self._colours, hot=hot, ascii_only=self._ascii_only)
            missing = f", {spread.without_number:,} without a number" if spread.without_number else ""
            label = shown.column(self._column).label
            tallest = int(spread.counts.max(initial=0))
            set_title(self, f"{label} of {counted(len(listing), shown.noun)}{missing}")
            set_subtitle(self, f"tallest bar: {tallest:,} (heights by square root)" if tallest else "")
        self._draw()

    def _trend_of(self, row: Mapping[str, Any]) -> Iterator[str]:
        """How the tenant of a namespace changed over the runs, or its cluster."""
        if not self._has_trends:
            return
        cluster, tenant = row["cluster"] or "", row["namespace"].partition("/")[0]
        trend = self._trends.get((cluster, tenant)) or self._trends.get((cluster, ""))
        if trend is not None:
            yield trend_text(trend, glyphs_of(self._ascii_only).levels)

    def _draw(self) -> None:
        shown, listing = self._shown, self._listing
        if shown is None or listing is None:
            return
        row = listing.row(self._marked) if 0 <= self._marked < len(listing) else None
        height = self._about_lines if self._spread is not None else self._lines()
        width, trend = self.content_size.width, [*self._trend_of(row)] if row is not None else []
        about = wrapped(about_row(shown, row), width, height - len(trend)) if row is not None else []
        about += wrapped(trend, width, 1)
        lines = [Text(line, no_wrap=True) for line in (*about, *[""] * (height - len(about)))]
        if self._spread is not None:
            at = self._spread.bar_of(row[self._column]) if row is not None else None
            axis = axis_line(self._spread, at, self._kind, self._colours, ascii_only=self._ascii_only)
            lines += [*self._bars, axis]
        else:
            set_subtitle(self, "")
        self.update(Group(*lines), layout=False)
