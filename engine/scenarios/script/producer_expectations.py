"""``expect`` lines about the producers of a partitioned topic, checked against what their screen tells.

::

    expect producers OP N            expect opened PRODUCER OP N        (partitions it has opened)
    expect objects OP N              expect knows PRODUCER OP N         (partitions it counts with)
    expect connections OP N          expect route PRODUCER KEY OP N     (the partition of its next message)
    expect used OP N                 expect state PRODUCER STATE
    expect pending OP N              expect entries by name|by position OP N
    expect published OP N            expect mixtures by name|by position OP N
    expect eager|lazy|partial OP X   expect torn by name|by position OP N

``objects`` are producer objects on brokers, ``used`` partitions with any; eager, lazy and partial are what the same
producers would have opened by now with that way to start. A PRODUCER is a name or #N.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from engine.cluster.timeline import Timeline
from engine.errors import Rejection
from engine.views.producers.answers import send_answer, statistics_view
from engine.views.producers.model import ProducerRow, ProducersView
from engine.views.producers.view import producers_view

PRODUCER_FORMS: Final[Mapping[str, tuple[int, bool, str]]] = {
    "producers": (0, True, "expect producers = N"),
    "objects": (0, True, "expect objects = N"),
    "connections": (0, True, "expect connections = N"),
    "used": (0, True, "expect used = N"),
    "pending": (0, True, "expect pending = N"),
    "published": (0, True, "expect published = N"),
    "eager": (0, True, "expect eager = N"),
    "lazy": (0, True, "expect lazy = N"),
    "partial": (0, True, "expect partial = N"),
    "opened": (1, True, "expect opened PRODUCER = N"),
    "knows": (1, True, "expect knows PRODUCER = N"),
    "route": (2, True, "expect route PRODUCER KEY = N"),
    "state": (2, False, "expect state PRODUCER Ready|Closed|Fenced"),
    "entries": (2, True, "expect entries by name = N"),
    "mixtures": (2, True, "expect mixtures by position = N"),
    "torn": (2, True, "expect torn by position = N"),
}
"""Kind -> how many words name the subject, whether a comparison follows, how it is written."""

_WAYS: Final = ("by name", "by position")


def producer_text_unmet(kind: str, subject: tuple[str, ...], timeline: Timeline, topic: str) -> str | None:
    """Why an expectation without a number does not hold, "" when it does; None for a kind that is not known here."""
    view = producers_view(timeline, topic)
    if kind == "state":
        row = _row(view, subject[0])
        return row if isinstance(row, str) else "" if row.state == subject[1] else f"{subject[0]} is {row.state}"
    if kind == "notice":
        there = [notice.code for notice in view.notices]
        return "" if subject[0] in there else f"the notices are {', '.join(there) or 'none'}"
    return None


def producer_number(kind: str, subject: tuple[str, ...], timeline: Timeline, topic: str) -> float | str:
    """The number to compare, or why there is none."""
    view = producers_view(timeline, topic)
    foot, here = view.foot, view.counts.here
    plain: dict[str, float] = {
        "producers": foot.ready,
        "objects": foot.broker_producers,
        "connections": foot.connections,
        "used": foot.partitions_used,
        "pending": foot.pending_msgs,
        "published": foot.sent_msgs,
        "eager": here.eager,
        "lazy": here.lazy,
        "partial": here.partial,
    }
    if kind in plain:
        return plain[kind]
    if kind in ("entries", "mixtures", "torn"):
        return _of_statistics(kind, " ".join(subject), timeline, topic)
    if kind not in PRODUCER_FORMS:
        return f"{kind} is not known of producers"
    row = _row(view, subject[0])
    if isinstance(row, str):
        return row
    if kind == "route":
        told = send_answer(timeline, topic, row.number, subject[1])
        return told.message if isinstance(told, Rejection) else told.told.route.partition
    return row.opened if kind == "opened" else row.known


def _of_statistics(kind: str, way: str, timeline: Timeline, topic: str) -> float | str:
    if way not in _WAYS:
        return f"statistics are merged {' or '.join(_WAYS)}, not {way!r}"
    told = statistics_view(timeline, topic)
    if kind == "torn":
        return told.torn_by_name if way == "by name" else told.torn_by_position
    rows = told.by_name if way == "by name" else told.by_position
    return len(rows) if kind == "entries" else sum(row.mixture for row in rows)


def _row(view: ProducersView, who: str) -> ProducerRow | str:
    if who.startswith("#") and who[1:].isdecimal():
        number = int(who[1:])
        return view.producers[number] if number < len(view.producers) else f"there is no producer {number}"
    found = [row for row in view.producers if row.name == who]
    return found[0] if len(found) == 1 else f"{len(found)} producers are named {who!r}"
