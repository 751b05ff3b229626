"""Files of answers: found, read once into memory, and watched for changing under the reader."""

from __future__ import annotations

import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from engine.admin.reading import MAX_STREAM_BYTES, read_path
from engine.admin.text import MAX_TEXT_BYTES
from engine.errors import InputError, Problem

ANSWER_SUFFIXES: Final = (".json", ".json.gz")


@dataclass(frozen=True, slots=True)
class AnswerFile:
    """One file's name and its bytes as they were read."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class FilesRead:
    """Files in the natural order of their names, what was wrong, and the names of those that are no answers."""

    files: tuple[AnswerFile, ...]
    problems: tuple[Problem, ...]
    passed_over: tuple[str, ...]


def natural_key(name: str) -> tuple[tuple[int, int | str], ...]:
    """Sort key that puts ``9-x`` before ``10-x``."""
    return tuple((0, int(part)) if part.isdecimal() else (1, part) for part in re.split(r"(\d+)", name) if part)


def is_answer_name(name: str) -> bool:
    """Whether a file of this name is looked into when it lies in a folder."""
    return name.lower().endswith(ANSWER_SUFFIXES) and not name.startswith(".")


def read_files(path: Path) -> FilesRead:
    """A single file, or the answers right in a folder (no sub-folders). Raises ``InputError`` when there are none."""
    if not path.exists():
        raise InputError(f"{path} does not exist; name a folder of recorded answers, or one .json file")
    if not path.is_dir():
        one, problems = read_file(path, path.name)
        if one is None:
            raise InputError(f"{path} cannot be read: {problems[0].reason}", problems)
        return FilesRead((one,), problems, ())
    try:
        entries = sorted((entry for entry in path.iterdir() if entry.is_file()), key=lambda e: natural_key(e.name))
        folders = sorted(entry.name for entry in path.iterdir() if entry.is_dir())
    except OSError as fault:
        raise InputError(f"{path} cannot be read: {fault.strerror or fault}") from fault
    answers = [entry for entry in entries if is_answer_name(entry.name)]
    if not answers:
        hint = f"; it has folders, name one of them: {', '.join(folders[:5])}" if folders else ""
        raise InputError(f"no .json or .json.gz file lies in {path}{hint}")
    files: list[AnswerFile] = []
    found: list[Problem] = []
    for entry in answers:
        one, problems = read_file(entry, entry.name)
        found += problems
        files += [one] if one is not None else []
    passed_over = tuple(entry.name for entry in entries if not is_answer_name(entry.name))
    return FilesRead(tuple(files), tuple(found), passed_over)


def read_file(path: Path, name: str, *, limit: int = MAX_TEXT_BYTES) -> tuple[AnswerFile | None, tuple[Problem, ...]]:
    """Read a file once. A size or time that changed meanwhile is told: the text may be half old and half new."""
    try:
        before = path.stat()
        if before.st_size > limit:
            reason = f"is {before.st_size} bytes long; more than {limit} is no broker answer"
            return None, (Problem(name, "$", reason, "name the right file, or split it"),)
        regular = stat.S_ISREG(before.st_mode)
        sized = regular and before.st_size > 0
        data = path.read_bytes() if sized else read_path(path, limit=min(limit, MAX_STREAM_BYTES))
        after = path.stat()
    except InputError as fault:
        return None, (Problem(name, "$", str(fault), "name a file with a recorded answer"),)
    except OSError as fault:
        return None, (Problem(name, "$", f"cannot be read: {fault.strerror or fault}", "look at its permissions"),)
    if not regular:
        return AnswerFile(name, data), ()
    changed = (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns) or len(data) != after.st_size
    problems = (Problem(name, "$", "changed while it was being read", "read it again when nobody writes to it"),)
    return AnswerFile(name, data), problems if changed else ()
