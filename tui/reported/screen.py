"""The screen of a subscription for which nothing is computed: topics, consumers and events as brokers reported them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

from rich.cells import cell_len
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.reactive import var

from engine.errors import Rejection
from engine.text import counted, moment_text
from engine.views.reported.model import ReportedConsumer
from engine.views.reported.subscription import SubscriptionRow, SubscriptionStatus, SubscriptionView, TopicRow
from themes.palettes import Palette, hex_colour
from tui.kit.bindings import BROKERS, COMMAND, HOME, MIGRATION, WHY, Binding, same_reason, screen_keys
from tui.kit.columns import ScreenColumn, Table, numbers, table_of, texts
from tui.kit.event_list import EventList, Happened, event_line, happened
from tui.kit.help import Group, KeyHelp
from tui.kit.line_table import RowsTable
from tui.kit.list_panel import ListPanel, RowForm, kept
from tui.kit.plain_text import set_title
from tui.kit.reported import (
    BLOCKED_SIGN,
    obstacle_texts,
    reported_columns,
    seen_text,
    sums_text,
    sums_texts,
    table_remark,
    tag_cell,
)
from tui.kit.screen import DashboardScreen
from tui.kit.status_line import GAP, KEPT, Part, Ranked, fitted_parts, place_among, saved_part, step_part
from tui.kit.text_panels import ExplainPanel
from tui.kit.why_panel import WhyPanel
from tui.kit.wording import UNKNOWN, Remark, known, quantity, safe_name, short_topic, shorten_middle

NOBODY = "nobody connected"


def type_text(kind: str) -> str:
    """The type of a subscription; nobody has one where nobody has connected since the topic was loaded."""
    return {"None": NOBODY, "unknown": "type unknown"}.get(kind, kind)


def reported_status_parts(status: SubscriptionStatus, saved: str, width: int, title: str = "") -> list[Part]:
    """Text and style of each part that fits ``width`` cells; the type is always one of them."""
    return fitted_parts(lambda cells: _parts(status, saved, cells, title), width)


def _parts(status: SubscriptionStatus, saved: str, name_cells: int, title: str) -> list[Ranked]:
    """All parts with how soon they may go: the highest number goes first."""
    keys = status.subscriptions
    several = place_among(keys.index(status.subscription), len(keys)) if status.subscription in keys else ""
    parts: list[Ranked] = [
        (6, " ringside", "$accent bold"),
        (KEPT, f" {shorten_middle(title or safe_name(status.subscription), name_cells)}", "bold"),
        (4, several, "$dim"),
        (0, f"{GAP}{type_text(status.type)}, as reported", "$warn bold"),
        (7, f"{GAP}Pulsar {status.release}", ""),
        step_part(status.step, status.steps),
        (8, f"{GAP}{safe_name(status.source)}" if status.source else "", "$dim"),
        saved_part(saved, status.steps, 11),
    ]
    return [part for part in parts if part[1]]


def reported_hint(view: SubscriptionView) -> str:
    """What is to be seen, and the key that shows more."""
    seen = view.reported
    kind = type_text(view.status.type)
    steps = " Steps of the simulation change nothing of it." if view.status.step else ""
    return (
        f"{kind}: nothing is computed here; {seen_text(seen.time)},"
        f" {counted(seen.dispatchers, 'topic')}, backlog {known(seen.backlog)}. w says why nothing arrives.{steps}"
    )


def consumer_remarks(row: SubscriptionRow, view: SubscriptionView) -> tuple[Remark, ...]:
    """All that was reported of one consumer."""
    seen = row.reported
    obstacles = obstacle_texts(seen, view.consumers)[0]
    remarks = [
        Remark("of", f"{safe_name(row.name)} of {safe_name(view.status.subscription)} ({view.status.type})"),
        Remark("seen", seen_text(view.reported.time).removeprefix("seen ")),
        Remark("blocked" if obstacles else "fine", obstacles or "it asks for messages and is not blocked", main=True),
        Remark("permits", known(seen.permits)),
        Remark("unacked", known(seen.unacked)),
        Remark("rate", UNKNOWN if seen.msgs_per_sec is None else f"{seen.msgs_per_sec:,.1f} messages per second"),
        Remark("got", moment_text(seen.last_consumed_ms)),
        Remark("acked", moment_text(seen.last_acked_ms)),
        Remark("since", safe_name(seen.connected_since) if seen.connected_since else "unknown"),
        Remark("client", safe_name(seen.client_version) if seen.client_version else "unknown"),
        Remark("address", safe_name(seen.address) if seen.address else "unknown"),
        Remark("all", sums_text(view.reported)),
    ]
    return tuple(remarks)


ASK: Final = (
    WHY,
    Binding("f", "explain", "Details", tooltip="All that was reported of the selected consumer"),
    Binding("i", "notices", "Notices", tooltip="Read all notices about what is shown"),
    Binding("slash", "filter", "Filter", key_display="/", tooltip="Filter the consumer table by name"),
    BROKERS,
    MIGRATION,
    COMMAND,
)
BINDINGS, _groups = screen_keys(
    (*ASK[:-3], HOME),
    (),
    ASK,
    ("ring", "Topics", "the topics"),
    ("consumers", "Consumers", "the consumers"),
    ("events", "Events", "the events"),
)
GROUPS: Final = _groups[1:]
ELSEWHERE: Final = same_reason(
    "axXcmhdtTrRoOP().>vsb",
    "nothing is computed for this type of subscription: what brokers reported is shown (w: why)",
)
"""Keys of the sister screens, and why they do nothing here."""
REPORTED_LEGEND: Group = (
    "in the tables",
    (
        KeyHelp("*", "reported by brokers at the time in the title; nothing here is computed"),
        KeyHelp("!", "cannot be served: a consumer, or a topic none of whose consumers can be"),
    ),
)


class ReportedScreen(DashboardScreen[SubscriptionView]):
    """Topics on the left, consumers on the right, what happened between moments below."""

    BINDINGS: ClassVar[list[BindingType]] = [*BINDINGS]
    AUTO_FOCUS = "#table"
    key_groups = GROUPS
    elsewhere = ELSEWHERE
    kind = "reported"
    legend = REPORTED_LEGEND
    zoomable = ("ring", "consumers", "explain", "events")
    explanation_title = "what was reported of a consumer"

    consumers: var[tuple[SubscriptionRow, ...]] = var(())
    totals: var[tuple[str, ...]] = var(())
    remark: var[str] = var("")
    happenings: var[tuple[Happened, ...]] = var(())

    def status_parts(self, status: SubscriptionStatus, saved: str, width: int) -> list[Part]:
        return reported_status_parts(status, saved, width, self.store.shown.title)

    def compose_panels(self) -> ComposeResult:
        cls = ReportedScreen
        yield RowsTable(id="ring", classes="panel", beside=True)
        with Vertical(id="side"):
            yield ListPanel(SUBSCRIBED, ascii_only=self.ascii_only, id="consumers").data_bind(
                cls.selected, cls.totals, cls.colours, cls.remark, rows=cls.consumers
            )
            yield ExplainPanel(id="explain", classes="panel").data_bind(cls.remarks)
            yield WhyPanel(id="why", classes="panel").data_bind(cls.colours)
        yield EventList(event_line, title="[3] events", id="events").data_bind(cls.colours, entries=cls.happenings)

    # the view

    @property
    def now(self) -> SubscriptionView:
        view = self.store.shown.reported_view or self._shown
        assert view is not None, "this screen is shown for subscriptions that brokers reported"
        return view

    @property
    def row_ids(self) -> Sequence[int]:
        return [row.consumer_id for row in self.now.consumers]

    def take(self, view: SubscriptionView) -> None:
        self.selected = kept([row.consumer_id for row in view.consumers], self.selected)
        self.consumers = view.consumers
        self.totals = sums_texts(view.reported)
        self.remark = table_remark(view.reported)
        self.happenings = happened(view.events, view.reported)
        self._list_topics(view)

    def _list_topics(self, view: SubscriptionView) -> None:
        table: RowsTable[TopicRow] = self.query_one("#ring", RowsTable)
        form = topics_table(view.consumers, self.colours)
        table.show(view.topics, form.lines, form.value)
        set_title(table, f"[1] topics ({len(view.topics):,})")

    def watch_colours(self) -> None:
        super().watch_colours()
        if self._shown is not None:
            self._list_topics(self._shown)

    def hint(self) -> str:
        return reported_hint(self.now)

    def hint_with(self, notice: str) -> str:
        return f"{reported_hint(self.now)} New (i): {notice}"

    # consumers

    @on(ListPanel.Opened)
    def _opened_in_list(self, message: ListPanel.Opened) -> None:
        self.selected = message.row_id
        self.action_explain()

    def action_explain(self) -> None:
        self.complain(self._explained())

    def _explained(self) -> Rejection | None:
        row = next((row for row in self.now.consumers if row.consumer_id == self.selected), None)
        if row is None:
            return Rejection("NotFound", "nobody is connected, so there is no consumer to describe", "select")
        self.topic = row.name
        self.side.explain(consumer_remarks(row, self.now))
        return None

    def explain(self, text: str) -> Rejection | None:
        ids = [row.consumer_id for row in self.now.consumers if row.name == text]
        if not ids:
            return Rejection("NotFound", f"{text!r} is not a consumer of this subscription", "select")
        self.selected = ids[0]
        return self._explained()

    def explain_again(self) -> None:
        row = next((row for row in self.now.consumers if row.name == self.topic), None)
        if row is None:
            self.close_side()
        else:
            self.remarks = consumer_remarks(row, self.now)

    def about(self) -> list[Group]:
        return [("what you are looking at", [KeyHelp("", reported_hint(self.now))])]

    def select_text(self, text: str) -> None:
        """Put the cursor on a consumer."""
        ids = [row.consumer_id for row in self.now.consumers if row.name == text]
        if ids:
            self.selected = ids[0]
        else:
            self.complain(f"{text!r} is not a consumer of this subscription")


_NAME_CELLS: Final = (9, 14, 40)
_TOPIC_CELLS: Final = (14, 24, 80)


def subscription_table(colours: Palette, _ascii_only: bool) -> Table[SubscriptionRow]:
    """The table of consumers: what was reported first, then rate, client and address."""

    def word(
        key: str, text: Callable[[ReportedConsumer], str], sample: Sequence[SubscriptionRow], rank: int
    ) -> ScreenColumn[SubscriptionRow]:
        longest = max((len(text(row.reported)) for row in sample), default=0)

        def shown(row: SubscriptionRow) -> str:
            return safe_name(text(row.reported)) if text(row.reported) else ""

        return ScreenColumn(
            key, f"*{key}", min(longest + 1, 24), texts(shown, hex_colour(colours.dim)),
            lambda row: text(row.reported), rank, left=True, there=bool(longest),
        )  # fmt: skip

    def declare(
        sample: Sequence[SubscriptionRow], rows: Sequence[SubscriptionRow], _width: int
    ) -> list[ScreenColumn[SubscriptionRow]]:
        longest = max((cell_len(safe_name(row.name)) for row in sample), default=0) + 1
        least, easy, most = _NAME_CELLS
        return [
            ScreenColumn(
                "tag", "", max((len(row.tag) for row in sample), default=1) + 2,
                lambda row, width: tag_cell(row.tag, row.colour, row.reported, width, colours), left=True,
            ),
            ScreenColumn(
                "name", "consumer", min(max(longest, least), most), texts(lambda row: safe_name(row.name)),
                lambda row: row.name, easy=easy, least=least,
            ),
            ScreenColumn(
                "rate", "*out/s", 7, numbers(lambda row: quantity(row.reported.msgs_per_sec)),
                lambda row: row.reported.msgs_per_sec, rank=3,
            ),
            *reported_columns(sample, rows, colours, rank=1, less=2),
            word("client", lambda seen: seen.client_version, sample, 4),
            word("address", lambda seen: seen.address, sample, 5),
        ]  # fmt: skip

    return table_of(declare)


SUBSCRIBED: Final[RowForm[SubscriptionRow]] = RowForm("consumer", lambda row: row.consumer_id, subscription_table)


def topics_table(consumers: Sequence[SubscriptionRow], colours: Palette) -> Table[TopicRow]:
    """The table of topics: backlog and unacked are always there; a sign marks those where nobody can be served."""
    bad, dim = f"bold {hex_colour(colours.bad)}", hex_colour(colours.dim)

    def count(
        key: str, width: int, number: Callable[[TopicRow], float | None], rank: int = 0, *, label: str = "", **how: Any
    ) -> ScreenColumn[TopicRow]:
        def known(row: TopicRow) -> float | None:
            value = number(row)
            return None if value is None else max(value, 0)

        def style(row: TopicRow) -> str:
            return dim if not known(row) else bad if row.blocked and key == "backlog" else ""

        cell = numbers(lambda row: quantity(known(row)), style)
        return ScreenColumn(key, f"*{label or key}", width, cell, number, rank, **how)

    def tag(row: TopicRow) -> str:
        return consumers[row.active].tag if row.active >= 0 else "-"

    def sign(row: TopicRow, width: int) -> Text:
        return Text((BLOCKED_SIGN if row.blocked else "").ljust(width), bad, no_wrap=True)

    def declare(sample: Sequence[TopicRow], _rows: Sequence[TopicRow], _width: int) -> list[ScreenColumn[TopicRow]]:
        longest = max((cell_len(short_topic(row.name)) for row in sample), default=0) + 1
        least, easy, most = _TOPIC_CELLS
        return [
            ScreenColumn("sign", "", 2, sign, left=True),
            ScreenColumn(
                "name", "topic", min(max(longest, least), most), texts(lambda row: short_topic(row.name)),
                lambda row: row.name, easy=easy, least=least,
            ),
            ScreenColumn(
                "active", "*active", 8, numbers(tag, "bold"), lambda row: row.active if row.active >= 0 else None,
                rank=1, there=any(row.active >= 0 for row in sample),
            ),
            count("backlog", 9, lambda row: row.backlog),
            count("unack", 9, lambda row: row.unacked, label="unacked"),
            count("replay", 8, lambda row: row.in_replay, 2, there=any(row.in_replay for row in sample)),
            count("delayed", 9, lambda row: row.delayed, 3, there=any(row.delayed for row in sample)),
            count("rate", 7, lambda row: row.msgs_per_sec, 4, label="out/s"),
            count("consumers", 11, lambda row: row.consumers, 5),
        ]  # fmt: skip

    return table_of(declare)
