"""Find the files of answers in a folder: its own, those of a mirror of the admin API, and pastes among them."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from msgspec import Struct

from engine.admin.documents import has_answers
from engine.admin.files import LARGEST_PASTE_BYTES, AnswerFile, is_answer_name, is_paste_name, read_file
from engine.errors import InputError, Problem, system_reason
from engine.input import Intake
from engine.text import moment_ms, natural_key

_ALL_PASTES_BYTES: Final = 64 * 1024**2
"""So much of such files is searched in one folder: logs may be there, too."""
MIRROR_FOLDERS: Final = ("admin", "lookup", "brokers")
"""Sub-folders of a folder that mirrors the admin API; ``brokers/HOST:PORT`` holds answers of single brokers."""


class FilesRead(Struct, frozen=True):
    """Files in the natural order of their names, problems, and the names of files that are not answers."""

    files: tuple[AnswerFile, ...]
    problems: tuple[Problem, ...]
    passed_over: tuple[str, ...]


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
        if len(folders) > 1:
            hint += " (ringside diff puts two side by side; moments of one cluster are folders named by their time)"
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


def _size(path: Path) -> int:
    """The size of a regular file in bytes, 0 for anything else."""
    try:
        state = path.stat()
    except OSError:
        return 0
    return state.st_size if stat.S_ISREG(state.st_mode) else 0


def _mirrored(path: Path, folders: list[str]) -> tuple[list[str], list[str]]:
    """List the answers of a mirror of the admin API below a folder, by moments if it has them, and the other files.

    One sub-folder may hold the moments, as in a recording with its scenario; of several it is unknown whether they are
    of one cluster. Names are relative to ``path``, in natural order. Links to folders are not followed.
    """
    answers: list[str] = []
    others: list[str] = []
    recorded = [folder for folder in folders if moment_ms(folder) is None and _holds_moments(path / folder)]
    for folder in folders:
        is_one = folder in MIRROR_FOLDERS or moment_ms(folder) is not None or recorded == [folder]
        if not is_one and not _holds_mirror(path / folder):
            continue
        for place, _, names in os.walk(path / folder):
            inside = Path(place).relative_to(path).as_posix()
            for name in names:
                (answers if is_answer_name(name) else others).append(f"{inside}/{name}")
    return sorted(answers, key=natural_key), sorted(others)


def _holds_mirror(path: Path) -> bool:
    """Whether a folder itself mirrors the admin API, as one of several dumps does."""
    return any((path / folder).is_dir() for folder in MIRROR_FOLDERS)


def _holds_moments(path: Path) -> bool:
    """Whether a folder has dumps by their moments."""
    try:
        with os.scandir(path) as entries:
            return any(moment_ms(entry.name) is not None and entry.is_dir() for entry in entries)
    except OSError:
        return False


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
