"""The dialog of the ``t`` key: a message key, and how many messages are sent with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.suggester import SuggestFromList

from engine.cluster.commands import SendKeys
from engine.errors import Rejection
from tui.kit.dialog import Dialog
from tui.kit.plain_text import PlainLabel
from tui.kit.typed_line import TypedLine


class SendKeysScreen(Dialog):
    """Sends messages; known keys complete what is typed."""

    def __init__(
        self,
        subscription: str,
        told: str,
        proposed: str,
        known: Sequence[str],
        do: Callable[[SendKeys], Rejection | None],
    ) -> None:
        super().__init__(f"send messages to {told}")
        self._subscription = subscription
        self._proposed = proposed
        self._known = known
        self._do = do

    def compose(self) -> ComposeResult:
        known = SuggestFromList(self._known, case_sensitive=True) if self._known else None
        with Vertical(classes="dialog"):
            yield PlainLabel("key (text, hex:00ff or base64:AP8=)", classes="dialog--label")
            yield TypedLine(self._proposed, id="key", suggester=known)
            yield PlainLabel("how many messages", classes="dialog--label")
            yield TypedLine("1", id="times", restrict=r"[0-9]*", max_length=9)
            yield PlainLabel("", classes="dialog--error")
            yield PlainLabel("enter sends, right completes, tab next field, escape cancels", classes="dialog--help")

    def submit(self) -> None:
        """Send them, or say what is wrong and where."""
        times = self.text_of("times")
        if not times:
            self.complain("write how many messages are sent, 1 or more", "times")
            return
        self.finish(self._do(SendKeys(self._subscription, (self.text_of("key"),), int(times))))

    def field_of(self, refused: Rejection) -> str:
        return "times" if refused.field == "times" else "key"
