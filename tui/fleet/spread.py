"""Below a fleet's list: the row under the cursor in words, and how all rows are spread."""

from __future__ import annotations

from typing import Final

from rich.console import Group
from rich.text import Text

from engine.text import counted
from themes.palettes import Palette
from tui.fleet.columns import FleetList
from tui.fleet.lines import BAR_CELLS, axis_line, histogram_lines
from tui.fleet.words import about_row, wrapped
from tui.kit.plain_text import PlainStatic, set_subtitle, set_title
from tui.sources.fleet_histogram import Histogram, Spread

ABOUT_LINES: Final = 2
FRAME: Final = 2
MOST_BARS: Final = 150
_BARS_HIGH: Final = ((50, 8), (36, 5), (0, 2))
"""From so many lines of the window on, so many lines of bars."""


class FleetSpread(PlainStatic):
    """Two lines about a row, then a histogram of the column sorted by; without numbers there are more lines instead."""

    def __init__(self, colours: Palette, *, ascii_only: bool, id: str, classes: str) -> None:  # noqa: A002 - Textual's
        super().__init__(id=id, classes=classes)
        self._colours = colours
        self._ascii_only = ascii_only
        self._shown: FleetList | None = None
        self._listing: Spread | None = None
        self._marked = 0
        self._high = _BARS_HIGH[-1][1]
        self._column = ""
        self._kind = ""
        self._spread: Histogram | None = None
        self._bars: list[Text] = []

    def fit(self, window_height: int) -> None:
        """As high as the window allows."""
        self._high = next(high for least, high in _BARS_HIGH if window_height >= least)
        self._set_height()
        self._draw_bars()

    def show(self, shown: FleetList, listing: Spread) -> None:
        """Rows of a list; the histogram is of the column they are sorted by, or of the heat."""
        self._shown, self._listing = shown, listing
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
        """What is told in words alone gets a line more."""
        whole = ABOUT_LINES + self._high + 1
        return whole if self._shown is None or self._shown.heat else whole + 1

    def mark(self, index: int) -> None:
        """The row under the cursor."""
        self._marked = index
        self._draw()

    def on_resize(self) -> None:
        """As many bars as there is room for."""
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
            self._spread = found = listing.histogram(self._column, bars)
            hot = shown.hot if self._column == shown.heat else None
            self._bars = histogram_lines(found, self._high, self._colours, hot=hot, ascii_only=self._ascii_only)
            untold = f", {found.untold:,} without a number" if found.untold else ""
            label = shown.column(self._column).label
            tallest = int(found.counts.max(initial=0))
            set_title(self, f"{label} of {counted(len(listing), shown.noun)}{untold}")
            set_subtitle(self, f"tallest bar: {tallest:,} (heights by square root)" if tallest else "")
        self._draw()

    def _draw(self) -> None:
        shown, listing = self._shown, self._listing
        if shown is None or listing is None:
            return
        row = listing.row(self._marked) if 0 <= self._marked < len(listing) else None
        height = ABOUT_LINES if self._spread is not None else self._lines()
        told = wrapped(about_row(shown, row), self.content_size.width, height) if row is not None else []
        lines = [Text(line, no_wrap=True) for line in (*told, *[""] * (height - len(told)))]
        if self._spread is not None:
            at = self._spread.bar_of(row[self._column]) if row is not None else None
            axis = axis_line(self._spread, at, self._kind, self._colours, ascii_only=self._ascii_only)
            lines += [*self._bars, axis]
        else:
            set_subtitle(self, "")
        self.update(Group(*lines), layout=False)
