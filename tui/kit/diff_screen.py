"""What became of a subscription since a step, or would become of it by the other rule, topic by topic."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget

from engine.text import counted
from engine.views.comparing.handovers import ChangeView
from themes.palettes import Palette, hex_colour
from tui.kit.heirs_screen import handover_lines, handover_texts, handover_value
from tui.kit.plain_text import PlainStatic, set_subtitle, set_title
from tui.kit.store import Store
from tui.kit.table_screens import TableDialog
from tui.kit.verdict_words import judgement_colour, verdict_text


class DiffScreen(TableDialog):
    """The last step first; ``[`` and ``]`` choose an earlier or later beginning, ``c`` tries the other rule."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("d", "dismiss('')", "Close", show=False),
        Binding("left_square_bracket", "since(-1)", "Earlier"),
        Binding("right_square_bracket", "since(1)", "Later"),
        Binding("home", "since(-1_000_000)", "As opened"),
        Binding("c", "rule", "Other rule"),
    ]
    filename = "diff.csv"

    def __init__(self, store: Store, colours: Palette) -> None:
        super().__init__()
        self._store = store
        self._colours = colours
        self.since = max(store.timeline.cursor - 1, 0)
        """The step that is compared with the cursor."""
        self.change: ChangeView | None = None
        """What is shown."""

    def compose_head(self) -> Iterable[Widget]:
        yield PlainStatic(id="head")

    def on_mount(self) -> None:
        self.action_since(0)
        self.table.focus()

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

    def _show(self, change: ChangeView | None, what: str) -> None:
        self.change = change
        box, head = self.query_one(".dialog"), self.query_one("#head", PlainStatic)
        set_subtitle(box, "[ ] from step, c other rule, / filter, e export, escape closes")
        if change is None:
            set_title(box, what)
            head.update("one of the two states does not have this subscription")
            return
        things = "partition" if change.noun == "partition" else "known key"
        set_title(box, f"{what}: {counted(len(change.rows), things)}")
        head.update(verdict_text(change.verdict, change.noun))
        head.styles.color = hex_colour(judgement_colour(change.verdict.judgement, self._colours))
        self.show_rows(change.rows, handover_lines(change.noun), handover_value, handover_texts)
