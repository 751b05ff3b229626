"""Who inherits when a consumer goes, and every single failure: a dialog of the screens that have consumers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, ClassVar, Final

from rich.text import Text
from textual import on
from textual.binding import BindingType
from textual.timer import Timer
from textual.widget import Widget

from engine.errors import Rejection
from engine.text import counted
from engine.views.comparing.handovers import SLOT, HandoverRow
from engine.views.comparing.heirs import HeirsView, LossesView, LossRow
from themes.palettes import Palette, hex_colour
from tui.kit.background import in_background, run_beside
from tui.kit.bindings import Binding
from tui.kit.columns import Cell, ScreenColumn, Table, numbers, table_of, texts
from tui.kit.line_table import LineTable
from tui.kit.plain_text import PlainStatic, set_title
from tui.kit.shown import Shown
from tui.kit.side_ring import SideRing
from tui.kit.table_screens import TableDialog
from tui.kit.verdict_words import judgement_colour, loss_text
from tui.kit.wording import (
    BUSIEST,
    BUSIEST_SHORT,
    NOBODY,
    UNKNOWN,
    judgement_word,
    percent,
    quantity,
    safe_name,
    short_topic,
    shorten_middle,
)

HEIRS_NAMED: Final = 6
"""Heirs that the head names; the table has every topic."""


FAILURE_SECONDS: Final = 2.0
"""Between two failures of the film: what moves needs 0.7 of them, a reader the rest."""


class HeirsScreen(TableDialog):
    """What the loss of one consumer does; ``a`` shows all single failures, enter opens one, space plays all on a ring.

    Is dismissed with "".
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("h", "dismiss('')", "Close", show=False),
        Binding("enter", "none", "Open one"),
        Binding("a", "all_failures", "All failures"),
        Binding("space", "play", "Play", key_display="space"),
        Binding("v", "view", "Ring or hash map", show=False),
    ]
    filename = "heirs.csv"

    def __init__(
        self, consumer_id: int, shown: Shown, colours: Palette, *, animate: bool = False, ascii_only: bool = False
    ) -> None:
        super().__init__()
        self._consumer_id = consumer_id
        self._of = shown
        self._colours = colours
        self._in_motion = animate
        self._ascii_only = ascii_only
        self._shown: HeirsView | LossesView | None = None
        self._film: Timer | None = None

    def compose_head(self) -> Iterable[Widget]:
        yield PlainStatic(id="head")
        yield SideRing(self._colours, ascii_only=self._ascii_only, flashes=self._in_motion, id="film")
        yield PlainStatic(id="heirs")

    def on_mount(self) -> None:
        self._look(partial(self._of.heirs_of, self._consumer_id))
        self.table.focus()

    def action_all_failures(self) -> None:
        """Every single failure, the worst first."""
        self._look(self._of.losses)

    def chosen(self, row: Any) -> None:
        if isinstance(row, LossRow):
            self._look(partial(self._of.heirs_of, row.consumer_id))

    # the film

    def action_play(self) -> None:
        """Play one failure after the other from the marked one on, or stop."""
        if self._film is not None:
            self._stop()
        elif isinstance(self._shown, LossesView) and self.table.listed:
            self.query_one(".dialog").add_class("-film")
            if self.table.cursor == len(self.table.listed) - 1:
                self.table.cursor = 0
            self._film = self.set_interval(FAILURE_SECONDS, self._play_next)
            self._show_failure()

    def action_view(self) -> None:
        """Go to the next view of the film."""
        self.query_one(SideRing).show_next_view()

    def _play_next(self) -> None:
        self.table.cursor += 1
        if self.table.cursor >= len(self.table.listed) - 1:
            self._stop()

    def _stop(self) -> None:
        if self._film is not None:
            self._film.stop()
            self._film = None

    @on(LineTable.Moved)
    def _show_failure(self) -> None:
        """Show the marked failure on the ring, where there is one."""
        if self.query_one(".dialog").has_class("-film") and self.table.listed:
            run_beside(self, partial(self._draw, self.table.listed[self.table.cursor]), group="film", exclusive=True)

    async def _draw(self, row: LossRow) -> None:
        sides = await in_background(self._of.views_of_loss, row.consumer_id)
        judgement = judgement_word(row.judgement, row.moved, lost=bool(row.items))
        for ring in self.query(SideRing):  # none in a dialog that is being closed
            set_title(ring, f"without {shorten_middle(safe_name(row.name), 40)}: {judgement}, {row.moved:,} moved")
            ring.show_change(sides)

    def _look(self, compute: Callable[[], HeirsView | LossesView | Rejection]) -> None:
        """Show an answer when it is there: with many topics or keys it takes a while."""
        run_beside(self, partial(self._answer, compute), group="heirs", exclusive=True)

    async def _answer(self, compute: Callable[[], HeirsView | LossesView | Rejection]) -> None:
        self._show(await in_background(compute))

    def _show(self, view: HeirsView | LossesView | Rejection) -> None:
        if isinstance(view, Rejection):
            self.query_one("#head", PlainStatic).update(str(view))
            return
        self._shown = view
        self._stop()
        without = ("none", "play") if isinstance(view, HeirsView) else ("all_failures",)
        self.show_keys([key for key in self.shown_keys() if key.action not in without])
        box, head = self.query_one(".dialog"), self.query_one("#head", PlainStatic)
        box.remove_class("-film")
        if isinstance(view, HeirsView):
            set_title(box, f"if {shorten_middle(', '.join(map(safe_name, view.gone)), 40)} goes")
            head.update(loss_text(view.verdict, view.heirs, view.noun))
            self.query_one("#heirs", PlainStatic).update(heirs_text(view))
            self.show_rows(view.rows, handovers(view.noun), handover_texts)
        else:
            set_title(box, f"every single failure of {shorten_middle(safe_name(view.subscription), 40)}")
            head.update(losses_head(view))
            self.query_one("#heirs", PlainStatic).update("")
            self.show_rows(view.rows, losses(view.noun, self._colours), lambda row: (row.name, row.busiest))


def heirs_text(view: HeirsView) -> str:
    """Who gets how much more."""
    total = view.verdict.after.msgs_per_sec
    named = []
    for row in view.heirs[:HEIRS_NAMED]:
        share = f", {percent(row.msgs_before / total)} → {percent(row.msgs_after / total)}" if total else ""
        name = shorten_middle(safe_name(row.name), 24)
        named.append(f"{name} {row.items_before:,} → {row.items_after:,}{share}")
    more = len(view.heirs) - HEIRS_NAMED
    heirs = "; ".join(named) + (f"; {more:,} more" if more > 0 else "")
    return f"heirs: {heirs or NOBODY}"


def losses_head(view: LossesView) -> str:
    """The present unevenness, and how many losses would make it worse."""
    rate = f", by messages {view.max_over_mean_rate:.2f}" if view.max_over_mean_rate else ""
    worse = sum(row.judgement == "worse" for row in view.rows)
    now = f"now {BUSIEST} {view.max_over_mean:.2f}{rate}"
    return f"{counted(len(view.rows), 'consumer')}; {now}; {worse:,} of these losses would be worse"


def handover_texts(row: HandoverRow) -> tuple[str, ...]:
    """Return the texts that a filter searches."""
    return row.name, row.before or NOBODY, row.after or NOBODY


def handovers(noun: str, sides: tuple[str, str] = ("from", "to")) -> Table[HandoverRow]:
    """The table of what changes hands: topic or key (``noun``), its owners under ``sides``, traffic and unacked."""
    of_keys = noun == SLOT

    def heir(row: HandoverRow) -> str:
        return NOBODY if row.after is None else f"{'another ' * row.is_between_namesakes}{safe_name(row.after)}"

    def declare(
        sample: Sequence[HandoverRow], _rows: Sequence[HandoverRow], _width: int
    ) -> list[ScreenColumn[HandoverRow]]:
        whole = max((len(short_topic(row.name)) for row in sample), default=5) + 2
        before, after = _who_cells(row.before for row in sample), _who_cells(row.after for row in sample)
        return [
            ScreenColumn(
                "name", "known key" if of_keys else "topic", whole, texts(lambda row: short_topic(row.name)),
                lambda row: row.name, easy=min(whole, 30), least=12,
            ),
            ScreenColumn(
                "from", sides[0], before, texts(lambda row: NOBODY if row.before is None else safe_name(row.before)),
                lambda row: row.before or NOBODY, rank=1, left=True, most=40,
            ),
            ScreenColumn("to", sides[1], after, texts(heir), lambda row: row.after or NOBODY, left=True, most=40),
            ScreenColumn(
                "rate", "messages" if of_keys else "out/s", 9, numbers(lambda row: quantity(row.msgs_per_sec)),
                lambda row: row.msgs_per_sec,
            ),
            ScreenColumn(
                "unacked", "unacked", 9, numbers(lambda row: quantity(row.unacked)), lambda row: row.unacked, rank=2,
                there=not of_keys and any(row.unacked for row in sample),
            ),
        ]  # fmt: skip

    return table_of(declare)


def _who_cells(names: Iterable[str | None]) -> int:
    """A column of consumers: as wide as their names, 8 to 16 cells."""
    return max(8, min(16, 2 + max((len(name or NOBODY) for name in names), default=0)))


def losses(noun: str, colours: Palette) -> Table[LossRow]:
    """The table of single failures; ``noun`` is what is lost."""

    def verdict(row: LossRow, width: int) -> Text:
        word = judgement_word(row.judgement, row.moved, lost=bool(row.items))
        return Text(word.ljust(width), hex_colour(judgement_colour(row.judgement, colours)), no_wrap=True)

    def busiest(row: LossRow) -> str:
        return NOBODY if row.busiest is None else safe_name(row.busiest)

    def most(row: LossRow) -> str:
        return quantity(row.busiest_msgs) if row.busiest_msgs else f"{row.busiest_items:,}"

    def by_rate(row: LossRow) -> str:
        return f"{row.max_over_mean_rate:.2f}" if row.max_over_mean_rate else UNKNOWN

    def declare(sample: Sequence[LossRow], _rows: Sequence[LossRow], _width: int) -> list[ScreenColumn[LossRow]]:
        title = "if this goes"
        whole = max(max((len(row.name) for row in sample), default=5), len(title)) + 2
        name: Cell[LossRow] = texts(lambda row: safe_name(row.name))
        return [
            ScreenColumn("verdict", "verdict", 12, verdict, lambda row: row.judgement, left=True),
            ScreenColumn("name", title, whole, name, lambda row: row.name, easy=min(whole, 20), least=14),
            ScreenColumn("items", f"{noun}s", 11, numbers(lambda row: f"{row.items:,}"), lambda row: row.items, rank=4),
            ScreenColumn("moved", "moved", 8, numbers(lambda row: f"{row.moved:,}"), lambda row: row.moved, rank=3),
            ScreenColumn("heirs", "heirs", 7, numbers(lambda row: f"{row.heirs:,}"), lambda row: row.heirs, rank=5),
            ScreenColumn(
                "busiest", "busiest then", 14, texts(busiest), lambda row: row.busiest or NOBODY, left=True, most=40
            ),
            ScreenColumn("rate", "most msg", 10, numbers(most), lambda row: row.busiest_msgs or row.busiest_items),
            ScreenColumn(
                "ratio", BUSIEST_SHORT, 12, numbers(lambda row: f"{row.max_over_mean:.2f}"),
                lambda row: row.max_over_mean, rank=1,
            ),
            ScreenColumn("rate ratio", "by messages", 12, numbers(by_rate), lambda row: row.max_over_mean_rate, rank=2),
            ScreenColumn("idle", "idle", 6, numbers(lambda row: f"{row.idle:,}"), lambda row: row.idle, rank=6),
        ]  # fmt: skip

    return table_of(declare)
