"""The dialog of the ``m`` key: the four ways of sharing keys, each with a sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from engine.cluster.commands import ShareKeys
from engine.errors import Rejection
from tui.keys.words import MODES
from tui.kit.dialog import Dialog
from tui.kit.plain_text import NEW_LINE, PlainLabel, assembled
from tui.kit.typed_line import TypedLine

WITH_POINTS = "consistent-sticky"
POINTS = "100"


class ShareKeysScreen(Dialog):
    """Changes the mode."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "move('down')", "Down", show=False),
        Binding("k", "move('up')", "Up", show=False),
    ]

    def __init__(
        self, subscription: str, told: str, mode: str, points: int, do: Callable[[ShareKeys], Rejection | None]
    ) -> None:
        super().__init__(f"how {told} shares keys")
        self._subscription = subscription
        self._mode = mode
        self._points = str(points) if mode == WITH_POINTS else POINTS
        self._do = do

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -middle"):
            yield OptionList(*(Option(self._prompt(mode), id=mode) for mode in MODES), markup=False, compact=True)
            yield PlainLabel("points of each node", classes="dialog--label points")
            yield TypedLine(self._points, id="points", classes="points", restrict=r"[0-9]*", max_length=9)
            yield PlainLabel("", classes="dialog--error")
            yield PlainLabel("all consumers stop and come back · enter changes, escape cancels", classes="dialog--help")

    def _prompt(self, mode: str, marked: bool = False) -> Content:
        """A mode and its sentence; colour is not the only mark of the chosen one."""
        name, sentence = MODES[mode]
        now = "  (now)" if mode == self._mode else ""
        mark = "▸ " if marked else ""
        return assembled((mark, "$accent bold"), (name, "bold"), (now, "$good"), NEW_LINE, (sentence, "$dim"), NEW_LINE)

    def on_mount(self) -> None:
        """The mode in force is marked."""
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

    def submit(self) -> None:
        """Enter in the field of the points."""
        self._change(WITH_POINTS)

    def _change(self, mode: str) -> None:
        points = int(self.text_of("points") or "0") if mode == WITH_POINTS else 0
        self.finish(self._do(ShareKeys(self._subscription, mode, points)))

    def field_of(self, refused: Rejection) -> str:
        return "points" if refused.field == "points" else ""
