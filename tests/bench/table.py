"""The table that the benchmarks print: what was timed, against which peer in the same run, and the ratio."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison. ``ratio`` is ours / peer: below 1 is faster than the peer. ``aim`` is what the project wants."""

    what: str
    ours_ms: float
    peer: str
    peer_ms: float
    aim: str = ""

    @property
    def ratio(self) -> float:
        return self.ours_ms / self.peer_ms if self.peer_ms else float("inf")


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
    heading = f"{'what':<58} {'ms':>9}   {'peer':<44} {'ms':>9} {'ratio':>7}  aim"
    body = [
        f"{row.what:<58} {row.ours_ms:>9.2f}   {row.peer:<44} {row.peer_ms:>9.2f} {row.ratio:>7.2f}  {row.aim}"
        for row in rows
    ]
    return [heading, "-" * len(heading), *body]
