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

from engine.cluster.journal import recover
from pipeline.writing import RUNS
from tests.process.faults import DONE, Outcome, at_every_point, can_mount
from tests.process.savers import BEFORE, ROWS, STEPS, TORN

pytestmark = pytest.mark.xdist_group("process")

STOPS = [("kill", 1), ("term", 1), ("ENOSPC", 1), ("EROFS", 1), ("killed-writing", 61), ("cut-writing", 61)]
MOUNTS = ["small-disk", "read-only"]
KILLS = ("kill", "killed-writing")

Check = Callable[[Outcome, bool], None]


def hidden(folder: Path) -> set[str]:
    """What begins with a dot, anywhere below, but for what belongs to a result."""
    return {path.name for path in folder.rglob(".*")} - {RUNS, ".lock"}


def steps_of(folder: Path) -> list[int]:
    """The steps of each journal of a folder of sessions; none has anything that cannot be read."""
    found = sorted((folder / "ringside" / "sessions").glob("*.journal"))
    assert all(recover(path)[1] == () for path in found)
    return [recover(path)[0].length for path in found]


def check_session(outcome: Outcome, killed: bool) -> None:
    shown = max((int(text) for text in outcome.said if text.isdecimal()), default=0)
    journals = sorted((outcome.after / "ringside" / "sessions").glob("*.journal"))
    timelines = [recover(path) for path in journals]  # raises where a file holds no timeline
    assert len(timelines) <= 1
    lengths = [timeline.length for timeline, _ in timelines] or [0]
    assert shown <= lengths[0] <= STEPS
    assert killed or all(problems == () for _, problems in timelines)
    assert killed or not hidden(outcome.after)
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
    found = [path for path in outcome.after.glob("list.*") if rows_of(path) == ROWS]
    assert found == list(outcome.after.glob("list.*"))
    assert found or DONE not in outcome.said
    assert killed or not hidden(outcome.after)
    assert not hidden(outcome.next)
    (later,) = outcome.next.glob("later.*")
    assert rows_of(later) == ROWS


def visible_in(target: Path) -> set[str]:
    """What is there for whoever follows the links, and has a table or a summary behind it."""
    return {path.name for path in target.iterdir() if path.exists() and not path.name.startswith(".")}


def check_result(outcome: Outcome, killed: bool, *, first: bool = False) -> None:
    found = visible_in(outcome.after)
    if first and DONE not in outcome.said and not found:
        word = ""
    else:
        word = json.loads((outcome.after / "job.json").read_bytes())["run"]
        rows = duckdb.sql(f"select name from '{outcome.after}/settings/*.parquet'").fetchall()
        assert rows == [(word,)]
        assert found == {"job.json", "settings", "files" if word == "old" else "brokers"}
    assert word == "new" or DONE not in outcome.said
    assert killed or not hidden(outcome.after)
    assert not hidden(outcome.next)
    assert json.loads((outcome.next / "job.json").read_bytes())["run"] == "later"
    assert visible_in(outcome.next) == {path.name for path in outcome.next.iterdir()} - {RUNS}
    assert len(list((outcome.next / RUNS).glob("job-*"))) == 1


def check_first_result(outcome: Outcome, killed: bool) -> None:
    check_result(outcome, killed, first=True)


def check_import(outcome: Outcome, killed: bool) -> None:
    out = outcome.after / "out"
    told = json.loads((out / "import.json").read_bytes())["rows_out"]["topics"]
    assert told == duckdb.sql(f"select count(*) from '{out}/topics/*.parquet'").fetchall()[0][0]
    assert told == (5 if DONE in outcome.said else told) and told in (3, 5)
    assert killed or not hidden(outcome.after)
    assert not hidden(outcome.next)
    assert json.loads((outcome.next / "out" / "import.json").read_bytes())["rows_out"]["topics"] == 5
    assert len(list((outcome.next / "out" / RUNS).glob("import-*"))) == 1


CHECKS: dict[str, Check] = {
    "session": check_session,
    "torn": check_torn,
    "csv": check_export,
    "json_list": check_export,
    "parquet": check_export,
    "result": check_result,
    "first_result": check_first_result,
}


def stop_everywhere(saver: str, fault: str, folder: Path, step: int = 1) -> list[Outcome]:
    outcomes = at_every_point(f"tests.process.savers:{saver}", fault, folder, step=step)
    assert len(outcomes) > 1
    for outcome in outcomes[:-1]:
        if fault in KILLS:
            assert outcome.code == (-signal.SIGKILL if fault == "kill" else -signal.SIGXFSZ)
        elif fault == "term":
            assert outcome.code in (0, 143), "one at the very end comes too late"
    assert outcomes[-1].said[-1] == DONE
    return outcomes


@pytest.mark.parametrize(("fault", "step"), STOPS, ids=[fault for fault, _ in STOPS])
@pytest.mark.parametrize("saver", CHECKS)
def test_stopped_at_any_point_nothing_is_lost_or_torn(saver: str, fault: str, step: int, tmp_path: Path) -> None:
    for outcome in stop_everywhere(saver, fault, tmp_path, step):
        CHECKS[saver](outcome, fault in KILLS)


@pytest.mark.parametrize("fault", MOUNTS)
@pytest.mark.parametrize("saver", CHECKS)
def test_on_a_real_full_or_closed_disk_nothing_is_lost_or_torn(saver: str, fault: str, tmp_path: Path) -> None:
    """The same without it is above, for machines on which nothing may be mounted."""
    if not can_mount():
        pytest.skip("this user may not mount anything")
    for outcome in stop_everywhere(saver, fault, tmp_path):
        CHECKS[saver](outcome, False)


@pytest.mark.parametrize("fault", ["kill", "term"])
def test_an_import_stopped_at_any_point_leaves_the_old_or_the_new_tables(fault: str, tmp_path: Path) -> None:
    for outcome in stop_everywhere("whole_import", fault, tmp_path):
        check_import(outcome, fault == "kill")
