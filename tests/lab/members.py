"""Members of a decoded scenario, read as what they should be: a wrong one counts as absent and spoils nothing else."""

from __future__ import annotations

from datetime import datetime
from typing import Any


def items(value: object) -> list[Any]:
    """A list; [] for anything else."""
    return value if isinstance(value, list) else []


def dicts(value: object) -> list[dict[str, Any]]:
    """The objects in a list."""
    return [item for item in items(value) if isinstance(item, dict)]


def members(value: object) -> dict[str, Any]:
    """An object; {} for anything else."""
    return value if isinstance(value, dict) else {}


def text(value: object) -> str:
    """Any value as text; "" for null."""
    return "" if value is None else str(value)


def texts(value: object) -> tuple[str, ...] | None:
    """The texts in a list; None for anything else."""
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else None


def whole(value: object) -> int | None:
    """A whole number; None for anything else, for true and false too."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def wholes(value: object) -> tuple[int, ...]:
    """The whole numbers in a list."""
    return tuple(number for number in map(whole, items(value)) if number is not None)


def seconds(value: dict[str, Any]) -> float | None:
    """When something was recorded: ``t`` in seconds from the beginning, or ``at`` as a time; None without either."""
    moment, at = value.get("t"), value.get("at")
    if isinstance(moment, int | float) and not isinstance(moment, bool):
        return float(moment)
    try:
        return datetime.fromisoformat(at).timestamp() if isinstance(at, str) else None
    except ValueError:
        return None
