"""Find the answers below a folder, when they were recorded, and group them into tasks; read the bytes of one.

zstd is unpacked here; the engine undoes gzip, byte order marks and encodings.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final, NamedTuple, Protocol, TypeVar

import pyarrow as pa

from engine.admin.files import LARGEST_PASTE_BYTES, AnswerFile, read_file
from engine.admin.requests import request_of_path
from engine.admin.text import plain_json
from engine.errors import InputError, Problem, system_reason
from engine.input import MAX_INPUT_BYTES, Intake, collected_if_small, opened, size_text
from engine.text import moment_ms, natural_key
from pipeline.storage import Place, StorePath, first_line

ANSWER_SUFFIXES: Final = (".json", ".json.gz", ".json.zst", ".json.zstd")
_PASTE_SUFFIXES: Final = (".txt", ".log", ".out", "")
"""Endings of files that may have an answer among other words; what has none of them is of no use, and no fault."""
BYTES_PER_TASK: Final = 32 * 1024**2
FILES_PER_TASK: Final = 400
_NOWHERE: Final = "is a link that leads nowhere"
_MOMENT: Final = re.compile(
    r"[-_.]?(\d{4}-\d\d-\d\dT\d\d[-:]\d\d[-:]\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d[-:]?\d\d)?"
    r"|(?<!\d)1\d{9}(?:\d{3})?(?!\d))"
)
_DIGITS_MS: Final = 13


@dataclass(frozen=True, slots=True)
class FoundFile:
    """One file; ``name`` is its path relative to the source folder, ``position`` counts from 0 in reading order.

    ``moment`` is when it was recorded, as far as known, ``dump_s`` the time of its dump since 1970: that in its path,
    else the latest in any path.
    """

    name: str
    path: Place
    size_bytes: int
    position: int
    moment: datetime | None = None
    dump_s: int = 0

    @property
    def folder(self) -> str:
        return self.name.rpartition("/")[0]

    @property
    def rank(self) -> int:
        """Of two answers of a kind about one thing that with the higher rank counts: of the later dump, else that which
        is read later."""
        return self.dump_s << 32 | self.position


class Listed(NamedTuple):
    """A file in a folder; ``written`` is when, None where nothing says it."""

    name: str
    path: Place
    size_bytes: int
    written: datetime | None


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """Files in reading order, and places that could not be read.

    Reading order is the natural order of names (``9-x`` before ``10-x``). In a mirror of the admin API, answers that
    were requested without consumers or publishers come first in their folder, so that a fuller answer about the same
    topic counts.
    """

    files: tuple[FoundFile, ...]
    problems: tuple[Problem, ...]
    passed_over: int


def find_answers(source: Place, skip: Place | None = None) -> FoundFiles:
    """Find every answer below a folder, or the one file named; ``skip`` is a folder to leave out (the result).

    Raises ``InputError`` if there is none.
    """
    problems: list[Problem] = []
    found, passed_over = files_at(source, skip, lambda name: _is_answer(name) or may_be_paste(name), problems)
    entries = [
        entry for entry in found if _is_answer(entry.path.name) or len(found) == 1 or _is_short(entry.size_bytes)
    ]
    passed_over += len(found) - len(entries)
    if not entries:
        more = f" ({problems[0]})" if problems else ""
        raise InputError(f"no {' or '.join(ANSWER_SUFFIXES[:3])} file lies in {source}{more}", tuple(problems))
    entries.sort(key=_reading_order)
    named = {entry.name: _named_moment(entry.name) for entry in entries}
    latest = max(filter(None, named.values()), default=datetime.fromtimestamp(0, UTC))
    files = tuple(
        FoundFile(
            name, path, size, place, named[name] or written, round((named[name] or latest).timestamp())
        )
        for place, (name, path, size, written) in enumerate(entries)
    )  # fmt: skip
    return FoundFiles(files, tuple(problems), passed_over)


def _reading_order(entry: Listed) -> list[tuple[object, ...]]:
    *folders, base = entry.name.split("/")
    request = request_of_path(entry.name) if "@" in base else None
    first: list[tuple[object, ...]] = [()] if request is not None and request.leaves_out else []
    return [*map(natural_key, folders), *first, natural_key(base)]


def is_packed(name: str) -> bool:
    return name.lower().endswith(ANSWER_SUFFIXES[1:])


def may_be_paste(name: str) -> bool:
    """Whether a file that is not named as an answer may have one in it.

    >>> [may_be_paste(name) for name in ("stats.txt", "a.log", "stats", "x.json", "x.parquet", ".env", "_SUCCESS")]
    [True, True, True, False, False, False, False]
    """
    return not name.startswith((".", "_")) and Path(name.lower()).suffix in _PASTE_SUFFIXES


def _is_short(size_bytes: int) -> bool:
    return 0 < size_bytes <= LARGEST_PASTE_BYTES


def _is_answer(name: str) -> bool:
    return not name.startswith(".") and name.lower().endswith(ANSWER_SUFFIXES)


def files_at(
    source: Place, skip: Place | None, accepts: Callable[[str], bool], problems: list[Problem]
) -> tuple[list[Listed], int]:
    """Return the file itself, or those at any depth whose name is accepted, and count the others.

    Names are those below ``source``. Hidden folders and ``skip`` are left out. Links to
    folders are not followed; such links, broken links, and places without read permission are added to ``problems``.
    Raises ``InputError`` where there is neither a file nor a folder.
    """
    state = size_of(source)
    if isinstance(state, str):
        raise InputError(f"{source} {state}; name a folder of recorded answers or traces, or one file")
    if state is not None:
        return [Listed(_relative(source, source.parent), source, *state)], 0
    if isinstance(source, StorePath):
        return _stored_below(source, skip, accepts)

    def report(path: Path, reason: str, advice: str = "check its permissions") -> None:
        problems.append(Problem(_relative(path, source), "$", reason, advice))

    def refused(fault: OSError) -> None:
        report(Path(fault.filename), f"cannot be read: {system_reason(fault)}")

    entries: list[Listed] = []
    passed_over = 0
    avoided = skip.resolve() if skip is not None else None
    for here, folders, files in os.walk(source, onerror=refused):
        if Path(here).resolve() == avoided:
            folders.clear()
            continue
        folders[:] = [name for name in folders if not name.startswith(".")]
        for path in (Path(here) / name for name in folders):
            if path.is_symlink() and path.resolve() != avoided:
                report(path, "is a link to a folder, which is not followed", "name that folder itself, or copy it")
        for name in files:
            path = Path(here) / name
            size = size_of(path) if accepts(name) else None
            if size == _NOWHERE:
                report(path, size, "copy the file it means there, or remove the link")
            elif isinstance(size, str):
                report(path, size)
            elif size is None:  # another kind of file, a pipe, a device
                passed_over += 1
            else:
                entries.append(Listed(_relative(path, source), path, *size))
    return entries, passed_over


def _stored_below(source: StorePath, skip: Place | None, accepts: Callable[[str], bool]) -> tuple[list[Listed], int]:
    """The same in a store, which has neither links nor unreadable files. Raises ``OSError``."""
    entries: list[Listed] = []
    passed_over = 0
    for path, info in source.files(below=True):
        name = _relative(path, source)
        if any(folder.startswith(".") for folder in name.split("/")[:-1]) or path.is_relative_to(skip):
            continue
        if accepts(path.name):
            entries.append(Listed(name, path, info.size, info.mtime))
        else:
            passed_over += 1
    return entries, passed_over


def size_of(path: Place) -> tuple[int, datetime | None] | str | None:
    """The size of a file in bytes and when it was written, None for something that is not a file, or why both are
    unknown."""
    if isinstance(path, StorePath):
        try:
            size, written = path.size_and_time()
            if size is None:
                return None if path.exists() else "does not exist"
            return size, written
        except OSError as fault:
            return f"cannot be read: {first_line(fault)}"
    try:
        status = path.stat()
        is_file = stat.S_ISREG(status.st_mode) and (status.st_size > 0 or _is_empty(path))
    except FileNotFoundError:
        return _NOWHERE if path.is_symlink() else "does not exist"
    except OSError as fault:
        return f"cannot be read: {system_reason(fault)}"
    return (status.st_size, datetime.fromtimestamp(status.st_mtime, UTC)) if is_file else None


def _is_empty(path: Path) -> bool:
    """Whether a file of no bytes has none: the system makes up what is in others, maybe without an end."""
    try:
        with opened(path) as source:
            return not source.head
    except InputError:
        return False


def _relative(path: Place, root: Place) -> str:
    """Return the path as text that a table can hold: bytes of a name that are not UTF-8 become escapes."""
    if isinstance(path, StorePath):
        name = path.path.removeprefix(root.path).lstrip("/") if isinstance(root, StorePath) else str(path)
    elif isinstance(root, Path) and path.is_relative_to(root):
        name = path.relative_to(root).as_posix()
    else:
        name = str(path)
    return name.encode("utf-8", "backslashreplace").decode()


class _Sized(Protocol):
    @property
    def size_bytes(self) -> int: ...


class _Recorded(Protocol):
    @property
    def moment(self) -> datetime | None: ...


_File = TypeVar("_File", bound=_Sized)


def deal(files: Sequence[_File]) -> list[list[_File]]:
    """Group files, or pieces of them, into tasks: a large one each, or neighbours up to some size and number. O(files).

    >>> sizes = [10, 20, BYTES_PER_TASK, 5]
    >>> [len(group) for group in deal([FoundFile(str(at), Path(), size, at) for at, size in enumerate(sizes)])]
    [2, 1, 1]
    """
    groups: list[list[_File]] = []
    size = 0
    for file in files:
        if not groups or size + file.size_bytes > BYTES_PER_TASK or len(groups[-1]) >= FILES_PER_TASK:
            groups.append([])
            size = 0
        groups[-1].append(file)
        size += file.size_bytes
    return groups


def without_moments(name: str) -> str:
    """The path of a dump without the times in it: equal for dumps of one thing.

    >>> without_moments("b1/2026-11-24T06-00-00Z/topics.json"), without_moments("b1-topics-1764000000.json")
    ('b1/topics.json', 'b1-topics.json')
    """
    return "/".join(plain for part in name.split("/") if (plain := _MOMENT.sub("", part).lstrip("-_")))


def moment_of(name: str, written: datetime | None) -> datetime | None:
    """When a file was recorded: the time in its path, else when it was ``written``."""
    return _named_moment(name) or written


def _named_moment(name: str) -> datetime | None:
    """The time in a path, of several the last one."""
    texts = [match[1] for part in name.split("/") for match in _MOMENT.finditer(part)]
    if not texts:
        return None
    named = int(texts[-1].ljust(_DIGITS_MS, "0")) if texts[-1].isdecimal() else moment_ms(texts[-1])
    return None if named is None else datetime.fromtimestamp(named / 1000, UTC)


def whole_file(name: str) -> str:
    """The file that an answer is in; its name, where it is in a file of its own.

    >>> whole_file("all.json: topics/a"), whole_file("a.json")
    ('all.json', 'a.json')
    """
    return name.partition(": ")[0]


def last_moment(files: Iterable[_Recorded]) -> datetime | None:
    """The moment of the file that was recorded last; None where all are unknown."""
    return max((file.moment for file in files if file.moment is not None), default=None)


_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_PIECE: Final = 1 << 16
_PIECE_OF_COPY: Final = 1 << 22


def read_answer(
    path: Place, name: str, *, limit_bytes: int = MAX_INPUT_BYTES
) -> tuple[bytes | None, tuple[Problem, ...]]:
    """Return the JSON text of a file as UTF-8, None if it cannot be read at all, and every repair and fault."""
    if isinstance(path, StorePath):
        file, problems = _read_stored(path, name, limit_bytes)
    else:
        file, problems = read_file(path, name, Intake(limit_bytes))
    if file is None:
        return None, problems
    data, unpacked = unpack_zstd(file.data, name, limit_bytes=limit_bytes)
    text, repaired = plain_json(data, name, limit=limit_bytes)
    return text, (*problems, *unpacked, *repaired)


def _read_stored(path: StorePath, name: str, limit_bytes: int) -> tuple[AnswerFile | None, tuple[Problem, ...]]:
    """Read a file of a store through a temporary local copy, so that there is one way of reading files."""
    try:
        before = path.size_and_time()
        with NamedTemporaryFile(prefix="ringside-answer-") as copy:
            with path.open() as source:
                # One byte more than the limit shows that the file is too large.
                room = limit_bytes + 1
                while room > 0 and (piece := source.read(min(room, _PIECE_OF_COPY))):
                    copy.write(piece)
                    room -= len(piece)
            copy.flush()
            file, problems = read_file(Path(copy.name), name, Intake(limit_bytes))
        after = path.size_and_time()
    except OSError as fault:
        return None, (Problem(name, "$", f"cannot be read: {first_line(fault)}", "check its permissions"),)
    if before != after:
        reason = "changed while it was being read"
        problems += (Problem(name, "$", reason, "read it again when nobody writes to it"),)
    return file, problems


def unpack_zstd(data: bytes, name: str, *, limit_bytes: int = MAX_INPUT_BYTES) -> tuple[bytes, tuple[Problem, ...]]:
    """Return the content of a zstd file as far as it can be unpacked; other bytes unchanged. O(length)."""
    if data[:4] != _ZSTD_MAGIC:
        return data, ()
    faults: list[str] = []

    def pieces() -> Iterator[bytes]:
        stream = pa.CompressedInputStream(pa.BufferReader(data), "zstd")
        try:
            while piece := stream.read(_PIECE):
                yield piece
        except (OSError, pa.ArrowException) as fault:
            faults.append(str(fault).splitlines()[0])

    try:
        out = collected_if_small(pieces, len(data), limit_bytes)
    except InputError as error:
        return b"", (Problem(name, "$", str(error), "check what this file really is"),)
    if out is None:
        reason = f"unpacks to more than {size_text(limit_bytes)}, which is all that is read of a file (--max-input)"
        return b"", (Problem(name, "$", reason, "check what this file really is, or give a larger --max-input"),)
    reason = f"the zstd data is damaged or stops in the middle: {faults[-1]}" if faults else ""
    return out, (Problem(name, "$", reason, "copy the file again"),) if reason else ()
