"""The dialog of the ``t`` and ``T`` keys: a message key or none, and how many messages each sends."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Label

from engine.cluster.producer_commands import SendByProducers
from engine.errors import Rejection
from themes import stylesheet
from tui.wording import shorten_middle


class SendByProducersScreen(ModalScreen[None]):
    """Stays open until the messages are sent or escape is pressed; ``number`` None is every producer."""

    CSS_PATH = stylesheet("dialogs")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel"),
        Binding("down", "app.focus_next", "Next field", show=False),
        Binding("up", "app.focus_previous", "Previous field", show=False),
    ]

    def __init__(
        self, topic: str, number: int | None, who: str, key: str, do: Callable[[SendByProducers], Rejection | None]
    ) -> None:
        super().__init__()
        self._topic = topic
        self._number = number
        self._who = who
        self._key = key
        self._do = do

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Label("how many messages", classes="dialog--label")
            yield Input("1", id="times", compact=True, restrict=r"[0-9]*", max_length=9)
            yield Label("key (nothing: no key, so the router decides)", classes="dialog--label")
            yield Input(self._key, id="key", compact=True)
            yield Label("", classes="dialog--error", markup=False)
            yield Label("enter sends, down next field, escape cancels", classes="dialog--help")

    def on_mount(self) -> None:
        """Show who sends; the cursor must not blink, so that a picture is a picture."""
        self.query_one(Vertical).border_title = f"send by {shorten_middle(self._who, 40)}"
        for field in self.query(Input):
            field.cursor_blink = False

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._complain("")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Send them, or say what is wrong and where."""
        event.stop()
        times = self.query_one("#times", Input).value
        if not times:
            self._complain("write how many messages are sent, 1 or more", "times")
            return
        key = self.query_one("#key", Input).value or None
        refused = self._do(SendByProducers(self._topic, self._number, key, int(times)))
        if refused is None:
            self.dismiss()
        else:
            self._complain(str(refused), "key" if refused.field == "key" else "times")

    def _complain(self, text: str, field: str = "") -> None:
        label = self.query_one(".dialog--error", Label)
        label.update(text)
        label.set_class(bool(text), "-shown")
        if field:
            self.query_one(f"#{field}", Input).focus()

    def action_cancel(self) -> None:
        self.dismiss()
