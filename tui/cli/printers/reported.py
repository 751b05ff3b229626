"""What brokers reported of a subscription, as text: sums, the table of its consumers, and who waits for whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Protocol

from engine.views.reported.model import ReportedView
from tui.cli.plain import Align, table, wrapped
from tui.kit.reported import Tagged, obstacle_texts, pair_words, seen_text, waiting_text
from tui.kit.wording import counted, quantity, safe_name, shorten_middle

NAME_CELLS: Final = 22
SHOWN: Final = 20
"""Draining slots that are listed; the rest is counted."""
_HEADING: Final = ("", "consumer", "permits", "unacked", "waiting", "msg/s", "blocked")
_ALIGNS: Final[tuple[Align, ...]] = ("<", "<", ">", ">", ">", ">", "<")


class Row(Tagged, Protocol):
    """A row of the table of consumers."""

    @property
    def name(self) -> str: ...


def reported_lines(view: ReportedView | None, rows: Sequence[Row]) -> Iterator[str]:
    """What was reported of a subscription; after a step of the simulation only that it was left behind."""
    if view is None:
        return
    yield ""
    if view.computed_from:
        yield from wrapped(
            f"reported: {seen_text(view.time)}; everything here is computed from step {view.computed_from} on",
            first="",
            rest="  ",
        )
        return
    parts = [
        f"backlog {view.backlog:,}",
        f"{view.unacked:,} unacked",
        f"{view.in_replay:,} in replay",
        f"{view.delayed:,} delayed",
        f"{quantity(view.msgs_per_sec)} msg/s out",
        f"{view.blocked_dispatchers:,} of {counted(view.dispatchers, 'topic')} blocked on unacked",
    ]
    yield f"reported by brokers, {seen_text(view.time)}:"
    yield from wrapped(" · ".join(parts), first="  ", rest="  ")
    listed = [
        (
            f"!{rows[at].tag}" if each.obstacles else f" {rows[at].tag}",
            shorten_middle(safe_name(each.name), NAME_CELLS),
            f"{each.permits:,}",
            f"{each.unacked:,}",
            waiting_text(each),
            quantity(each.msgs_per_sec),
            obstacle_texts(each, rows)[0].removeprefix("! "),
        )
        for at, each in enumerate(view.consumers)
    ]
    if listed:
        yield from table([_HEADING, *listed], _ALIGNS, indent="  ")
    yield from _draining(view, rows)


def _draining(view: ReportedView, rows: Sequence[Row]) -> Iterator[str]:
    if not view.waits:
        return
    names = [row.name for row in rows]
    words = ", ".join(pair_words(view, names)) or "no message was held back"
    yield from wrapped(f"{counted(view.draining_slots, 'slot')} draining: {words}", first="  ", rest="    ")
    listed = [("slot", "waits", "for", "unacked", "attempts", "topic")]
    for wait in view.waits[:SHOWN]:
        who, whom = (rows[at].tag if at >= 0 else "-" for at in (wait.owner, wait.holder))
        unacked, attempts = f"{wait.unacked:,}", f"{wait.blocked_attempts:,}"
        listed.append((str(wait.slot), who, whom, unacked, attempts, safe_name(wait.topic)))
    yield from table(listed, (">", "<", "<", ">", ">", "<"), indent="  ")
    if len(view.waits) > SHOWN:
        yield f"  and {len(view.waits) - SHOWN:,} more"


def seen_event_lines(view: ReportedView) -> Iterator[str]:
    """What happened between the moments that were seen, inferred from the answers; a star stands before the moment."""
    for event in view.events:
        yield from wrapped(safe_name(event.text), first=f"  {f'*{event.moment}':>3}  ", rest=" " * 7)
