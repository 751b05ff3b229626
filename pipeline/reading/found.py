"""What lies in a folder of answers, at any depth, and how it is dealt out to tasks."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from engine.admin.files import natural_key
from engine.admin.requests import request_of_path
from engine.errors import InputError, Problem
from pipeline.storage import File, Place, StorePath, first_line, for_tasks

ANSWER_SUFFIXES: Final = (".json", ".json.gz", ".json.zst", ".json.zstd")
BYTES_PER_TASK: Final = 32 * 1024**2
FILES_PER_TASK: Final = 400
_NOWHERE: Final = "is a link that leads nowhere"


@dataclass(frozen=True, slots=True)
class FoundFile:
    """One file by its path relative to the folder asked for; ``position`` counts from 0 in reading order."""

    name: str
    path: File
    size_bytes: int
    position: int

    @property
    def folder(self) -> str:
        return self.name.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class Found:
    """Files in reading order, and places that could not be looked into.

    That is the natural order of their names (``9-x`` before ``10-x``). In a folder of a mirror of the admin API answers
    that were asked without consumers or publishers come first, so that a fuller one about the same topic counts.
    """

    files: tuple[FoundFile, ...]
    problems: tuple[Problem, ...]
    passed_over: int


def find_answers(source: Place, skip: Place | None = None) -> Found:
    """Every answer below a folder, or the one file named; ``skip`` is a folder not to look into (the result).

    Raises ``InputError`` when there is none.
    """
    problems: list[Problem] = []
    size = size_of(source)
    if isinstance(size, int):
        found: list[tuple[str, Place, int]] = [(_relative(source, source.parent), source, size)]
        passed_over = 0
    else:
        found, passed_over = files_below(source, skip, _is_answer, problems)
    if not found:
        more = f" ({problems[0]})" if problems else ""
        raise InputError(f"no {' or '.join(ANSWER_SUFFIXES[:3])} file lies in {source}{more}", tuple(problems))
    found.sort(key=_reading_order)
    files_found = tuple(FoundFile(name, for_tasks(path), size, place) for place, (name, path, size) in enumerate(found))
    return Found(files_found, tuple(problems), passed_over)


def _reading_order(entry: tuple[str, Place, int]) -> list[tuple[object, ...]]:
    *folders, base = entry[0].split("/")
    request = request_of_path(entry[0]) if "@" in base else None
    first: list[tuple[object, ...]] = [()] if request is not None and request.leaves_out else []
    return [*map(natural_key, folders), *first, natural_key(base)]


def _is_answer(name: str) -> bool:
    return not name.startswith(".") and name.lower().endswith(ANSWER_SUFFIXES)


def files_below(
    source: Place, skip: Place | None, wanted: Callable[[str], bool], problems: list[Problem]
) -> tuple[list[tuple[str, Place, int]], int]:
    """Files at any depth whose name is wanted (name from ``source`` on, path, bytes), and how many others there are.

    Hidden folders and ``skip`` are not looked into. Links to folders are not followed, links that lead nowhere cannot
    be, and both are told, as is what there is no permission for. Raises ``InputError`` when ``source`` is no folder.
    """
    own = size_of(source)
    if isinstance(own, str):
        raise InputError(f"{source} {own}; name a folder of recorded answers or traces, or one file")

    if isinstance(source, StorePath):
        return _stored_below(source, skip, wanted)

    def tell(path: Path, reason: str, advice: str = "look at its permissions") -> None:
        problems.append(Problem(_relative(path, source), "$", reason, advice))

    def refused(fault: OSError) -> None:
        tell(Path(fault.filename), f"cannot be read: {fault.strerror or fault}")

    found: list[tuple[str, Place, int]] = []
    passed_over = 0
    avoided = skip.resolve() if skip is not None else None
    for here, folders, files in os.walk(source, onerror=refused):
        if Path(here).resolve() == avoided:
            folders.clear()
            continue
        folders[:] = [name for name in folders if not name.startswith(".")]
        for path in (Path(here) / name for name in folders):
            if path.is_symlink() and path.resolve() != avoided:
                tell(path, "is a link to a folder, which is not followed", "name that folder itself, or copy it")
        for name in files:
            path = Path(here) / name
            size = size_of(path) if wanted(name) else None
            if size == _NOWHERE:
                tell(path, size, "copy the file it means there, or remove the link")
            elif isinstance(size, str):
                tell(path, size)
            elif size is None:  # another kind of file, a pipe, a device
                passed_over += 1
            else:
                found.append((_relative(path, source), path, size))
    return found, passed_over


def _stored_below(
    source: StorePath, skip: Place | None, wanted: Callable[[str], bool]
) -> tuple[list[tuple[str, Place, int]], int]:
    """The same in a store, which has neither links nor files that cannot be looked at. Raises ``OSError``."""
    found: list[tuple[str, Place, int]] = []
    passed_over = 0
    for path, info in source.files(below=True):
        name = _relative(path, source)
        if any(folder.startswith(".") for folder in name.split("/")[:-1]) or path.is_relative_to(skip):
            continue
        if wanted(path.name):
            found.append((name, path, info.size))
        else:
            passed_over += 1
    return found, passed_over


def size_of(path: Place) -> int | str | None:
    """The bytes of a file, None for what is no file, or why nobody can say."""
    if isinstance(path, StorePath):
        try:
            return path.size_and_time()[0] if path.exists() else "does not exist"
        except OSError as fault:
            return f"cannot be read: {first_line(fault)}"
    try:
        told = path.stat()
    except FileNotFoundError:
        return _NOWHERE if path.is_symlink() else "does not exist"
    except OSError as fault:
        return f"cannot be read: {fault.strerror or fault}"
    return told.st_size if stat.S_ISREG(told.st_mode) else None


def _relative(path: Place, root: Place) -> str:
    """As text that a table can hold: a name that is no UTF-8 shows its odd bytes as escapes."""
    if isinstance(path, StorePath):
        name = path.path.removeprefix(root.path).lstrip("/") if isinstance(root, StorePath) else str(path)
    elif isinstance(root, Path) and path.is_relative_to(root):
        name = path.relative_to(root).as_posix()
    else:
        name = str(path)
    return name.encode("utf-8", "backslashreplace").decode()


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
