"""A dialog and a screen around one table, whose rows can be filtered, sorted, copied and exported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widget import Widget

from engine.text import counted
from themes import stylesheet
from tui.kit.bindings import Binding
from tui.kit.columns import AS_THEY_COME, Row, Table
from tui.kit.exporting import EXPORT_HINT, as_text, export
from tui.kit.help import HelpScreen, key_groups
from tui.kit.line_table import LineTable, RowsTable
from tui.kit.plain_text import PlainStatic
from tui.kit.prompt import Prompt
from tui.kit.screens import RingsideModal, RingsideScreen
from tui.kit.typed_commands import Typed, ask_for_command, carry_out
from tui.kit.wording import shorten_middle


class TableDialog(RingsideModal[str]):
    """Holds a head, a table and a prompt; is dismissed with the text that ``chosen`` gives, or with ""."""

    CSS_PATH = stylesheet("dialogs")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "Close"),
        Binding("slash", "filter", "Filter"),
        Binding("y", "copy", "Copy"),
        Binding("e", "export", "Export"),
        Binding("question_mark", "help", "Help", key_display="?"),
    ]

    filename: ClassVar[str] = "rows.csv"
    """The name that is offered for an export."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: Sequence[Any] = ()
        self._table: Table[Any] | None = None
        self._texts_of: Callable[[Any], Iterable[str | None]] = lambda _row: ()
        self._filter = ""

    def compose_head(self) -> Iterable[Widget]:
        """Make the widgets above the table."""
        return ()

    def compose_box(self) -> ComposeResult:
        with Vertical(classes="dialog -wide -tall"):
            yield from self.compose_head()
            yield RowsTable(beside=True)
            yield PlainStatic(id="said")
            yield Prompt()

    @property
    def table(self) -> RowsTable[Any]:
        """The table itself; its ``listed`` rows are those that match the filter."""
        return self.query_one(RowsTable)

    def show_rows(
        self,
        rows: Sequence[Row],
        table: Table[Row],
        texts_of: Callable[[Row], Iterable[str | None]],
    ) -> None:
        """Show other rows, all of them and unsorted; a filter searches the texts that ``texts_of`` gives for a row."""
        self._rows, self._table, self._texts_of = rows, table, texts_of
        self._filter, self.table.order = "", AS_THEY_COME
        self._list()
        self.table.cursor = 0

    def _list(self) -> None:
        if self._table is None:
            return
        part, texts_of = self._filter.casefold(), self._texts_of

        def fits(row: Any) -> bool:
            return any(part in (text or "").casefold() for text in texts_of(row))

        self.table.show(self._rows, self._table.lines, self._table.value, fits if part else None)

    @on(RowsTable.Arranged)
    def _say_how_many_fit(self) -> None:
        """Say how many rows fit the filter."""
        rows = f"{len(self.table.listed):,} of {counted(len(self._rows), 'row')}"
        self._say(f"{rows} with {shorten_middle(self._filter, 40)}; escape shows all" if self._filter else "")

    def _say(self, text: str) -> None:
        self.query_one("#said", PlainStatic).update(text)

    def action_close(self) -> None:
        """Take the filter away first, where there is one."""
        if self._filter:
            self._filter = ""
            self._list()
        else:
            self.dismiss("")

    def action_filter(self) -> None:
        self._ask("filter", "/", text=self._filter, placeholder="a part of a name")

    def action_export(self) -> None:
        self._ask("export", "export to", text=self.filename, placeholder=EXPORT_HINT)

    def action_copy(self) -> None:
        """Copy the marked row."""
        text = as_text(self.table.marked_record())
        if text:
            self.app.copy_to_clipboard(text)
        self._say(f"copied the marked row: {counted(len(text.splitlines()), 'line')}" if text else "nothing to copy")

    def action_help(self) -> None:
        """List the keys of this window and of its table."""
        groups = (("in this window", _bindings_of(type(self))), ("in the table", _bindings_of(RowsTable)))
        self.app.push_screen(HelpScreen(key_groups(groups, self.app)))

    def _ask(self, kind: str, mark: str, *, text: str, placeholder: str) -> None:
        self.query_one(Prompt).ask(kind, mark, text=text, placeholder=placeholder)

    @on(Prompt.Typed)
    def _typed(self, message: Prompt.Typed) -> None:
        if message.kind == "filter":
            self._filter = message.text
            self._list()

    @on(Prompt.Closed)
    def _prompt_closed(self, message: Prompt.Closed) -> None:
        if message.kind == "filter":
            self._filter = ""
            self._list()

    @on(Prompt.Answered)
    def _answered(self, message: Prompt.Answered) -> None:
        prompt = self.query_one(Prompt)
        if message.kind == "export":
            export(self, self.table, prompt, message.text, lambda _kind, text: self._say(text))
            return
        prompt.accept(message.text)

    @on(LineTable.Opened)
    def _opened(self, message: LineTable.Opened) -> None:
        message.stop()
        self.chosen(self.table.listed[message.index])

    def chosen(self, row: Any) -> None:
        """Called for enter on a row; a dialog that opens something overrides this."""


def _bindings_of(kind: type[Widget]) -> list[Binding]:
    """Our bindings of a class and those above it, the class's own first."""
    return [
        binding
        for above in kind.mro()
        for binding in above.__dict__.get("BINDINGS", ())
        if isinstance(binding, Binding)
    ]


class TableScreen(RingsideScreen[None]):
    """Its ``compose`` yields one ``RowsTable`` and one ``Prompt``."""

    filename: ClassVar[str] = "rows.csv"
    """The name that is offered for an export."""

    def say(self, kind: str, text: str) -> None:
        """Show what was done (``done``) or refused (``refusal``)."""
        raise NotImplementedError

    def typed_commands(self) -> Mapping[str, Typed]:
        """What the command line takes, by the first word."""
        raise NotImplementedError

    @property
    def table(self) -> RowsTable[Any]:
        return self.query_one(RowsTable)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Let nothing be copied, exported or typed before the screen has its parts."""
        return action not in ("copy", "export", "command") or bool(self.query(Prompt))

    def action_copy(self) -> None:
        """Copy the marked row."""
        text = as_text(self.table.marked_record())
        if text:
            self.app.copy_to_clipboard(text)
            self.say("done", f"copied the marked row: {counted(len(text.splitlines()), 'line')}")
        else:
            self.say("refusal", "there is nothing to copy")

    def action_export(self) -> None:
        self.query_one(Prompt).ask("export", "export to", text=self.filename, placeholder=EXPORT_HINT)

    def action_command(self) -> None:
        ask_for_command(self.query_one(Prompt), self.typed_commands())

    @on(Prompt.Answered)
    def _answered(self, message: Prompt.Answered) -> None:
        prompt, text = self.query_one(Prompt), message.text.strip()
        if message.kind == "export":
            export(self, self.table, prompt, text, self.say)
            return
        refused = carry_out(self, self.typed_commands(), text) if text else None
        if refused is None:
            prompt.accept(text)
        else:
            prompt.complain(str(refused))
