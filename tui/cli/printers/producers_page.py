"""``--once`` of the producers of a topic: everything the screen "producers" shows, as text, one fact a line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from engine.text import counted
from engine.views.producers.model import (
    LOST,
    REASON,
    ProducerRow,
    ProducersView,
    StatisticsRow,
    StatisticsView,
)
from engine.views.producers.words import burst_text
from tui.cli.plain import BY_JSON, Align, PageColumn, and_more, listing, table, wrapped
from tui.kit.wording import quantity, safe_name, shorten_middle
from tui.producers.words import rates_sentence

NAME_CELLS: Final = 22
LAST_CELLS: Final = 34
SHOWN: Final = 20
"""Producers, partitions, statistics and events that are listed; the rest is counted."""
_CURVE_ALIGNS: Final[tuple[Align, ...]] = ("<", ">", ">", ">", ">", ">")


def _whose(row: StatisticsRow) -> str:
    who = ", ".join(f"#{number}" for number in row.producers[:4]) + (", ..." if len(row.producers) > 4 else "")
    return f"{who} (a mixture of {len(row.producers):,})" if row.mixture else who


_PRODUCERS: Final[tuple[PageColumn[ProducerRow], ...]] = (
    ("#", ">", lambda row: str(row.number)),
    ("producer", "<", lambda row: shorten_middle(safe_name(row.name), NAME_CELLS)),
    ("client", "<", lambda row: row.client),
    ("router", "<", lambda row: row.router),
    ("start", "<", lambda row: "lazy" if row.lazy else "eager"),
    ("opened", ">", lambda row: f"{row.opened:,}" + (f" (+{row.gained:,})" if row.gained else "")),
    ("of", ">", lambda row: f"{row.known:,}"),
    ("msg/s", ">", lambda row: "-" if row.msgs_per_sec is None else quantity(row.msgs_per_sec)),
    ("sent", ">", lambda row: f"{row.sent_msgs:,}"),
    ("wait", ">", lambda row: f"{row.pending_msgs:,}"),
    ("state", "<", lambda row: row.state),
    ("last", "<", lambda row: shorten_middle(safe_name(row.last), LAST_CELLS)),
)
_STATISTICS: Final[tuple[PageColumn[StatisticsRow], ...]] = (
    ("name", "<", lambda row: shorten_middle(safe_name(row.name), NAME_CELLS) or "-"),
    ("msg/s", ">", lambda row: quantity(row.msgs_per_sec)),
    ("B/s", ">", lambda row: quantity(row.bytes_per_sec)),
    ("mean B", ">", lambda row: quantity(row.mean_msg_bytes)),
    ("of", "<", _whose),
)


def producers_lines(view: ProducersView, statistics: StatisticsView) -> list[str]:
    """One screenful as lines of text."""
    return [
        *_status(view),
        *(line for notice in view.notices for line in wrapped(safe_name(notice.text), first="notice: ", rest="  ")),
        "",
        *_producers(view),
        *_opened(view),
        *_bursts(view),
        "",
        *_counts(view),
        "",
        *_partitions(view),
        "",
        *_statistics(statistics),
        "",
        *_events(view),
    ]


def _status(view: ProducersView) -> Iterator[str]:
    status, foot = view.status, view.foot
    yield f"source: {safe_name(status.source)}"
    yield (
        f"Pulsar: {safe_name(status.release)} · seed {status.seed} · step {status.step} of {status.steps}"
        f" · {status.now_ms:,} ms"
    )
    size = f"{counted(status.partitions, 'partition')} · {counted(status.brokers, 'broker')}"
    yield f"topic: {safe_name(status.topic)} · {size}"
    yield f"statistics are merged {'by producer name' if status.by_name else 'by position'}"
    if view.rates is not None and view.rates.hottest >= 0:
        yield from wrapped(rates_sentence(view, view.rates), first="rates: ", rest="  ")
    others = [safe_name(place) for at, place in enumerate(status.places) if at != status.place]
    if others:
        yield from wrapped(", ".join(others), first="also shown here: ", rest="  ")
    yield from wrapped(
        f"{counted(foot.ready, 'producer')} with {counted(foot.broker_producers, 'object')} on brokers"
        f" (eager ones would have {foot.pairs:,}), {counted(foot.connections, 'connection')},"
        f" {foot.partitions_used:,} of {counted(foot.partitions, 'partition')} used,"
        f" {counted(foot.sent_msgs, 'message')} published,"
        f" {foot.pending_msgs:,} waiting",
        first="in all: ",
        rest="  ",
    )


def _producers(view: ProducersView) -> list[str]:
    if not view.producers:
        return ['producers: none; --apply "producer add count 3 lazy" creates some']
    count = len(view.producers)
    return [
        f"producers: {count:,}",
        *listing(view.producers[:SHOWN], _PRODUCERS, indent="  "),
        *and_more(count - SHOWN, BY_JSON),
    ]


def _opened(view: ProducersView) -> Iterator[str]:
    """Which partitions each has opened, where the list is short enough to be read."""
    few = [row for row in view.producers[:SHOWN] if 0 < row.opened < row.known and row.opened <= SHOWN]
    if few:
        yield "opened partitions (x: the connection is lost):"
    for row in few:
        cells = view.matrix[row.number]
        names = [f"{at}{'x' if cells[at] & LOST else ''}" for at in np.flatnonzero(cells & REASON).tolist()]
        yield from wrapped(" ".join(names), first=f"  #{row.number}: ", rest="      ")


def _bursts(view: ProducersView) -> Iterator[str]:
    """What partitions see of producers that go round by batches."""
    rows = [row for row in view.producers[:SHOWN] if row.burst is not None]
    if rows:
        yield "bursts while batching:"
    for row in rows:
        assert row.burst is not None
        yield from wrapped(burst_text(row.burst), first=f"  #{row.number}: ", rest="      ")


def _counts(view: ProducersView) -> list[str]:
    counts = view.counts
    rows = [
        ("", "objects", "connections", "in the long run"),
        ("eager", *_way(counts.here.eager, counts.connections[0], counts.forever.eager)),
        (f"lazy, {counts.lazy_mode}", *_way(counts.here.lazy, counts.connections[1], counts.forever.lazy)),
        (f"lazy, partial({counts.limit})", *_way(counts.here.partial, counts.connections[2], counts.forever.partial)),
        ("as it is", f"{counts.observed:,}", f"{view.foot.connections:,}", ""),
    ]
    middle = (len(counts.points) - 1) // 2
    last = len(counts.points) - 1
    marks = [counts.points[at] for at in sorted({0, middle // 2, middle, (middle + last) // 2, last})]
    curve = [
        ("partitions", *(f"{point.partitions:,}" for point in marks)),
        ("eager", *(quantity(point.eager) for point in marks)),
        (f"lazy, {counts.lazy_mode}", *(quantity(point.lazy) for point in marks)),
        (f"lazy, partial({counts.limit})", *(quantity(point.partial) for point in marks)),
    ]
    return [
        f"what the same {counted(counts.producers, 'producer')} cost after {counted(counts.messages, 'message')} each:",
        *table(rows, ("<", ">", ">", ">"), indent="  "),
        "objects over the number of partitions:",
        *table(curve, _CURVE_ALIGNS[: len(marks) + 1], indent="  "),
    ]


def _way(objects: float, connections: float, forever: float) -> tuple[str, str, str]:
    return f"{objects:,.0f}", f"{connections:,.0f}", f"{forever:,.0f}"


def _partitions(view: ProducersView) -> Iterator[str]:
    """The partitions with the most producers and messages, and those that are not served."""
    part = view.partitions
    rates = np.zeros(part.count) if view.rates is None else view.rates.msgs_per_sec
    busiest = np.lexsort((np.arange(part.count), -part.messages, -part.producers, -rates))[:SHOWN].tolist()
    failing = {one.partition: one.error for one in part.failing}
    rows: list[tuple[str, ...]] = [("partition", "producers", "in/s", "peak", "messages", "waiting", "")]
    for at in sorted({*busiest, *list(failing)[:SHOWN]}):
        remark = f"not served: {safe_name(failing[at])}" if at in failing else "new" if at >= part.new_from else ""
        numbers = [f"{int(column[at]):,}" for column in (part.producers, part.messages, part.pending)]
        peaks = rates if view.rates is None else view.rates.peak_msgs_per_sec
        rate = ["-" if view.rates is None else quantity(float(column[at])) for column in (rates, peaks)]
        rows.append((str(at), numbers[0], *rate, *numbers[1:], remark))
    busiest_has = counted(view.foot.busiest, "producer")
    yield f"partitions: {part.count:,}, busiest {busiest_has}, {view.foot.idle:,} without any"
    yield from table(rows, (">", ">", ">", ">", ">", ">", "<"), indent="  ")
    yield from and_more(part.count - SHOWN, BY_JSON)


def _statistics(view: StatisticsView) -> Iterator[str]:
    yield from wrapped(view.sentence, first="statistics: ", rest="  ")
    lists = (
        ("by name", view.by_name.entries, view.by_name.torn),
        ("by position", view.by_position.entries, view.by_position.torn),
    )
    for title, entries, torn in lists:
        mark = " (in force)" if title == view.in_force else ""
        text = f"{counted(len(entries), 'row')}, {counted(torn, 'producer')} in more than one"
        yield f"  {title}{mark}: {text}"
        yield from listing(entries[:SHOWN], _STATISTICS, indent="    ")
        yield from and_more(len(entries) - SHOWN, BY_JSON, indent="    ")


def _events(view: ProducersView) -> Iterator[str]:
    yield "events:"
    for event in view.events:
        parts = [f"{event.opened:,} opened"] * bool(event.opened) + [f"{event.gone:,} gone"] * bool(event.gone)
        parts += [safe_name(event.effect)] * bool(event.effect)
        effect = f": {', '.join(parts)}" if parts else ""
        yield from wrapped(safe_name(event.text) + effect, first=f"  {event.step:>3}  ", rest=" " * 7)
