"""``brokers --once``: what the screen of brokers tells, as text."""

from __future__ import annotations

import math
from collections.abc import Sequence

from engine.views.brokers.model import RESOURCES, Bar, BrokersView, Compared
from engine.views.brokers.view import brokers_frame
from tui.brokers.words import (
    RESOURCE_TEXTS,
    compare_lines,
    hint_text,
    next_lines,
    row_text,
    status_text,
    strip_words,
)
from tui.cli.plain import table, wrapped
from tui.kit.wording import safe_name


def brokers_lines(view: BrokersView, compared: Sequence[Compared]) -> list[str]:
    """The brokers, the next cycle, all cycles in numbers, and every shedder."""
    frame = brokers_frame(view, 0)
    name = f"{safe_name(view.given.source)}, " if view.given.source else ""
    lines = [*wrapped(f"brokers: {name}{status_text(view)}"), *wrapped(hint_text(view, frame)), ""]
    heading = ("broker", *(RESOURCE_TEXTS[each] for each in RESOURCES), "has")
    rows = [
        (
            safe_name(row.broker),
            *(_share(bar) for bar in row.bars),
            row_text(row.msgs_per_sec, row.bytes_per_sec, row.topics, len(row.blocks)),
        )
        for row in frame.rows
    ]
    lines += [*table([heading, *rows], ("<", ">", ">", ">", ">", ">", "<")), "/: from there on the shedder acts", ""]
    for text, role in next_lines(view, frame):
        lines += [text] if role == "head" else wrapped(text, first="  ", rest="    ")
    busy = [cell for cell in view.strip if cell.unloads]
    unloads, topics, msgs = strip_words(view)
    lines += ["", f"all cycles: {unloads} unloads, {topics} topics interrupted, {msgs} msg/s moved"]
    lines += [f"  cycle {cell.number}: {cell.unloads} unloads, {cell.topics} topics" for cell in busy]
    return [*lines, "", *(text for text, _ in compare_lines(compared, view.question.cycles, 78))]


def _share(bar: Bar) -> str:
    if math.isnan(bar.share):
        return "no limit" if bar.fault == "no-limit" else "NaN"
    limit = f"/{bar.threshold:.0%}" if bar.threshold is not None else ""
    return f"{bar.share:.0%}{limit}"
