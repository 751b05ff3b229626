"""Read a file of answers once into memory, and notice when it changes meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from engine.admin.text import nul_in
from engine.errors import InputError, Problem, system_reason
from engine.input import UNMEASURED_BYTES, Intake, Source, opened

if TYPE_CHECKING:
    from engine.admin.requests import AdminRequest

STANDARD_INPUT: Final = "standard input"
ANSWER_SUFFIXES: Final = (".json", ".json.gz")
PASTE_SUFFIXES: Final = (".txt", ".log", ".out", ".yaml", ".yml", ".conf", ".md", ".prom", "")
"""Endings of files in a folder that are read if an answer is in them; a file without an ending is one of them."""
LARGEST_PASTE_BYTES: Final = 8 * 1024**2


class AnswerFile(Struct, frozen=True):
    """A file's name and its bytes, unpacked.

    ``request`` is what it answers, where something besides its name says so; ``turn`` counts the runs of a command in
    one text from 1, and is 0 for any other file.
    """

    name: str
    data: bytes
    request: AdminRequest | None = None
    turn: int = 0


def is_answer_name(name: str) -> bool:
    """Whether a file of this name in a folder is read."""
    return name.lower().endswith(ANSWER_SUFFIXES) and not name.startswith(".")


def is_paste_name(name: str) -> bool:
    """Whether a file of this name in a folder may have an answer among other words.

    >>> [is_paste_name(name) for name in ("stats.txt", "stats", "persistent%3A%2F%2Ft%2Fn%2Fx.v2", "a.tar", ".env")]
    [True, True, True, False, False]
    """
    if name.startswith("."):
        return False
    suffix = Path(name.lower().removesuffix(".gz")).suffix
    return suffix in PASTE_SUFFIXES or "%3a%2f%2f" in name.lower()


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
