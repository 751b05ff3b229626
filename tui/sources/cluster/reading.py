"""One reading of a cluster: its answers, its gaps, and the dump that keeps it.

A dump mirrors the admin API, with a folder for each moment, which appears when all of it is written.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from urllib.parse import quote

from msgspec import structs
from msgspec.structs import replace

from engine.admin.earlier import EarlierAnswers
from engine.admin.files import AnswerFile
from engine.admin.moments import Moment, read_moments
from engine.errors import InputError
from engine.text import moment_ms
from tui.sources.cluster import paths
from tui.sources.cluster.outcomes import Answer, Fault, Gap
from tui.sources.cluster.redaction import NO_SECRET, Secret


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a reading is: ``done`` of the ``total`` requests known so far, and the seconds that are left."""

    done: int
    total: int
    left_s: float | None

    def __str__(self) -> str:
        left = f", {self.left_s:,.0f} s left" if self.left_s is not None else ""
        return f"{self.done:,} of {self.total:,} requests{left}"


@dataclass(frozen=True, slots=True)
class ClusterReading:
    """``at_ms`` is when the reading began. ``cluster`` and ``release`` are "" where no answer names them.

    ``not_loaded`` are topics that exist and that no broker has loaded: asking for their statistics would load them.
    """

    origin: str
    at_ms: int
    cluster: str
    release: str
    brokers: tuple[str, ...]
    answers: tuple[Answer, ...] = field(repr=False)
    gaps: tuple[Gap, ...]
    topics: int = 0
    topics_read: int = 0
    """Of ``topics``, those whose statistics were read."""
    not_loaded: int = 0
    knows_loaded: bool = True
    requests: int = 0
    took_s: float = 0.0
    assumed: tuple[str, ...] = field(default=())
    """What is not known of the brokers, so that defaults are assumed: "settings", "release"."""
    older: Mapping[str, int] = field(default_factory=dict, repr=False)
    """When statistics from earlier readings were read, by topic without partitions, in epoch milliseconds."""
    lists_ms: int = 0
    """When the lists of loaded topics were read, in epoch milliseconds; 0 for this reading."""

    @property
    def was_stopped(self) -> bool:
        """Whether somebody ended it before all of it was read."""
        return any(gap.fault is Fault.STOPPED for gap in self.gaps)

    @property
    def stopped_at(self) -> tuple[int, int] | None:
        """How many topics of how many were read, where it was stopped."""
        return (self.topics_read, self.topics) if self.was_stopped else None

    @property
    def moment_name(self) -> str:
        """The folder of this moment in a dump."""
        return moment_name(self.at_ms)

    def files(self) -> tuple[AnswerFile, ...]:
        """The answers under the names that they have in a dump, in the order of their names."""
        return tuple(AnswerFile(f"{self.moment_name}/{file.name}", file.data) for file in self.files_of_moment())

    def files_of_moment(self) -> tuple[AnswerFile, ...]:
        """The answers under their names below the folder of the moment, which are the same at each reading."""
        many = len(self.brokers) > 1
        named = (AnswerFile(_place(answer, many), answer.data) for answer in self.answers)
        return tuple(sorted(named, key=lambda file: file.name))


def _place(answer: Answer, many: bool) -> str:
    """The file of an answer; where there are several brokers, what each says of itself is in ``brokers/HOST:PORT``."""
    own = many and answer.broker and answer.path.startswith(paths.OF_ONE_BROKER)
    of_broker = f"brokers/{quote(answer.broker, safe=':[]')}/" if own else ""
    return of_broker + paths.file_of(answer.path)


def moment_name(at_ms: int) -> str:
    """A time as the name of a folder.

    >>> moment_name(1_795_427_287_231)
    '2026-11-23T09-48-07.231Z'
    """
    at = datetime.fromtimestamp(at_ms // 1000, UTC)
    return f"{at:%Y-%m-%dT%H-%M-%S}.{at_ms % 1000:03d}Z"


def moments_read(readings: Iterable[ClusterReading], *, limit_bytes: int) -> tuple[Moment, ...]:
    """Readings as the moments that every other command works with. Raises ``InputError`` where all are empty."""
    listed = list(readings)
    files = [file for reading in listed for file in reading.files()]
    moments = read_moments(*files, limit_bytes=limit_bytes, title=listed[-1].origin)
    return tuple(
        replace(moment, snapshot=structs.replace(moment.snapshot, source=listed[-1].origin)) for moment in moments
    )


def moment_of(reading: ClusterReading, earlier: EarlierAnswers, *, limit_bytes: int) -> Moment:
    """A reading as a moment; what is the same in ``earlier`` is not decoded again. Raises ``InputError`` if empty."""
    files = reading.files_of_moment()
    (moment,) = read_moments(*files, limit_bytes=limit_bytes, title=reading.origin, earlier=earlier)
    return replace(moment, at_ms=reading.at_ms, older=reading.older)


_NOT_ON_THIS_DISK: Final = frozenset(
    {errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ, errno.EEXIST, errno.ENOTDIR, errno.EISDIR}
)
"""The disk takes no file of that name, or none beside those that are there; it has no fault."""
_DRAFT: Final = ".ringside-"
_OWN_FOLDER: Final = 0o700
_OWN_FILE: Final = 0o600


def prepare_dump(folder: Path) -> None:
    """Make the folder of a dump. Raises ``InputError`` for one that holds other things than moments."""
    try:
        _make_folder(folder)
        others = [entry.name for entry in folder.iterdir() if not _is_ours(entry)]
    except (FileExistsError, NotADirectoryError) as error:
        raise InputError(f"{folder}: is a file; name a folder for the dump") from error
    if others:
        shown = ", ".join(sorted(others)[:3])
        raise InputError(f"{folder}: has other things in it ({shown}); name an empty folder, or one with moments")


def _is_ours(entry: Path) -> bool:
    return moment_ms(entry.name) is not None or entry.name.startswith(_DRAFT)


def _make_folder(folder: Path) -> None:
    """Make a folder that only its owner can read, with those above it, unless it is there."""
    if not folder.is_dir():
        _make_folder(folder.parent)
        folder.mkdir(_OWN_FOLDER)


def write_moment(folder: Path, reading: ClusterReading, secret: Secret = NO_SECRET) -> tuple[Path, tuple[Gap, ...]]:
    """Write a moment, and return its folder and the answers whose names this disk does not take.

    The folder gets its name when all of it is written. ``secret`` is in no file and in no name. Raises ``OSError``
    where it cannot be written.
    """
    draft = folder / f"{_DRAFT}{secrets.token_hex(8)}.part"
    draft.mkdir(_OWN_FOLDER)
    left_out: list[Gap] = []
    place = folder / reading.moment_name
    try:
        for file in reading.files_of_moment():
            if not _written(draft / secret.hide(file.name), secret.hide_in(file.data)):
                path = "/" + file.name.removesuffix(".json")
                left_out.append(Gap(path, Fault.UNWRITABLE, "", reading.origin))
        draft.rename(place)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return place, tuple(left_out)


def _written(target: Path, data: bytes) -> bool:
    """Write a new file; False where another one has its name, or the disk takes no such name."""
    try:
        _make_folder(target.parent)
        with open(target, "xb", opener=_private) as file:
            file.write(data)
    except OSError as error:
        if error.errno in _NOT_ON_THIS_DISK:
            return False
        raise
    return True


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, _OWN_FILE)
