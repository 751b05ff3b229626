"""The folder of session journals: one file per run, private to its user, the most recent few kept."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from platformdirs import user_state_path

from engine.cluster.timeline import Timeline
from engine.errors import system_reason

if TYPE_CHECKING:
    from engine.cluster.journal.file import Journal

KEPT: Final = 20
SUFFIX: Final = ".journal"
PRIVATE: Final = 0o700
"""What is in the folder names the tenants, topics and consumers of an installation: nobody else reads it."""
_OTHERS: Final = 0o077
_LAST_NUMBER: Final = 10**12 - 1
_NAME: Final = re.compile(r"(?:(?P<number>\d{5,12})-)?\d{8}T\d{6}-(?P<pid>\d+)\.journal")


def session_folder() -> Path:
    """The user's folder for session journals; it need not exist yet."""
    return user_state_path("ringside", appauthor=False) / "sessions"


def session_name(number: int, now: datetime, pid: int) -> str:
    """A file name that sorts by the order of creation, whatever the clock said, and belongs to one process.

    >>> session_name(7, datetime(2026, 7, 1, 9, 30), 41)
    '00007-20260701T093000-41.journal'
    """
    return f"{number:05d}-{now:%Y%m%dT%H%M%S}-{pid}{SUFFIX}"


def prepare_session_file() -> Path:
    """A path for this run's journal in an existing private folder, with old journals removed. Raises OSError."""
    folder = session_folder()
    _make_private(folder)
    prune(folder, KEPT - 1)
    number = max((journal.number for journal in _journals(folder)), default=0) + 1
    return folder / session_name(min(number, _LAST_NUMBER), datetime.now(), os.getpid())


def prune(folder: Path, keep: int, *, now: float | None = None) -> tuple[Path, ...]:
    """Remove journals that are old by every measure and return their paths.

    Kept are the ``keep`` that were created last, by the number in their names, and the ``keep`` that were written
    nearest to ``now`` (default: the clock), so that neither a clock set forward or back nor an old session that was
    continued costs a recent one. A journal that is being written is never removed, nor is a file of another name.
    """
    moment = time.time() if now is None else now
    journals = _journals(folder)
    created = sorted(journals, key=lambda journal: (journal.number, journal.path.name), reverse=True)
    written = sorted(journals, key=lambda journal: abs(moment - journal.written))
    recent = {journal.path for journal in (*created[:keep], *written[:keep])}
    old = [journal for journal in created if journal.path not in recent]
    return tuple(journal.path for journal in old if not _is_running(journal.pid) and _removed(journal.path))


class _SessionFile(Struct, frozen=True):
    """A journal in the folder; ``number`` is 0 for a name without one, ``written`` the time of its last change."""

    path: Path
    number: int
    pid: int
    written: float


def _journals(folder: Path) -> list[_SessionFile]:
    journals = []
    for path in folder.iterdir():
        match = _NAME.fullmatch(path.name)
        if match is not None:
            with suppress(FileNotFoundError):  # another process has just removed it
                written = path.lstat().st_mtime
                journals.append(_SessionFile(path, int(match["number"] or 0), int(match["pid"]), written))
    return journals


def _make_private(folder: Path) -> None:
    """Create what is missing of the path for this user alone, and close the two levels that are ours to others."""
    missing = [level for level in (folder, *folder.parents) if not level.exists()]
    for level in reversed(missing):
        level.mkdir(PRIVATE, exist_ok=True)
        level.chmod(PRIVATE)  # a strict umask may have taken the user's own rights
    for level in (folder.parent, folder):
        if level.stat().st_mode & _OTHERS:
            with suppress(OSError):  # another user's, or a file system without rights
                level.chmod(PRIVATE)


def _removed(path: Path) -> bool:
    """Remove a journal unless a process holds its lock, and return whether it is gone."""
    from engine.disk import Disk

    disk = Disk()
    try:
        descriptor = disk.open(path)
    except OSError:
        return False
    try:
        if not disk.lock(descriptor):
            return False
        path.unlink()
    except OSError:
        return False
    finally:
        disk.close(descriptor)
    return True


def _is_running(pid: int) -> bool:
    """Whether the process in a journal's name runs: all that is known of a writer where a file system has no locks."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # another user's process, or no answer: better keep the file
    return True


class SessionSaver:
    """Saves timelines to one journal. A failure is reported, tried again with the next step, and never raised.

    Either ``journal`` is open already, or ``place`` is asked for a path once there is a first step: a session in which
    nothing was done leaves no file.
    """

    def __init__(self, place: Callable[[], Path], *, journal: Journal | None = None, path: Path | None = None) -> None:
        self._journal = journal
        self._path = path
        self._place = place
        self._last: Timeline | None = None
        self.trouble = ""

    def record(self, timeline: Timeline) -> str:
        """Save the new steps, and return for the status line where they are or why they are not saved."""
        self._last = timeline
        if self._journal is None and not timeline.log:
            return ""
        self.trouble = self._open(timeline) if self._journal is None else str(self._journal.save(timeline) or "")
        if self.trouble:
            return f"not saved: {self.trouble}"
        return f"saved in {self._path.name}" if self._path else "saved"

    def close(self) -> str:
        """Try once more to save what is missing, close the file, and return what is still wrong, "" for nothing."""
        if self.trouble and self._last is not None:
            self.record(self._last)
        if self._journal is not None:
            self._journal.close()
            self._journal = None
        return self.trouble

    def _open(self, timeline: Timeline) -> str:
        """Create the file with all steps so far; return why it cannot be created, "" when it is."""
        from engine.cluster.journal.file import Journal, JournalFailure

        try:
            self._path = self._place()
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            return f"{where}{system_reason(error)}"
        journal = Journal.create(self._path, timeline)
        if isinstance(journal, JournalFailure):
            return str(journal)
        self._journal = journal
        return ""
