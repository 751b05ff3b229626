"""The table of a screen: which rows its filter leaves, its title and its foot, and taking back what was opened."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, Protocol, TypeVar

from rich.text import Text
from textual import on
from textual.reactive import var

from engine.errors import Rejection
from themes.palettes import Palette
from tui.kit.common_prompt import CommonPrompt
from tui.kit.line_table import Lines, LineTable
from tui.kit.plain_text import PlainStatic, set_subtitle, set_title
from tui.kit.prompt import Prompt


class Named(Protocol):
    """A row with a name."""

    @property
    def name(self) -> str: ...


Row = TypeVar("Row", bound=Named)
Told = TypeVar("Told")


class CommonList(CommonPrompt):
    """The table stands in the panel ``consumers``, whatever it lists."""

    filter_text: var[str] = var("", init=False)

    listed: ClassVar[str] = "consumer"
    """What a row is."""

    # the filter

    def action_filter(self) -> None:
        self.ask("filter", "/", text=self.filter_text, placeholder=f"part of a {self.listed}'s name")

    @on(Prompt.Typed)
    def _typed(self, message: Prompt.Typed) -> None:
        if message.kind == "filter":
            self.filter_text = message.text

    def answer(self, kind: str, text: str) -> Rejection | None:
        return None if kind == "filter" else super().answer(kind, text)

    def given_up(self, kind: str) -> None:
        if kind == "filter":
            self.filter_text = ""

    def matching(self, rows: tuple[Row, ...]) -> tuple[Row, ...]:
        """The rows whose names contain what is filtered for, in small letters or capitals."""
        wanted = self.filter_text.casefold()
        return tuple(row for row in rows if wanted in row.name.casefold()) if wanted else rows

    # title, cursor, foot

    def title_list(self, shown: int, total: int) -> None:
        """Write into the frame how many are listed, and by what filter."""
        panel = self.query_one("#consumers")
        set_title(panel, f"2 {self.listed}s ({f'{shown:,} of {total:,}' if self.filter_text else f'{total:,}'})")
        set_subtitle(panel, f"filter: {self.filter_text}" if self.filter_text else "")

    def mark_selected(self, ids: Iterable[int]) -> None:
        """The cursor of the table stands on the selected row, where that is listed."""
        at = next((at for at, number in enumerate(ids) if number == self.selected), None)
        if at is not None and self.is_mounted:
            self.query_one("#table", LineTable).cursor = at

    def list_newest_first(
        self, table_id: str, rows: Sequence[Told], line: Callable[[Told, int, Palette], Text]
    ) -> LineTable:
        """Give a table what was told in the order of time; the cursor goes to the newest, which stands at the top."""
        table, colours = self.query_one(f"#{table_id}", LineTable), self.colours
        table.lines = Lines(len(rows), lambda index, width: line(rows[-1 - index], width, colours))
        table.cursor = 0
        return table

    def foot_texts(self) -> Sequence[str]:
        """What may stand below the table, the longest text first."""
        raise NotImplementedError

    def write_foot(self) -> None:
        """The line below the table, in as many words as fit."""
        if self._shown is not None:
            foot, texts = self.query_one("#foot", PlainStatic), self.foot_texts()
            foot.update(next((text for text in texts if len(text) <= foot.content_size.width), texts[-1]), layout=False)

    # what was opened

    def action_back(self) -> None:
        """Undo what was opened, the last first: zoom, explanation, filter, refusal."""
        if self.zoomed:
            self.zoomed = ""
        elif self.has_class("-explaining"):
            self.close_explanation()
        elif self.filter_text:
            self.filter_text = ""
        else:
            self.complain(None)
