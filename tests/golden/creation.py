"""The boundaries that a user gives a new namespace."""

from __future__ import annotations

from collections.abc import Sequence

from engine.bundles.boundaries import FULL_LOWER_BOUND, FULL_UPPER_BOUND, boundary_text
from engine.errors import Rejection
from engine.names import long_decode


def validate_boundaries_at_creation(boundaries: Sequence[str]) -> tuple[int, ...] | Rejection:
    """Boundaries a user gave, as ``validateBundlesData`` keeps them: re-written, sorted **as text**, no duplicates.

    So a number above 32 bits may come between smaller ones; building the bundle list refuses it later. Refused here:
    not a number (NumberFormatException), an empty list (NoSuchElementException), ends other than 0 and 0xffffffff
    (400).

    >>> validate_boundaries_at_creation(["0xffffffff", "8", "0", "8"])
    (0, 8, 4294967295)
    """
    values: set[int] = set()
    for text in boundaries:
        value = long_decode(text)
        if isinstance(value, Rejection):
            return value
        values.add(value)
    ordered = sorted(values, key=boundary_text)
    if not ordered:
        return Rejection("NoSuchElementException", "no boundaries given", field="boundaries")
    if ordered[0] != FULL_LOWER_BOUND or ordered[-1] != FULL_UPPER_BOUND:
        return Rejection(
            "RestException",
            f"boundaries must run from 0x00000000 to 0xffffffff, not {boundary_text(ordered[0])}"
            f" to {boundary_text(ordered[-1])}",
            field="boundaries",
            status=400,
        )
    return tuple(ordered)
