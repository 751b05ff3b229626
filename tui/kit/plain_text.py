"""Text as it is, for every place where Textual would read it as markup: content, labels, titles of frames.

Names of consumers, topics and namespaces, error messages and typed text come from outside. What they contain is shown,
and never parsed: a bracket is a bracket. The rest of the shell makes its texts here; a test of the architecture looks
for those that do not.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from rich.text import Text
from textual.content import Content
from textual.visual import VisualType
from textual.widget import Widget
from textual.widgets import Label, Static

from engine.text import visible

NEW_LINE: Final = Content("\n")
EMPTY_LINE: Final = Content("\n\n")
NO_TEXT: Final = Content("")


def plain(text: str, style: str = "") -> Content:
    """One line of text in one style; characters that cannot be seen are escapes.

    >>> plain("[red]a\\x1b").plain
    '[red]a\\\\x1b'
    """
    return Content.styled(visible(text), style) if style else Content(visible(text))


def assembled(*parts: str | Content | tuple[str, str]) -> Content:
    """Pieces of text, some of them with a style, one behind the other on a line."""
    return Content.assemble(*(_piece(part) for part in parts))


def _piece(part: str | Content | tuple[str, str]) -> str | Content | tuple[str, str]:
    if isinstance(part, Content):
        return part
    return visible(part) if isinstance(part, str) else (visible(part[0]), part[1])


def below_each_other(lines: Iterable[Content], gap: Content = NEW_LINE) -> Content:
    """One line of content below the other."""
    return gap.join(lines)


def set_title(widget: Widget, text: str) -> None:
    """Write a text into the upper edge of a frame."""
    widget.border_title = plain(text)


def set_subtitle(widget: Widget, text: str) -> None:
    """Write a text into the lower edge of a frame."""
    widget.border_subtitle = plain(text)


def set_tooltip(widget: Widget, *lines: str) -> None:
    """Show lines of text while the mouse is on a widget; none takes them away."""
    widget.tooltip = below_each_other([plain(line) for line in lines]) if lines else None


def _shown(content: VisualType) -> VisualType:
    return plain(content) if isinstance(content, str) else content


class PlainStatic(Static):
    """A stock ``Static`` that takes its text as it is."""

    def __init__(self, content: VisualType = "", **how: Any) -> None:
        super().__init__(_shown(content), **how, markup=False)

    def update(self, content: VisualType = "", *, layout: bool = True) -> None:
        super().update(_shown(content), layout=layout)


class PlainLabel(Label):
    """A stock ``Label`` that takes its text as it is."""

    def __init__(self, content: VisualType = "", **how: Any) -> None:
        super().__init__(_shown(content), **how, markup=False)

    def update(self, content: VisualType = "", *, layout: bool = True) -> None:
        super().update(_shown(content), layout=layout)


def plain_label(label: str | Text) -> Text:
    """The label of a node of a stock tree."""
    return Text(visible(label), no_wrap=True) if isinstance(label, str) else label
