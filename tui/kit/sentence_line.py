"""One sentence above the panels: a hint for newcomers, a caption of a demo, a refusal, or a notice."""

from __future__ import annotations

from bisect import bisect_right
from typing import Final, Self

from textual.content import Content
from textual.geometry import Size
from textual.reactive import reactive
from textual.widget import Widget

from tui.kit.plain_text import assembled, plain

SIGNS: Final = {
    "hint": "›",
    "preview": "›",
    "caption": "»",
    "refusal": "!",
    "notice": "i",
    "done": "+",
    "computing": "~",
}
"""A sign for each kind, so that colour is not its only carrier."""

LINES: Final = 2
"""As many as the sheet below allows."""
MORE: Final = " …"


class SentenceLine(Widget):
    """Wraps over as many lines as the stylesheet allows; the kind is a class of the widget."""

    DEFAULT_CSS = """
    SentenceLine { height: auto; max-height: 2; width: 1fr; padding: 0 1; }
    SentenceLine.-empty { display: none; }
    """

    sentence: reactive[tuple[str, str]] = reactive(("hint", ""))
    """The kind (a key of ``SIGNS``) and the text."""

    @classmethod
    def saying(cls, sentence: tuple[str, str], *, id: str) -> Self:  # noqa: A002 - Textual's own name
        """Return a line with a first sentence."""
        line = cls(id=id, classes=f"-{sentence[0]}" if sentence[1] else f"-{sentence[0]} -empty")
        line.set_reactive(SentenceLine.sentence, sentence)
        return line

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Count lines without rendering: that would ask for the widget's width, for which everything is arranged."""
        return min(LINES, _lines(self.sentence[1], width)) if width else 0

    def watch_sentence(self, old: tuple[str, str], new: tuple[str, str]) -> None:
        """Let the stylesheet know the kind."""
        if old[0] != new[0]:
            self.remove_class(f"-{old[0]}")
        self.add_class(f"-{new[0]}")
        self.set_class(not new[1], "-empty")
        self._make_room()

    def on_resize(self) -> None:
        """The sentence may be another one than when its height was asked for."""
        self._make_room()

    def _make_room(self) -> None:
        """Have all arranged again where the sentence needs more lines than it has now.

        What was asked for before does not count: a shorter sentence may have come between asking and arranging.
        """
        if min(LINES, self._lines(self.sentence[1])) > self.content_size.height:
            self.refresh(layout=True)

    def _lines(self, text: str) -> int:
        """How many lines a text takes. Only one that needs more room moves the panels; a shorter one leaves a blank."""
        return _lines(text, max(1, self.content_size.width))

    def render(self) -> Content:
        kind, text = self.sentence
        return assembled((f"{SIGNS.get(kind, '*')} ", "bold"), self._cut(text))

    def _cut(self, text: str) -> str:
        """What fits two lines; an ellipsis says that there is more."""
        if self._lines(text) <= LINES:
            return text
        words = text.split(" ")
        # Wrapping is expensive, so the number of words is found by bisection.
        kept = bisect_right(range(2, len(words)), LINES, key=lambda count: self._lines(" ".join(words[:count]) + MORE))
        return " ".join(words[: kept + 1]) + MORE


def _lines(text: str, width: int) -> int:
    """How many lines a sentence takes behind its sign."""
    return len(plain(f"* {text}").wrap(width))
