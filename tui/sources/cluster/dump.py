"""Readings as folders that every command reads: a mirror of the admin API, a folder a moment, never seen half."""

from __future__ import annotations

import errno
import secrets
import shutil
from pathlib import Path
from typing import Final

from engine.admin.files import AnswerFile, moment_ms
from engine.errors import InputError
from tui.sources.cluster.outcomes import Fault, Gap
from tui.sources.cluster.reading import ClusterReading

_NOT_ON_THIS_DISK: Final = (errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ)
_DRAFT: Final = ".ringside-"


def prepare_dump(folder: Path) -> None:
    """Make the folder of a dump. Raises ``InputError`` for one that holds other things than moments."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        others = [entry.name for entry in folder.iterdir() if not _is_ours(entry)]
    except FileExistsError as error:
        raise InputError(f"{folder}: is a file; name a folder for the dump") from error
    if others:
        shown = ", ".join(sorted(others)[:3])
        raise InputError(f"{folder}: has other things in it ({shown}); name an empty folder, or one with moments")


def _is_ours(entry: Path) -> bool:
    return moment_ms(entry.name) is not None or entry.name.startswith(_DRAFT)


def write_moment(folder: Path, reading: ClusterReading) -> tuple[Path, tuple[Gap, ...]]:
    """Write a moment and return its folder, and what this disk has no names for.

    It has its name once all of it is there. Raises OSError where it cannot be written.
    """
    draft = folder / f"{_DRAFT}{secrets.token_hex(8)}.part"
    draft.mkdir()
    left_out: list[Gap] = []
    place = folder / reading.moment_name
    try:
        for file in reading.files():
            if not _written(draft, file):
                path = "/" + file.name.partition("/")[2].removesuffix(".json")
                left_out.append(Gap(path, Fault.UNWRITABLE, "", reading.origin))
        draft.rename(place)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return place, tuple(left_out)


def _written(draft: Path, file: AnswerFile) -> bool:
    target = draft / file.name.partition("/")[2]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.data)
    except OSError as error:
        if error.errno in _NOT_ON_THIS_DISK:
            return False
        raise
    return True
