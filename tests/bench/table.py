"""The table that the benchmarks print: what was timed, against which peer in the same run, and the ratio."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison. ``ratio`` is peer / ours: how many times as fast as the peer. ``aim`` is what is wanted of it.

    ``unit`` other than ms is for rows that are not about time, such as bytes beside the most they may be. ``most_ms``
    is the longest of those whose median is ``ours_ms``.
    """

    what: str
    ours_ms: float
    peer: str
    peer_ms: float
    aim: str = ""
    unit: str = "ms"
    most_ms: float | None = None

    @property
    def ratio(self) -> float:
        return self.peer_ms / self.ours_ms if self.ours_ms else float("inf")


def median_ms(work: Callable[[], object], rounds: int = 15) -> float:
    """Median wall-clock of ``rounds`` calls, after one to warm up."""
    work()
    taken = []
    for _ in range(rounds):
        begin = time.perf_counter()
        work()
        taken.append((time.perf_counter() - begin) * 1000)
    return statistics.median(taken)


def lines(rows: Sequence[Row]) -> list[str]:
    """The table as text, one line a row, under a heading."""
    width = max(58, *(len(row.what) for row in rows)) if rows else 58
    heading = f"{'what':<{width}} {'ours ms':>11} {'most ms':>9}   {'peer':<44} {'peer ms':>11} {'ratio':>8}  bar"
    body = [
        f"{row.what:<{width}} {_value(row, row.ours_ms):>11} {'' if row.most_ms is None else _short(row.most_ms):>9}"
        f"   {row.peer:<44} {_value(row, row.peer_ms):>11}"
        f" {_short(row.ratio) + 'x':>8}  {row.aim}"
        for row in rows
    ]
    return [heading, "-" * len(heading), *body]


def write_json(rows: Sequence[Row], path: Path) -> None:
    """The rows as a list of objects; ``ratio`` is peer_s / ours_s, ``bar`` is empty where nothing was promised.

    What is not about time stands in ``ours_s`` and ``peer_s`` as it is; its name tells the unit.
    """
    entries = [
        {
            "name": row.what,
            "ours_s": row.ours_ms / (1000 if row.unit == "ms" else 1),
            "peer": row.peer,
            "peer_s": row.peer_ms / (1000 if row.unit == "ms" else 1),
            "ratio": row.ratio,
            "bar": row.aim,
            **({} if row.most_ms is None else {"most_s": row.most_ms / 1000}),
        }
        for row in rows
    ]
    path.write_text(json.dumps(entries, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _value(row: Row, value: float) -> str:
    return _short(value) if row.unit == "ms" else f"{_short(value)} {row.unit}"


def _short(value: float) -> str:
    """Three digits that count, however small or large.

    >>> _short(1234.5), _short(12.345), _short(0.00033333)
    ('1,234', '12.3', '0.000333')
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:#.3g}"
