"""The folder of session journals."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

import pytest

from engine.cluster.commands import AddConsumer
from engine.cluster.journal.file import Journal, Resumed, recover
from engine.cluster.timeline import Timeline
from tests.engine.cluster.support import cluster
from tui.sources import sessions
from tui.sources.sessions import SessionSaver

NOBODY: Final = 2**22 + 1  # above the largest process number of Linux
DAY_S: Final = 86_400.0
TODAY: Final = datetime(2026, 7, 1, 9, 30).timestamp()
IN_2030: Final = datetime(2030, 1, 1).timestamp()
IN_1970: Final = 3 * DAY_S


def put(folder: Path, name: str, written: float) -> Path:
    path = folder / name
    path.touch()
    os.utime(path, (written, written))
    return path


def numbered(folder: Path, numbers: range, clock: float, pid: int = NOBODY) -> list[Path]:
    """Journals of sessions one after another, a minute each, oldest first."""
    times = [clock + 60 * at for at in range(len(numbers))]
    return [
        put(folder, sessions.session_name(number, datetime.fromtimestamp(written), pid), written)
        for number, written in zip(numbers, times, strict=True)
    ]


def without_numbers(folder: Path, count: int, clock: float) -> list[Path]:
    """Journals as an earlier release named them, oldest first."""
    times = [clock + 60 * at for at in range(count)]
    return [put(folder, f"{datetime.fromtimestamp(at):%Y%m%dT%H%M%S}-{NOBODY}.journal", at) for at in times]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a user who has had no session yet."""
    folder = tmp_path / "state" / "ringside" / "sessions"
    monkeypatch.setattr(sessions, "session_folder", lambda: folder)
    return folder


@pytest.fixture
def umask() -> Iterator[None]:
    """Put back what a test sets."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def open_journal(path: Path) -> Journal:
    journal = Journal.create(path, Timeline.start(cluster()))
    assert isinstance(journal, Journal), journal
    return journal


def grown(timeline: Timeline) -> Timeline:
    after, rejection = timeline.submit(AddConsumer("billing", f"c-{timeline.length}"))
    assert rejection is None
    return after


def rights(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_newest_journals_are_kept(tmp_path: Path) -> None:
    paths = numbered(tmp_path, range(1, 26), TODAY)
    removed = sessions.prune(tmp_path, 20, now=TODAY + DAY_S)
    assert sorted(removed) == paths[:5]
    assert sorted(tmp_path.iterdir()) == paths[5:]


@pytest.mark.parametrize("clock", [IN_2030, IN_1970], ids=["forward", "back"])
def test_a_clock_set_wrong_for_a_while_costs_no_recent_journal(tmp_path: Path, clock: float) -> None:
    """Ten sessions by the right clock, ten by the wrong one, ten by the right one again: the last twenty are kept."""
    first = numbered(tmp_path, range(1, 11), TODAY - DAY_S)
    wrong = numbered(tmp_path, range(11, 21), clock)
    last = numbered(tmp_path, range(21, 31), TODAY)
    removed = sessions.prune(tmp_path, 20, now=TODAY + 3600)
    assert not {*wrong, *last} & {*removed}
    assert set(removed) <= {*first}


@pytest.mark.parametrize("now", [TODAY + 60, IN_2030 + DAY_S, IN_1970], ids=["right", "forward", "back"])
def test_a_clock_set_back_does_not_delete_the_newest_journal(tmp_path: Path, now: float) -> None:
    """Nineteen files dated 2030 beside one of today, and twenty more; whatever the clock says when it is looked at."""
    numbered(tmp_path, range(1, 40), IN_2030)
    today = numbered(tmp_path, range(40, 41), TODAY)
    assert not {*today} & {*sessions.prune(tmp_path, 19, now=now)}


def test_a_clock_set_back_does_not_delete_the_newest_journal_of_an_earlier_release(tmp_path: Path) -> None:
    without_numbers(tmp_path, 60, IN_2030)
    today = without_numbers(tmp_path, 1, TODAY)
    removed = sessions.prune(tmp_path, 19, now=TODAY + 60)
    assert removed and not {*today} & {*removed}


def test_an_old_session_that_was_continued_is_kept(tmp_path: Path) -> None:
    continued, *others = numbered(tmp_path, range(1, 41), TODAY)
    os.utime(continued, (TODAY + DAY_S, TODAY + DAY_S))
    removed = sessions.prune(tmp_path, 20, now=TODAY + DAY_S)
    assert sorted(removed) == others[:19]


def test_a_journal_of_a_running_process_is_never_removed(tmp_path: Path) -> None:
    paths = numbered(tmp_path, range(1, 4), TODAY, pid=os.getpid())
    assert sessions.prune(tmp_path, 0) == ()
    assert sorted(tmp_path.iterdir()) == paths


def test_a_journal_that_is_being_written_is_never_removed(tmp_path: Path) -> None:
    """Also one of another machine, or one that a process of another name continues: the lock says it."""
    written, other = tmp_path / f"00001-19700101T000000-{NOBODY}.journal", numbered(tmp_path, range(2, 3), TODAY)
    with open_journal(written) as journal:
        os.utime(written, (0, 0))
        assert list(sessions.prune(tmp_path, 0)) == other
        assert journal.save(grown(Timeline.start(cluster()))) is None
    assert recover(written)[0].length == 1
    assert sessions.prune(tmp_path, 0) == (written,)


def test_files_that_are_no_session_journals_are_left_alone(tmp_path: Path) -> None:
    mine = tmp_path / "notes.journal"
    mine.touch()
    numbered(tmp_path, range(1, 3), TODAY)
    sessions.prune(tmp_path, 0)
    assert list(tmp_path.iterdir()) == [mine]


def test_preparing_makes_the_folder_and_room_for_one_more(folder: Path) -> None:
    path = sessions.prepare_session_file()
    assert path.parent == folder
    paths = numbered(folder, range(1, 31), TODAY)
    assert sessions.prepare_session_file().name.startswith("00031-")
    assert sorted(folder.iterdir()) == paths[-(sessions.KEPT - 1) :]


def test_a_number_beyond_all_is_no_end(folder: Path) -> None:
    """A name that somebody else made up: the next one is still a session's name."""
    folder.mkdir(parents=True)
    put(folder, f"{'9' * 12}-20260701T093000-{NOBODY}.journal", TODAY)
    put(folder, f"{'9' * 200}-20260701T093000-{NOBODY}.journal", TODAY)
    path = sessions.prepare_session_file()
    path.touch()
    assert len(sessions._journals(folder)) == 2


@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize("mask", [0, 0o022, 0o077, 0o277, 0o777], ids=oct)
def test_a_session_is_private_to_its_user_under_any_umask(folder: Path, mask: int) -> None:
    os.umask(mask)
    keeping = SessionSaver(sessions.prepare_session_file)
    assert keeping.record(grown(Timeline.start(cluster()))).startswith("saved in ")
    assert keeping.close() == ""
    (journal,) = folder.iterdir()
    assert [rights(path) for path in (folder.parents[1], folder.parent, folder, journal)] == [0o700] * 3 + [0o600]
    assert recover(journal)[0].length == 1


@pytest.mark.usefixtures("umask")
def test_a_folder_and_a_journal_that_others_could_read_are_closed_to_them(folder: Path) -> None:
    os.umask(0)
    folder.mkdir(parents=True)
    open_journal(folder / "mine").close()
    for path, mode in ((folder.parents[1], 0o777), (folder.parent, 0o755), (folder, 0o775), (folder / "mine", 0o644)):
        path.chmod(mode)
    sessions.prepare_session_file()
    resumed = Journal.resume(folder / "mine")
    assert isinstance(resumed, Resumed), resumed
    resumed.journal.close()
    assert [rights(path) for path in (folder.parent, folder, folder / "mine")] == [0o700, 0o700, 0o600]
    assert rights(folder.parents[1]) == 0o777, "a folder above that is not ours is left alone"
