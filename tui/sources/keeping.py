"""Keeping a session's steps on disk: a journal that is made when there is a first step, and never ends a session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from engine.cluster.journal.file import Journal, JournalFailure
from engine.cluster.timeline import Timeline


class Keeping:
    """Saves timelines to one journal. What the disk refuses is told, tried again with the next step, and never raised.

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
        """Save what is new; the answer, for the status line, says where the steps are or why they are not safe."""
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
        """Make the file with all steps so far; the reason when it cannot be made, "" when it is made."""
        try:
            self._path = self._place()
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            return f"{where}{error.strerror or error}"
        made = Journal.create(self._path, timeline)
        if isinstance(made, JournalFailure):
            return str(made)
        self._journal = made
        return ""
