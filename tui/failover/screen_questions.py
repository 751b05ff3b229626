"""What a person can ask on the main screen: the prompt, explanations, notices, partitions, split previews."""

from __future__ import annotations

from textual import on

from engine.errors import Rejection
from tui.bundles.screen import BundlesScreen
from tui.bundles.split_preview import SplitPreviewScreen
from tui.failover.bundle_tree import BundleKey, BundleTree
from tui.failover.explaining import remarks_of
from tui.failover.hints import state_hint
from tui.failover.partitions import PartitionsScreen
from tui.failover.screen_panels import MainPanels
from tui.kit.help import HelpScreen, KeyHelp


class MainQuestions(MainPanels):
    """The part of the main screen that asks the store without changing anything; refusals are said above the panels."""

    def action_explain(self) -> None:
        names = self.ring.topic_names if self.ring is not None else ()
        default = self.topic or self.store.busiest_partition_of(self.selected) or (names[0] if names else "")
        self.ask("explain", "explain topic", text=default, options=names)

    def explain(self, text: str) -> Rejection | None:
        """Open the explanation of a topic beside the ring; the topic stands out there."""
        told = self.store.explain(text)
        if isinstance(told, Rejection):
            return told
        self.topic = told.topic
        self.remarks = remarks_of(told)
        self.open_explanation()
        return None

    def explain_again(self) -> None:
        """The same topic in another state; close when it is gone."""
        if not self.has_class("-explaining"):
            return
        told = self.store.explain(self.topic)
        if isinstance(told, Rejection):
            self.close_explanation()
        else:
            self.remarks = remarks_of(told)

    def action_notices(self) -> None:
        view = self.store.view
        lines = [KeyHelp(f"{number}", notice.text) for number, notice in enumerate(view.notices, start=1)]
        groups = [("notices", lines or [KeyHelp("", "nothing to note about what is shown")])]
        self.app.push_screen(
            HelpScreen([("what is to be seen", [KeyHelp("", state_hint(view))]), *groups], title="notices")
        )

    def _open_partitions(self, consumer_id: int) -> None:
        row = next((row for row in self.now.consumers if row.consumer_id == consumer_id), None)
        if row is None:  # gone since the table was drawn
            return
        rows = self.store.partitions_of(consumer_id)
        screen = PartitionsScreen(row.name, row.msgs_per_sec, rows, self.colours)
        self.app.push_screen(screen, self._partition_chosen)

    def _partition_chosen(self, topic: str | None) -> None:
        if topic:
            self.complain(self.explain(topic))

    @on(BundleTree.TopicChosen)
    def _topic_chosen(self, message: BundleTree.TopicChosen) -> None:
        self.complain(self.explain(message.topic))

    def mark_bundle(self, namespace: str, range_text: str) -> None:
        """Put the tree's cursor on a bundle."""
        self.query_one(BundleTree).mark(BundleKey(namespace, range_text))

    def action_split(self) -> None:
        bundle = self.query_one(BundleTree).marked_bundle()
        if bundle is None:
            self.complain("there is no bundle to split")
            return
        view = self.store.previews(bundle.namespace, bundle.range_text)
        self.app.push_screen(SplitPreviewScreen(view, self._split, self.colours, ascii_only=self.ascii_only))

    def action_bundles(self) -> None:
        """Open the namespace of the marked bundle over time."""
        bundle = self.query_one(BundleTree).marked_bundle()
        if bundle is None:
            self.complain("there is no namespace whose bundles could be shown")
            return
        state = self.store.timeline.state
        screen = BundlesScreen(state, bundle.namespace, lambda: self.colours, ascii_only=self.ascii_only)
        self.app.push_screen(screen)

    def _split(self, line: str) -> Rejection | None:
        return self.done(self.store.submit_line(line))
