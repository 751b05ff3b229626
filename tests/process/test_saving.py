"""Journals, exports and results of fleets, stopped at every point: nothing said to be saved is lost, nothing is torn.

Processes are killed or asked to end, disks are full or closed to writers, at each change of a file in turn.
"""

from __future__ import annotations

import csv
import json
import signal
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from engine.cluster.journal.file import recover
from pipeline.runs import WORK
from tests import fleet_results
from tests.process.faults import DONE, Outcome, at_every_point, can_mount
from tests.process.savers import BEFORE, ROWS, STEPS, TORN

pytestmark = pytest.mark.xdist_group("saving")

CALLS = {"kill": 1, "term": 3, "ENOSPC": 1, "EROFS": 3}
BYTES = {"killed-writing": 307, "cut-writing": 307}
MOUNTS = {"small-disk": 1, "read-only": 1}
LIKE_OTHERS = {"json_list": 3, "parquet": 3, "result": 2, "first_result": 3}
"""Savers that are stopped at every so many points, as another one writes its files in the same way or, for a result, as
each of its tables is written as the one before."""
KILLS = ("kill", "killed-writing")

Check = Callable[[Outcome, bool], None]


def hidden(folder: Path) -> set[str]:
    """What begins with a dot, anywhere below, but for what belongs to a result."""
    return {path.name for path in folder.rglob(".*")}


def check_session(outcome: Outcome, killed: bool) -> None:
    shown = max((int(text) for text in outcome.said if text.isdecimal()), default=0)
    journals = sorted((outcome.after / "ringside" / "sessions").glob("*.journal"))
    timelines = [recover(path) for path in journals]  # raises where a file holds no timeline
    assert len(timelines) <= 1
    lengths = [timeline.length for timeline, _ in timelines] or [0]
    assert shown <= lengths[0] <= STEPS
    assert killed or all(problems == () for _, problems in timelines)
    for draft in () if killed else outcome.after.rglob(".*.part"):  # to remove it was what failed: it is the journal
        assert outcome.fault in ("ENOSPC", "EROFS") and [draft.read_bytes()] == [path.read_bytes() for path in journals]
    assert not hidden(outcome.next)
    assert len(list((outcome.next / "ringside" / "sessions").iterdir())) == len(journals) + 1


def check_torn(outcome: Outcome, killed: bool) -> None:
    """What was saved before is there, and so are the torn bytes: in the file or, whole, beside it."""
    shown = max((int(text) for text in outcome.said if text.isdecimal()), default=BEFORE)
    timeline, _ = recover(outcome.after / "mine")
    assert shown <= timeline.length <= BEFORE + STEPS
    beside = sorted(outcome.after.glob("mine.torn*"))
    assert all(path.read_bytes() == TORN for path in beside)
    assert beside or (outcome.after / "mine").read_bytes().endswith(TORN)
    assert killed or not hidden(outcome.after)
    assert not hidden(outcome.next)
    later, problems = recover(outcome.next / "mine")
    assert (later.length, problems) == (timeline.length + STEPS, ())


def rows_of(path: Path) -> int:
    if path.suffix == ".json":
        return len(json.loads(path.read_bytes()))
    if path.suffix == ".csv":
        with path.open(newline="") as file:
            return len(list(csv.reader(file, strict=True))) - 1
    return int(duckdb.sql(f"select count(*) from '{path}'").fetchall()[0][0])


def check_export(outcome: Outcome, killed: bool) -> None:
    paths = [path for path in outcome.after.glob("list.*") if rows_of(path) == ROWS]
    assert paths == list(outcome.after.glob("list.*"))
    assert paths or DONE not in outcome.said
    assert killed or not hidden(outcome.after)
    assert not hidden(outcome.next)
    (later,) = outcome.next.glob("later.*")
    assert rows_of(later) == ROWS


def check_result(outcome: Outcome, killed: bool, *, first: bool = False) -> None:
    if first and DONE not in outcome.said and not (outcome.after / "latest").exists():
        word = ""
    else:
        word = fleet_results.document(outcome.after, "job.json")["run"]
        assert duckdb.sql(f"select name from {fleet_results.sql(outcome.after, 'settings')}").fetchall() == [(word,)]
        assert fleet_results.tables(outcome.after) == {"settings", "files" if word == "old" else "brokers"}
    assert word == "new" or DONE not in outcome.said
    assert killed or not hidden(outcome.after)
    # What a killed run left stays for a day: it may be one that still runs.
    assert hidden(outcome.next) <= ({WORK} if killed else set())
    assert fleet_results.document(outcome.next, "job.json")["run"] == "later"
    # For that day nothing older is removed, so the run before and the killed one may be there, too.
    assert 1 <= len(fleet_results.run_ids(outcome.next)) <= (3 if killed else 1)


def check_first_result(outcome: Outcome, killed: bool) -> None:
    check_result(outcome, killed, first=True)


def check_import(outcome: Outcome, killed: bool) -> None:
    out = outcome.after / "out"
    result = fleet_results.document(out, "import.json")["rows_out"]["topics"]
    assert result == duckdb.sql(f"select count(*) from {fleet_results.sql(out, 'topics')}").fetchall()[0][0]
    assert result == (5 if DONE in outcome.said else result) and result in (3, 5)
    assert killed or not hidden(outcome.after)
    assert hidden(outcome.next) <= ({WORK} if killed else set())
    assert fleet_results.document(outcome.next / "out", "import.json")["rows_out"]["topics"] == 5


CHECKS: dict[str, Check] = {
    "session": check_session,
    "torn": check_torn,
    "csv": check_export,
    "json_list": check_export,
    "parquet": check_export,
    "result": check_result,
    "first_result": check_first_result,
}


def check_two_sessions(outcome: Outcome) -> None:
    journals = (outcome.after / "ringside" / "sessions").glob("*.journal")
    lengths = [recover(path)[0].length for path in journals]
    assert lengths == [STEPS] * (1 + outcome.reached)
    assert DONE in outcome.said and (DONE in outcome.other) == outcome.reached


def check_two_that_go_on(outcome: Outcome) -> None:
    """One after the other, or one is refused; the steps of both are there."""
    timeline, problems = recover(outcome.after / "mine")
    finished = (outcome.said + outcome.other).count(DONE)
    assert (timeline.length, problems) == (BEFORE + STEPS * finished, ())
    assert finished in (1, 2) and [path.read_bytes() for path in outcome.after.glob("mine.torn*")] == [TORN]


def check_two_exports(outcome: Outcome) -> None:
    (path,) = outcome.after.glob("list.*")
    assert rows_of(path) == ROWS
    assert (outcome.said + outcome.other).count(DONE) == 1
    assert not outcome.reached or any("is there already" in text for text in outcome.said + outcome.other)


def check_two_results(outcome: Outcome) -> None:
    """Both are runs, and the one that ended last is the latest."""
    assert fleet_results.document(outcome.after, "job.json")["run"] == "new"
    assert duckdb.sql(f"select name from {fleet_results.sql(outcome.after, 'settings')}").fetchall() == [("new",)]
    assert fleet_results.tables(outcome.after) == {"settings", "brokers"}
    assert (outcome.said + outcome.other).count(DONE) == 1 + outcome.reached


TWO: dict[str, Callable[[Outcome], None]] = {
    "session": check_two_sessions,
    "torn": check_two_that_go_on,
    "csv": check_two_exports,
    "result": check_two_results,
    "first_result": check_two_results,
}


@pytest.mark.parametrize("saver", TWO)
def test_two_that_save_the_same_at_once_lose_and_tear_nothing(saver: str, tmp_path: Path) -> None:
    """The second one saves from its beginning to its end at each point of the first."""
    outcomes = at_every_point(f"tests.process.savers:{saver}", {"another": LIKE_OTHERS.get(saver, 1)}, tmp_path)
    assert any(DONE in outcome.other for outcome in outcomes)
    for outcome in outcomes:
        assert not hidden(outcome.after)
        TWO[saver](outcome)


def check_all(check: Check, outcomes: list[Outcome]) -> None:
    for outcome in outcomes:
        if outcome.reached and outcome.fault in KILLS:
            assert outcome.code == (-signal.SIGKILL if outcome.fault == "kill" else -signal.SIGXFSZ)
        elif outcome.reached and outcome.fault == "term":
            assert outcome.code in (0, 143), "one at the very end comes too late"
        check(outcome, outcome.fault in KILLS)


@pytest.mark.parametrize("saver", CHECKS)
def test_stopped_at_any_point_nothing_is_lost_or_torn(saver: str, tmp_path: Path) -> None:
    every = LIKE_OTHERS.get(saver, 1)
    faults = {fault: step * every for fault, step in (CALLS | BYTES).items()}
    check_all(CHECKS[saver], at_every_point(f"tests.process.savers:{saver}", faults, tmp_path))


@pytest.mark.parametrize("saver", CHECKS)
def test_on_a_real_full_or_closed_disk_nothing_is_lost_or_torn(saver: str, tmp_path: Path) -> None:
    """The same without mounting is above, for machines on which that may not be done."""
    if not can_mount():
        pytest.skip("this user may not mount anything")
    check_all(CHECKS[saver], at_every_point(f"tests.process.savers:{saver}", MOUNTS, tmp_path, mounts=True))


def test_an_import_stopped_anywhere_leaves_the_old_or_the_new_tables(tmp_path: Path) -> None:
    """At every thirteenth of its points: the others differ from them by the table, and all are in the test above."""
    outcomes = at_every_point("tests.process.savers:whole_import", {"kill": 13, "term": 13}, tmp_path)
    check_all(check_import, outcomes)
