"""Twenty recorded answers of all kinds and releases, each with the path that it answers."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

RECORDINGS: Final = Path(__file__).resolve().parents[1] / "recordings"


@dataclass(frozen=True)
class Recorded:
    """An answer as a broker printed it, and the path of the request on the admin interface."""

    name: str
    path: str
    data: bytes

    @property
    def value(self) -> Any:
        return json.loads(self.data)

    @property
    def is_statistics(self) -> bool:
        return self.path.rpartition("/")[2].partition("?")[0] in ("stats", "partitioned-stats", "internalStats")


_CHOSEN: Final = (
    ("a-failover-3p-hash", "partitioned-stats"),
    ("a-namesakes-4p-modulo", "partitioned-stats"),
    ("a-nonpersistent-3p-hash", "partitioned-stats"),
    ("a-priority-reversed-6p-hash", "partitioned-stats"),
    ("b-failover-nonpartitioned-hash", "stats"),
    ("c-keyshared-autosplit", "stats"),
    ("c-keyshared-draining", "stats"),
    ("c-keyshared-ring-classic", "stats"),
    ("c-keyshared-sticky", "stats"),
    ("c-keyshared-sticky", "internalStats"),
    ("d-bundles-4x60", "bundles"),
    ("d-bundles-4x60", "topicHashPositions"),
    ("d-bundles-4x60", "policies"),
    ("e-java-10p-bypos", "partitioned-stats"),
    ("v2.11.0-a-failover-6p-hash", "partitioned-stats"),
    ("v2.11.0-b-failover-8t-hash", "stats"),
    ("v3.3.6-c-keyshared-ring", "stats"),
    ("v4.0.7-c-keyshared-autosplit", "stats"),
    ("g-shed-modular-uniform", "load-report"),
    ("pip392-flag-on", "runtime"),
)


@cache
def recorded() -> tuple[Recorded, ...]:
    """The chosen answers: the last successful one of its kind in each recording."""
    return tuple(_last(folder, what) for folder, what in _CHOSEN)


def _last(folder: str, what: str) -> Recorded:
    scenario = json.loads(gzip.decompress((RECORDINGS / folder / "scenario.json.gz").read_bytes()))
    asked = [answer for step in scenario["steps"] for answer in step.get("answers", ()) if "file" in answer]
    found = [answer for answer in asked if answer.get("status", 200) == 200 and _what(answer["request"]) == what]
    assert found, (folder, what, sorted({_what(answer["request"]) for answer in asked}))
    file = found[-1]["file"]
    data = gzip.decompress((RECORDINGS / folder / f"{file}.gz").read_bytes())
    return Recorded(f"{folder} {what}", found[-1]["request"].partition(" ")[2], data)


def _what(request: str) -> str:
    path = request.partition(" ")[2].partition("?")[0]
    last = path.rpartition("/")[2]
    return "policies" if "/namespaces/" in path and path.count("/") == 5 else last
