"""In which order did the leader read? What a recording leaves open, searched for the order that agrees best.

Of reports written within the same moment a recording knows neither which the leader read first, nor whether it saw the
newer one already when it read the older, nor whether the averages were stored before or after. So for each moment there
are a few readings, and a comparison may take the best of them; it should say how many moments it had to turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, permutations

from engine.balance.replay import BundlesChanged, ModularEvent, ReportWritten

SAME_MOMENT_MS = 700
MOST_EVENTS = 4
"""A moment of more events is left as written: the orders would be too many."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Events in the order that agrees best, the agreement, and how many moments are not as written."""

    events: tuple[ModularEvent, ...]
    agreement: int
    turned: int


def best_reading(events: Sequence[ModularEvent], agreement: Callable[[Sequence[ModularEvent]], int]) -> Reading:
    """Improve one moment after the other until none helps; as written wins a tie. ``agreement`` counts what agrees.

    O(rounds × moments × readings) calls of ``agreement``. It can end in a local best.

    >>> from engine.balance.modular import BrokerReport
    >>> written = [ReportWritten(0, BrokerReport("a", ())), ReportWritten(3, BrokerReport("b", ()))]
    >>> found = best_reading(written, lambda order: int(order[0].report.broker == "b"))
    >>> [(event.at_ms, event.report.broker) for event in found.events], found.agreement, found.turned
    ([(0, 'b'), (3, 'a')], 1, 1)
    """
    current = list(events)
    best = agreement(current)
    turned: set[int] = set()
    improved = True
    while improved:
        improved = False
        for number, places in enumerate(_moments(events)):
            for reading in _readings([events[place] for place in places]):
                trial = list(current)
                for place, event in zip(places, reading, strict=True):
                    # The places in time stay, so that bundle lists in between keep their order.
                    trial[place] = replace(event, at_ms=events[place].at_ms)
                count = agreement(trial)
                if count > best:
                    current, best, improved = trial, count, True
                    turned.add(number)
    return Reading(tuple(current), best, len(turned))


def _moments(events: Sequence[ModularEvent]) -> list[list[int]]:
    groups: list[list[int]] = []
    for place, event in enumerate(events):
        if isinstance(event, BundlesChanged):
            continue
        if groups and event.at_ms - events[groups[-1][0]].at_ms <= SAME_MOMENT_MS:
            groups[-1].append(place)
        else:
            groups.append([place])
    return [group for group in groups if 1 < len(group) <= MOST_EVENTS]


def _readings(moment: Sequence[ModularEvent]) -> Iterator[list[ModularEvent]]:
    for order in permutations(moment):
        yield list(order)
        reports = [place for place, event in enumerate(order) if isinstance(event, ReportWritten)]
        for place, later in pairwise(reports):
            first, second = order[place], order[later]
            assert isinstance(first, ReportWritten) and isinstance(second, ReportWritten)
            together = list(order)
            together[place] = replace(first, already=(second.report,))
            yield together
