"""Sticky ranges that overlap (bug pattern K-10): the broker refuses whoever comes second."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from engine.keyshared.model import Consumer
from engine.keyshared.sticky_policy import policy_problem
from engine.lint.cases import KeyCase
from engine.lint.model import Finding, Severity
from engine.lint.rule import Rule
from engine.lint.words import counted

ID: Final = "key-overlaps"
_Piece = tuple[int, int, str]


def check(case: KeyCase) -> Iterator[Finding]:
    """One finding for each consumer that cannot join those before it: its own ranges are impossible, or overlap.

    ``slots`` is how many of its slots others have already; touching ends overlap too. Disjoint ranges may interleave.
    O(r log r) for r ranges, and moving at most r pieces for each consumer.

    >>> from engine.lint.cases import World
    >>> asked = (Consumer(1, "a", ((0, 99), (400, 999))), Consumer(2, "b", ((100, 399),)), Consumer(3, "c", ((90, 109),)))
    >>> case = KeyCase(World(), "t/n", "s", "persistent://t/n/x", 1, asked)
    >>> [(each.where.consumer, each.number("slots")) for each in check(case)]
    [('c', 20)]
    """
    taken: list[_Piece] = []
    for consumer in case.consumers:
        if consumer.declared is None:
            continue
        problem = policy_problem(consumer.declared)
        if problem is not None:
            yield _finding(case, consumer, f"cannot declare its ranges: {problem.message.rstrip('.')}", 0)
            continue
        overlapped, other = _overlap(taken, consumer)
        if overlapped:
            what = f"declares {counted(overlapped, 'slot')} that others have, first {other}: the broker refuses it"
            yield _finding(case, consumer, what, overlapped)
            continue
        taken += [(start, end, consumer.name) for start, end in consumer.declared]
        # Sorted runs are merged in linear time.
        taken.sort()


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


def _finding(case: KeyCase, consumer: Consumer, what: str, slots: int) -> Finding:
    advice = "let the ranges of all consumers be disjoint; both ends belong to a range"
    text = f"{consumer.name or '(no name)'} {what}"
    return Finding(ID, Severity.ERROR, text, case.where_of(consumer.name), (("slots", slots),), advice)


RULE: Final = Rule(
    ID,
    "sticky ranges overlap, so that a consumer is refused",
    Severity.ERROR,
    "#7217, #7231",
    check,
)
