"""Who has opened which partition: the matrix of producers and partitions, with a cursor over both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.reactive import var
from textual.strip import Strip

from engine.text import counted
from engine.views.producers.model import PartitionsView, ProducerRow, ProducersView
from tui.drawing.producer_matrix import MatrixPicture, draw_matrix
from tui.kit.line_widget import LinePanel
from tui.kit.plain_text import set_subtitle


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
    """Whether inks tell who has opened, not why."""

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

    def watch_view(self) -> None:
        """Another state."""
        self.forget()

    def watch_selected(self) -> None:
        """Another row is marked."""
        self.forget()

    def watch_column(self) -> None:
        """Another column is marked."""
        self.forget()

    def watch_by_producer(self) -> None:
        """Other inks."""
        self.forget()

    def forget(self) -> None:
        """The mark may stand on another partition."""
        if self.view is not None:
            set_subtitle(self, partition_sentence(self.view.partitions, self.column, self.view.status.brokers))
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
        failing=tuple(partition for partition, _ in view.partitions.failing),
        new_from=view.partitions.new_from,
        by_producer=by_producer,
        objects=view.partitions.producers,
        messages=view.partitions.messages,
        pending=view.partitions.pending,
    )


def partition_sentence(partitions: PartitionsView, at: int, brokers: int) -> str:
    """The marked partition in a few words."""
    if not 0 <= at < partitions.count:
        return ""
    down = ", not served" if any(partition == at for partition, _ in partitions.failing) else ""
    pending = int(partitions.pending[at])
    waits = f", {pending:,} waiting" if pending else ""
    producers, messages = int(partitions.producers[at]), int(partitions.messages[at])
    amounts = f"{counted(producers, 'producer')}, {counted(messages, 'message')}{waits}"
    return f"partition {at} on broker {at % brokers}: {amounts}{down}"
