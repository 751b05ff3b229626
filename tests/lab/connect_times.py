"""When consumers connected, as statistics show it: it tells namesakes apart."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.admin.facts import ConsumerFacts

_TIME = re.compile(r"([^.]*?)(?:\.(\d+))?(Z|[+-]\d\d:?\d\d|)$")


def connect_ranks(consumers: Sequence[ConsumerFacts], names: set[str]) -> dict[str, list[int]]:
    """Name -> for each namesake in listed order, its place by connect time; only where the times tell it."""
    ranks: dict[str, list[int]] = {}
    for name in names:
        times = [_time(each.connected_since) for each in consumers if each.name == name]
        if len(times) > 1 and len(set(times)) == len(times) and len({time[2] for time in times}) == 1:
            ranks[name] = [sorted(times).index(time) + 1 for time in times]
    return ranks


def _time(text: str) -> tuple[str, str, str]:
    match = _TIME.fullmatch(text)
    return (match[1], (match[2] or "").ljust(9, "0"), match[3]) if match else (text, "", "")
