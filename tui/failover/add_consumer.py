"""The dialog of the ``a`` key: a name, a priority level, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import ComposeResult
from textual.containers import Vertical

from engine.cluster.commands import AddConsumer
from engine.errors import Rejection
from tui.kit.dialog import Dialog
from tui.kit.plain_text import PlainLabel
from tui.kit.typed_line import TypedLine


class AddConsumerScreen(Dialog):
    """Connects one consumer."""

    def __init__(
        self, subscription: str, told: str, suggested: str, do: Callable[[AddConsumer], Rejection | None]
    ) -> None:
        super().__init__(f"add a consumer to {told}")
        self._subscription = subscription
        self._suggested = suggested
        self._do = do

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield PlainLabel("name", classes="dialog--label")
            yield TypedLine(self._suggested, id="name")
            yield PlainLabel("priority level (lower is first)", classes="dialog--label")
            yield TypedLine("0", id="priority", restrict=r"[-+]?[0-9]*", max_length=11)
            yield PlainLabel("", classes="dialog--error")
            yield PlainLabel("enter connects, tab next field, escape cancels", classes="dialog--help")

    def submit(self) -> None:
        """Connect it, or say what is wrong and where."""
        level = self.text_of("priority").strip() or "0"
        try:
            number = int(level)
        except ValueError:
            self.complain(f"{level!r} is no priority level: write a whole number, 0 comes before 1", "priority")
            return
        self.finish(self._do(AddConsumer(self._subscription, self.text_of("name"), number)))

    def field_of(self, refused: Rejection) -> str:
        return "priority" if "priority" in refused.field.lower() else "name"
