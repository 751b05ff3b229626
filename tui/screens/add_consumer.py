"""The dialog of the ``a`` key: a name, a priority level, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Label

from engine.cluster.commands import AddConsumer
from engine.errors import Rejection
from themes import stylesheet
from tui.wording import safe_name


class AddConsumerScreen(ModalScreen[None]):
    """Stays open until the consumer is connected or escape is pressed; a refusal shows below the fields."""

    CSS_PATH = stylesheet("dialogs")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel"),
        Binding("down", "app.focus_next", "Next field", show=False),
        Binding("up", "app.focus_previous", "Previous field", show=False),
    ]

    def __init__(self, subscription: str, suggested: str, do: Callable[[AddConsumer], Rejection | None]) -> None:
        super().__init__()
        self._subscription = subscription
        self._suggested = suggested
        self._do = do

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Label("name", classes="dialog--label")
            yield Input(self._suggested, id="name", compact=True)
            yield Label("priority level (lower is first)", classes="dialog--label")
            yield Input("0", id="priority", compact=True, restrict=r"[-+]?[0-9]*", max_length=11)
            yield Label("", classes="dialog--error", markup=False)
            yield Label("enter connects, tab next field, escape cancels", classes="dialog--help")

    def on_mount(self) -> None:
        """Show whose consumer it will be; the cursor must not blink, so that a picture is a picture."""
        self.query_one(Vertical).border_title = f"add a consumer to {safe_name(self._subscription)}"
        for field in self.query(Input):
            field.cursor_blink = False

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._complain("")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Connect it, or say what is wrong and where."""
        event.stop()
        level = self.query_one("#priority", Input).value.strip() or "0"
        try:
            number = int(level)
        except ValueError:
            self._complain(f"{level!r} is no priority level: write a whole number, 0 comes before 1", "priority")
            return
        refused = self._do(AddConsumer(self._subscription, self.query_one("#name", Input).value, number))
        if refused is None:
            self.dismiss()
        else:
            self._complain(str(refused), "priority" if "priority" in refused.field.lower() else "name")

    def _complain(self, text: str, field: str = "") -> None:
        label = self.query_one(".dialog--error", Label)
        label.update(text)
        label.set_class(bool(text), "-shown")
        if field:
            self.query_one(f"#{field}", Input).focus()

    def action_cancel(self) -> None:
        self.dismiss()
