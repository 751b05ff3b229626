"""Sticky ranges as the Java client takes them: source text to paste into a consumer.

Source: ``KeySharedPolicy.stickyHashRange`` of the Java client.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from engine.ranges import HashRange

WIDTH_CHARS: Final = 100
_MARGIN: Final = " " * 8


def policy_code(name: str, ranges: Sequence[HashRange]) -> tuple[str, ...]:
    """Source lines that assign a STICKY policy of these ranges to ``name``; none without ranges, which are refused.

    >>> print(*policy_code("node0", [HashRange(0, 9), HashRange(12, 12)]), sep="\\n")
    KeySharedPolicy node0 = KeySharedPolicy.stickyHashRange().ranges(
            Range.of(0, 9), Range.of(12, 12));
    """
    rows: list[str] = []
    for piece in ranges:
        text = f"Range.of({piece.start}, {piece.end})"
        # A comma, or the end of the statement, follows.
        if rows and len(f"{rows[-1]}, {text}") + 1 <= WIDTH_CHARS:
            rows[-1] += f", {text}"
        else:
            rows.append(_MARGIN + text)
    if not rows:
        return ()
    first = f"KeySharedPolicy {name} = KeySharedPolicy.stickyHashRange().ranges("
    return (first, *(f"{row}," for row in rows[:-1]), f"{rows[-1]});")
