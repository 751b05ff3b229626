"""Sticky ranges that overlap (bug pattern K10): the broker refuses the second consumer."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from engine.keyshared.model import Consumer
from engine.keyshared.sticky import policy_problem
from engine.lint.model import Finding, KeyCase, Rule, Severity
from engine.text import counted

ID: Final = "key-overlaps"
_DISJOINT: Final = "let the ranges of all consumers be disjoint; both ends belong to a range"
_POSSIBLE: Final = "declare ranges from 0 to 65535 that are there and do not overlap one another"
_Piece = tuple[int, int, str]


def check(case: KeyCase) -> Iterator[Finding]:
    """One finding for each consumer that cannot join those before it: its own ranges are impossible, or overlap.

    ``slots`` is how many of its slots others have already; touching ends overlap too. Disjoint ranges may interleave.
    O(r log r) for r ranges, and moving at most r pieces for each consumer.

    >>> from engine.lint.model import World
    >>> asked = {"a": ((0, 99), (400, 999)), "b": ((100, 399),), "c": ((90, 109),)}
    >>> consumers = tuple(Consumer(at, name, ranges) for at, (name, ranges) in enumerate(asked.items()))
    >>> case = KeyCase(World(), "t/n", "s", "persistent://t/n/x", 1, consumers)
    >>> [(finding.where.consumer, finding.number("slots")) for finding in check(case)]
    [('c', 20)]
    """
    if case.selector is not None and len(case.selector.consumers) == len(case.consumers):
        # All of them have joined, whatever a client of ours would say to their ranges.
        return
    for refused in admitted(case.consumers)[1]:
        text = f"{refused.consumer.name or '(no name)'} {refused.why}"
        where = case.where_of(refused.consumer.name)
        advice = _DISJOINT if refused.slots else _POSSIBLE
        yield Finding(ID, Severity.ERROR, text, where, (("slots", refused.slots),), advice)


@dataclass(frozen=True, slots=True)
class Refused:
    """A consumer that cannot join those before it, and how many of its slots they have."""

    consumer: Consumer
    why: str
    slots: int


def admitted(consumers: Sequence[Consumer]) -> tuple[tuple[Consumer, ...], tuple[Refused, ...]]:
    """Who can join, one after another, and who is refused. Who declares nothing always can. Cost as for ``check``."""
    taken: list[_Piece] = []
    good: list[Consumer] = []
    bad: list[Refused] = []
    for consumer in consumers:
        problem = policy_problem(consumer.declared) if consumer.declared is not None else None
        slots, other = (0, "") if problem is not None else _overlap(taken, consumer)
        if problem is not None:
            bad.append(Refused(consumer, f"cannot declare its ranges: {problem.message.rstrip('.')}", 0))
        elif slots:
            why = f"declares {counted(slots, 'slot')} that others have, first {other}: the broker refuses it"
            bad.append(Refused(consumer, why, slots))
        else:
            good.append(consumer)
            taken += [(start, end, consumer.name) for start, end in consumer.declared or ()]
            # Sorted runs are merged in linear time.
            taken.sort()
    return tuple(good), tuple(bad)


def _overlap(taken: list[_Piece], consumer: Consumer) -> tuple[int, str]:
    """How many slots of a consumer others have, and whose the first of them are. ``taken`` are sorted and disjoint."""
    slots, first = 0, ""
    for start, end in sorted(consumer.declared or ()):
        at = max(0, bisect_right(taken, start, key=lambda piece: piece[0]) - 1)
        while at < len(taken) and taken[at][0] <= end:
            common = min(end, taken[at][1]) - max(start, taken[at][0]) + 1
            if common > 0:
                slots += common
                first = first or f"[{taken[at][0]},{taken[at][1]}] of {taken[at][2] or '(no name)'}"
            at += 1
    return slots, first


RULE: Final = Rule(
    ID,
    "sticky ranges overlap, so that a consumer is refused",
    Severity.ERROR,
    "#7217, #7231",
    check,
)
