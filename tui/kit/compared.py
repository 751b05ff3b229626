"""Two numbers as a load manager compares them, in words with their unit."""

from __future__ import annotations

from typing import Final

from engine.text import apart, counted
from tui.kit.wording import bytes_per_sec, in_out_rate, percent


def compared_text(measure: str, figure: float, limit: float) -> str:
    """What was compared with which limit, by the measure.

    >>> compared_text("usage", 0.775, 0.478), compared_text("msgs-difference", 800, 50)
    ('usage 77.5%, limit 47.8%', '800% more msg/s than the idlest broker, limit 50%')
    >>> compared_text("usage", 0.60442, 0.60413)
    'usage 60.44%, limit 60.41%'
    """
    if measure not in _TEXTS:
        return f"{figure:,.4g} against {limit:,.4g}"
    said, of_limit = _TEXTS[measure]
    numbers = _number(measure, figure), _number(measure, limit)
    if measure in _SHARES and numbers[0] == numbers[1]:
        numbers = tuple(f"{text}%" for text in apart(100 * figure, 100 * limit))  # type: ignore[assignment]
    return f"{said.format(numbers[0])}, {of_limit.format(numbers[1])}"


_TEXTS: Final[dict[str, tuple[str, str]]] = {
    "usage": ("usage {}", "limit {}"),
    "usage-average": ("usage {} (smoothed over cycles)", "limit {}"),
    "lower-boundary": ("the fullest, usage {} (smoothed over cycles)", "and another broker is below {}"),
    "msgs-difference": ("{} more msg/s than the idlest broker", "limit {}"),
    "bytes-ratio": ("{} times the B/s of the idlest broker", "limit {}"),
    "usage-difference": ("{} points between the brokers of the pair", "limit {}"),
    "low-hits": ("uneven for {} in a row", "{} needed"),
    "high-hits": ("very uneven for {} in a row", "{} needed"),
    "load": ("load {}", "that of the other broker {}"),
    "messages": ("only {} to move", "at least {} needed"),
    "bytes": ("only {} to move", "at least {} needed"),
}


_SHARES: Final = frozenset({"usage", "usage-average", "lower-boundary", "load"})


def _number(measure: str, value: float) -> str:
    if measure in _SHARES:
        return percent(value)
    if measure == "msgs-difference":
        return f"{value:,.0f}%" if value >= 100 else f"{value:,.3g}%"
    if measure in ("low-hits", "high-hits"):
        return counted(round(value), "cycle")
    if measure == "messages":
        return in_out_rate(value)
    if measure == "bytes":
        return bytes_per_sec(value)
    return f"{value:,.3g}"
