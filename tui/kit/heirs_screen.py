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
from tui.kit.columns import Column, Columns, Lines, NameColumn, Order, Value, fitting, table_lines
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
    fit,
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
            self.show_rows(view.rows, handover_lines(view.noun), handover_value, handover_texts)
        else:
            noun, colours = view.noun, self._colours
            set_title(box, f"every single failure of {shorten_middle(safe_name(view.subscription), 40)}")
            head.update(losses_head(view))
            self.query_one("#heirs", PlainStatic).update("")
            self.show_rows(
                view.rows,
                lambda rows, order: table_lines(
                    rows,
                    lambda sample, width: _loss_columns(sample, width, noun),
                    lambda row, column: _loss_cell(row, column, colours),
                    order,
                ),
                _loss_value,
                lambda row: (row.name, row.busiest),
            )


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


def handover_lines(
    noun: str, sides: tuple[str, str] = ("from", "to")
) -> Callable[[Sequence[HandoverRow], Order], Lines]:
    """How rows about what changes hands become lines; ``noun`` is what changes hands, ``sides`` head both owners."""
    return lambda rows, order: table_lines(
        rows, lambda sample, width: handover_columns(sample, width, noun, sides), handover_cell, order
    )


def handover_value(row: HandoverRow, key: str) -> Value:
    """Return what a column is sorted by and exported with."""
    values: dict[str, Value] = {
        "name": row.name,
        "from": row.before or NOBODY,
        "to": row.after or NOBODY,
        "rate": row.msgs_per_sec,
        "unacked": row.unacked,
    }
    return values[key]


def handover_texts(row: HandoverRow) -> tuple[str, ...]:
    """Return the texts that a filter searches."""
    return row.name, row.before or NOBODY, row.after or NOBODY


def handover_columns(rows: Sequence[HandoverRow], width: int, noun: str, sides: tuple[str, str]) -> Columns:
    """The columns of a table of what changes hands: topic or key, from, to, traffic, unacknowledged messages."""
    messages = "out/s" if noun != SLOT else "messages"
    whole = max((len(short_topic(row.name)) for row in rows), default=5) + 2
    name = NameColumn("topic" if noun != SLOT else "known key", whole, min(whole, 30), 12)
    before, after = _who_cells(row.before for row in rows), _who_cells(row.after for row in rows)
    always = (Column("to", sides[1], after, left=True, most=40), Column("rate", messages, 9))
    others = (
        Column("from", sides[0], before, left=True, most=40),
        *([Column("unacked", "unacked", 9)] if noun != SLOT and any(row.unacked for row in rows) else []),
    )
    return fitting(width, name, always, others, ("name", "from", "to", "rate", "unacked"))


def _who_cells(names: Iterable[str | None]) -> int:
    """A column of consumers: as wide as their names, 8 to 16 cells."""
    return max(8, min(16, 2 + max((len(name or NOBODY) for name in names), default=0)))


def handover_cell(row: HandoverRow, column: Column) -> Text:
    """One cell of a table of what changes hands."""
    match column.key:
        case "name":
            return Text(fit(short_topic(row.name), column.width - 1) + " ", no_wrap=True)
        case "from" | "to":
            who = row.before if column.key == "from" else row.after
            another = "another " if column.key == "to" and row.is_between_namesakes else ""
            name = NOBODY if who is None else another + safe_name(who)
            return Text(fit(name, column.width - 1) + " ", no_wrap=True)
    value = row.msgs_per_sec if column.key == "rate" else row.unacked
    return Text(quantity(value).rjust(column.width - 1) + " ", no_wrap=True)


def _loss_columns(rows: Sequence[LossRow], width: int, noun: str) -> Columns:
    whole = max(max((len(row.name) for row in rows), default=5), len("if this goes")) + 2
    name = NameColumn("if this goes", whole, min(whole, 20), 14)
    always = (
        Column("verdict", "verdict", 12, left=True),
        Column("rate", "most msg", 10),
        Column("busiest", "busiest then", 14, True, 40),
    )
    others = (
        Column("ratio", BUSIEST_SHORT, 12),
        Column("rate ratio", "by messages", 12),
        Column("moved", "moved", 8),
        Column("items", f"{noun}s", 11),
        Column("heirs", "heirs", 7),
        Column("idle", "idle", 6),
    )
    order = ("verdict", "name", "items", "moved", "heirs", "busiest", "rate", "ratio", "rate ratio", "idle")
    return fitting(width, name, always, others, order)


def _loss_value(row: LossRow, key: str) -> Value:
    values: dict[str, Value] = {
        "verdict": row.judgement,
        "name": row.name,
        "items": row.items,
        "moved": row.moved,
        "heirs": row.heirs,
        "busiest": row.busiest or NOBODY,
        "rate": row.busiest_msgs or row.busiest_items,
        "ratio": row.max_over_mean,
        "rate ratio": row.max_over_mean_rate,
        "idle": row.idle,
    }
    return values[key]


def _loss_cell(row: LossRow, column: Column, colours: Palette) -> Text:
    match column.key:
        case "verdict":
            style = hex_colour(judgement_colour(row.judgement, colours))
            return Text(
                judgement_word(row.judgement, row.moved, lost=bool(row.items)).ljust(column.width), style, no_wrap=True
            )
        case "name":
            return Text(fit(safe_name(row.name), column.width - 1) + " ", no_wrap=True)
        case "busiest":
            who = NOBODY if row.busiest is None else safe_name(row.busiest)
            return Text(fit(who, column.width - 1) + " ", no_wrap=True)
    text = {
        "items": f"{row.items:,}",
        "moved": f"{row.moved:,}",
        "heirs": f"{row.heirs:,}",
        "rate": quantity(row.busiest_msgs) if row.busiest_msgs else f"{row.busiest_items:,}",
        "ratio": f"{row.max_over_mean:.2f}",
        "rate ratio": f"{row.max_over_mean_rate:.2f}" if row.max_over_mean_rate else UNKNOWN,
        "idle": f"{row.idle:,}",
    }[column.key]
    return Text(text.rjust(column.width - 1) + " ", no_wrap=True)
