"""Words that several rules share."""

from __future__ import annotations

from collections.abc import Sequence


def counted(count: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "topic"), counted(1200, "topic")
    ('1 topic', '1,200 topics')
    """
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def listed(texts: Sequence[str], at_most: int = 3) -> str:
    """The first few, and how many there are besides.

    >>> listed(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    shown = ", ".join(texts[:at_most])
    return f"{shown} and {len(texts) - at_most} more" if len(texts) > at_most else shown
