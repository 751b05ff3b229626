"""``heirs`` and the lists of what changes hands, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from engine.text import counted
from engine.views.comparing.handovers import SLOT, HandoverRow
from engine.views.comparing.heirs import HeirRow, HeirsView, LossesView
from tui.cli.plain import Align, table, wrapped
from tui.kit.verdict_words import verdict_text
from tui.kit.wording import quantity, safe_name, short_topic

_HEIR_ALIGNS: Final[tuple[Align, ...]] = ("<", ">", ">", ">", ">")
_ROW_ALIGNS: Final[tuple[Align, ...]] = ("<", "<", "<", ">", ">", "<")
_LOSS_ALIGNS: Final[tuple[Align, ...]] = ("<", "<", ">", ">", ">", "<", ">", ">", ">", ">", ">")
NOBODY: Final = "nobody"


def heirs_lines(view: HeirsView, top: int) -> Iterator[str]:
    """The verdict, who gets more, and what goes to whom, busiest first."""
    names = ", ".join(map(safe_name, view.gone))
    yield from wrapped(f"{safe_name(view.subscription)}: if {names} {'goes' if len(view.gone) == 1 else 'go'}")
    yield from wrapped(verdict_text(view.verdict, view.noun), first="  ", rest="    ")
    yield ""
    yield from _heirs(view.heirs, view.noun, top)
    if view.rows:
        yield ""
        yield from handover_lines(view.rows, view.noun, top)


def _heirs(heirs: Sequence[HeirRow], noun: str, top: int) -> Iterator[str]:
    if not heirs:
        yield "nobody inherits anything"
        return
    messages = "msg/s" if noun != SLOT else "messages"
    rows = [("heir", f"{noun}s", "then", messages, "then")]
    rows += [
        (
            f"  {safe_name(row.name)}",
            f"{row.items_before:,}",
            f"{row.items_after:,}",
            quantity(row.msgs_before),
            quantity(row.msgs_after),
        )
        for row in heirs[:top]
    ]
    yield from table(rows, _HEIR_ALIGNS)
    yield from more_line(len(heirs) - top)


def handover_lines(rows: Sequence[HandoverRow], noun: str, top: int) -> Iterator[str]:
    """What changes hands, a line each: name, from, to, traffic, unacknowledged messages, and what is odd about it."""
    messages = "msg/s" if noun != SLOT else "messages"
    heading = ("topic" if noun != SLOT else "known key", "from", "to", messages, "unacked", "")
    cells = [
        (
            f"  {short_topic(row.name)}",
            NOBODY if row.before is None else safe_name(row.before),
            NOBODY if row.after is None else safe_name(row.after),
            quantity(row.msgs_per_sec),
            f"{row.unacked:,}" if noun != SLOT else "",
            "" if row.kind == "moved" else row.kind,
        )
        for row in rows[:top]
    ]
    yield from table([heading, *cells], _ROW_ALIGNS)
    yield from more_line(len(rows) - top)


def losses_lines(view: LossesView, top: int) -> Iterator[str]:
    """Every single failure, a line each."""
    now = f"max/mean {view.max_over_mean:.2f}"
    if view.max_over_mean_rate:
        now += f", by messages {view.max_over_mean_rate:.2f}"
    failures = f"{counted(len(view.rows), 'single failure')}, the worst first"
    yield from wrapped(f"{safe_name(view.subscription)}: {failures}; now {now}")
    messages = "msg/s" if view.noun != SLOT else "messages"
    most = (f"most {view.noun}s", f"most {messages}")
    rows = [
        (
            "",
            "if this goes",
            f"{view.noun}s",
            "moved",
            "heirs",
            "busiest then",
            *most,
            "max/mean",
            "by messages",
            "idle",
        )
    ]
    rows += [
        (
            row.judgement,
            safe_name(row.name),
            f"{row.items:,}",
            f"{row.moved:,}",
            f"{row.heirs:,}",
            NOBODY if row.busiest is None else safe_name(row.busiest),
            f"{row.busiest_items:,}",
            quantity(row.busiest_msgs),
            f"{row.max_over_mean:.2f}",
            f"{row.max_over_mean_rate:.2f}" if row.max_over_mean_rate else "",
            f"{row.idle:,}",
        )
        for row in view.rows[:top]
    ]
    yield from table(rows, _LOSS_ALIGNS, indent="  ")
    yield from more_line(len(view.rows) - top)


def more_line(left: int) -> Iterator[str]:
    """How many rows are not shown."""
    if left > 0:
        yield f"  and {left:,} more (--top and --json have them)"
