"""What a piece of work takes: wall-clock, and CPU seconds of this process and all its descendants.

On a machine that others use as well, wall-clock tells as much about them; CPU seconds stay what they are, nearly.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_TICKS_PER_SEC: Final = os.sysconf("SC_CLK_TCK")
_PROC: Final = Path("/proc")


@dataclass(frozen=True, slots=True)
class Spent:
    """``cpu_sec`` is 0 where the system does not tell it."""

    wall_sec: float
    cpu_sec: float


class Meter:
    """What is spent from one reading to the next; of a process that ended meanwhile only what it reported to the one
    that waited for it."""

    def __init__(self) -> None:
        self._wall, self._ticks = time.perf_counter(), _ticks_by_process()

    def read(self) -> Spent:
        """What was spent since the last reading."""
        wall, ticks = time.perf_counter(), _ticks_by_process()
        more = sum(max(0, now - self._ticks.get(pid, 0)) for pid, now in ticks.items())
        result = Spent(wall - self._wall, more / _TICKS_PER_SEC)
        self._wall, self._ticks = wall, ticks
        return result


def spent(work: Callable[[], object]) -> Spent:
    """Of one call."""
    meter = Meter()
    work()
    return meter.read()


def best(work: Callable[[], object], rounds: int) -> Spent:
    """The least of each over so many calls."""
    each = [spent(work) for _ in range(rounds)]
    return Spent(min(one.wall_sec for one in each), min(one.cpu_sec for one in each))


def peak_mb() -> dict[str, int]:
    """The most memory that each kind of process below this one has held so far, in MB: ``java``, ``python``."""
    results: dict[str, int] = defaultdict(int)
    for pid in descendants():
        try:
            lines = (_PROC / str(pid) / "status").read_text().splitlines()
        except OSError:
            continue
        result = dict(line.split(":", 1) for line in lines if ":" in line)
        name = "java" if result["Name"].strip() == "java" else "python"
        results[name] += int(result.get("VmHWM", "0 kB").split()[0]) // 1024
    return dict(results)


def _ticks_by_process() -> dict[int, int]:
    return {pid: _ticks(pid) for pid in [os.getpid(), *descendants()]}


def _ticks(pid: int) -> int:
    # User and system time, and those of children that have ended and were waited for.
    return sum(int(word) for word in _words(pid)[11:15])


def _words(pid: int) -> list[str]:
    """The fields of ``stat`` behind the name, which may hold anything."""
    try:
        return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def descendants() -> list[int]:
    """The processes below this one."""
    children: dict[int, list[int]] = defaultdict(list)
    for path in _PROC.iterdir() if _PROC.is_dir() else ():
        if path.name.isdigit() and (words := _words(int(path.name))):
            children[int(words[1])].append(int(path.name))
    result: list[int] = []
    waiting = [os.getpid()]
    while waiting:
        below = children[waiting.pop()]
        result += below
        waiting += below
    return result
