"""Dialogs that ask for a command: fields, a refusal below them, enter and escape."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Generic, TypeVar

from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Input

from engine.errors import Rejection
from themes import stylesheet
from tui.kit.bindings import Binding
from tui.kit.plain_text import PlainLabel, set_title
from tui.kit.screens import RingsideModal

Answer = TypeVar("Answer")


class Dialog(RingsideModal[Answer], Generic[Answer]):
    """Asks for one thing, such as a command, and is dismissed with it once it is accepted, or with None by escape.

    ``accept`` carries the answer out; what it refuses is shown below the fields, and the dialog stays open.
    """

    CSS_PATH = stylesheet("dialogs")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,tab", "app.focus_next", "Next field", key_display="tab"),
        Binding("up", "app.focus_previous", "Previous field", show=False),
        Binding("escape", "cancel", "Cancel"),
    ]

    def __init__(self, title: str, accept: Callable[[Answer], Rejection | None]) -> None:
        super().__init__()
        self._title = title
        self._accept = accept

    def on_mount(self) -> None:
        set_title(self.query_one(Vertical), self._title)
        for field in self.query(Input):
            field.cursor_blink = False  # so that a picture is always the same

    def text_of(self, field: str) -> str:
        """Return what is typed in a field."""
        return self.query_one(f"#{field}", Input).value

    def on_input_changed(self, event: Input.Changed) -> None:
        """Take a refusal back while its cause is being corrected."""
        event.stop()
        self.complain("")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Answer: enter does so in every field."""
        event.stop()
        self.submit()

    def submit(self) -> None:
        """Call ``finish`` with what the fields say, or ``complain`` about a field."""
        raise NotImplementedError

    def field_of(self, refused: Rejection) -> str:
        """Return the id of the field that a refusal is about, "" for none of them."""
        raise NotImplementedError

    def finish(self, answer: Answer) -> None:
        """Close with an accepted answer; show what is refused, and go to the field that it is about."""
        refused = self._accept(answer)
        if refused is None:
            self.dismiss(answer)
        else:
            self.complain(str(refused), self.field_of(refused))

    def complain(self, text: str, field: str = "") -> None:
        """Show what is wrong below the fields; "" takes that back."""
        label = self.query_one(".dialog--error", PlainLabel)
        label.update(text)
        label.set_class(bool(text), "-shown")
        if field:
            self.query_one(f"#{field}", Input).focus()

    def action_submit(self) -> None:
        """What a click on the key of enter does."""
        self.submit()

    def action_cancel(self) -> None:
        self.dismiss()
