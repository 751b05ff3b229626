"""The dialog of the ``t`` key: a message key, and how many messages are sent with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.suggester import SuggestFromList
from textual.widgets import Input, Label

from engine.cluster.commands import SendKeys
from engine.errors import Rejection
from themes import stylesheet
from tui.wording import safe_name


class SendKeysScreen(ModalScreen[None]):
    """Stays open until the messages are sent or escape is pressed; known keys complete what is typed."""

    CSS_PATH = stylesheet("dialogs")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel"),
        Binding("down", "app.focus_next", "Next field", show=False),
        Binding("up", "app.focus_previous", "Previous field", show=False),
    ]

    def __init__(
        self, subscription: str, proposed: str, known: Sequence[str], do: Callable[[SendKeys], Rejection | None]
    ) -> None:
        super().__init__()
        self._subscription = subscription
        self._proposed = proposed
        self._known = known
        self._do = do

    def compose(self) -> ComposeResult:
        known = SuggestFromList(self._known, case_sensitive=True) if self._known else None
        with Vertical(classes="dialog"):
            yield Label("key (text, hex:00ff or base64:AP8=)", classes="dialog--label")
            yield Input(self._proposed, id="key", suggester=known, compact=True)
            yield Label("how many messages", classes="dialog--label")
            yield Input("1", id="times", compact=True, restrict=r"[0-9]*", max_length=9)
            yield Label("", classes="dialog--error", markup=False)
            yield Label("enter sends, right completes, tab next field, escape cancels", classes="dialog--help")

    def on_mount(self) -> None:
        """Show where it goes; the cursor must not blink, so that a picture is a picture."""
        self.query_one(Vertical).border_title = f"send messages to {safe_name(self._subscription)}"
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
        refused = self._do(SendKeys(self._subscription, (self.query_one("#key", Input).value,), int(times)))
        if refused is None:
            self.dismiss()
        else:
            self._complain(str(refused), "times" if refused.field == "times" else "key")

    def _complain(self, text: str, field: str = "") -> None:
        label = self.query_one(".dialog--error", Label)
        label.update(text)
        label.set_class(bool(text), "-shown")
        if field:
            self.query_one(f"#{field}", Input).focus()

    def action_cancel(self) -> None:
        self.dismiss()
