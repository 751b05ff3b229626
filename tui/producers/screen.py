"""The screen of a topic's producers: who has opened which partition and why, what that costs, and the statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.reactive import var

from engine.cluster.commands import (
    AddProducers,
    CloseProducer,
    FailPartition,
    PassTime,
    RecoverPartition,
    RepartitionTopic,
    SendByProducers,
    SetProducerRate,
    SetSetting,
)
from engine.cluster.producers.state import ProducerPlan
from engine.errors import Rejection
from engine.views.producers.answers import GrowthView
from engine.views.producers.model import (
    CountsView,
    ProducerRow,
    ProducersStatus,
    ProducerStep,
    ProducersView,
    StatisticsView,
)
from themes import stylesheet
from tui.kit.columns import NOTHING, Lines
from tui.kit.event_list import EventList
from tui.kit.help import Group, KeyHelp
from tui.kit.line_table import LineTable
from tui.kit.list_panel import ListPanel
from tui.kit.plain_text import set_title
from tui.kit.screen import DashboardScreen
from tui.kit.status_line import Part
from tui.kit.text_panels import ExplainPanel
from tui.kit.why_panel import WhyPanel
from tui.kit.wording import safe_name
from tui.producers.bindings import BINDINGS, ELSEWHERE, GROUPS
from tui.producers.dialogs import AddProducersScreen, ProducerRateScreen, SendByProducersScreen
from tui.producers.panels import CostsPanel, MatrixPanel, producers_status_parts
from tui.producers.table import PRODUCERS, happened_line, statistics_heading, statistics_line, step_line
from tui.producers.words import (
    foot_texts,
    key_places,
    name_at,
    producers_hint,
    producers_hint_with,
    send_remarks,
    state_hint,
    statistics_title,
)

MERGING: Final = "aggregatePublisherStatsByProducerName"
OBJECTS_AT_ONCE: Final = 4_000
"""Up to so many producer objects are added up at every step; more only when the user asks."""
NO_KEY: Final = "-"
"""What is typed for no key where one is asked for."""
NOT_ADDED_UP: Final = "[4] statistics (s adds them up)"
MATRIX_LEGEND: Final[Group] = (
    "in the matrix",
    (
        KeyHelp("rows", "producers; many of them share a line, and a point is the brighter the more is open"),
        KeyHelp("columns", "partitions, their numbers above"),
        KeyHelp("colours", "why it was opened; v shows instead who has opened it"),
        KeyHelp("+ ✗ ▾", "above: a new partition, one that is not served, the marked one"),
        KeyHelp("× •", "the connection is lost; opened by the last step"),
    ),
)


class ProducersScreen(DashboardScreen[ProducersView]):
    """The matrix of producers and partitions, the producers, costs, statistics, events, and what happened."""

    CSS_PATH = stylesheet("producers")
    BINDINGS: ClassVar[list[BindingType]] = [*BINDINGS]
    AUTO_FOCUS = "#table"
    key_groups = GROUPS
    elsewhere = ELSEWHERE
    kind = "producers"
    legend = MATRIX_LEGEND
    panel_titles: ClassVar[dict[str, str]] = {
        "ring": "[1] who has opened what",
        "costs": "[3] objects on brokers",
        "stats": NOT_ADDED_UP,
        "sent": "[6] what happened",
    }
    zoomable = ("ring", "consumers", "costs", "stats", "explain", "events", "sent")
    inside: ClassVar[dict[str, str]] = {"consumers": "table", "stats": "merged"}
    row_noun = "producer"
    explanation_title = "what the next message does, and why"
    repeats_notices = False

    view: var[ProducersView | None] = var(None)
    producers: var[tuple[ProducerRow, ...]] = var(())
    totals: var[tuple[str, ...]] = var(())
    counts: var[CountsView | None] = var(None)
    statistics: var[StatisticsView | None] = var(None, init=False)
    """The merged statistics; None while they are not added up."""
    steps: var[tuple[ProducerStep, ...]] = var(())
    deliveries: var[tuple[str, ...]] = var(())
    column: var[int] = var(0)
    """The marked partition."""
    by_producer: var[bool] = var(False)
    """Whether colours in the matrix say who has opened, not why."""

    key: str | None = None
    """The key of the last message, None for none."""
    _explained = -1
    _last_plan = ProducerPlan(lazy=True)

    def status_parts(self, status: ProducersStatus, saved: str, width: int) -> list[Part]:
        return producers_status_parts(status, saved, width)

    def compose_panels(self) -> ComposeResult:
        cls, ascii_only = ProducersScreen, self.ascii_only
        yield MatrixPanel(id="ring", classes="panel", ascii_only=ascii_only).data_bind(
            cls.view, cls.selected, cls.column, cls.by_producer, cls.colours
        )
        with Vertical(id="side"):
            yield ListPanel(PRODUCERS, ascii_only=ascii_only, id="consumers").data_bind(
                cls.selected, cls.totals, cls.colours, rows=cls.producers
            )
            yield CostsPanel(id="costs", classes="panel", ascii_only=ascii_only).data_bind(cls.counts, cls.colours)
            with Vertical(id="stats", classes="panel"):
                yield LineTable(id="merged")
            yield ExplainPanel(id="explain", classes="panel").data_bind(cls.remarks)
            yield WhyPanel(id="why", classes="panel").data_bind(cls.colours)
        yield EventList(step_line, title="[5] events", id="events").data_bind(cls.colours, entries=cls.steps)
        yield EventList(happened_line, id="sent").data_bind(cls.colours, entries=cls.deliveries)

    # the view

    @property
    def now(self) -> ProducersView:
        view = self.store.shown.producers_view or self._shown
        assert view is not None, "this screen is shown for topics with producers"
        return view

    def is_next_step(self, before: ProducersView, view: ProducersView) -> bool:
        return before.status.topic == view.status.topic and super().is_next_step(before, view)

    @property
    def row_ids(self) -> Sequence[int]:
        return range(len(self.now.producers))

    def take(self, view: ProducersView) -> None:
        status, count = view.status, len(view.producers)
        self.selected = min(max(self.selected, 0), count - 1) if count else -1
        self.column = min(self.column, status.partitions - 1)
        self.producers = view.producers
        self.totals = foot_texts(view.foot)
        self.view = view
        set_title(self.query_one("#ring"), f"[1] who has opened what: {status.producers:,} x {status.partitions:,}")
        self.counts = view.counts
        self.steps = view.events
        self.deliveries = view.deliveries
        # Adding up can take longer than all the rest: first the picture, then the sums.
        self.statistics = None
        self.call_after_refresh(self._add_up)

    def hint(self) -> str:
        return producers_hint(self.now)

    def hint_with(self, notice: str) -> str:
        return producers_hint_with(self.now, notice)

    def watch_colours(self) -> None:
        super().watch_colours()
        if self._shown is not None:
            self.watch_statistics()

    # producers

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

    def action_rate(self, of_all: bool) -> None:
        if self.selected < 0:
            self.complain("there is no producer that could have a rate; a creates some")
            return
        who = "every producer" if of_all else name_at(self.now, self.selected)
        number, row = None if of_all else self.selected, self.now.producers[self.selected]
        self.app.push_screen(
            ProducerRateScreen(self.now.status.topic, number, who, row.msgs_per_sec or 0.0, self._rate)
        )

    def _rate(self, command: SetProducerRate) -> Rejection | None:
        return self.done(self.store.submit(command))

    @on(ListPanel.Opened)
    def _opened_in_list(self, message: ListPanel.Opened) -> None:
        self.complain(self._explain_next(message.row_id))

    # the topic

    def action_grow(self) -> None:
        count = self.now.status.partitions
        self.ask("grow", "partitions", text=str(2 * count), placeholder=f"a number above {count}")

    def answer(self, kind: str, text: str) -> Rejection | None:
        if kind != "grow" or not text:
            return super().answer(kind, text)
        if not text.isascii() or not text.isdecimal():
            return Rejection("SyntaxError", f"{text[:40]!r} is not a number of partitions", "partitions")
        return self.done(self.store.submit(RepartitionTopic(self.now.status.topic, int(text[:12]))))

    def action_serve(self) -> None:
        topic, failing = self.now.status.topic, {one.partition: one.error for one in self.now.partitions.failing}
        # A partition that fails already recovers; any other one fails.
        command = (RecoverPartition if self.column in failing else FailPartition)(topic, self.column)
        self.complain(self.store.submit(command))

    def action_wait(self, duration_ms: int) -> None:
        self.complain(self.store.submit(PassTime(duration_ms)))

    # the matrix

    def action_next_view(self) -> None:
        self.by_producer = not self.by_producer

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
            self.complain(self._explain_next(self.selected))

    # statistics

    def action_merge(self) -> None:
        on = self.now.status.by_name
        self.complain(self.store.submit(SetSetting(MERGING, "false" if on else "true")))

    def action_statistics(self) -> None:
        """Add the statistics up, however long it takes, and go to them."""
        self.statistics = self.store.shown.producer_statistics()
        self.action_panel("stats")

    def action_panel(self, panel: str) -> None:
        super().action_panel(panel)
        if panel == "stats" and self.statistics is None:
            self.call_after_refresh(self._add_up)

    def _add_up(self) -> None:
        """Add the statistics of the present view up, where that is quick and the panel is in sight."""
        if not self.in_front:
            return
        quick = self.now.foot.broker_producers <= OBJECTS_AT_ONCE
        self.statistics = self.store.shown.producer_statistics() if quick and self.query_one("#stats").display else None

    def watch_statistics(self) -> None:
        """Show both lists side by side, as long as the longer one."""
        statistics, colours = self.statistics, self.colours
        panel, table = self.query_one("#stats"), self.query_one("#merged", LineTable)
        if statistics is None:
            set_title(panel, NOT_ADDED_UP)
            table.lines = NOTHING
            return
        set_title(panel, statistics_title(statistics))
        table.lines = Lines(
            max(len(statistics.by_name.entries), len(statistics.by_position.entries)),
            lambda index, width: statistics_line(statistics, index, width, colours),
            lambda width: statistics_heading(statistics, width),
        )

    # explanations

    def action_explain(self) -> None:
        if self.selected < 0:
            self.complain("there is no producer whose message could be explained; a creates some")
            return
        name = name_at(self.now, self.selected)
        known = self.key if self.key is not None else NO_KEY
        self.ask("explain", f"next message of {name} with key", text=known, placeholder="a key; - for none")

    def explain(self, text: str) -> Rejection | None:
        """Explain the selected producer's next message with this key (``NO_KEY``: without one)."""
        self.key = None if text == NO_KEY else text
        return self._explain_next(self.selected)

    def _explain_next(self, number: int) -> Rejection | None:
        """Explain the next message of a producer, and mark its partition in the matrix."""
        answer = self.store.shown.explain_send(number, self.key)
        if isinstance(answer, Rejection):
            return answer
        self._explained = number
        self.column = answer.explanation.result.partition
        self.side.explain(send_remarks(answer))
        return None

    def explain_again(self) -> None:
        if self._explained >= 0:
            answer = self.store.shown.explain_send(self._explained, self.key)
            if not isinstance(answer, Rejection):
                self.remarks = send_remarks(answer)

    def about(self) -> list[Group]:
        view = self.now
        failing = [KeyHelp(f"{one.partition}", one.error) for one in view.partitions.failing[:10]]
        return [
            ("what you are looking at", [KeyHelp("", state_hint(view))]),
            ("statistics", [KeyHelp("", self.statistics.sentence)] if self.statistics is not None else []),
            ("not served", failing),
            ("known keys", known_keys_help(self.store.shown.known_keys())),
        ]

    # scripts

    def select_text(self, text: str) -> None:
        """Put the cursor on a producer by its name or its number."""
        number = int(text[1:]) if text.startswith("#") and text[1:].isdecimal() else -1
        row = next((row for row in self.now.producers if row.name == text or row.number == number), None)
        if row is None:
            self.complain(f"{text!r} is not a producer of {self.now.status.topic}")
        else:
            self.selected = row.number


def known_keys_help(view: GrowthView | None) -> list[KeyHelp]:
    """Return a line for each key: its partition from Java and from Python, and where it was before the last step."""
    return [KeyHelp(safe_name(key.key), key_places(key)) for key in view.keys] if view is not None else []
