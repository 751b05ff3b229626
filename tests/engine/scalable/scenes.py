"""Recordings of a real broker of 5.0.1 with the v5 client, one file a scene: what was done, and what was answered.

``answers`` are by moment and path of the admin interface. Of each scene all records and statistics of the topic are
kept, and of one moment also the statistics of its segments and broker-stats.
"""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

from engine.admin.moments import Moment, read_moments
from engine.text import moment_ms

RECORDED = Path(__file__).parent / "recorded"
SCENES = ("manual", "order", "holdup", "auto-load", "migrate")


@cache
def scene(name: str) -> dict[str, Any]:
    """The scene by its name; shared, so do not change it."""
    read: dict[str, Any] = json.loads(gzip.decompress((RECORDED / f"{name}.json.gz").read_bytes()))
    return read


def write(folder: Path, name: str, *moments: str) -> Path:
    """Write the answers of these moments, of all without any, as a mirror of the admin interface below ``folder``."""
    for moment, answers in scene(name)["answers"].items():
        for path, answer in answers.items() if moment in moments or not moments else ():
            file = folder / moment / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(answer if isinstance(answer, str) else json.dumps(answer), encoding="utf-8")
    return folder


def moments_of(folder: Path, name: str) -> tuple[Moment, ...]:
    return read_moments(write(folder, name))


def time_of(moment: str) -> int:
    time = moment_ms(moment)
    assert time is not None
    return time
