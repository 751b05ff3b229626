"""How backlog, rate and permits of a subscription went over the moments that were seen."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct

from engine.admin.facts import NotReported, SubscriptionFacts, total
from engine.admin.moments import Moment
from engine.diagnosis.seen import MomentReadings, parent_of

Series = tuple[float | None, ...]
_UNKNOWN: Final[Series] = (None, None, None)


class Trends(Struct, frozen=True):
    """One value for each moment, the newest last; None where it is unknown, and where a moment is missing."""

    backlog: Series
    out_msgs_per_sec: Series
    permits: Series


def trends_of(
    moments: Sequence[tuple[Moment, MomentReadings]], namespace: str, subscription: str, topics: Sequence[str]
) -> Trends:
    """Sum a subscription's dispatchers of ``topics``, partitions one by one, at each moment.

    A sum is unknown where a topic was not read at that moment. O(topics x moments).
    """
    cells: list[Series] = []
    missing = _missing_between([moment.at_ms for moment, _ in moments])
    for (moment, readings), gap in zip(moments, missing, strict=True):
        facts = [_facts(moment, readings, (namespace, subscription, topic)) for topic in topics]
        cells += [_UNKNOWN] * gap
        cells.append(_UNKNOWN if None in facts else _sums([each for each in facts if each is not None]))
    return Trends(*zip(*cells, strict=True))


def _facts(moment: Moment, readings: MomentReadings, key: tuple[str, str, str]) -> SubscriptionFacts | None:
    if parent_of(key[2]) in moment.older:
        return None
    reading = readings.full.get(key) or readings.listed.get(key)
    return None if reading is None else reading.subscription


def _sums(facts: Sequence[SubscriptionFacts]) -> Series:
    return (
        total(each.msg_backlog_entries for each in facts),
        total(each.msg_rate_out_msgs_per_sec for each in facts),
        total(map(_permits, facts)),
    )


def _permits(facts: SubscriptionFacts) -> int | None:
    if isinstance(facts.consumers, NotReported):
        return None
    return total(consumer.available_permits for consumer in facts.consumers)


def _missing_between(times: Sequence[int | None]) -> list[int]:
    """How many moments are missing before each one, by the usual time between two of them.

    >>> _missing_between([0, 10_000, 20_400, 50_000, 60_000]), _missing_between([None, 5, None])
    ([0, 0, 0, 2, 0], [0, 0, 0])
    """
    between = [None if one is None or other is None else other - one for one, other in pairwise(times)]
    known = sorted(gap for gap in between if gap is not None)
    usual = known[len(known) // 2] if known else 0
    return [0, *(max(0, round(gap / usual) - 1) if gap is not None and usual > 0 else 0 for gap in between)]
