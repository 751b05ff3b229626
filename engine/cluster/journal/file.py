"""The timeline on disk: a file with one line per step, synced before a step is shown as saved.

Writing goes through ``Journal.save``; a full disk is a value (``JournalFailure``), not the end of the session. Reading
(``recover``) keeps everything up to the first line that is torn or wrong.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from engine.cluster.journal.lines import Recovered, cursor_line, header_line, read_lines, step_line
from engine.cluster.timeline import Timeline
from engine.disk import Disk
from engine.errors import InputError, Problem, system_reason
from engine.input import Source, opened, size_text

JOURNAL_LIMIT_BYTES: Final = 2**30
"""A larger file is not read."""

_TORN_NAMES: Final = 1000


class JournalFailure(Struct, frozen=True):
    """A failure of the file system: ``action`` is create, resume or save; ``reason`` is the system's message.

    ``saved_steps`` are safe on disk. After a failed save the session goes on; the next ``save`` writes what is missing.
    ``rolled_back`` is false when a half-written line could not be cut off yet (``save`` tries again).
    """

    path: str
    action: str
    reason: str
    error_number: int = 0
    saved_steps: int = 0
    rolled_back: bool = True

    def __str__(self) -> str:
        if self.action != "save":
            return f"{self.path}: {self.reason}"
        return (
            f"{self.path}: not saved ({self.reason}); {self.saved_steps} steps are safe on disk, the session goes on,"
            " and the rest is saved as soon as the file can be written"
        )


class Resumed(Struct, frozen=True):
    """A journal that is open for writing, the timeline it held, and problems with the rest."""

    journal: Journal
    timeline: Timeline
    problems: tuple[Problem, ...]


def recover(path: str | os.PathLike[str]) -> tuple[Timeline, tuple[Problem, ...]]:
    """Read a journal without changing it. Raises InputError when it holds no timeline."""
    recovered = read_lines(_read(Path(path)), str(path))
    return recovered.timeline, recovered.problems


class Journal:
    """An open journal, from :meth:`create` or :meth:`resume`; only one process at a time can have it open."""

    def __init__(self, path: Path, descriptor: int, disk: Disk, size: int, timeline: Timeline) -> None:
        self._path = path
        self._descriptor = descriptor
        self._disk = disk
        self._safe_bytes = size
        self._torn = False
        self._steps = len(timeline.log)
        self._last = timeline.log[-1:]
        self._place = _place_of(timeline)

    @property
    def saved_steps(self) -> int:
        """Steps of all branches that are safe on disk."""
        return self._steps

    @classmethod
    def create(
        cls, path: str | os.PathLike[str], timeline: Timeline, *, disk: Disk | None = None
    ) -> Journal | JournalFailure:
        """Write the timeline to a new file, in one step; an existing file is never overwritten."""
        disk, where = disk or Disk(), Path(path)
        try:
            draft = disk.draft(where.parent, private=True)
        except OSError as error:
            return JournalFailure(str(path), "create", system_reason(error), error.errno or 0)
        journal = None
        try:
            begun = Timeline.start(timeline.initial, timeline.seed, timeline.source)
            draft_journal = cls(where, draft.descriptor, disk, 0, begun)
            failure = draft_journal._append(header_line(timeline), sync=False) or draft_journal.save(timeline)
            if failure is not None:
                return JournalFailure(str(path), "create", failure.reason, failure.error_number)
            disk.publish(draft, where)
            journal = draft_journal
        except FileExistsError as error:
            advice = "there is such a file already; resume it, or choose another name"
            return JournalFailure(str(path), "create", advice, error.errno or 0)
        except OSError as error:
            return JournalFailure(str(path), "create", system_reason(error), error.errno or 0)
        finally:
            if journal is None:
                disk.discard(draft)
        return journal

    @classmethod
    def resume(cls, path: str | os.PathLike[str], *, disk: Disk | None = None) -> Resumed | JournalFailure:
        """Open a journal to continue it. An unreadable rest is copied to ``PATH.torn``, then cut off.

        Raises InputError when the file holds no timeline at all; the file is left as it is.
        """
        disk, where = disk or Disk(), Path(path)
        try:
            descriptor = disk.open(where)
        except OSError as error:
            return JournalFailure(str(path), "resume", system_reason(error), error.errno or 0)
        try:
            if not disk.lock(descriptor):
                advice = "another process writes this journal; close that one, or replay the file without going on"
                disk.close(descriptor)
                return JournalFailure(str(path), "resume", advice, errno.EWOULDBLOCK)
            if not os.fstat(descriptor).st_nlink:
                disk.close(descriptor)
                return JournalFailure(str(path), "resume", "it was removed while it was being opened", errno.ENOENT)
            data = _read(where, descriptor)
            recovered = read_lines(data, str(path))
        except InputError:
            disk.close(descriptor)
            raise
        try:
            problems = _set_aside(where, descriptor, disk, data, recovered)
        except OSError as error:
            disk.close(descriptor)
            reason = f"what cannot be read could not be set aside ({system_reason(error)}); the file is as it was"
            return JournalFailure(str(path), "resume", reason, error.errno or 0, len(recovered.timeline.log))
        journal = cls(where, descriptor, disk, recovered.good_bytes, recovered.timeline)
        return Resumed(journal, recovered.timeline, problems)

    def save(self, timeline: Timeline) -> JournalFailure | None:
        """Write the steps that the file lacks; None when all of the timeline is on disk.

        The timeline must continue the one that was saved last (or resumed). New steps are synced to the disk; a move
        of the cursor alone is written without waiting for it. O(new steps).
        """
        assert timeline.log[max(0, self._steps - 1) : self._steps] == self._last, (
            "a journal goes on with the timeline it was made for"
        )
        place = self._place
        lines: list[bytes] = []
        for step in timeline.log[self._steps :]:
            lines.append(step_line(step))
            place = (step.number, step.depth)
        cursor = _place_of(timeline)
        if cursor != place:
            lines.append(cursor_line(*cursor))
        if not lines and not self._torn:
            return None
        failure = self._append(b"".join(lines), sync=len(timeline.log) > self._steps)
        if failure is None:
            self._steps = len(timeline.log)
            self._last = timeline.log[-1:]
            self._place = cursor
        return failure

    def close(self) -> None:
        """Release the file for other processes."""
        if self._descriptor >= 0:
            self._disk.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _append(self, data: bytes, *, sync: bool) -> JournalFailure | None:
        assert self._descriptor >= 0, "the journal is closed"
        try:
            if self._torn:
                self._disk.truncate(self._descriptor, self._safe_bytes)
                self._torn = False
            self._disk.write_all(self._descriptor, data)
            if sync:
                self._disk.sync(self._descriptor)
        except OSError as error:
            self._roll_back()
            return JournalFailure(
                str(self._path), "save", system_reason(error), error.errno or 0, self._steps, not self._torn
            )
        self._safe_bytes += len(data)
        return None

    def _roll_back(self) -> None:
        """Cut off a half-written line, so that the file ends with a whole one; if that fails, the next save retries."""
        try:
            self._disk.truncate(self._descriptor, self._safe_bytes)
        except OSError:
            self._torn = True


def _place_of(timeline: Timeline) -> tuple[int, int]:
    return timeline.tip, timeline.cursor


def _read(path: Path, descriptor: int | None = None) -> bytes:
    """The bytes of a file, read through its open descriptor if there is one: that is the locked file."""
    try:
        # Checked before it is read, since a pipe that is open for writing too would wait for itself.
        if not stat.S_ISREG((path.stat() if descriptor is None else os.fstat(descriptor)).st_mode):
            raise InputError("is not a file")
        with opened(path) if descriptor is None else nullcontext(Source(descriptor)) as source:
            data = source.read(JOURNAL_LIMIT_BYTES)
    except InputError as error:
        raise InputError(f"{path} {error}") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {system_reason(error)}") from error
    if data is None:
        raise InputError(f"{path} has more than {size_text(JOURNAL_LIMIT_BYTES)}; such a journal is not read")
    return data


def _set_aside(path: Path, descriptor: int, disk: Disk, data: bytes, recovered: Recovered) -> tuple[Problem, ...]:
    """Copy the unreadable rest to another file, then cut it off. Raises OSError."""
    rest = data[recovered.good_bytes :]
    if not rest:
        return recovered.problems
    kept = _new_torn_file(path, rest, disk)
    disk.truncate(descriptor, recovered.good_bytes)
    disk.sync(descriptor)
    advice = f"the {len(rest)} bytes are kept in {kept}"
    return tuple(
        Problem(problem.source, problem.path, problem.reason, advice, problem.line) for problem in recovered.problems
    )


def _new_torn_file(path: Path, rest: bytes, disk: Disk) -> Path:
    draft = disk.draft(path.parent, private=True)
    try:
        disk.write_all(draft.descriptor, rest)
        for number in range(1, _TORN_NAMES):
            kept = path.with_name(f"{path.name}.torn" + (f".{number}" if number > 1 else ""))
            with suppress(FileExistsError):
                disk.publish(draft, kept)
                return kept
    finally:
        disk.discard(draft)
    raise FileExistsError(errno.EEXIST, f"there are {_TORN_NAMES} torn files next to it already")
