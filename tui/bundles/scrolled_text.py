"""Sentences that scroll when there are more of them than there is room."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.reactive import reactive

from tui.kit.plain_text import NO_TEXT, PlainStatic


class ScrolledText(VerticalScroll, can_focus=False):
    """One text; another one is shown from its beginning."""

    DEFAULT_CSS = """
    ScrolledText { padding: 0 1; scrollbar-size-vertical: 1; }
    ScrolledText Static { height: auto; width: 1fr; }
    """

    content: reactive[Content] = reactive(NO_TEXT)
    """What is told."""

    def compose(self) -> ComposeResult:
        yield PlainStatic(self.content)

    def watch_content(self, content: Content) -> None:
        """Write it, and scroll back to the top."""
        for text in self.query(PlainStatic):
            text.update(content)
        self.scroll_home(animate=False)
