"""Recordings of real brokers, opened step by step."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from engine.admin.snapshot import read_answers
from engine.scenarios.opening import Opened, open_snapshot

RECORDINGS = Path(__file__).parents[2] / "recordings"


def opened(recording: str, step: int) -> Opened:
    """One step of a recording, with the scenario's own facts."""
    folder = RECORDINGS / recording
    return open_snapshot(read_answers(*sorted(folder.glob(f"{step:02}-*")), folder / "scenario.json.gz"))


def recorded_actives(recording: str, step: int) -> dict[str, str]:
    """Partition name -> the active consumer's name, read with nothing of this project."""
    path = RECORDINGS / recording / f"{step:02}-partitioned-stats.json.gz"
    stats: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return {
        name: partition["subscriptions"]["billing"]["activeConsumerName"]
        for topic in stats.values()
        for name, partition in topic["partitions"].items()
    }
