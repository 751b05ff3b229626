"""What a recording of a cluster that splits by itself has beside its steps: a series, logs, a list of splits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from engine.admin.text import plain_json
from engine.errors import Problem
from tests.lab.balance.broker_log import LeaderLine, LoggedCycle, cycles, leader_lines
from tests.lab.balance.series import Series, decode_series
from tests.lab.folder import Folder, shared
from tests.lab.members import dicts, text, whole

SERIES: Final = "series.jsonl"
_DAY_MS: Final = 24 * 60 * 60 * 1000
_leader_lines, _cycles, _series = shared(leader_lines), shared(cycles), shared(decode_series)


@dataclass(frozen=True, slots=True)
class AutomaticSplit:
    """One split that the scenario lists: new cuts of a bundle of a namespace, as numbers."""

    namespace: str
    bundle: str
    cuts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BalanceRecords:
    """Logged cycles have times in ms after the recording's zero.

    ``leader``: lines of the modular leader, from all logs; ``cycles``: letter -> cycles of an extensible broker.
    ``files`` are the names of the series and the logs, ``logs`` the logs' texts by letter, whose times count from
    midnight, while the recording began ``zero_ms`` after it.
    """

    series: Series
    splits: tuple[AutomaticSplit, ...]
    leader: tuple[LeaderLine, ...] = ()
    cycles: Mapping[str, tuple[LoggedCycle, ...]] = field(default_factory=dict)
    has_logs: bool = False
    files: tuple[str, ...] = ()
    logs: Mapping[str, str] = field(default_factory=dict)
    zero_ms: int = 0


def balance_records(scenario: Mapping[str, Any], folder: Folder, problems: list[Problem]) -> BalanceRecords | None:
    """The records in a folder, None without a series; what cannot be read is added to ``problems``."""
    if SERIES not in folder.files:
        return None
    plain, faults = plain_json(folder.files[SERIES], SERIES)
    series = _series(plain, SERIES)
    problems += (*faults, *series.problems)
    zero_ms = (whole(scenario.get("t0_epoch_ms")) or 0) % _DAY_MS
    logs = {name: data for name, data in folder.files.items() if name.startswith("log-") and name.endswith(".txt")}
    leader: list[LeaderLine] = []
    by_broker: dict[str, tuple[LoggedCycle, ...]] = {}
    texts: dict[str, str] = {}
    for name, data in sorted(logs.items()):
        words = data.decode("utf-8", "replace")
        letter = name.removeprefix("log-").partition(".")[0]
        texts[letter] = words
        leader += _leader_lines(words)
        logged = tuple(replace(cycle, at_ms=(cycle.at_ms - zero_ms) % _DAY_MS) for cycle in _cycles(words))
        if logged:
            by_broker[letter] = logged
    return BalanceRecords(
        series.good,
        tuple(_splits(scenario)),
        tuple(leader),
        by_broker,
        has_logs=bool(logs),
        files=(SERIES, *logs),
        logs=texts,
        zero_ms=zero_ms,
    )


def _splits(scenario: Mapping[str, Any]) -> list[AutomaticSplit]:
    splits: list[AutomaticSplit] = []
    for raw in dicts(scenario.get("splits")):
        listed = raw.get("new_boundaries")
        if isinstance(listed, list):
            cuts = tuple(cut for cut in map(_position, listed) if cut is not None)
            if len(cuts) == len(listed):
                splits.append(AutomaticSplit(text(raw.get("namespace")), text(raw.get("bundle")), cuts))
    return splits


def _position(raw: object) -> int | None:
    try:
        return int(raw, 16) if isinstance(raw, str) else None
    except ValueError:
        return None
