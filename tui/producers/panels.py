"""The panels about producers: status line, the matrix of producers and partitions, and what they cost brokers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.reactive import reactive, var
from textual.strip import Strip

from engine.text import counted
from engine.views.producers.model import CountsView, ProducerRow, ProducersStatus, ProducersView, RatesView
from themes.palettes import hex_colour
from tui.drawing.cost_curve import CostPicture, draw_costs, line_inks
from tui.drawing.matrix_grid import MatrixPicture
from tui.drawing.producer_matrix import draw_matrix
from tui.kit.bindings import Binding
from tui.kit.line_widget import FittedPanel, LinePanel
from tui.kit.plain_text import PlainStatic, assembled, below_each_other, set_subtitle
from tui.kit.status_line import GAP, KEPT, Part, Ranked, fitted_parts, place_among, time_and_source
from tui.kit.wording import quantity, short_topic, shorten_middle
from tui.producers.words import cost_rows, costs_text, in_bursts


class MatrixPanel(LinePanel, can_focus=True):
    """One drawing for a state, a size and a cursor."""

    DEFAULT_CSS = """
    MatrixPanel { width: 1fr; height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "select(1)", "Next producer", show=False),
        Binding("up,k", "select(-1)", "Previous producer", show=False),
        Binding("right,l", "column(1)", "Next partition", show=False),
        Binding("left", "column(-1)", "Previous partition", show=False),
        Binding("pageup", "select(-10)", "Ten up", show=False),
        Binding("pagedown", "select(10)", "Ten down", show=False),
        Binding("enter", "open", "Open", show=False),
    ]

    view: var[ProducersView | None] = var(None)
    """What is drawn; None before the first state."""
    selected: var[int] = var(-1)
    """The number of the marked producer."""
    column: var[int] = var(0)
    """The marked partition."""
    by_producer: var[bool] = var(False)
    """Whether colours say who has opened, not why."""

    @dataclass
    class Step(Message):
        """Another producer is to be selected, so many further."""

        by: int

    @dataclass
    class Column(Message):
        """The cursor is on another partition."""

        partition: int

    class Opened(Message):
        """Enter was pressed."""

    def watch_view(self) -> None:
        self.forget()

    def watch_selected(self) -> None:
        self.forget()

    def watch_column(self) -> None:
        self.forget()

    def watch_by_producer(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Draw and describe the mark again: it may be on another partition."""
        if self.view is not None:
            set_subtitle(self, partition_sentence(self.view, self.column))
        super().forget()

    def action_select(self, by: int) -> None:
        self.post_message(self.Step(by))

    def action_column(self, by: int) -> None:
        if self.view is not None:
            self.post_message(self.Column((self.column + by) % self.view.status.partitions))

    def action_open(self) -> None:
        self.post_message(self.Opened())

    def draw(self, width: int, height: int) -> list[Strip]:
        if self.view is None:
            return []
        picture = picture_of(self.view, self.selected, self.column, by_producer=self.by_producer)
        return draw_matrix(picture, width, height, self.colours, ascii_only=self.ascii_only).strips()


def picture_of(view: ProducersView, selected: int, column: int, *, by_producer: bool) -> MatrixPicture:
    """The view as the drawing wants it."""
    rows: tuple[ProducerRow, ...] = view.producers
    return MatrixPicture(
        cells=view.matrix if rows else np.zeros((0, view.status.partitions), dtype=np.uint8),
        tags=tuple(row.tag for row in rows),
        colours=tuple(row.colour for row in rows),
        selected=selected,
        column=column,
        failing=tuple(one.partition for one in view.partitions.failing),
        new_from=view.partitions.new_from,
        by_producer=by_producer,
        objects=view.partitions.producers,
        messages=view.partitions.messages,
        pending=view.partitions.pending,
        msgs_per_sec=_rates_alone(view),
    )


def _rates_alone(view: ProducersView) -> NDArray[np.float64]:
    """What partitions get a second where no single message was sent; empty elsewhere."""
    sent = view.partitions.messages.any() or view.partitions.pending.any()
    return np.zeros(0) if view.rates is None or sent else view.rates.msgs_per_sec


def partition_sentence(view: ProducersView, at: int) -> str:
    """The marked partition in a few words."""
    partitions, rates = view.partitions, view.rates
    if not 0 <= at < partitions.count:
        return ""
    down = ", not served" if any(one.partition == at for one in partitions.failing) else ""
    pending = int(partitions.pending[at])
    waits = f", {pending:,} waiting" if pending else ""
    producers, messages = int(partitions.producers[at]), int(partitions.messages[at])
    rate = "" if rates is None else f"{_rate(rates, at)}, "
    sent = f", {counted(messages, 'message')}" if messages or rates is None else ""
    amounts = f"{rate}{counted(producers, 'producer')}{sent}{waits}"
    return f"partition {at} on broker {at % view.status.brokers}: {amounts}{down}"


def _rate(rates: RatesView, at: int) -> str:
    mean, peak = float(rates.msgs_per_sec[at]), float(rates.peak_msgs_per_sec[at])
    return f"{quantity(mean)} in/s{in_bursts(mean, peak)}"


MARKS = "elp"
"""Letters of the lines where there are no colours: eager, lazy, partial."""


class CostCurve(LinePanel):
    """The curve, drawn when asked for."""

    DEFAULT_CSS = """
    CostCurve { height: 1fr; width: 1fr; }
    """

    counts: reactive[CountsView | None] = reactive(None)

    def watch_counts(self) -> None:
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

    def compose(self) -> ComposeResult:
        yield PlainStatic(classes="numbers")
        yield CostCurve(ascii_only=self.ascii_only)

    def watch_counts(self) -> None:
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


def producers_status_parts(status: ProducersStatus, saved: str, width: int) -> list[Part]:
    """Text and style of each part that fits ``width`` cells; the topic is always one of them."""
    return fitted_parts(lambda cells: _parts(status, saved, cells), width)


def _parts(status: ProducersStatus, saved: str, name_cells: int) -> list[Ranked]:
    """All parts with how soon they may go: the highest number goes first."""
    several = place_among(status.place, len(status.places))
    parts: list[Ranked] = [
        (6, " ringside", "$accent bold"),
        (KEPT, f" {shorten_middle(short_topic(status.topic), name_cells)}", "bold"),
        (10, " (producers)", "$dim"),
        (4, several, "$dim"),
        (0, f"{GAP}{status.producers:,} x {counted(status.partitions, 'partition')}", "$good bold"),
        (
            5,
            f"{GAP}statistics {'by name' if status.by_name else 'by position'}",
            "$good" if status.by_name else "$warn",
        ),
        (9, f"{GAP}{counted(status.brokers, 'broker')}", "$dim"),
        *time_and_source(status, saved),
    ]
    return [part for part in parts if part[1]]
