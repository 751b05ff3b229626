"""The dialog of the ``t`` and ``T`` keys: a message key or none, and how many messages each sends."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import ComposeResult
from textual.containers import Vertical

from engine.cluster.producer_commands import SendByProducers
from engine.errors import Rejection
from tui.kit.dialog import Dialog
from tui.kit.plain_text import PlainLabel
from tui.kit.typed_line import TypedLine
from tui.kit.wording import shorten_middle


class SendByProducersScreen(Dialog):
    """Sends messages by the producer with this number, by every one where it is None."""

    def __init__(
        self, topic: str, number: int | None, who: str, key: str, do: Callable[[SendByProducers], Rejection | None]
    ) -> None:
        super().__init__(f"send by {shorten_middle(who, 40)}")
        self._topic = topic
        self._number = number
        self._key = key
        self._do = do

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield PlainLabel("how many messages", classes="dialog--label")
            yield TypedLine("1", id="times", restrict=r"[0-9]*", max_length=9)
            yield PlainLabel("key (nothing: no key, so the router decides)", classes="dialog--label")
            yield TypedLine(self._key, id="key")
            yield PlainLabel("", classes="dialog--error")
            yield PlainLabel("enter sends, down next field, escape cancels", classes="dialog--help")

    def submit(self) -> None:
        """Send them, or say what is wrong and where."""
        times = self.text_of("times")
        if not times:
            self.complain("write how many messages are sent, 1 or more", "times")
            return
        key = self.text_of("key") or None
        self.finish(self._do(SendByProducers(self._topic, self._number, key, int(times))))

    def field_of(self, refused: Rejection) -> str:
        return "key" if refused.field == "key" else "times"
