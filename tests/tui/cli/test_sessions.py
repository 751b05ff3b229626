"""The folder of session journals."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

import pytest

from tui.sources import sessions

NOBODY = 2**22 + 1  # above the largest process number of Linux


def journals(folder: Path, count: int, pid: int = NOBODY) -> list[Path]:
    """``count`` journals, oldest first."""
    made = [folder / sessions.session_name(datetime(2026, 1, 1, 0, 0, second), pid) for second in range(count)]
    for path in made:
        path.touch()
    return made


def test_the_newest_journals_are_kept(tmp_path: Path) -> None:
    made = journals(tmp_path, 25)
    removed = sessions.prune(tmp_path, 20)
    assert sorted(removed) == made[:5]
    assert sorted(tmp_path.iterdir()) == made[5:]


def test_a_journal_of_a_running_process_is_never_removed(tmp_path: Path) -> None:
    made = journals(tmp_path, 3, pid=os.getpid())
    assert sessions.prune(tmp_path, 0) == ()
    assert sorted(tmp_path.iterdir()) == made


def test_files_that_are_no_session_journals_are_left_alone(tmp_path: Path) -> None:
    mine = tmp_path / "notes.journal"
    mine.touch()
    journals(tmp_path, 2)
    sessions.prune(tmp_path, 0)
    assert list(tmp_path.iterdir()) == [mine]


def test_preparing_makes_the_folder_and_room_for_one_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "state" / "sessions"
    monkeypatch.setattr(sessions, "session_folder", lambda: folder)
    path = sessions.prepare_session_file()
    assert path.parent == folder
    journals(folder, 30)
    sessions.prepare_session_file()
    assert len(list(folder.iterdir())) == sessions.KEPT - 1
