"""What became of a subscription since a step, or would become of it by the other rule, topic by topic."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from engine.views.comparing.previews import ChangeView
from themes import stylesheet
from themes.palettes import Palette, hex_colour
from tui.kit.columns import table_lines
from tui.kit.heirs_screen import handover_cell, handover_columns
from tui.kit.line_table import LineTable
from tui.kit.plain_text import PlainStatic, set_subtitle, set_title
from tui.kit.single_paint import SinglePaintModal
from tui.kit.store import Store
from tui.kit.verdict_words import judgement_colour, verdict_text
from tui.kit.wording import counted


class DiffScreen(SinglePaintModal[str]):
    """The last step first; ``[`` and ``]`` choose an earlier or later beginning, ``c`` tries the other rule."""

    CSS_PATH = stylesheet("dialogs")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,d", "close", "Close"),
        Binding("left_square_bracket", "since(-1)", "Earlier"),
        Binding("right_square_bracket", "since(1)", "Later"),
        Binding("home", "since(-1_000_000)", "As opened"),
        Binding("c", "rule", "Other rule"),
    ]

    def __init__(self, store: Store, colours: Palette) -> None:
        super().__init__()
        self._store = store
        self._colours = colours
        self.since = max(store.timeline.cursor - 1, 0)
        """The step that is compared with the cursor."""
        self.change: ChangeView | None = None
        """What is shown."""

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -wide -tall"):
            yield PlainStatic(id="head")
            yield LineTable()

    def on_mount(self) -> None:
        self.action_since(0)
        self.query_one(LineTable).focus()

    def action_since(self, by: int) -> None:
        """Compare another step with the cursor."""
        now = self._store.timeline.cursor
        self.since = min(max(self.since + by, 0), max(now - 1, 0))
        what = f"step {self.since} → step {now}" if now else "no step was taken yet"
        self._show(self._store.change_since(self.since), what)

    def action_rule(self) -> None:
        """Compare the state at the cursor with itself by the other rule of Failover."""
        on = self._store.timeline.state.settings.activeConsumerFailoverConsistentHashing
        self._show(self._store.change_of_rule(), "hash ring → modulo" if on else "modulo → hash ring")

    def action_close(self) -> None:
        self.dismiss("")

    def _show(self, change: ChangeView | None, what: str) -> None:
        self.change = change
        box, head, table = self.query_one(Vertical), self.query_one("#head", PlainStatic), self.query_one(LineTable)
        set_subtitle(box, "[ ] from step, c other rule, escape closes")
        if change is None:
            set_title(box, what)
            head.update("one of the two states does not have this subscription")
            return
        things = "partition" if change.noun == "partition" else "known key"
        set_title(box, f"{what}: {counted(len(change.rows), things)}")
        head.update(verdict_text(change.verdict, change.noun))
        head.styles.color = hex_colour(judgement_colour(change.verdict.judgement, self._colours))
        table.lines = table_lines(
            change.rows, lambda rows, width: handover_columns(rows, width, change.noun), handover_cell
        )
        table.cursor = 0
