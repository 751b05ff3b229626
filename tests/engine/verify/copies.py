"""Answers of a recording as a person would have saved them: the files alone, without the story of the recording."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

RECORDINGS = Path(__file__).parents[2] / "recordings"


def saved(name: str, to: Path, *files: str) -> Path:
    """An unpacked copy of the answers of a recording; of ``files`` only, if any are named."""
    folder = to / name
    folder.mkdir(parents=True)
    for file in (RECORDINGS / name).iterdir():
        plain = file.name.removesuffix(".gz")
        if plain != "scenario.json" and (not files or plain in files):
            data = file.read_bytes()
            (folder / plain).write_bytes(gzip.decompress(data) if file.suffix == ".gz" else data)
    return folder


def edit(folder: Path, file: str, change: Callable[[Any], None]) -> None:
    """Change one JSON file of a copy in place."""
    path = folder / file
    document = json.loads(path.read_bytes())
    change(document)
    path.write_text(json.dumps(document), encoding="utf-8")
