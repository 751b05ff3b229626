"""The session of an earlier journal, to look at or to go on with."""

from __future__ import annotations

from pathlib import Path

from engine.cluster.journal import Journal, JournalFailure, recover
from tui.cli.output import say
from tui.cli.session import Session


def reopened(path: Path, *, reads_only: bool) -> Session:
    """The session as the journal has it. Raises ``InputError`` when there is nothing to be had from the file.

    Unless ``reads_only``, the journal is open for more; where that is refused (another process has it, a disk that
    cannot be written) this is said, and new steps go to a file of their own.
    """
    if not reads_only:
        found = Journal.resume(path)
        if not isinstance(found, JournalFailure):
            return Session(found.timeline, 0, found.problems, (), found.journal, path)
        timeline, problems = recover(path)
        say(f"{found}; it is shown as it stands, and new steps go to a file of their own")
        return Session(timeline, 0, problems)
    timeline, problems = recover(path)
    return Session(timeline, 0, problems)
