"""Folding events: the state that they lead to, or why they cannot follow each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

E = TypeVar("E")
S = TypeVar("S")


def fold(
    events: Iterable[E],
    begin: Callable[[E | None], S | str],
    objection: Callable[[S, E], str],
    after: Callable[[S, E], S],
) -> S | str:
    """What the events make of what the first one begins, or the first objection. O(events).

    >>> fold([1, 2, 3], lambda first: first or 0, lambda _sum, each: "" if each > 0 else "too small", int.__add__)
    6
    """
    rest = iter(events)
    state = begin(next(rest, None))
    if isinstance(state, str):
        return state
    for event in rest:
        reason = objection(state, event)
        if reason:
            return reason
        state = after(state, event)
    return state
