"""``brokers --once``: the brokers, the next cycle, where bundles of lost brokers land, and every shedder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from engine.views.brokers import brokers_frame
from engine.views.brokers_model import BrokerRow, BrokersView, ShedderRow
from tui.brokers.words import cycle_lines, short
from tui.cli.plain import Align, table, wrapped
from tui.kit.wording import bytes_per_sec, percent, quantity, safe_name

_BROKERS: Final[tuple[Align, ...]] = ("<", ">", ">", ">", ">", ">", ">", ">", ">", "<")
_SHEDDERS: Final[tuple[Align, ...]] = ("<", ">", ">", ">", ">", ">", ">", ">")


def brokers_page(view: BrokersView, compared: Sequence[ShedderRow], source: str) -> list[str]:
    """The page, with the brokers as they are before the first cycle."""
    frame = brokers_frame(view, 1)
    name, value = view.threshold
    placed = f", placed by {view.placement}" if view.placement else ""
    heading = ("broker", "usage", "cpu", "memory", "direct", "in", "out", "msg/s", "bytes/s", "verdict")
    lines = [*wrapped(f"{safe_name(source)}: {view.shedder}, {name}={value:g}{placed}", rest="  "), ""]
    lines += table([heading, *(_row(row) for row in frame.brokers)], _BROKERS)
    for text, role in cycle_lines(view, frame):
        if role == "head":
            lines += ["", text]
        else:
            lines += wrapped(text, first="  ", rest="    ")
    return [*lines, "", *_compared(compared)]


def _row(row: BrokerRow) -> tuple[str, ...]:
    used = (percent(each.used) if each.is_known else "-" for each in row.resources)
    verdict = "" if row.judged is None else f"{row.judged} ({short(row.figure)} of {short(row.limit)})"
    traffic = quantity(row.msgs_per_sec), bytes_per_sec(row.bytes_per_sec)
    return (safe_name(row.broker), percent(row.usage), *used, *traffic, verdict)


def _compared(rows: Sequence[ShedderRow]) -> Iterator[str]:
    heading = ("shedder", "unloads", "an hour", "topics", "back", "quiet after", "messages", "deviation")
    yield from table([heading, *(_shedder(row) for row in rows)], _SHEDDERS)
    yield "messages: the fullest broker over the mean at the end; deviation: the standard one over the mean"
    for row in rows:
        if row.refused:
            yield f"{row.shedder}: {row.refused}"


def _shedder(row: ShedderRow) -> tuple[str, ...]:
    if row.after is None:
        return (row.shedder, *("-" for _ in range(7)))
    return (
        row.shedder,
        str(row.unloads),
        f"{row.unloads_per_hour:.1f}",
        str(row.topics),
        str(row.returns),
        "-" if row.quiet_after is None else str(row.quiet_after),
        short(row.after.msgs.max_over_mean),
        short(row.after.msgs.deviation_over_mean),
    )
