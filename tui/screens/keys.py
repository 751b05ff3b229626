"""The screen "keys": one Key_Shared subscription, who gets which key, what waits for whom, and whether it is luck."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical
from textual.widgets import Static

from engine.views.keys_model import GapRow, KeyConsumerRow, KeysView, WaitRow
from themes.palettes import Palette
from tui.keys_columns import KeyCells, key_columns, key_heading
from tui.keys_lines import gap_heading, gap_line, sent_line, wait_heading, wait_line
from tui.keys_words import keys_foot_texts, mode_in_few_words, wait_told
from tui.player import Stage
from tui.screens.framed import key_hints
from tui.screens.help import Group, KeyHelp
from tui.screens.keys_actions import KeysActions
from tui.screens.keys_bindings import BINDINGS, GROUPS
from tui.store import Store
from tui.widgets.explain_panel import ExplainPanel
from tui.widgets.key_footer import KeyFooter
from tui.widgets.keys_status import KeysStatusLine
from tui.widgets.line_table import Lines, LineTable
from tui.widgets.luck_panel import LuckPanel
from tui.widgets.prompt import Prompt
from tui.widgets.ring_panel import RingPanel
from tui.widgets.sentence_line import SentenceLine
from tui.widgets.timeline_line import TimelineLine
from tui.wording import counted

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

    def __init__(
        self, store: Store, colours: Palette, *, animate: bool, ascii_only: bool, stage: Stage | None = None
    ) -> None:
        super().__init__()
        self.set_reactive(KeysScreen.colours, colours)
        self.store = store
        self.stage = stage or Stage()
        self.flashes = animate
        self.ascii_only = ascii_only

    def compose(self) -> ComposeResult:
        cls, ascii_only = KeysScreen, self.ascii_only
        yield KeysStatusLine(id="status").data_bind(cls.status, cls.saved)
        yield SentenceLine(id="sentence").data_bind(cls.sentence)
        with Container(id="body"):
            yield RingPanel(id="ring", classes="panel", ascii_only=ascii_only, dots="keys").data_bind(
                cls.few_words,
                cls.ring,
                cls.selected,
                cls.look,
                cls.topic,
                cls.intensity,
                cls.colours,
                cls.waiting,
                rows=cls.consumers,
            )
            with Vertical(id="side"):
                with Vertical(id="consumers", classes="panel"):
                    yield LineTable(id="table")
                    yield Static(id="foot", markup=False)
                with Vertical(id="waits", classes="panel"):
                    yield LineTable(id="waiting")
                    yield Static(id="wait-told", markup=False)
                yield LineTable(id="gaps", classes="panel")
                yield LuckPanel(id="luck", classes="panel", ascii_only=ascii_only).data_bind(cls.luck, cls.colours)
                yield ExplainPanel(id="explain", classes="panel").data_bind(cls.remarks)
            yield LineTable(id="events", classes="panel")
            yield LineTable(id="sent", classes="panel")
        yield TimelineLine(id="timeline", ascii_only=ascii_only).data_bind(cls.timeline, cls.playing, cls.colours)
        yield Prompt(id="prompt")
        yield KeyFooter(id="keys")
        yield Static(id="too-small", markup=False)

    def on_mount(self) -> None:
        """Name the panels and show the first view."""
        self.name_panels()
        self.query_one("#explain").border_title = "where does it go, and why"
        self.query_one("#explain").border_subtitle = "escape closes"
        self.query_one(KeyFooter).keys = key_hints(BINDINGS)
        self.make_ready()

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
        ids = [row.consumer_id for row in view.consumers]
        if self.selected not in ids:
            self.selected = ids[0] if ids else -1
        self.set_class(bool(view.gaps) and bool(view.consumers), "-gaps")
        self.status = view.status
        self.saved = self.store.saved
        self.consumers = view.consumers
        self.few_words = mode_in_few_words(view)
        self.query_one("#ring").border_title = f"1 slots 0 to {view.ring.space_size - 1}"
        self.waiting = frozenset(wait.slot for wait in view.waits)
        self.ring = view.ring
        self.consumers_listed = self._filtered(view.consumers)
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

    def _filtered(self, rows: tuple[KeyConsumerRow, ...]) -> tuple[KeyConsumerRow, ...]:
        wanted = self.filter_text.casefold()
        return tuple(row for row in rows if wanted in row.name.casefold()) if wanted else rows

    def watch_filter_text(self) -> None:
        """List the consumers whose names match."""
        self.consumers_listed = self._filtered(self.consumers)

    def watch_consumers_listed(self, rows: tuple[KeyConsumerRow, ...]) -> None:
        """Name the panel and list the rows; the cursor stays on the selected consumer."""
        total = len(self.consumers)
        told = f"{len(rows):,} of {total:,}" if self.filter_text else f"{total:,}"
        panel = self.query_one("#consumers")
        panel.border_title = f"2 consumers ({told})"
        panel.border_subtitle = f"filter: {self.filter_text}" if self.filter_text else ""
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
        at = next((i for i, row in enumerate(self.consumers_listed) if row.consumer_id == self.selected), None)
        if at is not None and self.is_mounted:
            self.query_one("#table", LineTable).cursor = at

    def write_foot(self) -> None:
        if self._shown is not None:
            foot = self.query_one("#foot", Static)
            texts = keys_foot_texts(self._shown.foot)
            foot.update(next((text for text in texts if len(text) <= foot.content_size.width), texts[-1]), layout=False)

    # what waits, gaps, what was sent

    def watch_waits(self, waits: tuple[WaitRow, ...]) -> None:
        """The oldest first; below the rows what the marked one means."""
        messages = self.now.foot.waiting
        table = self.query_one("#waiting", LineTable)
        told = f"{counted(messages, 'message')} at {counted(len(waits), 'slot')}" if waits else "nothing"
        self.query_one("#waits").border_title = f"3 what waits ({told})"
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
        view, at = self.now, self.query_one("#waiting", LineTable).cursor
        told = wait_told(view, self.waits[at]) if self.waits else view.status.order_rule
        self.query_one("#wait-told", Static).update(told)

    def watch_gaps(self, gaps: tuple[GapRow, ...]) -> None:
        """The widest first."""
        table, colours = self.query_one("#gaps", LineTable), self.colours
        table.lines = Lines(len(gaps), lambda index, width: gap_line(gaps[index], width, colours), gap_heading)
        table.border_title = f"4 gaps ({counted(self.now.foot.unowned_slots, 'slot')})"

    def watch_deliveries(self, sent: tuple[str, ...]) -> None:
        """Newest first."""
        table, colours = self.query_one("#sent", LineTable), self.colours
        table.lines = Lines(len(sent), lambda index, width: sent_line(sent[-1 - index], width, colours))
        table.cursor = 0

    def watch_colours(self) -> None:
        """Lines that carry colours are made again."""
        self.set_class(self.colours.mono, "-mono")
        if self._shown is not None:
            self.watch_event_lines(self.event_lines)
            self.watch_consumers_listed(self.consumers_listed)
            self.watch_waits(self.waits)
            self.watch_gaps(self.gaps)
            self.watch_deliveries(self.deliveries)
