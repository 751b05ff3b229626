"""What producers cost their brokers: numbers, and a curve over the number of partitions for each way to start."""

from __future__ import annotations

import numpy as np
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from engine.views.producers_model import CountsView
from themes.palettes import Palette, hex_colour, palette
from tui.drawing.cost_curve import CostPicture, draw_costs, line_inks
from tui.producers_words import cost_rows, costs_told

MARKS = "elp"
"""Letters of the lines where colours carry nothing: eager, lazy, partial."""


class CostCurve(Widget):
    """The curve, drawn when asked for."""

    DEFAULT_CSS = """
    CostCurve { height: 1fr; width: 1fr; }
    """

    counts: reactive[CountsView | None] = reactive(None)
    """What is drawn."""
    colours: reactive[Palette] = reactive(palette)
    """The palette in use."""
    ascii_only = False

    def render_line(self, y: int) -> Strip:
        width, height = self.size
        if self.counts is None or width <= 0 or y >= height:
            return Strip.blank(width, self.rich_style)
        canvas = draw_costs(cost_picture(self.counts), width, height, self.colours, ascii_only=self.ascii_only)
        strip = canvas.line(y)
        return strip.apply_style(self.rich_style) if self.colours.mono else strip


class CostsPanel(Vertical, can_focus=True):
    """Three lines of numbers, then the curve where there is room for it."""

    DEFAULT_CSS = """
    CostsPanel Static { height: auto; padding: 0 1; }
    """

    counts: reactive[CountsView | None] = reactive(None)
    """What is told."""
    colours: reactive[Palette] = reactive(palette)
    """The palette in use."""

    def __init__(
        self,
        *,
        ascii_only: bool = False,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - Textual's own name
        classes: str | None = None,
        disabled: bool = False,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes, disabled=disabled)
        self._ascii_only = ascii_only

    def compose(self) -> ComposeResult:
        yield Static(classes="numbers", markup=False)
        curve = CostCurve()
        curve.ascii_only = self._ascii_only
        yield curve

    def on_mount(self) -> None:
        self._write()

    def on_resize(self) -> None:
        """Other words may fit."""
        self._write()

    def watch_counts(self) -> None:
        """Other numbers."""
        self._write()

    def watch_colours(self) -> None:
        """Other colours."""
        self._write()

    def _write(self) -> None:
        counts, width = self.counts, self.content_size.width
        if counts is None or not self.is_mounted or width <= 0:
            return
        self.border_subtitle = costs_told(counts)
        inks = [*map(hex_colour, line_inks(self.colours)), hex_colour(self.colours.text)]
        marks = [*MARKS, "X" if self._ascii_only else "◆"]
        lines = []
        for (label, text), ink, mark in zip(cost_rows(counts, width - 4), inks, marks, strict=True):
            sign = mark if self.colours.mono or self._ascii_only or mark == "◆" else "━"
            style = "bold" if self.colours.mono else f"{ink} bold"
            lines.append(Content.assemble((f"{sign} ", style), (label, "$dim"), text))
        self.query_one(".numbers", Static).update(Content("\n").join(lines))
        curve = self.query_one(CostCurve)
        curve.colours = self.colours
        curve.counts = counts


def cost_picture(counts: CountsView) -> CostPicture:
    """The view as the drawing wants it."""
    points = counts.points
    return CostPicture(
        partitions=np.array([point.partitions for point in points], dtype=np.float64),
        lines=(
            np.array([point.eager for point in points]),
            np.array([point.lazy for point in points]),
            np.array([point.partial for point in points]),
        ),
        marks=MARKS,
        here=float(counts.here.partitions),
        observed=float(counts.observed),
    )
