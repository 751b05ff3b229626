"""Recorded folders, read once into memory: their files by name, out of gzip.

Tests that spoil a recording make another ``Folder`` from one that was read; nothing is written to disk.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

from engine.admin.files import read_file
from engine.errors import Problem
from engine.input import MAX_INPUT_BYTES, Intake
from engine.text import natural_key

RECORDINGS: Final = Path(__file__).parents[1] / "recordings"
SCENARIO: Final = "scenario.json"

# Most copies differ from their original in one file: the decoded answers of all others are shared.
shared = lru_cache(maxsize=20_000)


@dataclass(frozen=True)
class Folder:
    """``files``: name without ``.gz`` -> content, in natural order. ``problems`` arose while reading."""

    name: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    def data(self, name: str) -> bytes | None:
        """The content of a file; a recording may name it packed or not."""
        return self.files.get(name.removesuffix(".gz"))

    def with_file(self, name: str, data: bytes | str) -> Folder:
        """The folder with one file more, or another content of one."""
        content = data.encode() if isinstance(data, str) else data
        return replace(self, files={**self.files, name: content})

    def without(self, *names: str) -> Folder:
        """The folder without some of its files."""
        assert all(name in self.files for name in names), f"{names} are not all in {self.name}"
        return replace(self, files={name: data for name, data in self.files.items() if name not in names})

    def edited(self, name: str, change: Callable[[Any], None]) -> Folder:
        """The folder with one JSON file changed; ``change`` gets the decoded document and changes it in place."""
        document = json.loads(self.files[name])
        change(document)
        return self.with_file(name, json.dumps(document))

    def with_scenario(self, change: Callable[[Any], None]) -> Folder:
        """The folder with its scenario changed in place."""
        return self.edited(SCENARIO, change)


def find_folders(root: Path) -> list[Path]:
    """Every folder at or below ``root`` that has a scenario, in natural order."""
    scenarios = (*root.rglob(SCENARIO), *root.rglob(f"{SCENARIO}.gz"))
    return sorted({path.parent for path in scenarios}, key=lambda path: natural_key(str(path)))


def label_of(path: Path, root: Path) -> str:
    """The name of a folder below ``root``, for reports: its relative path, or its own name for ``root`` itself."""
    relative = path.relative_to(root).as_posix()
    return path.resolve().name if relative == "." else relative


@cache
def read_folder(path: Path, name: str = "") -> Folder:
    """A folder with all its files; what cannot be read is left out with a problem. Read once per process."""
    intake = Intake(MAX_INPUT_BYTES)
    files: dict[str, bytes] = {}
    problems: list[Problem] = []
    for entry in sorted((entry for entry in path.iterdir() if not entry.is_dir()), key=lambda e: natural_key(e.name)):
        file, faults = read_file(entry, entry.name, intake)
        problems += faults
        if file is not None:
            files[entry.name.removesuffix(".gz")] = file.data
    return Folder(name or path.name, files, tuple(problems))


def recording(name: str) -> Folder:
    """One of the committed recordings."""
    return read_folder(RECORDINGS / name)
