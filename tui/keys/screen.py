"""The screen of a Key_Shared subscription: who gets which key, what waits for whom, and whether it is luck."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.reactive import var

from engine.cluster.commands import Acknowledge, PassTime, SendKeys, ShareKeys
from engine.cluster.keys.state import SharingMode
from engine.errors import Rejection
from engine.scenarios.selecting import resolve_selection
from engine.text import counted
from engine.views.failover.model import RingView
from engine.views.keys.model import (
    ConsumerKeysView,
    GapRow,
    KeyAnswer,
    KeyConsumerRow,
    KeysStatus,
    KeysView,
    LuckView,
    WaitRow,
)
from engine.views.reported.model import Comparison, ReportedView
from themes import stylesheet
from tui.keys.bindings import BINDINGS, ELSEWHERE, GROUPS
from tui.keys.consumers import CONSUMERS
from tui.keys.dialogs import AddKeyConsumerScreen, OwnedKeysScreen, SendKeysScreen, ShareKeysScreen
from tui.keys.lines import (
    gap_heading,
    gap_line,
    reported_wait_heading,
    reported_wait_line,
    sent_line,
    wait_heading,
    wait_line,
    waits_title,
    waits_words,
)
from tui.keys.panels import LuckPanel, keys_status_parts
from tui.keys.words import (
    NO_PARTITIONS,
    gap_sentence,
    key_remarks,
    keys_foot_texts,
    keys_hint,
    keys_hint_with,
    keys_state_hint,
    luck_title,
    mode_in_few_words,
    moves_sentence,
    partitions_sentence,
    slots_title,
    wait_sentence,
)
from tui.kit.background import in_background, run_beside
from tui.kit.columns import Lines
from tui.kit.event_list import EventList, Happened, event_line, happened
from tui.kit.help import Group, KeyHelp
from tui.kit.line_table import LineTable
from tui.kit.list_panel import ListPanel, kept
from tui.kit.plain_text import PlainStatic, set_title
from tui.kit.reported import blocked_ids, sums_texts, table_remark
from tui.kit.ring_panel import RingPanel
from tui.kit.screen import DashboardScreen
from tui.kit.status_line import Part
from tui.kit.text_panels import ExplainPanel
from tui.kit.why_panel import WhyPanel
from tui.kit.wording import next_name

NOTICES_AT_ONCE: Final = 5
"""How many waits and gaps the notices describe in full."""
FIRST_KEY: Final = "order-1"
"""Proposed where no key is known."""
_ALL_STOP: Final = "all nodes stop, then start with the ranges of the new number of nodes"
SLOTS_LEGEND: Final[Group] = (
    "on the ring",
    (
        KeyHelp("outside", "the owner of each slot; gaps without an owner have the colour of the background"),
        KeyHelp("inside", "how much of the slots each consumer has, where arcs are too narrow to read"),
        KeyHelp("dots", "known keys at their slots, in the colour of their consumer; what is sent runs to it"),
        KeyHelp("small dots", "outside, for three seconds after a step: who had the slots before"),
        KeyHelp("!", "slots where messages wait; in the table, who lost slots although another joined or left"),
        KeyHelp("*", "reported by brokers at the time in the title, until a step of the simulation; ! there: blocked"),
        KeyHelp(
            "/", "reported otherwise than by the model: outside and cells are the model, inside and strokes reported"
        ),
        KeyHelp("hash map", "the same slots row by row, from 0 on"),
    ),
)


class KeysScreen(DashboardScreen[KeysView]):
    """Slots, consumers, what waits, gaps, luck, events, and what was sent."""

    CSS_PATH = stylesheet("keys")
    BINDINGS: ClassVar[list[BindingType]] = [*BINDINGS]
    AUTO_FOCUS = "#table"
    key_groups = GROUPS
    elsewhere = ELSEWHERE
    kind = "keys"
    legend = SLOTS_LEGEND
    panel_titles: ClassVar[dict[str, str]] = {
        "ring": "[1] slots",
        "waits": "[3] what waits",
        "gaps": "[4] gaps",
        "luck": "uneven by chance?",
        "sent": "[6] sent",
    }
    zoomable = ("ring", "consumers", "waits", "gaps", "luck", "explain", "events", "sent")
    inside: ClassVar[dict[str, str]] = {"consumers": "table", "waits": "waiting"}

    consumers: var[tuple[KeyConsumerRow, ...]] = var(())
    totals: var[tuple[str, ...]] = var(())
    ring: var[RingView | None] = var(None)
    few_words: var[tuple[str, ...]] = var(())
    waits: var[tuple[WaitRow, ...]] = var((), init=False)
    waiting: var[frozenset[int]] = var(frozenset())
    """The slots where messages wait."""
    gaps: var[tuple[GapRow, ...]] = var((), init=False)
    luck: var[LuckView | None] = var(None)
    event_lines: var[tuple[Happened, ...]] = var(())
    deliveries: var[tuple[str, ...]] = var(())
    reported: var[ReportedView | None] = var(None, init=False)
    """What brokers said of the subscription; None from the first step of the simulation on."""
    remark: var[str] = var("")
    marks: var[tuple[int, ...]] = var(())
    blocked: var[frozenset[int]] = var(frozenset())
    compared: var[Comparison | None] = var(None)

    _sent_last = ""
    _partition: int | None = None
    """The partition that is shown alone; None: all of them."""

    def status_parts(self, status: KeysStatus, saved: str, width: int) -> list[Part]:
        return keys_status_parts(status, saved, width, self.store.shown.title)

    def compose_panels(self) -> ComposeResult:
        cls, ascii_only = KeysScreen, self.ascii_only
        ring = RingPanel(id="ring", classes="panel", ascii_only=ascii_only)
        ring.flashes = self.animate_changes
        yield ring.data_bind(
            cls.few_words,
            cls.ring,
            cls.selected,
            cls.topic,
            cls.colours,
            cls.waiting,
            cls.marks,
            cls.blocked,
            cls.compared,
            rows=cls.consumers,
            dots="keys",
        )
        with Vertical(id="side"):
            yield ListPanel(CONSUMERS, ascii_only=ascii_only, id="consumers").data_bind(
                cls.selected, cls.totals, cls.colours, cls.remark, rows=cls.consumers
            )
            with Vertical(id="waits", classes="panel"):
                yield LineTable(id="waiting")
                yield PlainStatic(id="wait-meaning")
            yield LineTable(id="gaps", classes="panel")
            yield LuckPanel(id="luck", classes="panel", ascii_only=ascii_only).data_bind(cls.luck, cls.colours)
            yield ExplainPanel(id="explain", classes="panel").data_bind(cls.remarks)
            yield WhyPanel(id="why", classes="panel").data_bind(cls.colours)
        slots = partial(event_line, noun="slot")
        yield EventList(slots, title="[5] events", id="events").data_bind(cls.colours, entries=cls.event_lines)
        yield EventList(sent_line, id="sent").data_bind(cls.colours, entries=cls.deliveries)

    # the view

    @property
    def now(self) -> KeysView:
        view = self._narrowed() or self._shown
        assert view is not None, "this screen is shown for Key_Shared subscriptions"
        return view

    def _narrowed(self) -> KeysView | None:
        """The view of the chosen partition; of all where the subscription has no such partition (any more)."""
        view = self.store.shown.keys_view
        if view is None or self._partition is None or self._partition >= view.status.partitions:
            return view
        return self.store.shown.keys_view_of(self._partition)

    def is_next_step(self, before: KeysView, view: KeysView) -> bool:
        same = (before.status.subscription, before.status.partition) == (
            view.status.subscription,
            view.status.partition,
        )
        return same and super().is_next_step(before, view)

    @property
    def row_ids(self) -> Sequence[int]:
        return [row.consumer_id for row in self.now.consumers]

    def take(self, view: KeysView) -> None:
        self.selected = kept([row.consumer_id for row in view.consumers], self.selected)
        self.set_class(bool(view.gaps) and bool(view.consumers), "-gaps")
        self.consumers = view.consumers
        self.reported = view.reported if view.reported is not None and not view.reported.computed_from else None
        self.totals = keys_foot_texts(view.foot) if self.reported is None else sums_texts(self.reported)
        self.remark = table_remark(view.reported)
        self.marks = () if self.reported is None else self.reported.marks
        self.blocked = blocked_ids(view.consumers)
        self.compared = None if view.reported is None else view.reported.comparison
        self.few_words = mode_in_few_words(view)
        set_title(self.query_one("#ring"), slots_title(view))
        self.waiting = frozenset(wait.slot for wait in view.waits)
        self.ring = view.ring
        self.waits = view.waits
        self._list_waits()  # its rule changes with the mode, also where nothing waits
        self.gaps = view.gaps
        self.luck = view.luck
        self.deliveries = view.deliveries
        self.event_lines = happened(view.events, view.reported)

    def hint(self) -> str:
        return keys_hint(self.now)

    def hint_with(self, notice: str) -> str:
        return keys_hint_with(self.now, notice)

    def watch_colours(self) -> None:
        super().watch_colours()
        if self._shown is not None:
            self._list_waits()
            self.watch_gaps()

    # consumers

    def action_add(self) -> None:
        self._ask_to_add()

    def _ask_to_add(self, ranges: str = "") -> None:
        view = self.now
        gap = view.gaps[0] if view.gaps else None
        proposed = ranges or (f"{gap.start}-{gap.end}" if gap is not None else "")
        status = view.status
        self.app.push_screen(
            AddKeyConsumerScreen(
                status.subscription,
                self.store.shown.title,
                next_name(row.name for row in self.consumers),
                self.add_consumer,
                ranges=proposed if status.mode is SharingMode.STICKY else None,
                note=_ALL_STOP if status.client_side and self.consumers else "",
            )
        )

    @on(ListPanel.Opened)
    def _opened_in_list(self, message: ListPanel.Opened) -> None:
        self.open_owned(message.row_id)

    def open_owned(self, consumer_id: int) -> None:
        """List the slots and keys of a consumer."""
        row = next((row for row in self.now.consumers if row.consumer_id == consumer_id), None)
        if row is None or not self.in_front:  # gone since the table was drawn
            return
        if self.store.is_large:
            run_beside(self, partial(self._list_owned, row), group="owned", exclusive=True)
        else:
            self._open_list(self.store.shown.keys_of_consumer(consumer_id, self._partition_shown), row)

    async def _list_owned(self, row: KeyConsumerRow) -> None:
        """List them once they are known: tens of thousands of slots take longer than a key may."""
        shown = self.store.shown
        view = await in_background(shown.keys_of_consumer, row.consumer_id, self._partition_shown)
        if self.is_current and self.store.shown is shown:
            self._open_list(view, row)

    def _open_list(self, view: ConsumerKeysView, row: KeyConsumerRow) -> None:
        self.app.push_screen(OwnedKeysScreen(view, row, self.colours), self._explain_chosen)

    def _explain_chosen(self, key: str | None) -> None:
        if key:
            self.complain(self.explain(key))

    # partitions

    @property
    def _partition_shown(self) -> int | None:
        """The partition of the view, None for all."""
        partition = self.now.status.partition
        return partition if partition >= 0 else None

    def action_partition(self) -> None:
        view = self.now.partitions
        if view is None:
            self.complain(NO_PARTITIONS)
            return
        last = len(view.rows) - 1
        text = "" if self._partition_shown is None else str(self._partition_shown)
        options = [str(row.partition) for row in view.rows if row.messages or row.keys]
        self.ask("partition", "partition", text=text, placeholder=f"0 to {last}, or nothing for all", options=options)

    def action_step_partition(self, by: int) -> None:
        """Go on to the next partition, or to the one before; before the first one and after the last are all."""
        count = self.now.status.partitions
        if not count:
            self.complain(NO_PARTITIONS)
            return
        place = (self.now.status.partition + 1 + by) % (count + 1)
        self.complain(self.show_partition(None if place == 0 else place - 1))

    def show_partition(self, partition: int | None) -> Rejection | None:
        """Narrow the screen to a partition, or widen it to all (None)."""
        count = self.now.status.partitions
        if partition is not None and not 0 <= partition < count:
            message = f"there is no partition {partition}; write 0 to {count - 1}" if count else NO_PARTITIONS
            return Rejection("PartitionNotFound", message)
        self._partition = partition
        self.show_now()
        return None

    def answer(self, kind: str, text: str) -> Rejection | None:
        """Carry out what was typed."""
        if kind != "partition":
            return super().answer(kind, text)
        if text and not (text.isascii() and text.isdecimal() and len(text) < 10):
            return Rejection("PartitionNotFound", f"{text[:20]!r} is not a number of a partition")
        return self.show_partition(int(text) if text else None)

    # the mode, messages, time

    def action_mode(self) -> None:
        status, title = self.now.status, self.store.shown.title
        self.app.push_screen(ShareKeysScreen(status.subscription, title, status.mode.value, status.points, self._share))

    def _share(self, command: ShareKeys) -> Rejection | None:
        return self.done(self.store.submit(command))

    def action_send(self) -> None:
        names = self.ring.topic_names if self.ring is not None else ()
        proposed = self.topic or self._sent_last or (names[0] if names else FIRST_KEY)
        title = self.store.shown.title
        self.app.push_screen(SendKeysScreen(self.store.shown.key, title, proposed, names, self._send))

    def _send(self, command: SendKeys) -> Rejection | None:
        refused = self.done(self.store.submit(command))
        if refused is None:
            self._sent_last = command.keys[0]
        return refused

    def action_acknowledge(self, count: int) -> None:
        if self.selected < 0:
            self.complain("there is no consumer that could acknowledge")
            return
        self.complain(self.store.submit(Acknowledge(self.store.shown.key, self.selected, count=count)))

    def action_wait(self, duration_ms: int) -> None:
        self.complain(self.store.submit(PassTime(duration_ms)))

    # what waits, and gaps

    def _list_waits(self) -> None:
        """List the oldest first; below the rows is what the marked one means."""
        if self.reported is not None:
            self._list_reported(self.reported)
            return
        waits, rows, colours = self.waits, self.consumers, self.colours
        messages = counted(self.now.foot.waiting, "message")
        amount = f"{messages} at {counted(len(waits), 'slot')}" if waits else "nothing"
        set_title(self.query_one("#waits"), f"[3] what waits ({amount})")
        self.query_one("#waiting", LineTable).lines = Lines(
            len(waits),
            lambda index, width: wait_line(waits[index], rows, width, colours),
            partial(wait_heading, partitioned=self.now.status.partitions > 0) if waits else None,
        )
        self.set_class(bool(waits), "-waiting")
        self._describe_wait()

    def _list_reported(self, reported: ReportedView) -> None:
        """List the slots that drain by what brokers reported, those where most was held back first."""
        waits, rows, colours = reported.waits, self.consumers, self.colours
        set_title(self.query_one("#waits"), f"[3] what waits ({waits_title(reported)})")
        self.query_one("#waiting", LineTable).lines = Lines(
            len(waits),
            lambda index, width: reported_wait_line(waits[index], rows, width, colours),
            reported_wait_heading if waits else None,
        )
        self.set_class(bool(waits), "-waiting")
        self._describe_wait()

    @on(LineTable.Moved, "#waiting")
    def _describe_wait(self) -> None:
        if self.reported is not None:
            at = self.query_one("#waiting", LineTable).cursor
            words = waits_words(self.reported, [row.name for row in self.consumers], at)
            self.query_one("#wait-meaning", PlainStatic).update(words)
            return
        # The view that the waits are of; the store may have another one by now.
        view, at = self._shown or self.now, self.query_one("#waiting", LineTable).cursor
        text = wait_sentence(view, self.waits[at]) if self.waits else view.status.order_rule
        self.query_one("#wait-meaning", PlainStatic).update(text)

    @on(LineTable.Opened, "#waiting")
    def _opened_wait(self, message: LineTable.Opened) -> None:
        if self.reported is not None:
            holder = self.reported.waits[message.index].holder
            if holder >= 0:
                self.selected = self.consumers[holder].consumer_id
            return
        keys = self.waits[message.index].keys
        if keys:
            self.complain(self.explain(keys[0]))

    def watch_gaps(self) -> None:
        """List the widest first."""
        gaps, table, colours = self.gaps, self.query_one("#gaps", LineTable), self.colours
        table.lines = Lines(len(gaps), lambda index, width: gap_line(gaps[index], width, colours), gap_heading)
        set_title(table, f"[4] gaps ({counted(self.now.foot.unowned_slots, 'slot')})")

    @on(LineTable.Opened, "#gaps")
    def _opened_gap(self, message: LineTable.Opened) -> None:
        gap = self.gaps[message.index]
        self._ask_to_add(f"{gap.start}-{gap.end}")

    # explanations

    def action_explain(self) -> None:
        is_quick = self.selected >= 0 and not self.store.is_large
        rows = self.store.shown.keys_of_consumer(self.selected, self._partition_shown).keys if is_quick else ()
        names = self.ring.topic_names if self.ring is not None else ()
        waiting = next((wait.keys[0] for wait in self.waits if wait.keys), "")
        default = self.topic or waiting or (rows[0].text if rows else names[0] if names else "")
        self.ask("explain", "explain key", text=default, placeholder="a key, hex:00ff or base64:AP8=", options=names)

    def explain(self, text: str) -> Rejection | None:
        if self.store.is_large:
            run_beside(self, partial(self._explain_later, text), group="explain", exclusive=True)
            return None
        return self._explained(self.store.shown.explain_key_text(text))

    async def _explain_later(self, text: str) -> None:
        """Explain it once that is computed: finding the rivals among tens of thousands of ranges takes a while."""
        shown = self.store.shown
        answer = await in_background(shown.explain_key_text, text)
        if self.store.shown is shown:
            self.complain(self._explained(answer))

    def _explained(self, answer: KeyAnswer | Rejection) -> Rejection | None:
        if isinstance(answer, Rejection):
            return answer
        self.topic = answer.text
        self.side.explain(key_remarks(answer))
        return None

    def explain_again(self) -> None:
        if self.store.is_large:
            run_beside(self, partial(self._explain_later, self.topic), group="explain", exclusive=True)
            return
        answer = self.store.shown.explain_key_text(self.topic)
        if not isinstance(answer, Rejection):
            self.remarks = key_remarks(answer)

    def about(self) -> list[Group]:
        view = self.now
        waits = [KeyHelp(f"{wait.slot}", wait_sentence(view, wait)) for wait in view.waits[:NOTICES_AT_ONCE]]
        gaps = [KeyHelp("", gap_sentence(gap)) for gap in view.gaps[:NOTICES_AT_ONCE]]
        rules = [KeyHelp("", f"{view.status.rule_text}."), KeyHelp("", f"{view.status.order_rule}.")]
        return [
            ("what you are looking at", [KeyHelp("", keys_state_hint(view))]),
            ("the rule", rules),
            ("the last step", [KeyHelp("", moves_sentence(view.moves))]),
            (luck_title(view.luck), [KeyHelp("", view.luck.sentence)]),
            ("what waits", waits),
            ("gaps", gaps),
            ("partitions", [KeyHelp("", partitions_sentence(view))] if view.partitions is not None else []),
        ]

    # panels and scripts

    def action_panel(self, panel: str) -> None:
        if panel == "gaps" and not self.gaps:
            self.complain("there are no gaps: every slot has an owner" if self.consumers else "nobody is connected")
        else:
            super().action_panel(panel)

    def select_text(self, text: str) -> None:
        """Put the cursor on a consumer, or explain a key."""
        selection = resolve_selection(self.store.timeline, text, self.store.shown.place)
        if isinstance(selection, Rejection):
            self.complain(selection)
        elif selection.kind == "consumer":
            self.selected = selection.consumer_id
        elif selection.kind == "partition":
            self.complain(self.show_partition(selection.partition))
        elif selection.kind == "key":
            self.complain(self.explain(selection.topic))
        else:
            self.complain(f"{text!r} is a bundle; bundles are listed on the screen of a Failover subscription")
