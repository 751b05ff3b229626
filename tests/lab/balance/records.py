"""What a scenario of a cluster that splits by itself has beside its steps: a series, logs, brokers, and its splits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from engine.admin.files import read_file
from engine.admin.text import plain_json
from tests.lab.balance.broker_log import LeaderLine, LoggedCycle, cycles, leader_lines
from tests.lab.balance.series import Series, decode_series
from tests.lab.members import dicts, text, whole
from tests.lab.scenario_files import Files

_SERIES: Final = ("series.jsonl", "series.jsonl.gz")
_DAY_MS: Final = 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True)
class AutomaticSplit:
    """One split that the scenario lists: new cuts of a bundle of a namespace, as whole numbers."""

    namespace: str
    bundle: str
    cuts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BalancingTold:
    """Logged cycles have times in ms after the recording's zero.

    ``leader``: lines of the modular leader, of all logs; ``cycles``: letter -> cycles of an extensible broker.
    """

    series: Series
    splits: tuple[AutomaticSplit, ...]
    leader: tuple[LeaderLine, ...] = ()
    cycles: Mapping[str, tuple[LoggedCycle, ...]] = field(default_factory=dict)
    has_logs: bool = False
    files: tuple[str, ...] = ()


def balancing_told(
    scenario: Mapping[str, Any], folder: Path, others: tuple[str, ...], files: Files
) -> BalancingTold | None:
    """None without a series in the folder; ``others`` are the names of its files that are no answers."""
    name = next((each for each in others if each in _SERIES), None)
    if name is None:
        return None
    series = decode_series(_text(folder, name, files), name)
    files.problems += series.problems
    zero_ms = (whole(scenario.get("t0_epoch_ms")) or 0) % _DAY_MS
    logs = {
        each.removeprefix("log-").partition(".")[0]: each
        for each in others
        if each.startswith("log-") and each.removesuffix(".gz").endswith(".txt")
    }
    leader: list[LeaderLine] = []
    by_broker: dict[str, tuple[LoggedCycle, ...]] = {}
    for letter, file in sorted(logs.items()):
        words = _text(folder, file, files).decode("utf-8", "replace")
        leader += leader_lines(words)
        found = cycles(words)
        if found:
            by_broker[letter] = tuple(
                LoggedCycle((each.at_ms - zero_ms) % _DAY_MS, each.lines, each.stopped, each.decisions)
                for each in found
            )
    return BalancingTold(
        series.good,
        tuple(_splits(scenario)),
        tuple(leader),
        by_broker,
        has_logs=bool(logs),
        files=(name, *logs.values()),
    )


def _text(folder: Path, name: str, files: Files) -> bytes:
    file, found = read_file(folder / name, name, files.intake)
    files.problems += found
    if file is None:
        return b""
    data, found = plain_json(file.data, name)
    files.problems += found
    return data


def _splits(scenario: Mapping[str, Any]) -> list[AutomaticSplit]:
    found: list[AutomaticSplit] = []
    for raw in dicts(scenario.get("splits")):
        listed = raw.get("new_boundaries")
        if isinstance(listed, list):
            cuts = [_position(each) for each in listed]
            known = tuple(cut for cut in cuts if cut is not None)
            if len(known) == len(listed):
                found.append(AutomaticSplit(text(raw.get("namespace")), text(raw.get("bundle")), known))
    return found


def _position(raw: object) -> int | None:
    try:
        return int(raw, 16) if isinstance(raw, str) else None
    except ValueError:
        return None
