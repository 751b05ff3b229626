"""The screen "keys": one Key_Shared subscription, who gets which key, what waits for whom, and whether it is luck."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical

from engine.views.keys_model import GapRow, KeyConsumerRow, KeysView, WaitRow
from tui.keys.bindings import BINDINGS, ELSEWHERE, GROUPS
from tui.keys.columns import KeyCells, key_columns, key_heading
from tui.keys.lines import gap_heading, gap_line, sent_line, wait_heading, wait_line
from tui.keys.luck_panel import LuckPanel
from tui.keys.screen_actions import KeysActions
from tui.keys.status import KeysStatusLine
from tui.keys.words import keys_foot_texts, mode_in_few_words, wait_told
from tui.kit.explain_panel import ExplainPanel
from tui.kit.help import Group, KeyHelp
from tui.kit.line_table import Lines, LineTable
from tui.kit.plain_text import PlainStatic, set_title
from tui.kit.ring_panel import RingPanel
from tui.kit.sentence_line import SentenceLine
from tui.kit.wording import counted

SAMPLE: Final = 2000
"""How many rows decide the columns of a long table."""
SLOTS_LEGEND: Final[Group] = (
    "on the ring",
    (
        KeyHelp("outside", "whose each slot is; a gap in the colour of the ground is nobody's"),
        KeyHelp("inside", "how much of the slots each consumer has, where arcs are too narrow to read"),
        KeyHelp("dots", "known keys at their slots, in the colour of their consumer"),
        KeyHelp("!", "slots where messages wait; in the table, who lost slots although another joined or left"),
        KeyHelp("hash map", "the same slots row by row, from 0 on"),
    ),
)


class KeysScreen(KeysActions):
    """Slices of one view, bound to the panels; messages of the panels become calls of the store."""

    BINDINGS: ClassVar[list[BindingType]] = [*BINDINGS]
    AUTO_FOCUS = "#table"
    key_groups = GROUPS
    elsewhere = ELSEWHERE
    legend: ClassVar[Group] = SLOTS_LEGEND
    panel_titles: ClassVar[dict[str, str]] = {
        "ring": "1 slots",
        "consumers": "2 consumers",
        "waits": "3 what waits",
        "gaps": "4 gaps",
        "luck": "is it luck?",
        "events": "5 events",
        "sent": "6 sent",
    }

    def compose(self) -> ComposeResult:
        cls, ascii_only = KeysScreen, self.ascii_only
        yield KeysStatusLine(id="status").data_bind(cls.status, cls.saved)
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
                cls.waiting,
                rows=cls.consumers,
                dots="keys",
            )
            with Vertical(id="side"):
                with Vertical(id="consumers", classes="panel"):
                    yield LineTable(id="table")
                    yield PlainStatic(id="foot")
                with Vertical(id="waits", classes="panel"):
                    yield LineTable(id="waiting")
                    yield PlainStatic(id="wait-told")
                yield LineTable(id="gaps", classes="panel")
                yield LuckPanel(id="luck", classes="panel", ascii_only=ascii_only).data_bind(cls.luck, cls.colours)
                yield ExplainPanel(id="explain", classes="panel").data_bind(cls.remarks)
            yield LineTable(id="events", classes="panel")
            yield LineTable(id="sent", classes="panel")
        yield from self.compose_below()

    def show_now(self) -> None:
        view = self.store.keys_view
        if view is not None and view is not self._shown:
            self.show(view)

    def show(self, view: KeysView) -> None:
        """Take the slices of a view; a slice that is equal to the one before stays quiet."""
        shown = self._shown
        same = shown is not None and shown.status.subscription == view.status.subscription
        stepped = shown is not None and same and shown.status.step != view.status.step
        known = shown.notices if shown is not None else view.notices
        self.fresh_notice = next((notice.text for notice in view.notices if stepped and notice not in known), "")
        self._shown = view
        self.keep_selected([row.consumer_id for row in view.consumers])
        self.set_class(bool(view.gaps) and bool(view.consumers), "-gaps")
        self.status = view.status
        self.saved = self.store.saved
        self.consumers = view.consumers
        self.few_words = mode_in_few_words(view)
        set_title(self.query_one("#ring"), f"1 slots 0 to {view.ring.space_size - 1}")
        self.waiting = frozenset(wait.slot for wait in view.waits)
        self.ring = view.ring
        self.consumers_listed = self.matching(view.consumers)
        self.title_list(len(self.consumers_listed), len(view.consumers))  # also where no listed row has changed
        self.waits = view.waits
        self._tell_wait()  # its rule changes with the mode, also where nothing waits
        self.gaps = view.gaps
        self.luck = view.luck
        self.deliveries = view.deliveries
        self.event_lines = view.events
        self.timeline = view.timeline
        self.sentence = self.sentence_now()
        if shown is None:  # watchers of what is empty from the start are not called
            self.watch_consumers_listed(self.consumers_listed)
            self.watch_waits(self.waits)
        self.explain_again()
        self.write_foot()
        if stepped:
            self.flash(view.ring)

    # consumers

    def watch_filter_text(self) -> None:
        """List the consumers whose names match."""
        self.consumers_listed = self.matching(self.consumers)

    def watch_consumers_listed(self, rows: tuple[KeyConsumerRow, ...]) -> None:
        """Name the panel and list the rows; the cursor stays on the selected consumer."""
        self.title_list(len(rows), len(self.consumers))
        write = KeyCells(self.colours, max((row.share for row in rows), default=0.0), self.ascii_only)
        sample = rows[:SAMPLE]
        columns = lru_cache(maxsize=2)(lambda width: key_columns(sample, width))  # once for all lines of a width
        self.query_one("#table", LineTable).lines = Lines(
            len(rows),
            lambda index, width: write.line(rows[index], columns(width)),
            lambda width: key_heading(sample, width),
        )
        self._mark_selected()

    def watch_selected(self) -> None:
        """The cursor of the table stands on the selected consumer."""
        self._mark_selected()

    def _mark_selected(self) -> None:
        self.mark_selected(row.consumer_id for row in self.consumers_listed)

    def foot_texts(self) -> Sequence[str]:
        return keys_foot_texts(self.now.foot)

    # what waits, gaps, what was sent

    def watch_waits(self, waits: tuple[WaitRow, ...]) -> None:
        """The oldest first; below the rows what the marked one means."""
        messages = self.now.foot.waiting
        table = self.query_one("#waiting", LineTable)
        told = f"{counted(messages, 'message')} at {counted(len(waits), 'slot')}" if waits else "nothing"
        set_title(self.query_one("#waits"), f"3 what waits ({told})")
        rows, colours = self.consumers, self.colours
        table.lines = Lines(
            len(waits),
            lambda index, width: wait_line(waits[index], rows, width, colours),
            wait_heading if waits else None,
        )
        self.set_class(bool(waits), "-waiting")
        self._tell_wait()

    @on(LineTable.Moved, "#waiting")
    def _tell_wait(self) -> None:
        # The view that the waits are of; the store may have another one by now.
        view, at = self._shown or self.now, self.query_one("#waiting", LineTable).cursor
        told = wait_told(view, self.waits[at]) if self.waits else view.status.order_rule
        self.query_one("#wait-told", PlainStatic).update(told)

    def watch_gaps(self, gaps: tuple[GapRow, ...]) -> None:
        """The widest first."""
        table, colours = self.query_one("#gaps", LineTable), self.colours
        table.lines = Lines(len(gaps), lambda index, width: gap_line(gaps[index], width, colours), gap_heading)
        set_title(table, f"4 gaps ({counted(self.now.foot.unowned_slots, 'slot')})")

    def watch_deliveries(self, sent: tuple[str, ...]) -> None:
        """Newest first."""
        self.list_newest_first("sent", sent, sent_line)

    def write_lines(self) -> None:
        self.watch_event_lines(self.event_lines)
        self.watch_consumers_listed(self.consumers_listed)
        self.watch_waits(self.waits)
        self.watch_gaps(self.gaps)
        self.watch_deliveries(self.deliveries)
