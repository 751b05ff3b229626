"""A subscription in two states, A and B: two rings side by side, and topic by topic who is active in each.

A is another dump, an earlier step or the rule in force, B the state at the cursor or the other rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import ClassVar, Final

from textual.binding import BindingType
from textual.containers import Horizontal
from textual.widget import Widget

from engine.text import counted
from engine.views.comparing.handovers import ChangeView
from themes.palettes import Palette, hex_colour
from tui.kit.background import in_background, run_beside
from tui.kit.bindings import Binding
from tui.kit.heirs_screen import handover_texts, handovers
from tui.kit.plain_text import PlainStatic, set_title
from tui.kit.shown import Sides
from tui.kit.side_ring import SideRing
from tui.kit.store import Store
from tui.kit.table_screens import TableDialog
from tui.kit.verdict_words import judgement_colour, verdict_text
from tui.kit.wording import safe_name, shorten_middle

NAME_WIDTH: Final = 24


class DiffScreen(TableDialog):
    """The last step first; without one another dump, or the other rule. ``[`` and ``]`` choose another beginning."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("d", "dismiss('')", "Close", show=False),
        Binding("left_square_bracket", "since(-1)", "Earlier"),
        Binding("right_square_bracket", "since(1)", "Later"),
        Binding("home", "since(-1_000_000)", "As opened"),
        Binding("c", "rule", "Other rule"),
        Binding("o", "dump", "Other dump"),
        Binding("v", "view", "Ring or hash map"),
    ]
    filename = "diff.csv"

    def __init__(self, store: Store, colours: Palette, *, ascii_only: bool = False) -> None:
        super().__init__()
        self._ascii_only = ascii_only
        self._store = store
        self._colours = colours
        self.since = max(store.timeline.cursor - 1, 0)
        """The step that is compared with the cursor."""
        self.change: ChangeView | None = None
        """What is shown."""

    def compose_head(self) -> Iterable[Widget]:
        yield PlainStatic(id="head")
        rings = (SideRing(self._colours, ascii_only=self._ascii_only, flashes=False, id=side) for side in ("a", "b"))
        yield Horizontal(*rings, id="sides")

    def on_mount(self) -> None:
        if self._store.against is None:
            self.show_keys([key for key in self.shown_keys() if key.action != "dump"])
        if self._store.timeline.cursor:
            self.action_since(0)
        elif self._store.against is not None:
            self.action_dump()
        else:
            self.action_rule()
        self.table.focus()

    def action_since(self, by: int) -> None:
        """Compare another step with the cursor."""
        now = self._store.timeline.cursor
        if not now:
            return
        self.since = min(max(self.since + by, 0), now - 1)
        shown, since = self._store.shown, self.since
        self._look(
            (f"step {since}", f"step {now}"), partial(shown.change_since, since), partial(shown.views_since, since)
        )

    def action_rule(self) -> None:
        """Compare the state at the cursor with itself by the other rule of Failover."""
        shown = self._store.shown
        on = self._store.timeline.state.settings.activeConsumerFailoverConsistentHashing
        names = ("hash ring", "modulo") if on else ("modulo", "hash ring")
        self._look(names, shown.change_of_rule, shown.views_of_rules)

    def action_dump(self) -> None:
        """Compare the other dump with the state at the cursor."""
        against, shown, now = self._store.against, self._store.shown, self._store.timeline.cursor
        if against is None:
            return
        before, after = (shorten_middle(safe_name(name), NAME_WIDTH) for name in against.names)
        if now:
            after = f"{after}, step {now}"
        elif self._store.shows_earlier_moment:
            after = f"{after}, moment {self._store.moment[0]}"
        look = partial(shown.change_from, against.timeline), partial(shown.views_from, against.timeline)
        self._look((before, after), *look)

    def action_view(self) -> None:
        """Go to the next view on both sides."""
        rings = list(self.query(SideRing))
        following = rings[-1].following_view
        for ring in rings:
            ring.view_mode = following

    def _look(
        self, names: tuple[str, str], change: Callable[[], ChangeView | None], views: Callable[[], Sides]
    ) -> None:
        """Show a comparison when it is there: steps of many consumers are folded for a while."""
        set_title(self.query_one(".dialog"), " → ".join(names))
        run_beside(self, partial(self._answer, names, change, views), group="diff", exclusive=True)

    async def _answer(
        self, names: tuple[str, str], change: Callable[[], ChangeView | None], views: Callable[[], Sides]
    ) -> None:
        self._show(await in_background(change), names)
        if self.change is None:
            return
        for side, name, view in zip(("a", "b"), names, await in_background(views), strict=True):
            panel = self.query_one(f"#{side}", SideRing)
            set_title(panel, f"{side.upper()}: {name}")
            panel.show(view)

    def _show(self, change: ChangeView | None, names: tuple[str, str]) -> None:
        self.change = change
        head = self.query_one("#head", PlainStatic)
        self.query_one("#sides").display = change is not None
        if change is None:
            head.update("one of the two states does not have this subscription")
            return
        things = "partition" if change.noun == "partition" else "known key"
        set_title(self.query_one(".dialog"), f"{' → '.join(names)}: {counted(len(change.rows), things)}")
        head.update(verdict_text(change.verdict, change.noun))
        head.styles.color = hex_colour(judgement_colour(change.verdict.judgement, self._colours))
        self.show_rows(change.rows, handovers(change.noun, ("A", "B")), handover_texts)
