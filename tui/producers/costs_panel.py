"""What producers cost their brokers: numbers, and a curve over the number of partitions for each way to start."""

from __future__ import annotations

import numpy as np
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.reactive import reactive
from textual.strip import Strip

from engine.views.producers.model import CountsView
from themes.palettes import hex_colour
from tui.drawing.cost_curve import CostPicture, draw_costs, line_inks
from tui.kit.line_widget import FittedPanel, LinePanel
from tui.kit.plain_text import PlainStatic, assembled, below_each_other, set_subtitle
from tui.producers.words import cost_rows, costs_text

MARKS = "elp"
"""Letters of the lines where colours carry nothing: eager, lazy, partial."""


class CostCurve(LinePanel):
    """The curve, drawn when asked for."""

    DEFAULT_CSS = """
    CostCurve { height: 1fr; width: 1fr; }
    """

    counts: reactive[CountsView | None] = reactive(None)
    """What is drawn."""

    def watch_counts(self) -> None:
        """Other numbers."""
        self.forget()

    def draw(self, width: int, height: int) -> list[Strip]:
        if self.counts is None:
            return []
        picture = cost_picture(self.counts)
        return draw_costs(picture, width, height, self.colours, ascii_only=self.ascii_only).strips()


class CostsPanel(FittedPanel, Vertical, can_focus=True):
    """Three lines of numbers, then the curve where there is room for it."""

    DEFAULT_CSS = """
    CostsPanel Static { height: auto; padding: 0 1; }
    """

    counts: reactive[CountsView | None] = reactive(None)
    """What is shown."""

    def compose(self) -> ComposeResult:
        yield PlainStatic(classes="numbers")
        yield CostCurve(ascii_only=self.ascii_only)

    def watch_counts(self) -> None:
        """Other numbers."""
        self.write_again()

    def write(self) -> None:
        counts, width = self.counts, self.content_size.width
        if counts is None:
            return
        set_subtitle(self, costs_text(counts))
        inks = [*map(hex_colour, line_inks(self.colours)), hex_colour(self.colours.text)]
        marks = [*MARKS, "X" if self.ascii_only else "◆"]
        lines = []
        for (label, text), ink, mark in zip(cost_rows(counts, width - 4), inks, marks, strict=True):
            sign = mark if self.colours.mono or self.ascii_only or mark == "◆" else "━"
            style = "bold" if self.colours.mono else f"{ink} bold"
            lines.append(assembled((f"{sign} ", style), (label, "$dim"), text))
        self.query_one(".numbers", PlainStatic).update(below_each_other(lines))
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
