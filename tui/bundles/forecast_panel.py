"""What becomes of a namespace, in sentences that scroll when there are more of them than there is room."""

from __future__ import annotations

from typing import Final

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.reactive import reactive

from engine.views.balance_model import BalanceFrame, BalanceView, TreeRow
from tui.bundles.words import forecast_lines
from tui.kit.plain_text import NO_TEXT, PlainStatic, below_each_other, plain

STYLES: Final = {
    "head": "bold",
    "text": "$foreground",
    "dim": "$dim",
    "warn": "$warn",
    "bad": "$bad",
    "good": "$good",
}


class ForecastPanel(VerticalScroll, can_focus=False):
    """One text; another one is shown from its beginning."""

    DEFAULT_CSS = """
    ForecastPanel { padding: 0 1; scrollbar-size-vertical: 1; }
    ForecastPanel Static { height: auto; width: 1fr; }
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


def forecast_content(view: BalanceView, tree: TreeRow, frame: BalanceFrame) -> Content:
    """The sentences of the forecast with their styles, an empty line before each heading but the first."""
    parts: list[Content] = []
    for text, role in forecast_lines(view, tree, frame):
        if role == "head" and parts:
            parts.append(NO_TEXT)
        parts.append(plain(text, STYLES[role]))
    return below_each_other(parts)
