"""Lists."""

from __future__ import annotations

from collections.abc import Sequence


def listed(texts: Sequence[str], at_most: int = 3) -> str:
    """Write the first few of many texts, and how many more there are.

    >>> listed(["a", "b"]), listed(["a", "b", "c"], 2)
    ('a, b', 'a, b and 1 more')
    """
    shown = ", ".join(texts[:at_most])
    return f"{shown} and {len(texts) - at_most} more" if len(texts) > at_most else shown


def joined(names: Sequence[str], at_most: int = 3) -> str:
    """Write names with "and" before the last one, or how many more there are.

    >>> joined(["a"]), joined(["a", "b"]), joined(["a", "b", "c", "d", "e"])
    ('a', 'a and b', 'a, b, c and 2 more')
    """
    if len(names) > at_most:
        return listed(names, at_most)
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1] if names else "")))
