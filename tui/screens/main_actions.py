"""What the keys of the main screen do to the cluster, to time and to the panels."""

from __future__ import annotations

from typing import Final

from textual import on
from textual.widget import Widget

from engine.cluster.commands import AddConsumer, KillConsumer, SetSetting
from engine.cluster.timeline_commands import End, Home, Redo, Undo
from engine.errors import Rejection
from tui.naming import next_name
from tui.screens.add_consumer import AddConsumerScreen
from tui.screens.main_playing import MainPlaying
from tui.widgets.bundle_tree import TOPICS_AT_ONCE, BundleTree
from tui.widgets.consumer_table import ConsumerTable
from tui.widgets.line_table import LineTable
from tui.widgets.ring_panel import RingLook, RingPanel
from tui.wording import FLAG, flag_unknown

ZOOMABLE: Final = ("ring", "consumers", "bundles", "explain", "events")


class MainActions(MainPlaying):
    """Keys that change the cluster, move in time or among panels, and what the panels report."""

    # change

    def action_add(self) -> None:
        if not self.store.subscription_key:
            self.complain("there is no subscription that a consumer could connect to")
            return
        names = [row.name for row in self._main.consumers]
        self.app.push_screen(AddConsumerScreen(self.store.subscription_key, next_name(names), self._add))

    def _add(self, command: AddConsumer) -> Rejection | None:
        refused = self.store.submit(command)
        if refused is None:
            added = [row.consumer_id for row in self.store.view.consumers if row.name == command.name]
            self._main.selected = max(added, default=self._main.selected)
            self.complain(None)
        return refused

    def action_kill(self) -> None:
        if self._main.selected < 0:
            self.complain("there is no consumer to kill" + ("; a adds one" if self.store.subscription_key else ""))
            return
        rows = self._main.consumers
        at = next((i for i, row in enumerate(rows) if row.consumer_id == self._main.selected), 0)
        neighbour = rows[at + 1] if at + 1 < len(rows) else rows[at - 1]
        refused = self.store.submit(KillConsumer(self.store.subscription_key, self._main.selected))
        if refused is None:
            self._main.selected = neighbour.consumer_id
        self.complain(refused)

    def action_toggle_flag(self) -> None:
        status = self.store.view.status
        if not status.flag_known:
            self.complain(flag_unknown(status))
            return
        self.complain(self.store.submit(SetSetting(FLAG, "false" if status.consistent_hashing else "true")))

    # time

    def action_undo(self) -> None:
        self.complain(self.store.submit(Undo()))

    def action_redo(self) -> None:
        self.complain(self.store.submit(Redo()))

    def action_home(self) -> None:
        self.complain(self.store.submit(Home()))

    def action_end(self) -> None:
        self.complain(self.store.submit(End()))

    def action_step(self, count: int) -> None:
        self.store.step_by(count)
        self.complain(None)

    # panels

    def action_next_look(self) -> None:
        if self.has_class("-bundles-only"):
            self.action_panel("ring")
            return
        self._main.look = self.query_one(RingPanel).look_in_use.following()
        if self._main.look is RingLook.FOCUS and self._main.selected < 0:
            self._main.look = RingLook.RING

    def action_panel(self, panel: str) -> None:
        """Focus a panel; when one is zoomed, that one takes its place."""
        if panel in ("ring", "consumers") and self.has_class("-bundles-only"):
            self.complain("there is no Failover subscription here, so there is no ring and no consumer")
            return
        if self._main.zoomed and self._main.zoomed != panel:
            self._main.zoomed = panel
        if panel in ("consumers", "bundles") and self.has_class("-explaining"):
            self.remove_class("-explaining")
            self._main.topic = ""
        target = self.query_one(f"#{panel}")
        if panel == "consumers":
            target = self.query_one("#many" if self.has_class("-many") else "#table")
        target.focus()

    def action_zoom(self) -> None:
        if self._main.zoomed:
            self._main.zoomed = ""
            return
        focused = self.focused
        while focused is not None and focused.id not in ZOOMABLE:
            focused = focused.parent if isinstance(focused.parent, Widget) else None
        self._main.zoomed = focused.id or "ring" if focused is not None else "ring"

    def action_back(self) -> None:
        """Undo what was opened, the last first: zoom, explanation, filter, refusal."""
        if self._main.zoomed:
            self._main.zoomed = ""
        elif self.has_class("-explaining"):
            self._close_explanation()
        elif self._main.filter_text:
            self._main.filter_text = ""
        else:
            self.complain(None)

    def action_subscription(self, by: int) -> None:
        self.store.show_subscription(by)

    # messages of the panels

    @on(ConsumerTable.Selected)
    def _selected(self, message: ConsumerTable.Selected) -> None:
        self._main.selected = message.consumer_id

    @on(RingPanel.Step)
    def _stepped_on_ring(self, message: RingPanel.Step) -> None:
        ids = [row.consumer_id for row in self._main.consumers]
        if ids:
            at = ids.index(self._main.selected) if self._main.selected in ids else -1
            self._main.selected = ids[(at + message.by) % len(ids)]

    @on(LineTable.Moved, "#many")
    def _moved_among_many(self, message: LineTable.Moved) -> None:
        self._main.selected = self._main.consumers_listed[message.index].consumer_id

    @on(LineTable.Opened, "#many")
    def _opened_of_many(self, message: LineTable.Opened) -> None:
        self._open_partitions(self._main.consumers_listed[message.index].consumer_id)

    @on(ConsumerTable.Opened)
    def _opened(self, message: ConsumerTable.Opened) -> None:
        self._open_partitions(message.consumer_id)

    @on(BundleTree.TopicsWanted)
    def _topics_wanted(self, message: BundleTree.TopicsWanted) -> None:
        topics = self.store.topics_of(message.bundle.namespace, message.bundle.range_text)
        shown = topics[message.offset : message.offset + TOPICS_AT_ONCE]
        self.query_one(BundleTree).show_topics(message.bundle, shown, message.offset, len(topics))
