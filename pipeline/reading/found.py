"""What lies in a folder of answers, at any depth, and how it is dealt out to tasks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from engine.admin.files import natural_key
from engine.errors import InputError, Problem

ANSWER_SUFFIXES: Final = (".json", ".json.gz", ".json.zst", ".json.zstd")
BYTES_PER_TASK: Final = 32 * 1024**2
FILES_PER_TASK: Final = 400


@dataclass(frozen=True, slots=True)
class FoundFile:
    """One file by its path relative to the folder asked for; ``position`` counts from 0 in reading order."""

    name: str
    path: str
    size_bytes: int
    position: int

    @property
    def folder(self) -> str:
        return self.name.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class Found:
    """Files in the natural order of their names (``9-x`` before ``10-x``), and places that could not be looked into."""

    files: tuple[FoundFile, ...]
    problems: tuple[Problem, ...]
    passed_over: int


def find_answers(source: Path, skip: Path | None = None) -> Found:
    """Every answer below a folder, or the one file named; ``skip`` is a folder not to look into (the result).

    Raises ``InputError`` when there is none. Links to folders are not followed.
    """
    if not source.exists():
        raise InputError(f"{source} does not exist; name a folder of recorded answers, or one .json file")
    if source.is_file():
        return Found((FoundFile(source.name, str(source), source.stat().st_size, 0),), (), 0)
    problems: list[Problem] = []

    def refused(fault: OSError) -> None:
        reason = f"cannot be read: {fault.strerror or fault}"
        problems.append(Problem(_relative(Path(fault.filename), source), "$", reason, "look at its permissions"))

    found: list[tuple[str, Path, int]] = []
    passed_over = 0
    avoided = skip.resolve() if skip is not None else None
    for here, folders, files in os.walk(source, onerror=refused):
        folders[:] = [name for name in folders if not name.startswith(".") and (Path(here) / name).resolve() != avoided]
        if Path(here).resolve() == avoided:
            continue
        for name in files:
            path = Path(here) / name
            if name.startswith(".") or not name.lower().endswith(ANSWER_SUFFIXES) or not path.is_file():
                passed_over += 1
            else:
                found.append((_relative(path, source), path, path.stat().st_size))
    if not found:
        more = f" ({problems[0]})" if problems else ""
        raise InputError(f"no {' or '.join(ANSWER_SUFFIXES[:3])} file lies in {source}{more}", tuple(problems))
    found.sort(key=lambda entry: [natural_key(part) for part in entry[0].split("/")])
    files_found = tuple(FoundFile(name, str(path), size, place) for place, (name, path, size) in enumerate(found))
    return Found(files_found, tuple(problems), passed_over)


def _relative(path: Path, root: Path) -> str:
    try:
        return path.relative_to(root).as_posix()
    except ValueError:
        return str(path)


def deal(files: Sequence[FoundFile]) -> list[list[FoundFile]]:
    """Files in groups of one task each: one large file, or neighbours up to some size and number. O(files).

    >>> sizes = [10, 20, BYTES_PER_TASK, 5]
    >>> [len(group) for group in deal([FoundFile(str(at), "", size, at) for at, size in enumerate(sizes)])]
    [2, 1, 1]
    """
    groups: list[list[FoundFile]] = []
    size = 0
    for file in files:
        if not groups or size + file.size_bytes > BYTES_PER_TASK or len(groups[-1]) >= FILES_PER_TASK:
            groups.append([])
            size = 0
        groups[-1].append(file)
        size += file.size_bytes
    return groups
