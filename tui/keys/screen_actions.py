"""What the keys of the screen for Key_Shared subscriptions do to the cluster and to the panels."""

from __future__ import annotations

from typing import Final

from textual import on

from engine.cluster.commands import Acknowledge, PassTime, SendKeys, ShareKeys
from engine.errors import Rejection
from engine.scenarios.selecting import resolve_selection
from tui.keys.add_dialog import AddKeyConsumerScreen
from tui.keys.mode_dialog import ShareKeysScreen
from tui.keys.screen_questions import KeysQuestions
from tui.keys.send_dialog import SendKeysScreen
from tui.kit.line_table import LineTable
from tui.kit.naming import next_name

WAIT_MS: Final = 10
"""How much time ``w`` lets pass."""
FIRST_KEY: Final = "order-1"
"""Proposed where no key is known."""
_ALL_STOP: Final = "all nodes stop, then start with the ranges of the new number of nodes"


class KeysActions(KeysQuestions):
    """Keys that change the cluster or move among panels, and what the panels and scripts report."""

    _sent_last = ""

    # change

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
                self.store.subscription_told(),
                next_name(row.name for row in self.consumers),
                self.add,
                ranges=proposed if status.mode == "sticky" else None,
                note=_ALL_STOP if status.client_side and self.consumers else "",
            )
        )

    def action_mode(self) -> None:
        status = self.now.status
        told = self.store.subscription_told()
        self.app.push_screen(ShareKeysScreen(status.subscription, told, status.mode, status.points, self._share))

    def _share(self, command: ShareKeys) -> Rejection | None:
        return self.done(self.store.submit(command))

    def action_send(self) -> None:
        names = self.ring.topic_names if self.ring is not None else ()
        proposed = self.topic or self._sent_last or (names[0] if names else FIRST_KEY)
        told = self.store.subscription_told()
        self.app.push_screen(SendKeysScreen(self.store.subscription_key, told, proposed, names, self._send))

    def _send(self, command: SendKeys) -> Rejection | None:
        refused = self.done(self.store.submit(command))
        if refused is None:
            self._sent_last = command.keys[0]
        return refused

    def action_acknowledge(self, count: int) -> None:
        if self.selected < 0:
            self.complain("there is no consumer that could acknowledge")
            return
        self.complain(self.store.submit(Acknowledge(self.store.subscription_key, self.selected, count=count)))

    def action_wait(self) -> None:
        self.complain(self.store.submit(PassTime(WAIT_MS)))

    # scripts

    def select_text(self, text: str) -> None:
        """Put the cursor on what a script selects: a consumer, else a key, which is explained."""
        found = resolve_selection(self.store.timeline, text, self.store.subscription)
        if isinstance(found, Rejection):
            self.complain(found)
        elif found.kind == "consumer":
            self.selected = found.consumer_id
        elif found.kind == "key":
            self.complain(self.explain(found.topic))
        else:
            self.complain(f"{text!r} is a bundle; those stand on the screen of a Failover subscription")

    # messages of the panels

    @on(LineTable.Moved, "#table")
    def _moved_among_consumers(self, message: LineTable.Moved) -> None:
        self.selected = self.consumers_listed[message.index].consumer_id

    @on(LineTable.Opened, "#table")
    def _opened_consumer(self, message: LineTable.Opened) -> None:
        self.open_owned(self.consumers_listed[message.index].consumer_id)

    @on(LineTable.Opened, "#waiting")
    def _opened_wait(self, message: LineTable.Opened) -> None:
        keys = self.waits[message.index].keys
        if keys:
            self.complain(self.explain(keys[0]))

    @on(LineTable.Opened, "#gaps")
    def _opened_gap(self, message: LineTable.Opened) -> None:
        gap = self.gaps[message.index]
        self._ask_to_add(f"{gap.start}-{gap.end}")
