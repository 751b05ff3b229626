"""Panels of sentences: labelled ones for explanations, and lines with a role that decides their colour."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice, zip_longest
from textwrap import wrap
from typing import ClassVar, Final

from rich.cells import cell_len
from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip

from engine.text import visible
from tui.kit.bindings import Binding
from tui.kit.line_widget import ScrolledLines
from tui.kit.plain_text import PlainStatic, assembled, below_each_other, plain
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

    class Closed(Message):
        """Escape was pressed."""

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
        style = f"${remark.role} bold" if remark.main else ""
        label = remark.label.rjust(label_width - 1)
        for text in rows_of(remark.text, max(12, width - label_width - 1)):
            lines.append(assembled((f"{label} ", "$dim"), (text, style)))
            label = " " * (label_width - 1)
    return below_each_other(lines)


def rows_of(text: str, cells: int) -> list[str]:
    """A sentence in rows of so many cells; only the stock wrap breaks behind hyphens, and it counts characters."""
    if cell_len(text) == len(text):
        return [text] if len(text) <= cells else wrap(text, cells) or [""]
    return [row.plain for row in plain(text).wrap(cells)]


ROLES: Final = ("head", "text", "dim", "warn", "bad", "good")


class WordsPanel(ScrolledLines, can_focus=False):
    """One text of lines with a role each; another one is shown from its beginning.

    A line API: a text of a hundred lines costs what its visible part costs. ``wraps`` False cuts lines off instead.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"words-panel--{role}" for role in ROLES}
    DEFAULT_CSS = """
    WordsPanel { padding: 0 1; scrollbar-size-vertical: 1; overflow-x: hidden; overflow-y: auto; }
    WordsPanel > .words-panel--head { text-style: bold; }
    WordsPanel > .words-panel--text { color: $foreground; }
    WordsPanel > .words-panel--dim { color: $dim; }
    WordsPanel > .words-panel--warn { color: $warn; }
    WordsPanel > .words-panel--bad { color: $bad; }
    WordsPanel > .words-panel--good { color: $good; }
    """

    said: reactive[tuple[Line, ...]] = reactive((), repaint=False)

    def __init__(self, *, id: str | None = None, classes: str | None = None, wraps: bool = True) -> None:  # noqa: A002 - Textual's own name
        super().__init__(id=id, classes=classes)
        self._wraps = wraps
        self._rows: list[Line] = []

    def watch_said(self) -> None:
        """Say it from the top, and paint from the first to the last line that differs."""
        before = self._rows
        self._wrap()
        self.scroll_home(animate=False)
        pairs = islice(zip_longest(before, self._rows), self.size.height)
        changed = [at for at, (old, new) in enumerate(pairs) if old != new]
        if changed:
            self.refresh_lines(changed[0], changed[-1] + 1 - changed[0])

    def on_resize(self) -> None:
        """Wrap at another width."""
        self._wrap()
        self.refresh()

    def _wrap(self) -> None:
        """Wrap for the room beside the scrollbar if there is one; whether it is there yet plays no part."""
        inside = self.outer_size - self.styles.gutter.totals
        self._rows = self._wrapped(inside.width)
        if len(self._rows) > inside.height:
            self._rows = self._wrapped(inside.width - self.styles.scrollbar_size_vertical)
        self.set_range(Size(0, len(self._rows)))

    def _wrapped(self, width: int) -> list[Line]:
        if not self._wraps or width <= 0:
            return [(visible(text), role) for text, role in self.said]
        return [(row, role) for text, role in self.said for row in rows_of(visible(text), width)]

    def render_line(self, y: int) -> Strip:
        width, base = self.scrollable_content_region.width, self.ground
        at = y + self.scroll_offset.y
        if not 0 <= at < len(self._rows):
            return Strip.blank(width, base)
        text, role = self._rows[at]
        style = base + self.get_component_rich_style(f"words-panel--{role}", partial=True)
        return Strip([Segment(text, style)]).adjust_cell_length(width, style)


def headed(lines: Iterable[Line]) -> tuple[Line, ...]:
    """The lines with an empty one before each heading but the first."""
    parts: list[Line] = []
    for text, role in lines:
        if role == "head" and parts:
            parts.append(("", "text"))
        parts.append((text, role))
    return tuple(parts)
