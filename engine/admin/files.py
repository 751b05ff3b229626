"""Find files of answers, read each once into memory, and notice when one changes meanwhile."""

from __future__ import annotations

import os
import re
import stat
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from engine.admin.text import nul_in
from engine.errors import InputError, Problem, system_reason
from engine.input import UNMEASURED_BYTES, Intake, Source, opened
from engine.text import natural_key

if TYPE_CHECKING:
    from engine.admin.requests import AdminRequest

STANDARD_INPUT: Final = "standard input"
ANSWER_SUFFIXES: Final = (".json", ".json.gz")
PASTE_SUFFIXES: Final = (".txt", ".log", ".out", ".yaml", ".yml", ".conf", ".md", ".prom", "")
"""Endings of files in a folder that are read if an answer is in them; a file without an ending is one of them."""
LARGEST_PASTE_BYTES: Final = 8 * 1024**2
_ALL_PASTES_BYTES: Final = 64 * 1024**2
"""So much of such files is searched in one folder: logs may be there, too."""
MIRROR_FOLDERS: Final = ("admin", "lookup", "brokers")
"""Sub-folders of a folder that mirrors the admin API; ``brokers/HOST:PORT`` holds answers of single brokers."""
_MOMENT: Final = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d)[-:](\d\d)[-:](\d\d(?:\.\d{1,9})?)(Z|[+-]\d\d[-:]?\d\d)?")


class AnswerFile(Struct, frozen=True):
    """A file's name and its bytes, unpacked.

    ``request`` is what it answers, where something besides its name says so; ``turn`` counts the runs of a command in
    one text from 1, and is 0 for any other file.
    """

    name: str
    data: bytes
    request: AdminRequest | None = None
    turn: int = 0


class FilesRead(Struct, frozen=True):
    """Files in the natural order of their names, problems, and the names of files that are not answers."""

    files: tuple[AnswerFile, ...]
    problems: tuple[Problem, ...]
    passed_over: tuple[str, ...]


def is_answer_name(name: str) -> bool:
    """Whether a file of this name in a folder is read."""
    return name.lower().endswith(ANSWER_SUFFIXES) and not name.startswith(".")


def read_files(path: Path, intake: Intake | None = None) -> FilesRead:
    """Read a single file, or the answers in a folder: its own files, and those of a mirror of the admin API.

    Other sub-folders are not searched. ``intake`` bounds the total size of all files: one that is too large is left
    out, with a problem. Raises ``InputError`` when there are no answers.
    """
    intake = intake or Intake()
    if not path.exists():
        raise InputError(f"{path} does not exist; name a folder of recorded answers, or one .json file")
    if not path.is_dir():
        file, problems = read_file(path, path.name, intake)
        if file is None:
            raise InputError(f"{path} cannot be read: {problems[0].reason}", problems)
        return FilesRead((file,), problems, ())
    names, folders = _listed(path)
    answers = [name for name in names if is_answer_name(name)]
    mirrored, more = _mirrored(path, folders)
    answers += mirrored
    pasted = _pastes(path, names)
    if not answers and not pasted:
        hint = f"; it has folders, name one of them: {', '.join(folders[:5])}" if folders else ""
        raise InputError(f"no .json or .json.gz file is in {path}{hint}")
    files: list[AnswerFile] = []
    faults: list[Problem] = []
    for at, name in enumerate(answers):
        if not intake.room_bytes:
            reason = f"{len(answers) - at:,} files from here on are not read, since --max-input is used up"
            faults.append(Problem(name, "$", reason, "name fewer files, or give a larger --max-input"))
            break
        file, problems = read_file(path / name, name, intake)
        faults += problems
        files += [file] if file is not None else []
    for file in pasted:
        if len(file.data) > intake.room_bytes:
            break
        intake.take(len(file.data))
        files.append(file)
    read = {file.name for file in files} | set(answers)
    return FilesRead(tuple(files), tuple(faults), (*(name for name in names if name not in read), *more))


def _pastes(path: Path, names: list[str]) -> list[AnswerFile]:
    """The files of a folder that are no JSON by their names, and have an answer in them."""
    from engine.admin.documents import has_answers

    found: list[AnswerFile] = []
    room = Intake(_ALL_PASTES_BYTES)
    for name in names:
        if is_answer_name(name) or not is_paste_name(name) or not room.room_bytes:
            continue
        size = _size(path / name)
        if not 0 < size <= LARGEST_PASTE_BYTES:
            continue
        file, _ = read_file(path / name, name, room)
        if file is not None and has_answers(file):
            found.append(file)
    return found


def is_paste_name(name: str) -> bool:
    """Whether a file of this name in a folder may have an answer among other words.

    >>> [is_paste_name(name) for name in ("stats.txt", "stats", "persistent%3A%2F%2Ft%2Fn%2Fx.v2", "a.tar", ".env")]
    [True, True, True, False, False]
    """
    if name.startswith("."):
        return False
    suffix = Path(name.lower().removesuffix(".gz")).suffix
    return suffix in PASTE_SUFFIXES or "%3a%2f%2f" in name.lower()


def _size(path: Path) -> int:
    """The size of a regular file in bytes, 0 for anything else."""
    try:
        state = path.stat()
    except OSError:
        return 0
    return state.st_size if stat.S_ISREG(state.st_mode) else 0


def _mirrored(path: Path, folders: list[str]) -> tuple[list[str], list[str]]:
    """List the answers of a mirror of the admin API below a folder, by moments if it has them, and the other files.

    Names are relative to ``path``, in natural order. Links to folders are not followed.
    """
    answers: list[str] = []
    others: list[str] = []
    for folder in folders:
        if folder not in MIRROR_FOLDERS and moment_ms(folder) is None and not _holds_mirror(path / folder):
            continue
        for place, _, names in os.walk(path / folder):
            inside = Path(place).relative_to(path).as_posix()
            for name in names:
                (answers if is_answer_name(name) else others).append(f"{inside}/{name}")
    return sorted(answers, key=natural_key), sorted(others)


def _holds_mirror(path: Path) -> bool:
    """Whether a folder itself mirrors the admin API, as one of several dumps does."""
    return any((path / folder).is_dir() for folder in MIRROR_FOLDERS)


def moment_ms(folder: str) -> int | None:
    """Read the time in a folder's name, in epoch milliseconds; None for other names. Colons may be hyphens.

    >>> moment_ms("2026-11-22T09-48-07.231Z") - moment_ms("2026-11-22T09:48:07+00:00")
    231
    """
    match = _MOMENT.fullmatch(folder)
    if match is None:
        return None
    day, hour, minute, second, zone = match.groups()
    zone = "+00:00" if zone in (None, "Z") else f"{zone[:3]}:{zone[-2:]}"
    try:
        at = datetime.fromisoformat(f"{day}T{hour}:{minute}:{second[:9]}{zone}")
    except ValueError:
        return None
    return round(at.timestamp() * 1000)


def _listed(path: Path) -> tuple[list[str], list[str]]:
    """The names of a folder's files in natural order, and those of its folders. Raises ``InputError``."""
    try:
        with os.scandir(path) as entries:
            listed = [(entry.name, *_kinds(entry)) for entry in entries]
    except OSError as fault:
        raise InputError(f"{path} cannot be read: {system_reason(fault)}") from fault
    names = sorted((name for name, is_file, _ in listed if is_file), key=natural_key)
    return names, sorted(name for name, _, is_dir in listed if is_dir)


def _kinds(entry: os.DirEntry[str]) -> tuple[bool, bool]:
    """Whether an entry is a file, and whether a folder.

    A loop of links counts as a file: reading it reports the fault.
    """
    try:
        return entry.is_file(), entry.is_dir()
    except OSError:
        return True, False


def read_file(path: Path, name: str, intake: Intake | None = None) -> tuple[AnswerFile | None, tuple[Problem, ...]]:
    """Read a file once and unpack it. A size or time that changed meanwhile is a problem: the text may be half old.

    ``intake`` counts the bytes, and refuses a file larger than what is left of it.
    """
    intake = intake or Intake()
    try:
        with opened(path) as source:
            data, problems = _contents(source, name, intake)
            regular, before, after = source.is_regular, source.about, path.stat()
    except InputError as fault:
        return None, (Problem(name, "$", str(fault), "name a file with a recorded answer"),)
    except OSError as fault:
        return None, (Problem(name, "$", f"cannot be read: {system_reason(fault)}", "check its permissions"),)
    if data is None:
        return None, problems
    intake.take(len(data))
    if regular and (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        reason = "changed while it was being read"
        problems += (Problem(name, "$", reason, "read it again when nobody writes to it"),)
    return AnswerFile(name, data), problems


def _contents(source: Source, name: str, intake: Intake) -> tuple[bytes | None, tuple[Problem, ...]]:
    """Return the bytes of an open file, or None with the reason why it is left out."""
    room = intake.room_bytes
    if source.is_regular and room > UNMEASURED_BYTES:
        data, fault = source.unpacked(UNMEASURED_BYTES)
        if data is None:
            if source.is_gzip:
                intake.worked_bytes += UNMEASURED_BYTES  # a folder of such files is not unpacked without an end
            # Nobody edits a text of that size: if its beginning is not text, it is not worth the memory.
            at = nul_in(source.unpacked_head())
            if at is not None:
                reason = f"has a NUL byte at byte {at + 1:,}, so it is not JSON"
                return None, (Problem(name, "$", reason, "check what this file really is"),)
            data, fault = source.unpacked(room)
    else:
        data, fault = source.unpacked(room)
    if data is None:
        return None, (Problem(name, "$", intake.refuse(), "name fewer files, or give a larger --max-input"),)
    return data, (Problem(name, "$", fault, "copy the file again"),) if fault else ()
