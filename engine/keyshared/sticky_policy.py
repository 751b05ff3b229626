"""The check a client makes of its sticky ranges before it sends them; the broker makes its own (``sticky``).

Source: ``Range`` and ``KeySharedPolicy.KeySharedPolicySticky`` of the Java client.
"""

from __future__ import annotations

from engine.errors import Rejection
from engine.keyshared.model import RANGE_SIZE, DeclaredRanges


def policy_problem(declared: DeclaredRanges) -> Rejection | None:
    """What the Java client says of a STICKY policy before it sends it; None when it is fine.

    Checks in order: a range that ends before it starts cannot be built; no range; one outside 0 .. 65535; the first
    that overlaps another. All are illegal arguments. O(n log n), and O(n) more for the pair to name.
    """
    for start, end in declared:
        if end < start:
            return Rejection("IllegalArgumentException", "Range end must >= range start.", field="ranges")
    if not declared:
        return Rejection("IllegalArgumentException", "Ranges for KeyShared policy must not be empty.", field="ranges")
    clashing = _clashing(declared)
    for at, (start, end) in enumerate(declared):
        if start < 0 or end >= RANGE_SIZE:
            message = f"Ranges must be [0, 65535] but provided range is [{start}, {end}]"
            return Rejection("IllegalArgumentException", message, field="ranges")
        if at in clashing:
            other = next(each for j, each in enumerate(declared) if j != at and each[0] <= end and start <= each[1])
            message = f"Ranges for KeyShared policy with overlap between [{start}, {end}] and [{other[0]}, {other[1]}]"
            return Rejection("IllegalArgumentException", message, field="ranges")
    return None


def _clashing(declared: DeclaredRanges) -> frozenset[int]:
    """The positions of ranges that overlap any other one; O(n log n)."""
    order = sorted(range(len(declared)), key=lambda at: declared[at])
    found: set[int] = set()
    furthest: int | None = None
    for at in order:
        if furthest is not None and declared[at][0] <= declared[furthest][1]:
            found.update((at, furthest))
        if furthest is None or declared[at][1] > declared[furthest][1]:
            furthest = at
    return frozenset(found)
