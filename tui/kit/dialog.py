"""What the dialogs that change the cluster have in common: fields, a refusal below them, enter and escape."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input

from engine.errors import Rejection
from themes import stylesheet
from tui.kit.plain_text import PlainLabel, set_title
from tui.kit.steady import SteadyModal


class Dialog(SteadyModal[None]):
    """Stays open until what it asks for is done or escape is pressed; a refusal shows below the fields."""

    CSS_PATH = stylesheet("dialogs")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel"),
        Binding("down", "app.focus_next", "Next field", show=False),
        Binding("up", "app.focus_previous", "Previous field", show=False),
    ]

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title

    def on_mount(self) -> None:
        """Say what it is for; the cursor must not blink, so that a picture is a picture."""
        set_title(self.query_one(Vertical), self._title)
        for field in self.query(Input):
            field.cursor_blink = False

    def text_of(self, field: str) -> str:
        """What stands in a field."""
        return self.query_one(f"#{field}", Input).value

    def on_input_changed(self, event: Input.Changed) -> None:
        """What was refused is being mended."""
        event.stop()
        self.complain("")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter, in whatever field."""
        event.stop()
        self.submit()

    def submit(self) -> None:
        """Do what is asked for, or say what is wrong and where."""
        raise NotImplementedError

    def field_of(self, refused: Rejection) -> str:
        """The id of the field that a refusal is about, "" for none of them."""
        raise NotImplementedError

    def finish(self, refused: Rejection | None) -> None:
        """Close where it is done, else tell the refusal and go to the field that it is about."""
        if refused is None:
            self.dismiss()
        else:
            self.complain(str(refused), self.field_of(refused))

    def complain(self, text: str, field: str = "") -> None:
        """Show what is wrong below the fields; "" takes it back."""
        label = self.query_one(".dialog--error", PlainLabel)
        label.update(text)
        label.set_class(bool(text), "-shown")
        if field:
            self.query_one(f"#{field}", Input).focus()

    def action_cancel(self) -> None:
        self.dismiss()
