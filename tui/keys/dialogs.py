"""The dialogs of a Key_Shared subscription: adding a consumer, the mode, sending, what a consumer has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.suggester import SuggestFromList
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from engine.cluster.commands import AddConsumer, SendKeys, ShareKeys
from engine.cluster.grammar.reading import parse_command
from engine.cluster.state import ClusterState
from engine.errors import Rejection
from engine.text import counted
from engine.views.keys.model import ConsumerKeysView, KeyConsumerRow, KeyRow
from themes.palettes import Palette
from tui.keys.lines import owned_keys, piece_heading, piece_line
from tui.keys.words import MODES
from tui.kit.bindings import Binding
from tui.kit.columns import Lines
from tui.kit.dialog import Dialog
from tui.kit.line_table import LineTable, RowsTable
from tui.kit.plain_text import NEW_LINE, PlainLabel, PlainStatic, assembled, set_title
from tui.kit.prompt import Prompt, TypedLine
from tui.kit.table_screens import TableDialog
from tui.kit.wording import percent, safe_name, shorten_middle

Ranges = tuple[tuple[int, int], ...]
WITH_POINTS = "consistent-sticky"
POINTS = "100"


class AddKeyConsumerScreen(Dialog[AddConsumer]):
    """Asks for the name of a consumer to connect, and for its ranges where consumers declare them.

    ``ranges`` is the proposal for the field of the ranges; None leaves that field out.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "Connect")]

    def __init__(
        self,
        subscription: str,
        title: str,
        suggested: str,
        accept: Callable[[AddConsumer], Rejection | None],
        *,
        ranges: str | None = None,
        note: str = "",
    ) -> None:
        super().__init__(f"add a consumer to {title}", accept)
        self._subscription = subscription
        self._suggested = suggested
        self._ranges = ranges
        self._note = note

    def compose_box(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield PlainLabel("name", classes="dialog--label")
            yield TypedLine(self._suggested, id="name")
            if self._ranges is not None:
                yield PlainLabel("ranges of slots it declares", classes="dialog--label")
                yield TypedLine(self._ranges, id="ranges", placeholder="0-16383,32768-49151")
            yield PlainLabel("", classes="dialog--error")
            if self._note:
                yield PlainLabel(self._note, classes="dialog--label")

    def submit(self) -> None:
        ranges: Ranges | Rejection | None = None
        if self._ranges is not None:
            ranges = ranges_typed(self.text_of("ranges"))
        if isinstance(ranges, Rejection):
            self.complain(ranges.message, "ranges")
            return
        self.finish(AddConsumer(self._subscription, self.text_of("name"), ranges=ranges))

    def field_of(self, refused: Rejection) -> str:
        return "name" if self._ranges is None or refused.field == "name" else "ranges"


def ranges_typed(text: str) -> Ranges | Rejection:
    """Ranges as the grammar reads them; blanks between them are allowed, an empty text means none."""
    word = "".join(text.split()) or "-"
    command = parse_command(f"add x ranges {word} to y", ClusterState())
    if isinstance(command, Rejection):
        return command
    assert isinstance(command, AddConsumer), "the line adds a consumer"
    return command.ranges or ()


class _Modes(OptionList):
    """The stock list; a page has no height until lines are visible."""

    def action_page_down(self) -> None:
        if self.scrollable_content_region:
            super().action_page_down()  # type: ignore[no-untyped-call]

    def action_page_up(self) -> None:
        if self.scrollable_content_region:
            super().action_page_up()  # type: ignore[no-untyped-call]


class ShareKeysScreen(Dialog[ShareKeys]):
    """Asks which of the four ways of sharing keys is used; each has a sentence."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Change"),
        Binding("j", "move('down')", "Down", show=False),
        Binding("k", "move('up')", "Up", show=False),
    ]

    def __init__(
        self, subscription: str, title: str, mode: str, points: int, accept: Callable[[ShareKeys], Rejection | None]
    ) -> None:
        super().__init__(f"how {title} shares keys", accept)
        self._subscription = subscription
        self._mode = mode
        self._points = str(points) if mode == WITH_POINTS else POINTS

    def compose_box(self) -> ComposeResult:
        with Vertical(classes="dialog -middle"):
            yield _Modes(*(Option(self._prompt(mode), id=mode) for mode in MODES), markup=False, compact=True)
            yield PlainLabel("points of each node", classes="dialog--label points")
            yield TypedLine(self._points, id="points", classes="points", restrict=r"[0-9]*", max_length=9)
            yield PlainLabel("", classes="dialog--error")
            yield PlainLabel("all consumers reconnect", classes="dialog--help")

    def _prompt(self, mode: str, marked: bool = False) -> Content:
        """A mode and its sentence; colour is not the only mark of the chosen one."""
        name, sentence = MODES[mode]
        now = "  (now)" if mode == self._mode else ""
        mark = "▸ " if marked else ""
        words = (sentence, "") if marked else (sentence, "$dim")
        return assembled((mark, "$accent bold"), (name, "bold"), (now, "$good"), NEW_LINE, words, NEW_LINE)

    def on_mount(self) -> None:
        """Mark the mode in force."""
        listed = self.query_one(OptionList)
        listed.highlighted = list(MODES).index(self._mode)
        listed.focus()

    def action_move(self, where: str) -> None:
        listed = self.query_one(OptionList)
        if where == "down":
            listed.action_cursor_down()
        else:
            listed.action_cursor_up()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Mark it; only one mode has points."""
        event.stop()
        for mode in MODES:
            event.option_list.replace_option_prompt(mode, self._prompt(mode, mode == event.option.id))
        self.complain("")
        self.set_class(event.option.id == WITH_POINTS, "-points")

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._change(event.option.id or self._mode)

    def action_submit(self) -> None:
        at = self.query_one(OptionList).highlighted
        self._change(self._mode if at is None else list(MODES)[at])

    def submit(self) -> None:
        """Enter in the field of the points."""
        self._change(WITH_POINTS)

    def _change(self, mode: str) -> None:
        points = int(self.text_of("points") or "0") if mode == WITH_POINTS else 0
        self.finish(ShareKeys(self._subscription, mode, points))

    def field_of(self, refused: Rejection) -> str:
        return "points" if refused.field == "points" else ""


class SendKeysScreen(Dialog[SendKeys]):
    """Asks for a key and how many messages are sent with it; known keys complete what is typed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Send"),
        Binding("right", "none", "Complete", key_display="→"),
    ]

    def __init__(
        self,
        subscription: str,
        title: str,
        proposed: str,
        known: Sequence[str],
        accept: Callable[[SendKeys], Rejection | None],
    ) -> None:
        super().__init__(f"send messages to {title}", accept)
        self._subscription = subscription
        self._proposed = proposed
        self._known = known

    def compose_box(self) -> ComposeResult:
        known = SuggestFromList(self._known, case_sensitive=True) if self._known else None
        with Vertical(classes="dialog"):
            yield PlainLabel("key (text, hex:00ff or base64:AP8=)", classes="dialog--label")
            yield TypedLine(self._proposed, id="key", suggester=known)
            yield PlainLabel("how many messages", classes="dialog--label")
            yield TypedLine("1", id="times", restrict=r"[0-9]*", max_length=9)
            yield PlainLabel("", classes="dialog--error")

    def submit(self) -> None:
        times = self.text_of("times")
        if not times:
            self.complain("write how many messages are sent, 1 or more", "times")
            return
        self.finish(SendKeys(self._subscription, (self.text_of("key"),), int(times)))

    def field_of(self, refused: Rejection) -> str:
        return "times" if refused.field == "times" else "key"


class OwnedKeysScreen(TableDialog):
    """Lists the slots and the known keys of a consumer; is dismissed with the key chosen with enter, or with ""."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "none", "Explain"),
        Binding("tab", "app.focus_next", "Slots"),
    ]
    filename = "keys.csv"

    def __init__(self, view: ConsumerKeysView, row: KeyConsumerRow, colours: Palette) -> None:
        super().__init__()
        self._view = view
        self._row = row
        self._colours = colours

    def compose_box(self) -> ComposeResult:
        with Vertical(classes="dialog -wide -tall"):
            with Horizontal():
                yield RowsTable(id="owned", beside=True)
                yield LineTable(id="pieces")
            yield PlainStatic(id="said")
            yield Prompt()

    def on_mount(self) -> None:
        view, colours = self._view, self._colours
        box = self.query_one(Vertical)
        name = shorten_middle(safe_name(view.name), 24)
        slots = f"{counted(view.slots, 'slot')} ({percent(self._row.share)})"
        pieces = counted(len(view.pieces), "piece")
        set_title(box, f"{name}: {slots} in {pieces}, {counted(len(view.keys), 'known key')}")
        self.show_rows(view.keys, owned_keys(colours), lambda row: (row.text,))
        listed = view.pieces
        self.query_one("#pieces", LineTable).lines = Lines(
            len(listed), lambda at, width: piece_line(listed[at], width, colours), piece_heading
        )
        self.table.focus()

    @on(LineTable.Opened, "#pieces")
    def _piece_opened(self, event: LineTable.Opened) -> None:
        """A piece has nothing to open."""
        event.stop()
        event.prevent_default()

    def chosen(self, row: KeyRow) -> None:
        self.dismiss(row.text)
