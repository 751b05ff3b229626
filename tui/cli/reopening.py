"""The session of an earlier journal, to look at or to go on with."""

from __future__ import annotations

from pathlib import Path

from engine.cluster.journal.file import Journal, JournalFailure, recover
from engine.errors import InputError
from engine.text import path_word, shell_line
from tui.cli.output import say
from tui.cli.session import Session
from tui.cli.states import HEAD_BYTES, HEADER
from tui.sources.sessions import session_folder


def reopened(path: Path, *, reads_only: bool) -> Session:
    """The session as the journal has it. Raises ``InputError`` when there is nothing to be had from the file.

    Unless ``reads_only``, the journal is open for more; where that is refused (another process has it, a disk that
    cannot be written) this is said, and new steps go to a file of their own.
    """
    _check(path)
    if not reads_only:
        found = Journal.resume(path)
        if not isinstance(found, JournalFailure):
            return Session(found.timeline, 0, found.problems, (), found.journal, path)
        timeline, problems = recover(path)
        say(f"{found}; it is shown as it stands, and new steps go to a file of their own")
        return Session(timeline, 0, problems)
    timeline, problems = recover(path)
    return Session(timeline, 0, problems)


def _check(path: Path) -> None:
    """Raises ``InputError`` for a file that nobody wrote as a journal; what else is wrong is for reading to tell."""
    try:
        if not path.is_file() or not path.stat().st_size:
            return
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except (OSError, ValueError):
        return
    if HEADER not in head:
        raise InputError(
            f"{path}: this is no journal; one begins with the header that ringside writes (--journal FILE, or a session"
            f" of its own in {session_folder()}). Answers of a broker open with"
            f" {shell_line('ringside', path_word(str(path)))}"
        )
