"""A what-if on the picture of a running cluster: its steps, what they move, and how they would be done there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.widget import Widget

from engine.text import counted
from engine.views.admin_lines import AdminLine, pasted
from engine.views.comparing.handovers import ChangeView
from themes.palettes import Palette, hex_colour
from tui.kit.bindings import Binding
from tui.kit.columns import Cell, ScreenColumn, numbers, table_of, texts
from tui.kit.plain_text import PlainStatic, set_title
from tui.kit.table_screens import TableDialog
from tui.kit.verdict_words import judgement_colour, verdict_text
from tui.kit.wording import safe_name

BEGUN = (
    "what-if: this picture stays while the cluster goes on; add, kill, set and split as usual,"
    " W lists how a cluster does it, f5 leaves it"
)


class WhatIfScreen(TableDialog):
    """One row for each step; ``y`` copies the lines for a shell. Ringside itself changes nothing in a cluster."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("W", "dismiss('')", "Close", show=False),
        Binding("y", "copy", "Copy the pulsar-admin lines"),
    ]
    filename = "what-if.csv"

    def __init__(self, lines: Sequence[AdminLine], change: ChangeView | None, colours: Palette) -> None:
        super().__init__()
        self._admin_lines = lines
        self._change = change
        self._colours = colours

    def compose_head(self) -> Iterable[Widget]:
        yield PlainStatic(id="head")

    def on_mount(self) -> None:
        box, head, change = self.query_one(".dialog"), self.query_one("#head", PlainStatic), self._change
        set_title(box, f"what-if: {counted(len(self._admin_lines), 'step')} on the picture of the cluster")
        if change is not None:
            head.update(verdict_text(change.verdict, change.noun))
            head.styles.color = hex_colour(judgement_colour(change.verdict.judgement, self._colours))
        self.show_rows(self._admin_lines, table_of(_declared), lambda row: (row.text, row.line, row.remark))
        self.table.focus()

    def action_copy(self) -> None:
        """Copy the command lines of all steps; a step that ``pulsar-admin`` cannot do becomes a comment."""
        self.app.copy_to_clipboard(pasted(self._admin_lines))
        able = sum(bool(line.line) for line in self._admin_lines)
        rest = len(self._admin_lines) - able
        others = f"; {counted(rest, 'step')} that it cannot do are comments" if rest else ""
        self._say(f"copied {counted(able, 'pulsar-admin line')}{others}")


def _declared(sample: Sequence[AdminLine], _rows: Sequence[AdminLine], _width: int) -> list[ScreenColumn[AdminLine]]:
    whole = max((len(row.text) for row in sample), default=4) + 2
    line: Cell[AdminLine] = texts(lambda row: safe_name(row.line or f"({row.remark})"))
    return [
        ScreenColumn("step", "#", 4, numbers(lambda row: f"{row.step:,}"), lambda row: row.step),
        ScreenColumn(
            "name", "step", whole, texts(lambda row: safe_name(row.text)), lambda row: row.text,
            easy=min(whole, 28), least=12,
        ),
        ScreenColumn("line", "in a cluster", 30, line, lambda row: row.line or row.remark, rank=1, left=True, most=400),
    ]  # fmt: skip
