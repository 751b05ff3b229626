"""The help: a screen's keys, made from its bindings, and what its drawing shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from msgspec import Struct
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import ItemGrid, Vertical, VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from engine.cluster.timeline import BranchSummary
from engine.text import counted
from themes import stylesheet
from tui.kit.bindings import Binding, in_force, key_text
from tui.kit.plain_text import EMPTY_LINE, NO_TEXT, assembled, below_each_other, plain, set_title
from tui.kit.screens import RingsideModal
from tui.kit.wording import safe_name


class KeyHelp(Struct, frozen=True):
    """One line of the help: the keys as people know them, and what they do."""

    keys: str
    text: str


Group = tuple[str, Sequence[KeyHelp]]
RING_LEGEND: Final[Group] = (
    "on the ring and in the tables",
    (
        KeyHelp("outside", "whose each hash is: the consumer of the next point clockwise"),
        KeyHelp("inside", "how much each consumer has: of the ring, or with modulo of the partitions"),
        KeyHelp("dots", "partitions at their hashes, in the colour of the active consumer"),
        KeyHelp("small dots", "outside, for three seconds after a step: who had it before"),
        KeyHelp("*", "reported by brokers at the time in the title, until a step is taken"),
        KeyHelp("!", "reported as blocked: a consumer, or a hash whose messages are held back"),
        KeyHelp(
            "/", "reported otherwise than by the model: outside and cells are the model, inside and strokes reported"
        ),
        KeyHelp("hash map", "the same hashes row by row, from 0x00000000 on"),
    ),
)


class HelpScreen(RingsideModal[None]):
    """Groups of keys in columns; any of escape, q and ? closes it."""

    CSS_PATH = stylesheet("dialogs")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark", "close", "Close"),
        Binding("j,down", "scroll(1)", "Down"),
        Binding("k,up", "scroll(-1)", "Up"),
    ]

    def __init__(self, groups: Sequence[Group], title: str = "keys") -> None:
        super().__init__()
        self._groups = groups
        self._title = title

    def compose_box(self) -> ComposeResult:
        half = (len(self._groups) + 1) // 2
        columns = [groups for groups in (self._groups[:half], self._groups[half:]) if groups]
        with Vertical(classes="dialog -wide"), VerticalScroll(), ItemGrid(min_column_width=46 if columns[1:] else None):
            for groups in columns:
                yield KeyLines(groups)

    def on_mount(self) -> None:
        box = self.query_one(Vertical)
        set_title(box, self._title)
        self.query_one(VerticalScroll).focus()

    def action_close(self) -> None:
        self.dismiss()

    def action_scroll(self, by: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=by, animate=False)


class KeyLines(Widget):
    """Groups of lines one below the other; a long text goes on below itself, not below its keys."""

    DEFAULT_CSS = """
    KeyLines { width: 1fr; height: auto; }
    """

    def __init__(self, groups: Sequence[Group]) -> None:
        super().__init__()
        self._groups = groups
        self._wrapped: dict[int, Content] = {}
        """By width in cells: Textual asks for the height at two or three widths, several times each."""

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return self._at_width(width).plain.count("\n") + 1

    def render(self) -> Content:
        return self._at_width(self.content_size.width)

    def _at_width(self, cells: int) -> Content:
        if cells not in self._wrapped:
            self._wrapped[cells] = _content(self._groups, cells)
        return self._wrapped[cells]


def _content(groups: Sequence[Group], cells: int) -> Content:
    width = max((plain(line.keys).cell_length for _, lines in groups for line in lines), default=0)
    blocks = []
    for title, lines in groups:
        rows: list[Content] = [plain(title, "$accent bold")]
        for line in lines:
            text, room = plain(line.text), max(1, cells - width - 3)
            fits = text.cell_length <= room  # nearly all do, and wrapping takes long
            first, *others = (text,) if fits else text.wrap(room) or (NO_TEXT,)
            rows.append(assembled((f" {line.keys:>{width}}  ", "bold"), first))
            rows += [assembled(" " * (width + 3), other) for other in others]
        blocks.append(below_each_other(rows))
    return below_each_other(blocks, EMPTY_LINE)


def branch_lines(summaries: Sequence[BranchSummary]) -> list[KeyHelp]:
    """The branches by number, each with what sets it apart; a star marks the one that is shown."""
    lines = []
    for summary in summaries:
        text = f"{counted(summary.length, 'step')}"
        if summary.place > 1:
            text += f", its own ones from step {summary.leaves_at + 1} on"
        steps = (
            safe_name(summary.first)
            if summary.first == summary.last
            else f"{safe_name(summary.first)} … {safe_name(summary.last)}"
        )
        lines.append(KeyHelp(f"{'* ' * summary.current}{summary.place}", f"{steps} ({text})"))
    return lines or [KeyHelp("", "no step was taken yet")]


def key_groups(bindings: Sequence[tuple[str, Sequence[Binding]]], app: App[Any]) -> list[tuple[str, list[KeyHelp]]]:
    """Help lines from bindings, group by group: keys of one action share a line, actions without words are left out."""
    groups = []
    for title, listed in bindings:
        lines: dict[str, tuple[list[str], str]] = {}
        for binding in in_force(listed, app):
            words = binding.tooltip or binding.description
            if words:
                keys, _ = lines.setdefault(words, ([], words))
                keys += [shown for key in binding.key.split(",") if (shown := key_text(key, binding)) not in keys]
        if lines:
            groups.append((title, [KeyHelp(" ".join(keys), words) for keys, words in lines.values()]))
    return groups
