"""Find the report order that best explains the recorded decisions of the modular leader.

Each report is read some time after it was written. Of two that were written within a second, the newer one may be read
first, and the one that is read first may find the newer one written already; the same holds for a storing of averages
near a report. The recorded order is tried first, then single changes to it; a change is kept when it explains more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tests.lab.balance.replay import AveragesStored, ModularEvent, ReportWritten

CLOSE_MS: Final = 1000
_MOST_CHANGES: Final = 12
_MOST_REPLAYS: Final = 600
EVER: Final = (-(2**62), 2**62)
"""All of the time of a recording."""
Events = tuple[ModularEvent, ...]


@dataclass(frozen=True, slots=True)
class Agreement:
    """How much an order explains. What does not agree was caused after ``since_ms`` and no later than ``until_ms``."""

    score: int
    since_ms: int
    until_ms: int


def best_order(events: Events, agreement: Callable[[Events], Agreement], perfect: int) -> tuple[Events, int]:
    """The order that agrees best, and how many changes it took. O(changes × close pairs of the time in doubt) replays.

    At most ``_MOST_REPLAYS`` are made, so that a recording which nothing explains does not search for ever.
    """
    search = _Search(agreement)
    best, reached, changes = events, agreement(events), 0
    while reached.score < perfect and changes < _MOST_CHANGES:
        # What a later disagreement needs may help where nothing helps the first one.
        later = replace(reached, since_ms=reached.until_ms, until_ms=EVER[1])
        better = search.better(best, reached, reached) or search.better(best, reached, later)
        if better is None:
            break
        reached, best = better
        changes += 1
    return best, changes


class _Search:
    """Looks for one change that explains more, as long as there are replays left."""

    def __init__(self, agreement: Callable[[Events], Agreement]) -> None:
        self._agreement = agreement
        self._left = _MOST_REPLAYS

    def better(self, events: Events, reached: Agreement, doubt: Agreement) -> tuple[Agreement, Events] | None:
        """The best neighbour, if it is better; only changes in the time of ``doubt`` are tried."""
        best, chosen = reached, None
        for neighbour in _neighbours(events, doubt):
            if not self._left:
                return None
            self._left -= 1
            agreement = self._agreement(neighbour)
            if agreement.score > best.score:
                best, chosen = agreement, neighbour
        return None if chosen is None else (best, chosen)


def _neighbours(events: Events, doubt: Agreement) -> Iterator[Events]:
    for at, event in enumerate(events):
        other = _next_close(events, at)
        if other is None or not doubt.since_ms - CLOSE_MS <= event.at_ms <= doubt.until_ms:
            continue
        second = events[other]
        between = events[at + 1 : other]
        before, after = events[:at], events[other + 1 :]
        if isinstance(event, ReportWritten) and isinstance(second, ReportWritten):
            one, two = replace(event, already=()), replace(second, already=())
            seen = replace(one, already=(second.report,))
            early = replace(two, at_ms=event.at_ms)
            yield (*before, seen, *between, two, *after)
            yield (*before, early, one, *between, *after)
            yield (*before, replace(early, already=(event.report,)), one, *between, *after)
        else:
            yield (*before, replace(second, at_ms=event.at_ms), event, *between, *after)


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
