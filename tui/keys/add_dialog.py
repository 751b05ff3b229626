"""The dialog of the ``a`` key of a Key_Shared subscription: a name, ranges where consumers declare them, refusals."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import ComposeResult
from textual.containers import Vertical

from engine.cluster.commands import AddConsumer
from engine.cluster.grammar import parse_command
from engine.cluster.state import ClusterState
from engine.errors import Rejection
from tui.kit.dialog import Dialog
from tui.kit.plain_text import PlainLabel
from tui.kit.typed_line import TypedLine

Ranges = tuple[tuple[int, int], ...]


class AddKeyConsumerScreen(Dialog):
    """Connects one consumer.

    ``ranges`` is the proposal for the field of the ranges; None leaves that field out.
    """

    def __init__(
        self,
        subscription: str,
        told: str,
        suggested: str,
        do: Callable[[AddConsumer], Rejection | None],
        *,
        ranges: str | None = None,
        note: str = "",
    ) -> None:
        super().__init__(f"add a consumer to {told}")
        self._subscription = subscription
        self._suggested = suggested
        self._do = do
        self._ranges = ranges
        self._note = note

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield PlainLabel("name", classes="dialog--label")
            yield TypedLine(self._suggested, id="name")
            if self._ranges is not None:
                yield PlainLabel("ranges of slots it declares", classes="dialog--label")
                yield TypedLine(self._ranges, id="ranges", placeholder="0-16383,32768-49151")
            yield PlainLabel("", classes="dialog--error")
            if self._note:
                yield PlainLabel(self._note, classes="dialog--label")
            fields = ", tab next field" if self._ranges is not None else ""
            yield PlainLabel(f"enter connects{fields}, escape cancels", classes="dialog--help")

    def submit(self) -> None:
        """Connect it, or say what is wrong and where."""
        ranges: Ranges | Rejection | None = None
        if self._ranges is not None:
            ranges = ranges_typed(self.text_of("ranges"))
        if isinstance(ranges, Rejection):
            self.complain(ranges.message, "ranges")
            return
        self.finish(self._do(AddConsumer(self._subscription, self.text_of("name"), ranges=ranges)))

    def field_of(self, refused: Rejection) -> str:
        return "name" if self._ranges is None or refused.field == "name" else "ranges"


def ranges_typed(text: str) -> Ranges | Rejection:
    """Ranges as the grammar reads them; blanks between them do no harm, and no text is no range."""
    word = "".join(text.split()) or "-"
    command = parse_command(f"add x ranges {word} to y", ClusterState())
    if isinstance(command, Rejection):
        return command
    assert isinstance(command, AddConsumer), "the line adds a consumer"
    return command.ranges or ()
