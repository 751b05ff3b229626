"""The dialog of the ``a`` key of a Key_Shared subscription: a name, ranges where consumers declare them, refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Label

from engine.cluster.commands import AddConsumer
from engine.cluster.grammar import parse_command
from engine.cluster.state import ClusterState
from engine.errors import Rejection
from themes import stylesheet
from tui.wording import safe_name

Ranges = tuple[tuple[int, int], ...]


class AddKeyConsumerScreen(ModalScreen[None]):
    """Stays open until the consumer is connected or escape is pressed; a refusal shows below the fields.

    ``ranges`` is the proposal for the field of the ranges; None leaves that field out.
    """

    CSS_PATH = stylesheet("dialogs")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel"),
        Binding("down", "app.focus_next", "Next field", show=False),
        Binding("up", "app.focus_previous", "Previous field", show=False),
    ]

    def __init__(
        self,
        subscription: str,
        suggested: str,
        do: Callable[[AddConsumer], Rejection | None],
        *,
        ranges: str | None = None,
        note: str = "",
    ) -> None:
        super().__init__()
        self._subscription = subscription
        self._suggested = suggested
        self._do = do
        self._ranges = ranges
        self._note = note

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Label("name", classes="dialog--label")
            yield Input(self._suggested, id="name", compact=True)
            if self._ranges is not None:
                yield Label("ranges of slots it declares", classes="dialog--label")
                yield Input(self._ranges, id="ranges", placeholder="0-16383,32768-49151", compact=True)
            yield Label("", classes="dialog--error", markup=False)
            if self._note:
                yield Label(self._note, classes="dialog--label", markup=False)
            fields = ", tab next field" if self._ranges is not None else ""
            yield Label(f"enter connects{fields}, escape cancels", classes="dialog--help")

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
        ranges: Ranges | Rejection | None = None
        if self._ranges is not None:
            ranges = ranges_typed(self.query_one("#ranges", Input).value)
        if isinstance(ranges, Rejection):
            self._complain(ranges.message, "ranges")
            return
        refused = self._do(AddConsumer(self._subscription, self.query_one("#name", Input).value, ranges=ranges))
        if refused is None:
            self.dismiss()
        else:
            about_name = self._ranges is None or refused.field == "name"
            self._complain(str(refused), "name" if about_name else "ranges")

    def _complain(self, text: str, field: str = "") -> None:
        label = self.query_one(".dialog--error", Label)
        label.update(text)
        label.set_class(bool(text), "-shown")
        if field:
            self.query_one(f"#{field}", Input).focus()

    def action_cancel(self) -> None:
        self.dismiss()


def ranges_typed(text: str) -> Ranges | Rejection:
    """Ranges as the grammar reads them; blanks between them do no harm, and no text is no range."""
    word = "".join(text.split()) or "-"
    command = parse_command(f"add x ranges {word} to y", ClusterState())
    if isinstance(command, Rejection):
        return command
    assert isinstance(command, AddConsumer), "the line adds a consumer"
    return command.ranges or ()
