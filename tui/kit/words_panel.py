"""A panel of sentences, each with a role that decides its colour."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.reactive import reactive

from tui.kit.plain_text import NO_TEXT, PlainStatic, below_each_other, plain
from tui.kit.wording import Line

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
