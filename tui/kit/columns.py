"""Columns of tables as text."""

from __future__ import annotations

from dataclasses import dataclass

from rich.text import Text


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its key, its heading and its width in cells, the gap to the next one included."""

    key: str
    label: str
    width: int

    def heading(self) -> Text:
        """The heading in the column's width: numbers stand right, words left."""
        left = self.key in ("tag", "name", "bar", "declared")
        text = self.label.ljust(self.width) if left else self.label.rjust(self.width - 1) + " "
        return Text(text[: self.width], no_wrap=True)
