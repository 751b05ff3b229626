"""What the keys of the screen of producers do to the cluster and to the panels."""

from __future__ import annotations

from typing import Final

from textual import on

from engine.cluster.commands import PassTime, RepartitionTopic, SetSetting
from engine.cluster.producer_commands import (
    AddProducers,
    CloseProducer,
    FailPartition,
    RecoverPartition,
    SendByProducers,
)
from engine.cluster.producer_events import ProducerPlan
from engine.errors import Rejection
from tui.kit.line_table import LineTable
from tui.producers.add_dialog import AddProducersScreen
from tui.producers.matrix_panel import MatrixPanel
from tui.producers.screen_questions import ProducersQuestions
from tui.producers.send_dialog import SendByProducersScreen
from tui.producers.words import name_at

MERGING: Final = "aggregatePublisherStatsByProducerName"


class ProducersActions(ProducersQuestions):
    """Keys that change the cluster or move among panels, and what the panels and scripts report."""

    _last_plan = ProducerPlan(lazy=True)

    # change

    def action_add(self) -> None:
        self.app.push_screen(AddProducersScreen(self.now.status.topic, self._last_plan, self._add))

    def _add(self, command: AddProducers) -> Rejection | None:
        refused = self.done(self.store.submit(command))
        if refused is None:
            self._last_plan = command.plan
            self.selected = len(self.now.producers) - 1
        return refused

    def action_close_producer(self) -> None:
        if self.selected < 0:
            self.complain("there is no producer to close; a creates some")
            return
        producers = self.now.producers
        if self.selected < len(producers) and producers[self.selected].state == "Closed":
            self.complain(f"{name_at(self.now, self.selected)} is closed already; a creates another one")
            return
        self.complain(self.store.submit(CloseProducer(self.now.status.topic, self.selected)))

    def action_send(self, by_all: bool) -> None:
        if self.selected < 0:
            self.complain("there is no producer that could send; a creates some")
            return
        who = "every producer" if by_all else name_at(self.now, self.selected)
        number = None if by_all else self.selected
        self.app.push_screen(SendByProducersScreen(self.now.status.topic, number, who, self.key or "", self._send))

    def _send(self, command: SendByProducers) -> Rejection | None:
        refused = self.done(self.store.submit(command))
        if refused is None:
            self.key = command.key
        return refused

    def action_grow(self) -> None:
        count = self.now.status.partitions
        self.ask("grow", "partitions", text=str(2 * count), placeholder=f"a number above {count}")

    def action_serve(self) -> None:
        topic, failing = self.now.status.topic, dict(self.now.partitions.failing)
        # Where nothing is marked on purpose, what is broken already is most likely meant.
        command = (RecoverPartition if self.column in failing else FailPartition)(topic, self.column)
        self.complain(self.store.submit(command))

    def action_wait(self, duration_ms: int) -> None:
        self.complain(self.store.submit(PassTime(duration_ms)))

    def action_merge(self) -> None:
        on = self.now.status.by_name
        self.complain(self.store.submit(SetSetting(MERGING, "false" if on else "true")))

    def answer(self, kind: str, text: str) -> Rejection | None:
        if kind != "grow" or not text:
            return super().answer(kind, text)
        if not text.isascii() or not text.isdecimal():
            return Rejection("SyntaxError", f"{text[:40]!r} is no number of partitions", "partitions")
        return self.done(self.store.submit(RepartitionTopic(self.now.status.topic, int(text[:12]))))

    # panels

    def action_next_look(self) -> None:
        self.by_producer = not self.by_producer

    # scripts

    def select_text(self, text: str) -> None:
        """Put the cursor on what a script selects: a producer by its name or its number."""
        number = int(text[1:]) if text.startswith("#") and text[1:].isdecimal() else -1
        found = next((row for row in self.now.producers if row.name == text or row.number == number), None)
        if found is None:
            self.complain(f"{text!r} is no producer of {self.now.status.topic}")
        else:
            self.selected = found.number

    # messages of the panels

    @on(MatrixPanel.Step)
    def _stepped_in_matrix(self, message: MatrixPanel.Step) -> None:
        if self.producers:
            self.selected = max(0, min(len(self.producers) - 1, self.selected + message.by))

    @on(MatrixPanel.Column)
    def _moved_in_matrix(self, message: MatrixPanel.Column) -> None:
        self.column = min(message.partition, self.now.status.partitions - 1)

    @on(MatrixPanel.Opened)
    def _opened_in_matrix(self) -> None:
        if self.selected >= 0:
            self.complain(self.explain_next(self.selected))

    @on(LineTable.Moved, "#table")
    def _moved_among_producers(self, message: LineTable.Moved) -> None:
        self.selected = self.producers_listed[message.index].number

    @on(LineTable.Opened, "#table")
    def _opened_producer(self, message: LineTable.Opened) -> None:
        self.complain(self.explain_next(self.producers_listed[message.index].number))
