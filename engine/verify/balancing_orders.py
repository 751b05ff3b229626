"""The order in which the leader read reports of one second: what it did tells it, the times of writing do not.

Each report is read some time after it was written. Of two that were written within a second the newer may be read
first, and the one read first may find the newer written already; the same goes for a storing of averages beside a
report. The recorded order is tried first, then single changes to it, each kept when it explains more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from engine.bundles import AveragesStored, ModularEvent, ReportWritten

CLOSE_MS = 1000
_MOST_CHANGES = 12
Events = tuple[ModularEvent, ...]


def best_order(events: Events, agreement: Callable[[Events], int], perfect: int) -> tuple[Events, int]:
    """The order that agrees best, and how many changes it took. O(changes × close pairs) replays."""
    best, score, changes = events, agreement(events), 0
    while score < perfect and changes < _MOST_CHANGES:
        found = max(((agreement(each), each) for each in _neighbours(best)), key=lambda pair: pair[0], default=None)
        if found is None or found[0] <= score:
            break
        score, best = found
        changes += 1
    return best, changes


def _neighbours(events: Events) -> Iterator[Events]:
    for at, event in enumerate(events):
        other = _next_close(events, at)
        if other is None:
            continue
        second = events[other]
        between = events[at + 1 : other]
        rest = (events[:at], events[other + 1 :])
        if isinstance(event, ReportWritten) and isinstance(second, ReportWritten):
            one, two = replace(event, already=()), replace(second, already=())
            seen = replace(one, already=(second.report,))
            early = replace(two, at_ms=event.at_ms)
            yield (*rest[0], seen, *between, two, *rest[1])
            yield (*rest[0], early, one, *between, *rest[1])
            yield (*rest[0], replace(early, already=(event.report,)), one, *between, *rest[1])
        else:
            yield (*rest[0], replace(second, at_ms=event.at_ms), event, *between, *rest[1])


def _next_close(events: Sequence[ModularEvent], at: int) -> int | None:
    """The next report of another broker, or storing, within a second; None for an event of another kind."""
    event = events[at]
    if not isinstance(event, ReportWritten | AveragesStored):
        return None
    for place in range(at + 1, len(events)):
        other = events[place]
        if other.at_ms - event.at_ms > CLOSE_MS:
            return None
        if isinstance(event, ReportWritten) and isinstance(other, ReportWritten):
            return place if other.report.broker != event.report.broker else None
        if isinstance(other, ReportWritten | AveragesStored):
            return place if type(other) is not type(event) else None
    return None
