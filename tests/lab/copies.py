"""Copies of recordings that tests change."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

RECORDINGS = Path(__file__).parents[1] / "recordings"


def copy_of(name: str, to: Path) -> Path:
    """An unpacked copy of a recording."""
    folder = to / name
    folder.mkdir(parents=True)
    for file in (RECORDINGS / name).iterdir():
        data = file.read_bytes()
        data = gzip.decompress(data) if file.suffix == ".gz" else data
        (folder / file.name.removesuffix(".gz")).write_bytes(data)
    return folder


def edit(folder: Path, file: str, change: Callable[[Any], None]) -> None:
    """Change one JSON file of a copy in place."""
    path = folder / file
    document = json.loads(path.read_bytes())
    change(document)
    path.write_text(json.dumps(document), encoding="utf-8")
