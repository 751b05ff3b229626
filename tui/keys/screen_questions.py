"""What a person can ask on the screen for Key_Shared subscriptions, and going from panel to panel there."""

from __future__ import annotations

from typing import ClassVar

from engine.errors import Rejection
from tui.keys.explaining import key_remarks
from tui.keys.hints import keys_state_hint
from tui.keys.owned_dialog import OwnedKeysScreen
from tui.keys.screen_slices import KeysSlices
from tui.keys.words import gap_told, luck_title, moves_told, wait_told
from tui.kit.help import HelpScreen, KeyHelp

TOLD_AT_ONCE = 5
"""How many waits and gaps the notices tell in full."""


class KeysQuestions(KeysSlices):
    """The part of the screen that asks the store without changing anything; refusals are said above the panels."""

    zoomable: ClassVar[tuple[str, ...]] = ("ring", "consumers", "waits", "gaps", "luck", "explain", "events", "sent")
    inside: ClassVar[dict[str, str]] = {"consumers": "table", "waits": "waiting"}

    def action_explain(self) -> None:
        rows = self.store.keys_of_consumer(self.selected).keys if self.selected >= 0 else ()
        names = self.ring.topic_names if self.ring is not None else ()
        waiting = next((wait.keys[0] for wait in self.waits if wait.keys), "")
        default = self.topic or waiting or (rows[0].text if rows else names[0] if names else "")
        self.ask("explain", "explain key", text=default, placeholder="a key, hex:00ff or base64:AP8=", options=names)

    def explain(self, text: str) -> Rejection | None:
        """Open the explanation of a key beside the ring; where it is known it stands out there."""
        told = self.store.explain_key_text(text)
        if isinstance(told, Rejection):
            return told
        self.topic = told.text
        self.remarks = key_remarks(told)
        self.open_explanation()
        return None

    def explain_again(self) -> None:
        """The same key in another state."""
        if self.has_class("-explaining"):
            told = self.store.explain_key_text(self.topic)
            if not isinstance(told, Rejection):
                self.remarks = key_remarks(told)

    def action_notices(self) -> None:
        view = self.now
        waits = [KeyHelp(f"{wait.slot}", wait_told(view, wait)) for wait in view.waits[:TOLD_AT_ONCE]]
        gaps = [KeyHelp("", gap_told(gap)) for gap in view.gaps[:TOLD_AT_ONCE]]
        notices = [KeyHelp(f"{number}", notice.text) for number, notice in enumerate(view.notices, start=1)]
        rules = [KeyHelp("", f"{view.status.rule_text}."), KeyHelp("", f"{view.status.order_rule}.")]
        groups = [
            ("what is to be seen", [KeyHelp("", keys_state_hint(view))]),
            ("the rule", rules),
            ("the last step", [KeyHelp("", moves_told(view.moves))]),
            (luck_title(view.luck), [KeyHelp("", view.luck.sentence)]),
            ("what waits", waits),
            ("gaps", gaps),
            ("notices", notices or [KeyHelp("", "nothing else to note about what is shown")]),
        ]
        self.app.push_screen(HelpScreen([group for group in groups if group[1]], title="notices"))

    def open_owned(self, consumer_id: int) -> None:
        """List the slots and keys of a consumer."""
        row = next((row for row in self.now.consumers if row.consumer_id == consumer_id), None)
        if row is None or not self.in_front:  # gone since the table was drawn
            return
        screen = OwnedKeysScreen(self.store.keys_of_consumer(consumer_id), row, self.colours)
        self.app.push_screen(screen, self._key_chosen)

    def _key_chosen(self, key: str | None) -> None:
        if key is not None:
            self.complain(self.explain(key))

    def action_panel(self, panel: str) -> None:
        if panel == "gaps" and not self.gaps:
            self.complain("there are no gaps: every slot has an owner" if self.consumers else "nobody is connected")
        else:
            super().action_panel(panel)
