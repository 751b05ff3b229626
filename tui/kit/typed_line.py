"""A line that people type or paste, of bounded length."""

from __future__ import annotations

from typing import Any, Final

from textual.widgets import Input

LONGEST_LINE: Final = 4_096
"""Characters. A longer text makes each key slower, and comes of a clipboard that holds something else."""


class TypedLine(Input):
    """As the stock field, in one row. A longer paste than ``LONGEST_LINE`` is not taken, and that is said."""

    def __init__(self, value: str = "", *, max_length: int = LONGEST_LINE, **more: Any) -> None:
        super().__init__(value, max_length=max_length, compact=True, **more)

    def restricted(self) -> None:
        """Not a bell alone: a terminal may be silent."""
        super().restricted()
        if self.max_length == LONGEST_LINE:
            self.notify(f"A line takes up to {LONGEST_LINE:,} characters; nothing was inserted.", severity="warning")
