"""A screen around one table whose rows can be sorted, copied and exported, with a line for typed commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from textual import on

from engine.text import counted
from tui.kit.giving_away import EXPORT_HINT, as_text, export
from tui.kit.prompt import Prompt
from tui.kit.rows_table import RowsTable
from tui.kit.single_paint import SinglePaintScreen
from tui.kit.typed_commands import Typed, ask_for_command, carry_out


class TableScreen(SinglePaintScreen[None]):
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
        """The table itself."""
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
