"""The screen of a scalable topic: who has which segment, what waits for what, and what its controller does next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import ClassVar, Final

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.reactive import var

from engine.cluster.commands import AcknowledgeSegments, LeaveSegments, PassTime, SplitSegment
from engine.cluster.grammar.words import quote
from engine.cluster.scalable.running import Happening
from engine.cluster.state import find_scalable_topic
from engine.cluster.timeline import Timeline
from engine.errors import Rejection
from engine.scalable.routing import hashes_of_key
from engine.text import counted
from engine.views.scalable.answers import (
    Point,
    change_points,
    happening_text,
    heir_points,
    key_points,
    next_points,
    step_points,
    why_points,
)
from engine.views.scalable.dashboard import (
    ConsumerLine,
    Piece,
    ScalableDashboard,
    ScalableStatus,
    SegmentLine,
    TreeSegment,
    simulated_view,
)
from engine.views.scalable.words import next_step_lines
from themes import stylesheet
from themes.palettes import Palette, hex_colour
from tui.kit.background import in_background, run_beside
from tui.kit.event_list import EventList
from tui.kit.help import Group, KeyHelp
from tui.kit.line_table import LineTable, RowsTable
from tui.kit.list_panel import ListPanel, kept, stepped
from tui.kit.plain_text import set_title
from tui.kit.screen import DashboardScreen
from tui.kit.status_line import Part
from tui.kit.text_panels import ExplainPanel
from tui.kit.why_panel import WhyPanel
from tui.kit.wording import Remark, safe_name, shorten_middle
from tui.scalable.bindings import BINDINGS, ELSEWHERE, GROUPS
from tui.scalable.panels import (
    CONSUMERS,
    SEGMENT_VALUE,
    RingView,
    SegmentsPanel,
    TreePanel,
    centre_of,
    scalable_status_parts,
    segment_lines,
)

SEGMENT_LEGEND: Final[Group] = (
    "in the drawings",
    (
        KeyHelp("ring", "active segments in the colours of their consumers"),
        KeyHelp("stripes", "several consumers share by buckets"),
        KeyHelp("bare", "nobody is dealt it: it waits for another segment"),
        KeyHelp("inside", "who reads it now, where that is another one"),
        KeyHelp("tree", "oldest left; faded: sealed, stroked: waits"),
    ),
)

MOST_AT_ONCE: Final = 200
"""Answers about more segments are computed beside the screen."""


class ScalableScreen(DashboardScreen[ScalableDashboard]):
    """Ring or tree on the left, consumers and segments on the right, what happened below."""

    CSS_PATH = stylesheet("scalable")
    BINDINGS: ClassVar[list[BindingType]] = [*BINDINGS]
    AUTO_FOCUS = "#table"
    key_groups = GROUPS
    elsewhere = ELSEWHERE
    kind = "scalable"
    legend = SEGMENT_LEGEND
    panel_titles: ClassVar[dict[str, str]] = {"ring": "[1] segments", "tree": "[4] family tree"}
    zoomable = ("ring", "consumers", "segments", "tree", "explain", "events")
    explanation_title = "where does a key go"
    repeats_notices = False

    pieces: var[tuple[Piece, ...]] = var(())
    centre: var[tuple[str, ...]] = var(())
    family: var[tuple[TreeSegment, ...]] = var(())
    consumers: var[tuple[ConsumerLine, ...]] = var(())
    totals: var[tuple[str, ...]] = var(())
    remark: var[str] = var("")
    happenings: var[tuple[Happening, ...]] = var(())
    mode: var[RingView] = var(RingView.RING)
    key_hash: var[int] = var(-1)
    segment: var[int] = var(-1)
    """The marked segment."""

    group = ""
    """The subscription of the topic that is shown, "" for its first one."""
    _asked = ""
    """What the side place answers: a word of ``_question``, with ``topic`` as its key."""

    def status_parts(self, status: ScalableStatus, saved: str, width: int) -> list[Part]:
        return scalable_status_parts(status, saved, width)

    def compose_panels(self) -> ComposeResult:
        cls, ascii_only = ScalableScreen, self.ascii_only
        yield SegmentsPanel(id="ring", classes="panel", ascii_only=ascii_only).data_bind(
            cls.pieces, cls.centre, cls.family, cls.selected, cls.key_hash, cls.mode, cls.colours
        )
        with Vertical(id="side"):
            yield ListPanel(CONSUMERS, ascii_only=ascii_only, id="consumers").data_bind(
                cls.selected, cls.totals, cls.colours, cls.remark, rows=cls.consumers
            )
            yield RowsTable(id="segments", classes="panel", beside=True)
            yield ExplainPanel(id="explain", classes="panel").data_bind(cls.remarks)
            yield WhyPanel(id="why", classes="panel").data_bind(cls.colours)
        yield TreePanel(id="tree", classes="panel", ascii_only=ascii_only).data_bind(
            cls.family, cls.colours, marked=cls.segment
        )
        yield EventList(happening_line, title="[5] events", id="events").data_bind(cls.colours, entries=cls.happenings)

    # the view

    @property
    def now(self) -> ScalableDashboard:
        view = self.store.shown.scalable_view_of(self.group) or self._shown
        assert view is not None, "this screen is shown for scalable topics"
        return view

    def is_next_step(self, before: ScalableDashboard, view: ScalableDashboard) -> bool:
        return before.status.topic == view.status.topic and super().is_next_step(before, view)

    @property
    def row_ids(self) -> Sequence[int]:
        return [row.number for row in self.now.consumers]

    def take(self, view: ScalableDashboard) -> None:
        self.selected = kept([row.number for row in view.consumers], self.selected)
        self.consumers = view.consumers
        self.totals = _totals(view)
        self.remark = safe_name(view.status.subscription)
        self.happenings = view.happenings
        self.pieces = view.pieces
        self.centre = centre_of(view)
        self.family = view.tree
        self._list_segments(view)

    def _list_segments(self, view: ScalableDashboard) -> None:
        table: RowsTable[SegmentLine] = self.query_one("#segments", RowsTable)
        table.show(view.segments, segment_lines(self.colours), SEGMENT_VALUE)
        active = view.view.next.active
        set_title(table, f"[3] segments ({active:,} active, {len(view.segments) - active:,} sealed)")
        self._mark_segment(table)

    @on(RowsTable.Arranged)
    def _segments_arranged(self) -> None:
        self._mark_segment(self.query_one("#segments", RowsTable))

    @on(LineTable.Moved, "#segments")
    def _segment_moved(self) -> None:
        self._mark_segment(self.query_one("#segments", RowsTable))

    def _mark_segment(self, table: RowsTable[SegmentLine]) -> None:
        rows = table.listed
        self.segment = rows[table.cursor].segment if 0 <= table.cursor < len(rows) else -1

    def watch_colours(self) -> None:
        super().watch_colours()
        if self._shown is not None:
            self._list_segments(self._shown)

    def hint(self) -> str:
        view = self.now
        if view.subscription is None:
            return "no consumer has subscribed; a lets one join"
        waits = {wait.segment for wait in view.subscription.waits}
        first = f"{counted(len(waits), 'segment', 'waits', 'wait')} for others to be drained (w: why)." if waits else ""
        line = next_step_lines(view.view.next)[0]
        comes = view.view.next.enabled and view.view.next.invalid is None
        return f"{first} {f'Next: {line} (b: when)' if comes else f'There is {line}.'}".strip()

    def hint_with(self, notice: str) -> str:
        return f"{self.hint()} New (i): {notice}"

    def show_ring_as(self, view: str) -> None:
        self.mode = {"focus": RingView.FOCUS, "map": RingView.TREE}.get(view, RingView.RING)

    # what is shown

    def action_next_view(self) -> None:
        # The tree has a panel of its own where there is room.
        alone = not self.query_one("#tree").display or self.zooming.zoomed == "ring"
        views = [view for view in RingView if alone or view is not RingView.TREE]
        if self.mode not in views:
            self.mode = RingView.RING
            return
        self.mode = views[(views.index(self.mode) + 1) % len(views)]

    def watch_mode(self) -> None:
        if self.is_mounted:
            titles = {RingView.RING: "segments", RingView.FOCUS: "one consumer", RingView.TREE: "family tree"}
            set_title(self.query_one("#ring"), f"[1] {titles[self.mode]}")

    def action_group(self, by: int) -> None:
        names = [row.name for row in self.now.view.subscriptions]
        if len(names) < 2:
            self.complain("the topic has no other subscription")
            return
        self.group = names[(names.index(self.now.status.subscription) + by) % len(names)]
        self.complain(None)
        self.show_now()

    @on(SegmentsPanel.Step)
    def _stepped_on_segments(self, message: SegmentsPanel.Step) -> None:
        self.selected = stepped(self.row_ids, self.selected, message.by)

    @property
    def _marked_name(self) -> str:
        """The name of the selected consumer, "" for none."""
        return next((row.name for row in self.now.consumers if row.number == self.selected), "")

    # changes

    def action_join(self) -> None:
        self.ask("join", "join", placeholder="a name, or: NAME checkpoint|queue to SUBSCRIPTION")

    def action_send(self) -> None:
        self.ask("send", "send", placeholder="keys, or: keyless times 100")

    def action_traffic(self) -> None:
        self.ask("traffic", "traffic", placeholder="messages a second of the topic, or: ID 1200 out 2400 size 100")

    def action_leave(self, closes: bool) -> None:
        status, name = self.now.status, self._marked_name
        if not name:
            self.complain("there is no consumer that could leave; a lets one join")
            return
        self.complain(self.store.submit(LeaveSegments(status.topic, status.subscription, name, closes)))

    def action_acknowledge(self, every: bool) -> None:
        status, name = self.now.status, self._marked_name
        if not name:
            self.complain("there is no consumer that could acknowledge; a lets one join")
            return
        who = None if every else name
        self.complain(self.store.submit(AcknowledgeSegments(status.topic, status.subscription, who)))

    def action_split(self) -> None:
        self.complain(self.store.submit(SplitSegment(self.now.status.topic, self.segment)))

    def action_wait(self, duration_ms: int) -> None:
        self.complain(self.store.submit(PassTime(duration_ms)))

    def answer(self, kind: str, text: str) -> Rejection | None:
        line = {
            "join": f"consumer join {text}",
            "send": f"segment send {text}",
            "traffic": f"segment rate {text if ' ' in text else f'all {text}'}",
        }.get(kind)
        if line is None or not text:
            return super().answer(kind, text)
        group = self.now.status.subscription
        if kind == "join" and group and " to " not in text:
            line += f" to {quote(group)}"
        return self.done(self.store.submit_line(line))

    # questions

    def action_explain(self) -> None:
        self.ask("explain", "key", text=self.topic if self._asked == "key" else "", placeholder="a key of messages")

    def explain(self, text: str) -> Rejection | None:
        self._show_answer("key", text)
        return None

    def action_why(self) -> None:
        self._show_answer("why")

    def action_ahead(self) -> None:
        self._show_answer("ahead")

    def action_changes(self) -> None:
        self._show_answer("changes", str(self.segment))

    def action_diff(self) -> None:
        if self.store.shown.timeline.cursor == 0:
            self.complain("no step was taken yet that could be compared")
            return
        self._show_answer("diff")

    def action_heirs(self) -> None:
        if not self._marked_name:
            self.complain("there is no consumer that could go; a lets one join")
            return
        self._show_answer("heirs", self._marked_name)

    def _show_answer(self, asked: str, about: str = "") -> None:
        self._asked, self.topic = asked, about
        self.key_hash = hashes_of_key(about).segment_hash if asked == "key" else -1
        titles = {
            "key": self.explanation_title,
            "why": "what is wrong",
            "ahead": "what happens next by itself",
            "diff": "what the last step changed",
            "changes": f"what a change of segment {about} moves",
            "heirs": f"if {shorten_middle(safe_name(about), 30)} goes",
        }
        self.side.explain(self._remarks_now(), title=titles[asked])

    def _remarks_now(self) -> tuple[Remark, ...]:
        """The answer, or what is shown until that of a large topic is computed."""
        answer = self._question()
        if len(self.now.segments) <= MOST_AT_ONCE:
            return remarks_of(answer())
        run_beside(self, partial(self._answer_later, answer), group="answer", exclusive=True)
        return (Remark("", "being computed"),)

    async def _answer_later(self, answer: Callable[[], Sequence[Point]]) -> None:
        view, question = self.now, (self._asked, self.topic)
        points = await in_background(answer)
        if self.is_current and view is self.now and question == (self._asked, self.topic):
            self.remarks = remarks_of(points)

    def _question(self) -> Callable[[], Sequence[Point]]:
        """What computes the answer, of values that stay as they are."""
        view, about = self.now, self.topic
        match self._asked:
            case "key":
                return partial(key_points, view, about)
            case "why":
                return partial(why_points, view)
            case "ahead":
                return partial(next_points, view)
            case "diff":
                return partial(_diff_points, self.store.shown.timeline, view)
            case "changes":
                return partial(change_points, view, int(about))
        return partial(heir_points, view, about)

    def explain_again(self) -> None:
        self.remarks = self._remarks_now()

    @on(ExplainPanel.Closed)
    def _answer_closed(self) -> None:
        self.key_hash = -1

    @on(ListPanel.Opened)
    def _opened_in_list(self, message: ListPanel.Opened) -> None:
        self.selected = message.row_id
        self.action_heirs()

    @on(LineTable.Opened, "#segments")
    def _opened_segment(self) -> None:
        self.action_changes()

    def about(self) -> list[Group]:
        return [("what comes next", [KeyHelp("", line) for line in next_step_lines(self.now.view.next)])]

    def select_text(self, text: str) -> None:
        """Put the cursor on a consumer."""
        numbers = [row.number for row in self.now.consumers if row.name == text]
        if numbers:
            self.selected = numbers[0]
        else:
            self.complain(f"{text!r} is not a consumer of this subscription")


def _diff_points(timeline: Timeline, now: ScalableDashboard) -> tuple[Point, ...]:
    """What the last step changed. Folds the steps before it again, so it may take long."""
    if timeline.cursor:
        earlier = find_scalable_topic(timeline.state_at(timeline.cursor - 1), now.status.topic)
        if earlier is not None:
            return step_points(simulated_view(earlier.running), now.view)
    return (Point("new", "no step before this one has the topic", main=True),)


def remarks_of(points: Iterable[Point]) -> tuple[Remark, ...]:
    """The points of an answer as the panel shows them."""
    return tuple(
        Remark(safe_name(one.label), safe_name(one.text), one.main, "bad" if one.bad else "active") for one in points
    )


def _totals(view: ScalableDashboard) -> tuple[str, ...]:
    row = view.subscription
    if row is None:
        return ("no subscription",)
    sums = f"{row.type} · backlog {row.backlog:,} · {row.unacked:,} unacked"
    idle = sum(one.idle for one in row.consumers)
    return (f"{sums} · {idle:,} idle" if idle else sums, sums, row.type)


def happening_line(one: Happening, width: int, colours: Palette) -> Text:
    """One line of the events: the time, and what happened."""
    style = hex_colour(colours.warn) if one.what in ("stuck", "refused") else ""
    text = Text(no_wrap=True)
    text.append(f"{clock(one.at_ms)} ", hex_colour(colours.dim))
    return text.append(shorten_middle(safe_name(happening_text(one)), max(8, width - text.cell_len)), style)


def clock(at_ms: int) -> str:
    """A time of day, or of a simulation that began at none.

    >>> clock(75_000), clock(1_764_316_800_000)
    ('00:01:15', '08:00:00')
    """
    seconds = at_ms // 1000
    return f"{seconds // 3600 % 24:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
