"""Members of a decoded scenario, taken for what they should be: an odd one counts as absent, and spoils nothing."""

from __future__ import annotations

from typing import Any


def items(value: object) -> list[Any]:
    """A list; [] for anything else."""
    return value if isinstance(value, list) else []


def dicts(value: object) -> list[dict[str, Any]]:
    """The objects of a list."""
    return [item for item in items(value) if isinstance(item, dict)]


def text(value: object) -> str:
    """Any value as text; "" for null."""
    return "" if value is None else str(value)


def whole(value: object) -> int | None:
    """A whole number; None for anything else, true and false too."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
