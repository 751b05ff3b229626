"""Where the model and what brokers reported disagree: both sides, and the rule that the model went by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from rich.text import Text
from textual.binding import BindingType

from engine.text import counted
from engine.views.reported.model import Agreement, Disagreement
from tui.kit.bindings import Binding
from tui.kit.columns import Column, Columns, Lines, NameColumn, Order, Table, Value, fitting, table_lines
from tui.kit.plain_text import set_title
from tui.kit.table_screens import TableDialog
from tui.kit.wording import fit, safe_name

NARROW: Final = 90
"""Width in cells below which a row leaves out its details."""


def nothing_compared(subscription: str, *, steps: int) -> str:
    """Say why the list is empty; ``subscription`` is "" for a whole cluster."""
    if steps:
        return "A simulated state cannot be compared: press home to go back to what brokers reported."
    of = f" of {subscription}" if subscription else ""
    return f"Brokers reported no active consumer and no hash ranges{of} to compare."


class DifferencesScreen(TableDialog):
    """One row for each fact that differs."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("V", "dismiss('')", "Close", show=False)]
    filename = "differences.csv"

    def __init__(self, agreement: Agreement, subscription: str = "") -> None:
        """``subscription``: the only one whose facts were compared, "" for all of a cluster."""
        super().__init__()
        self._agreement = agreement
        self._of = f" of {subscription}" if subscription else ""

    def on_mount(self) -> None:
        box, agreement = self.query_one(".dialog"), self._agreement
        facts = f"{counted(agreement.compared, 'fact')}{self._of} compared"
        set_title(box, f"model and broker: {facts}, {agreement.agree:,} agree")
        self.show_rows(
            agreement.disagreements, Table(_lines, _value), lambda row: (row.topic, row.reported, row.modelled)
        )
        self.table.focus()


def _lines(rows: Sequence[Disagreement], order: Order) -> Lines:
    return table_lines(rows, _columns, _cell, order)


def _columns(rows: Sequence[Disagreement], width: int) -> Columns:
    whole = max((len(_subject(row)) for row in rows), default=5) + 2
    # In a narrow window names leave room for the fact: without it two consumers of a subscription would look alike.
    name = NameColumn("about", whole, min(whole, 20 if width < NARROW else 30), 16)
    sides = (Column("reported", "reported", 16, True, 60), Column("modelled", "model", 16, True, 60))
    kind, rule = Column("kind", "fact", 18, True, 40), Column("rule", "rule", 18, True, 60)
    likely = Column("likely", "likeliest reason", 18, True, 90)
    others = (kind, likely, rule) if any(row.likely for row in rows) else (kind, rule)
    return fitting(width, name, sides, others, ("kind", "name", "reported", "modelled", "likely", "rule"))


def _subject(row: Disagreement) -> str:
    return f"{row.topic} / {row.subscription}" if row.subscription else row.topic


def _value(row: Disagreement, key: str) -> Value:
    return _subject(row) if key == "name" else str(getattr(row, key))


def _cell(row: Disagreement, column: Column) -> Text:
    value = str(_value(row, column.key))
    return Text(fit(safe_name(value) if value else "-", column.width - 1) + " ", no_wrap=True)
