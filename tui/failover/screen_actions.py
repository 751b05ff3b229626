"""What the keys of the main screen do to the cluster, to time and to the panels."""

from __future__ import annotations

from textual import on

from engine.cluster.commands import SetSetting
from engine.errors import Rejection
from engine.scenarios.selecting import resolve_selection
from tui.failover.add_consumer import AddConsumerScreen
from tui.failover.bundle_tree import TOPICS_AT_ONCE, BundleTree
from tui.failover.consumer_table import ConsumerTable
from tui.failover.screen_questions import MainQuestions
from tui.kit.line_table import LineTable
from tui.kit.naming import next_name
from tui.kit.wording import FLAG, flag_unknown


class MainActions(MainQuestions):
    """Keys that change the cluster or move among panels, and what the panels and scripts report."""

    # change

    def action_add(self) -> None:
        if not self.store.subscription_key:
            self.complain("there is no subscription that a consumer could connect to")
            return
        names = [row.name for row in self.consumers]
        key, told = self.store.subscription_key, self.store.subscription_told()
        self.app.push_screen(AddConsumerScreen(key, told, next_name(names), self.add))

    def action_toggle_flag(self) -> None:
        status = self.store.view.status
        if not status.flag_known:
            self.complain(flag_unknown(status))
            return
        self.complain(self.store.submit(SetSetting(FLAG, "false" if status.consistent_hashing else "true")))

    # panels

    def action_next_look(self) -> None:
        if self.has_class("-bundles-only"):
            self.action_panel("ring")
        else:
            super().action_next_look()

    # scripts

    def select_text(self, text: str) -> None:
        """Put the cursor on what a script selects: a consumer, a bundle, or a topic, which is explained."""
        found = resolve_selection(self.store.timeline, text, self.store.subscription)
        if isinstance(found, Rejection):
            self.complain(found)
        elif found.kind == "consumer":
            self.selected = found.consumer_id
        elif found.kind == "topic":
            self.complain(self.explain(found.topic))
        else:
            self.mark_bundle(found.namespace, found.range_text)

    # messages of the panels

    @on(ConsumerTable.Selected)
    def _selected(self, message: ConsumerTable.Selected) -> None:
        if message.consumer_id in (row.consumer_id for row in self.now.consumers):
            self.selected = message.consumer_id

    @on(LineTable.Moved, "#many")
    def _moved_among_many(self, message: LineTable.Moved) -> None:
        self.selected = self.consumers_listed[message.index].consumer_id

    @on(LineTable.Opened, "#many")
    def _opened_of_many(self, message: LineTable.Opened) -> None:
        self._open_partitions(self.consumers_listed[message.index].consumer_id)

    @on(ConsumerTable.Opened)
    def _opened(self, message: ConsumerTable.Opened) -> None:
        self._open_partitions(message.consumer_id)

    @on(BundleTree.TopicsWanted)
    def _topics_wanted(self, message: BundleTree.TopicsWanted) -> None:
        topics = self.store.topics_of(message.bundle.namespace, message.bundle.range_text)
        shown = topics[message.offset : message.offset + TOPICS_AT_ONCE]
        self.query_one(BundleTree).show_topics(message.bundle, shown, message.offset, len(topics))
