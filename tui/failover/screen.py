"""The main screen: it arranges the panels, holds narrow slices of the view, and hands each panel its own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical
from textual.reactive import var

from engine.views.model import ConsumerRow, DashboardView
from tui.failover.bindings import BINDINGS, ELSEWHERE, GROUPS
from tui.failover.bundle_tree import BundleTree
from tui.failover.columns import Cells, consumer_columns
from tui.failover.consumer_table import ConsumerTable
from tui.failover.lines import consumer_heading, consumer_line
from tui.failover.screen_actions import MainActions
from tui.failover.status import StatusLine
from tui.kit.explain_panel import ExplainPanel
from tui.kit.help import RING_LEGEND, Group
from tui.kit.line_table import NOTHING, Lines, LineTable
from tui.kit.plain_text import PlainStatic
from tui.kit.ring_panel import RingPanel
from tui.kit.sentence_line import SentenceLine
from tui.kit.wording import foot_texts, rule_in_few_words

MANY = 300
"""Above this many consumers the table is the virtual one: the stock one takes its time for each that comes and goes."""
SAMPLE = 2000
"""So many of them decide how wide the columns are."""


class MainScreen(MainActions):
    """Slices of one view, bound to the panels; messages of the panels become calls of the store."""

    BINDINGS: ClassVar[list[BindingType]] = [*BINDINGS]
    AUTO_FOCUS = "#table"
    key_groups = GROUPS
    elsewhere = ELSEWHERE
    legend: ClassVar[Group] = RING_LEGEND

    consumers_few: var[tuple[ConsumerRow, ...]] = var(())
    """What the stock table lists: nothing where there is too much for it."""

    def compose(self) -> ComposeResult:
        cls, ascii_only = MainScreen, self.ascii_only
        yield StatusLine(id="status").data_bind(cls.status, cls.saved)
        yield SentenceLine(id="sentence").data_bind(cls.sentence)
        with Container(id="body"):
            yield RingPanel(id="ring", classes="panel", ascii_only=ascii_only).data_bind(
                cls.few_words,
                cls.ring,
                cls.selected,
                cls.look,
                cls.topic,
                cls.intensity,
                cls.colours,
                cls.weights,
                rows=cls.consumers,
            )
            with Vertical(id="side"):
                with Vertical(id="consumers", classes="panel"):
                    yield ConsumerTable(id="table", ascii_only=ascii_only).data_bind(
                        cls.selected, cls.colours, rows_shown=cls.consumers_few
                    )
                    yield LineTable(id="many")
                    yield PlainStatic(id="foot")
                yield BundleTree(id="bundles", classes="panel").data_bind(cls.namespaces)
                yield ExplainPanel(id="explain", classes="panel").data_bind(cls.remarks)
            yield LineTable(id="events", classes="panel")
        yield from self.compose_below()

    def make_ready(self) -> None:
        super().make_ready()
        if self.has_class("-bundles-only"):
            self.query_one("#bundles").focus()

    def show_now(self) -> None:
        if self.store.view is not self._shown:
            self.show(self.store.view)

    def show(self, view: DashboardView) -> None:
        """Take the slices of a view; a slice that is equal to the one before stays quiet."""
        stepped = self._shown is not None and self._shown.status.step != view.status.step
        known = self._shown.notices if self._shown is not None else view.notices
        self.fresh_notice = next((notice.text for notice in view.notices if stepped and notice not in known), "")
        self._shown = view
        self.keep_selected([row.consumer_id for row in view.consumers])
        self.set_class(not view.status.subscription, "-bundles-only")
        self.status = view.status
        self.saved = self.store.saved
        self.consumers = view.consumers
        self.weights = tuple(row.active_partitions for row in view.consumers)
        self.few_words = rule_in_few_words(view.status, view.consumers)
        self.consumers_listed = self.matching(view.consumers)
        self.title_list(len(self.consumers_listed), len(view.consumers))  # also where no listed row has changed
        self.ring = view.ring
        self.namespaces = view.namespaces
        self.event_lines = view.events
        self.timeline = view.timeline
        self.sentence = self.sentence_now()
        self.explain_again()
        self.write_foot()
        if stepped:
            self.flash(view.ring)

    def watch_filter_text(self) -> None:
        """List the consumers whose names match."""
        self.consumers_listed = self.matching(self.consumers)

    def watch_consumers_listed(self, rows: tuple[ConsumerRow, ...]) -> None:
        """Name the panel, and take the virtual table where there are too many rows for the stock one."""
        self.title_list(len(rows), len(self.consumers))
        many = len(rows) > MANY
        was_focused = self.focused is not None and self.focused.id in ("table", "many")
        self.set_class(many, "-many")
        self.consumers_few = () if many else rows
        if was_focused:
            self.query_one("#many" if many else "#table").focus()
        table = self.query_one("#many", LineTable)
        with table.prevent(LineTable.Moved):
            table.lines = self._many_lines(rows) if many else NOTHING  # what it listed before is not to be opened
        if many:
            self._place_cursor(self.selected)

    def watch_selected(self, consumer_id: int) -> None:
        """The virtual table's cursor stands on the selected consumer, as the stock one's does."""
        if self.has_class("-many"):
            self._place_cursor(consumer_id)

    def _place_cursor(self, consumer_id: int) -> None:
        at = next((at for at, row in enumerate(self.consumers_listed) if row.consumer_id == consumer_id), None)
        table = self.query_one("#many", LineTable)
        # The table would tell of a move that it was told of, and after two in a row the two would chase each other.
        with table.prevent(LineTable.Moved):
            table.cursor = table.cursor if at is None else at

    def _many_lines(self, rows: tuple[ConsumerRow, ...]) -> Lines:
        write = Cells(self.colours, max(row.rate_share for row in rows), self.ascii_only)
        sample = rows[:SAMPLE]
        columns = cache(lambda width: consumer_columns(sample, width))  # once for all lines of a width
        return Lines(
            len(rows),
            lambda index, width: consumer_line(rows[index], columns(width), write),
            lambda width: consumer_heading(sample, width),
        )

    def foot_texts(self) -> Sequence[str]:
        return foot_texts(self.now.foot)

    def write_lines(self) -> None:
        self.watch_event_lines(self.event_lines)
        self.watch_consumers_listed(self.consumers_listed)
