"""Who has opened which partition: the matrix of producers and partitions, with a cursor over both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.reactive import var
from textual.strip import Strip
from textual.widget import Widget

from engine.views.producers_model import PartitionsView, ProducerRow, ProducersView
from themes.palettes import Palette, palette
from tui.drawing.canvas import Canvas
from tui.drawing.producer_matrix import MatrixPicture, draw_matrix
from tui.wording import counted


class MatrixPanel(Widget, can_focus=True):
    """A line-API widget: one canvas for a state, a size and a cursor."""

    DEFAULT_CSS = """
    MatrixPanel { width: 1fr; height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "select(1)", "Next producer", show=False),
        Binding("up,k", "select(-1)", "Previous producer", show=False),
        Binding("right,l", "column(1)", "Next partition", show=False),
        Binding("left,h", "column(-1)", "Previous partition", show=False),
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
    """Whether inks tell who has opened, not why."""
    colours: var[Palette] = var(palette)
    """The palette in use."""

    @dataclass
    class Step(Message):
        """Another producer is to be selected, so many further."""

        by: int

    @dataclass
    class Column(Message):
        """The cursor stands on another partition."""

        partition: int

    class Opened(Message):
        """Enter was pressed."""

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
        self._canvas: Canvas | None = None
        self._strips: list[Strip] = []

    def watch_view(self) -> None:
        """Another state."""
        self._forget()

    def watch_selected(self) -> None:
        """Another row is marked."""
        self._forget()

    def watch_column(self) -> None:
        """Another column is marked."""
        self._forget()

    def watch_by_producer(self) -> None:
        """Other inks."""
        self._forget()

    def watch_colours(self) -> None:
        """Other colours."""
        self._forget()

    def _forget(self) -> None:
        self._canvas = None
        if self.view is not None:
            self.border_subtitle = partition_told(self.view.partitions, self.column, self.view.status.brokers)
        self.refresh()

    def action_select(self, by: int) -> None:
        self.post_message(self.Step(by))

    def action_column(self, by: int) -> None:
        if self.view is not None:
            self.post_message(self.Column((self.column + by) % self.view.status.partitions))

    def action_open(self) -> None:
        self.post_message(self.Opened())

    def canvas(self) -> Canvas | None:
        """The drawn matrix for the present size; made once and kept until something differs."""
        width, height = self.size
        view = self.view
        if view is None or width <= 0 or height <= 0:
            return None
        if self._canvas is None or (self._canvas.width, self._canvas.height) != (width, height):
            picture = picture_of(view, self.selected, self.column, by_producer=self.by_producer)
            self._canvas = draw_matrix(picture, width, height, self.colours, ascii_only=self._ascii_only)
            self._strips = self._canvas.strips()
        return self._canvas

    def render_line(self, y: int) -> Strip:
        canvas = self.canvas()
        if canvas is None or y >= canvas.height:
            return Strip.blank(self.size.width, self.rich_style)
        return self._strips[y].apply_style(self.rich_style) if self.colours.mono else self._strips[y]


def picture_of(view: ProducersView, selected: int, column: int, *, by_producer: bool) -> MatrixPicture:
    """The view as the drawing wants it."""
    rows: tuple[ProducerRow, ...] = view.producers
    return MatrixPicture(
        cells=view.matrix if rows else np.zeros((0, view.status.partitions), dtype=np.uint8),
        tags=tuple(row.tag for row in rows),
        colours=tuple(row.colour for row in rows),
        selected=selected,
        column=column,
        failing=tuple(partition for partition, _ in view.partitions.failing),
        new_from=view.partitions.new_from,
        by_producer=by_producer,
        objects=view.partitions.producers,
        messages=view.partitions.messages,
        pending=view.partitions.pending,
    )


def partition_told(partitions: PartitionsView, at: int, brokers: int) -> str:
    """The marked partition in a few words."""
    if not 0 <= at < partitions.count:
        return ""
    down = ", not served" if any(partition == at for partition, _ in partitions.failing) else ""
    pending = int(partitions.pending[at])
    waits = f", {pending:,} waiting" if pending else ""
    producers, messages = int(partitions.producers[at]), int(partitions.messages[at])
    told = f"{counted(producers, 'producer')}, {counted(messages, 'message')}{waits}"
    return f"partition {at} on broker {at % brokers}: {told}{down}"
