"""The screen "producers": who has opened which partition and why, what that costs, and whether statistics are right."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical

from engine.views.producers_model import ProducerRow, ProducerStep, ProducersView, StatisticsView
from tui.kit.explain_panel import ExplainPanel
from tui.kit.help import Group, KeyHelp
from tui.kit.line_table import NOTHING, Lines, LineTable
from tui.kit.plain_text import PlainStatic, set_title
from tui.kit.sentence_line import SentenceLine
from tui.producers.bindings import BINDINGS, ELSEWHERE, GROUPS
from tui.producers.columns import ProducerCells, producer_columns, producer_heading
from tui.producers.costs_panel import CostsPanel
from tui.producers.lines import happened_line, statistics_heading, statistics_line, step_line
from tui.producers.matrix_panel import MatrixPanel
from tui.producers.screen_actions import ProducersActions
from tui.producers.status import ProducersStatusLine
from tui.producers.words import foot_texts, statistics_title

SAMPLE: Final = 2000
"""How many rows decide the columns of a long table."""
MATRIX_LEGEND: Final[Group] = (
    "in the matrix",
    (
        KeyHelp("rows", "producers; many of them share a line, and a point is the brighter the more is open"),
        KeyHelp("columns", "partitions, their numbers above"),
        KeyHelp("colours", "why it was opened; v tells instead who has opened it"),
        KeyHelp("+ ✗ ▾", "above: a new partition, one that is not served, the marked one"),
        KeyHelp("× •", "the connection is lost; opened by the last step"),
    ),
)


class ProducersScreen(ProducersActions):
    """Slices of one view, bound to the panels; messages of the panels become calls of the store."""

    BINDINGS: ClassVar[list[BindingType]] = [*BINDINGS]
    AUTO_FOCUS = "#table"
    explanation_title = "what the next message does, and why"
    key_groups = GROUPS
    elsewhere = ELSEWHERE
    legend: ClassVar[Group] = MATRIX_LEGEND
    panel_titles: ClassVar[dict[str, str]] = {
        "ring": "1 who has opened what",
        "consumers": "2 producers",
        "costs": "3 objects on brokers",
        "stats": "4 statistics (s adds them up)",
        "events": "5 events",
        "sent": "6 what happened",
    }

    def compose(self) -> ComposeResult:
        cls, ascii_only = ProducersScreen, self.ascii_only
        yield ProducersStatusLine(id="status").data_bind(cls.status, cls.saved)
        yield SentenceLine(id="sentence").data_bind(cls.sentence)
        with Container(id="body"):
            yield MatrixPanel(id="ring", classes="panel", ascii_only=ascii_only).data_bind(
                cls.view, cls.selected, cls.column, cls.by_producer, cls.colours
            )
            with Vertical(id="side"):
                with Vertical(id="consumers", classes="panel"):
                    yield LineTable(id="table")
                    yield PlainStatic(id="foot")
                yield CostsPanel(id="costs", classes="panel", ascii_only=ascii_only).data_bind(cls.counts, cls.colours)
                with Vertical(id="stats", classes="panel"):
                    yield LineTable(id="merged")
                yield ExplainPanel(id="explain", classes="panel").data_bind(cls.remarks)
            yield LineTable(id="events", classes="panel")
            yield LineTable(id="sent", classes="panel")
        yield from self.compose_below()

    def show_now(self) -> None:
        view = self.store.producers_view
        if view is not None and view is not self._shown:
            self.show(view)

    def show(self, view: ProducersView) -> None:
        """Take the slices of a view; a slice that is equal to the one before stays quiet."""
        shown = self._shown
        same = shown is not None and shown.status.topic == view.status.topic
        stepped = shown is not None and same and shown.status.step != view.status.step
        known = shown.notices if shown is not None else view.notices
        codes = {notice.code for notice in known}
        self.fresh_notice = next((each.text for each in view.notices if stepped and each.code not in codes), "")
        self._shown = view
        count = len(view.producers)
        self.selected = min(max(self.selected, 0), count - 1) if count else -1
        self.column = min(self.column, view.status.partitions - 1)
        self.status = view.status
        self.saved = self.store.saved
        self.producers = view.producers
        self.view = view
        status = view.status
        set_title(self.query_one("#ring"), f"1 who has opened what: {status.producers:,} x {status.partitions:,}")
        self.producers_listed = self.matching(view.producers)
        self.title_list(len(self.producers_listed), len(view.producers))  # also where no listed row has changed
        self.counts = view.counts
        self.steps = view.events
        self.deliveries = view.deliveries
        self.timeline = view.timeline
        self.sentence = self.sentence_now()
        if shown is None:  # watchers of what is empty from the start are not called
            self.watch_producers_listed(self.producers_listed)
            self.watch_deliveries(self.deliveries)
        self.explain_again()
        self.write_foot()
        # Adding up can take longer than all the rest: first the picture, then the sums.
        self.statistics = None
        self.call_after_refresh(self.add_up)

    # producers

    def watch_filter_text(self) -> None:
        """List the producers whose names match."""
        self.producers_listed = self.matching(self.producers)

    def watch_producers_listed(self, rows: tuple[ProducerRow, ...]) -> None:
        """Name the panel and list the rows; the cursor stays on the selected producer."""
        self.title_list(len(rows), len(self.producers))
        write = ProducerCells(self.colours, self.ascii_only)
        sample = rows[:SAMPLE]
        columns = lru_cache(maxsize=2)(lambda width: producer_columns(sample, width))  # once for all lines of a width
        self.query_one("#table", LineTable).lines = Lines(
            len(rows),
            lambda index, width: write.line(rows[index], columns(width)),
            lambda width: producer_heading(sample, width),
        )
        self._mark_selected()

    def watch_selected(self) -> None:
        """The cursor of the table stands on the selected producer."""
        self._mark_selected()

    def _mark_selected(self) -> None:
        self.mark_selected(row.number for row in self.producers_listed)

    def foot_texts(self) -> Sequence[str]:
        return foot_texts(self.now.foot)

    # steps, what happened, statistics

    def watch_steps(self, steps: tuple[ProducerStep, ...]) -> None:
        """Newest first."""
        table = self.list_newest_first("events", steps, step_line)
        set_title(table, f"{self.events_number} events ({len(steps):,})")

    def watch_deliveries(self, told: tuple[str, ...]) -> None:
        """Newest first."""
        self.list_newest_first("sent", told, happened_line)

    def watch_statistics(self, told: StatisticsView | None) -> None:
        """Both lists side by side, as long as the longer one."""
        panel, table, colours = self.query_one("#stats"), self.query_one("#merged", LineTable), self.colours
        if told is None:
            set_title(panel, "4 statistics (s adds them up)")
            table.lines = NOTHING
            return
        set_title(panel, statistics_title(told))
        table.lines = Lines(
            max(len(told.by_name), len(told.by_position)),
            lambda index, width: statistics_line(told, index, width, colours),
            lambda width: statistics_heading(told, width),
        )

    def write_lines(self) -> None:
        self.watch_steps(self.steps)
        self.watch_producers_listed(self.producers_listed)
        self.watch_deliveries(self.deliveries)
        self.watch_statistics(self.statistics)
