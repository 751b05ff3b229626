"""Panels of sentences: labelled ones for explanations, and lines with a role that decides their colour."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import wrap
from typing import ClassVar, Final

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive

from tui.kit.plain_text import NO_TEXT, PlainStatic, assembled, below_each_other, plain
from tui.kit.wording import Line, Remark


class ExplainPanel(VerticalScroll):
    """Labelled sentences; the parent makes them and shows or hides the panel."""

    DEFAULT_CSS = """
    ExplainPanel { height: 1fr; padding: 0 1; scrollbar-size-vertical: 1; }
    ExplainPanel Static { height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Close"),
        Binding("j", "scroll_down", "Down", show=False),
        Binding("k", "scroll_up", "Up", show=False),
    ]

    remarks: reactive[tuple[Remark, ...]] = reactive(())
    """What is said."""

    class Closed(Message):
        """The panel is not wanted any more."""

    def compose(self) -> ComposeResult:
        yield PlainStatic()

    def watch_remarks(self, remarks: tuple[Remark, ...]) -> None:
        """Say the new sentences from the top."""
        if self.is_mounted:
            self._write()
            self.scroll_home(animate=False)

    def on_resize(self) -> None:
        """Wrap at another width."""
        self._write()

    def _write(self) -> None:
        self.query_one(PlainStatic).update(remark_lines(self.remarks, self.scrollable_content_region.width))

    def action_close(self) -> None:
        self.post_message(self.Closed())


def remark_lines(remarks: tuple[Remark, ...], width: int) -> Content:
    """Labels in a column of their own, sentences wrapped beside them."""
    label_width = max((len(remark.label) for remark in remarks), default=0) + 1
    lines: list[Content] = []
    for remark in remarks:
        style = "$active bold" if remark.main else ""
        label = remark.label.rjust(label_width - 1)
        for text in _rows(remark.text, max(12, width - label_width - 1)):
            lines.append(assembled((f"{label} ", "$dim"), (text, style)))
            label = " " * (label_width - 1)
    return below_each_other(lines)


def _rows(text: str, cells: int) -> list[str]:
    """A sentence in rows of so many cells; only the stock wrap breaks behind hyphens, and it counts characters."""
    if cell_len(text) == len(text):
        return wrap(text, cells) or [""]
    return [row.plain for row in plain(text).wrap(cells)]


STYLES: Final = {
    "head": "bold",
    "text": "$foreground",
    "dim": "$dim",
    "warn": "$warn",
    "bad": "$bad",
    "good": "$good",
}


class WordsPanel(VerticalScroll, can_focus=False):
    """One text; another one is shown from its beginning."""

    DEFAULT_CSS = """
    WordsPanel { padding: 0 1; scrollbar-size-vertical: 1; }
    WordsPanel Static { height: auto; width: 1fr; }
    """

    content: reactive[Content] = reactive(NO_TEXT)
    """What is said."""

    def compose(self) -> ComposeResult:
        yield PlainStatic(self.content)

    def watch_content(self, content: Content) -> None:
        """Write it, and scroll back to the top."""
        for text in self.query(PlainStatic):
            text.update(content)
        self.scroll_home(animate=False)


def written(lines: Iterable[Line], *, apart: bool = True) -> Content:
    """The sentences with their styles; ``apart``: an empty line before each heading but the first."""
    parts: list[Content] = []
    for text, role in lines:
        if role == "head" and parts and apart:
            parts.append(NO_TEXT)
        parts.append(plain(text, STYLES[role]))
    return below_each_other(parts)
