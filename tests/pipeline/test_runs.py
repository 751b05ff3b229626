"""A run appears all at once or not at all, whoever is killed when, on a disk and in a store."""

from __future__ import annotations

import errno
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from engine.errors import InputError, RingsideError
from engine.views.fleet.runs import LATEST, RUNS, Manifest, result_at, run_ids
from engine.views.fleet.tables import BROKERS, FILES, SETTINGS
from pipeline import runs as runs_module
from pipeline.runs import Folders, Parts, new_run
from pipeline.stamps import new_run_id
from pipeline.storage import Place, StorePath
from pipeline.tables import tables_at, tables_if_there
from tests import fleet_results

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
KILLED = """
import os, shutil, signal, sys, traceback
import pandas  # which pyarrow loads at the first write: not in each child
from pathlib import Path
from engine.views.fleet.runs import Manifest
from pipeline import runs, tables
from engine.views.fleet.tables import SETTINGS, FILES

def write_until(target, stop):
    steps = iter(range(1000))
    for place, name in ((runs, "_put"), (runs, "_remove_strays"), (runs, "_remove_old"), (runs, "remove_folder"),
                        (tables.PartWriter, "write"), (tables.PartWriter, "close"), (Path, "mkdir"), (Path, "replace")):
        def wrapped(*args, _real=getattr(place, name), **named):
            if next(steps) == stop:
                os.kill(os.getpid(), signal.SIGKILL)
            return _real(*args, **named)
        setattr(place, name, wrapped)
    with runs.new_run(target, "job", Manifest(f"20261128T070000{stop:03d}Z-new"), alone=True, keep=1) as draft:
        draft.write(SETTINGS, [("", "new", "1", "f")])
        draft.write(FILES, [])
        draft.write_json("job.json", {"run": "new"})

target, copies = map(Path, sys.argv[1:])
code = -signal.SIGKILL
for stop in range(1000):
    if code != -signal.SIGKILL:
        break
    pid = os.fork()
    if pid == 0:
        try:
            write_until(target, stop)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    shutil.copytree(target, copies / f"{stop:03d}", symlinks=True)
    print(code)
"""
"""Writes a run again and again, killed one step later each time, and copies what is there after each."""


@pytest.fixture(params=["disk", "store"])
def out(request: pytest.FixtureRequest) -> Iterator[Place]:
    """A folder for results, on a disk and in a store."""
    if request.param == "disk":
        yield request.getfixturevalue("tmp_path") / "out"
    else:
        yield request.getfixturevalue("place") / "out"


def write(target: Place, word: str, job: str = "job", run_id: str = "", **how: Any) -> str:
    """A run with two tables and a document, and its id."""
    named = run_id or new_run_id()
    with new_run(target, job, Manifest(named), **how) as draft:
        draft.write(SETTINGS, [("", word, "1", "f")])
        draft.write(FILES, [])
        draft.write_json(f"{job}.json", {"run": word})
    return named


def words(target: Place, run_id: str = "") -> tuple[list[str], str]:
    """The rows and the document of a run."""
    result = result_at(target, run_id)
    parts = (part.input_file() if isinstance(part, StorePath) else part for part in result.parts("settings"))
    rows = [name for part in parts for name in pq.ParquetFile(part).read()["name"].to_pylist()]
    return rows, json.loads(result.document("job.json"))["run"]


def test_a_new_run_is_the_latest_and_the_earlier_ones_stay(out: Place) -> None:
    first, second = write(out, "old"), write(out, "new")
    assert words(out) == (["new"], "new") and words(out, first) == (["old"], "old")
    assert run_ids(out) == [first, second]
    assert not runs_module._folders(out / ".work")


def test_only_the_newest_runs_are_kept_and_a_backfill_is_not_the_latest(out: Place) -> None:
    names = [write(out, f"run-{number}", keep=2) for number in range(4)]
    assert run_ids(out) == names[2:]
    older = write(out, "older", backfill=True)
    assert words(out) == (["run-3"], "run-3") and words(out, older) == (["older"], "older")
    last = write(out, "last", keep=1)
    assert run_ids(out) == [last]
    folders = {part.parent.name for part in tables_at(out).parts(SETTINGS)}
    assert folders == {f"run_id={last}"}
    assert {path.name for path in runs_module._folders(out / "settings")} == folders


def test_a_job_alone_names_the_tables_of_the_run_before_and_these_survive_it(out: Place) -> None:
    first = write(out, "old")
    with new_run(out, "other", Manifest(new_run_id()), keep=1) as draft:
        draft.write(BROKERS, [])
    tables = tables_at(out)
    assert set(tables.paths) == {"settings", "files", "brokers"} and run_ids(out) != [first]
    assert words(out) == (["old"], "old")
    write(out, "alone", alone=True, keep=1)
    assert set(tables_at(out).paths) == {"settings", "files"} and words(out) == (["alone"], "alone")


@pytest.mark.parametrize("fault", [ValueError("x"), KeyboardInterrupt(), SystemExit(143)], ids=repr)
def test_whatever_goes_wrong_the_old_result_stays(fault: BaseException, out: Place) -> None:
    write(out, "old")
    with pytest.raises(type(fault)), new_run(out, "job", Manifest(new_run_id())) as draft:
        draft.write(SETTINGS, [("", "new", "1", "f")])
        draft.write(BROKERS, [])
        raise fault
    assert words(out) == (["old"], "old")
    assert len(runs_module._folders(out / "settings")) == 1 and not runs_module._folders(out / "brokers")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS])
def test_a_full_or_forbidden_disk_is_reported_in_a_sentence(number: int, tmp_path: Path) -> None:
    write(tmp_path, "old")
    with (
        pytest.raises(RingsideError, match="The result that was there is untouched"),
        new_run(tmp_path, "job", Manifest(new_run_id())),
    ):
        raise OSError(number, "no")
    assert words(tmp_path) == (["old"], "old")


def test_killed_at_any_step_the_old_or_the_new_result_is_there_whole(tmp_path: Path) -> None:
    out, copies = tmp_path / "out", tmp_path / "copies"
    write(out, "old", run_id="20261128T060000000Z-old")
    ran = subprocess.run([sys.executable, "-c", KILLED, out, copies], capture_output=True, text=True, check=False)
    *killed, code = map(int, ran.stdout.split())
    assert (ran.returncode, code, set(killed)) == (0, 0, {-9}), ran.stderr
    seen = []
    for folder in sorted(copies.iterdir()):
        rows = duckdb.sql(f"select name from {fleet_results.sql(folder, 'settings')}").fetchall()
        seen.append(fleet_results.document(folder, "job.json")["run"])
        assert rows == [(seen[-1],)], f"killed at step {folder.name}"
    assert len(seen) == len(killed) + 1 > 16 and set(seen) == {"old", "new"}
    # A killed one keeps runs from being removed for a day: it may be one that is just published.
    assert run_ids(out)[-1] == tables_at(out).run_id == f"20261128T070000{len(killed):03d}Z-new"
    shutil.rmtree(out / ".work")
    last = write(out, "last", keep=1)
    assert run_ids(out) == [last]


def test_two_runs_at_once_do_each_other_no_harm(out: Place) -> None:
    """Neither ``keep`` removes what the other publishes meanwhile; the one that ends last is the latest."""
    write(out, "old")
    with new_run(out, "job", Manifest(new_run_id()), alone=True, keep=1) as slow:
        quick = write(out, "quick", alone=True, keep=1)
        assert words(out) == (["quick"], "quick")
        slow.write(SETTINGS, [("", "slow", "1", "f")])
        slow.write_json("job.json", {"run": "slow"})
    assert words(out) == (["slow"], "slow") and words(out, quick) == (["quick"], "quick")


def test_tables_that_a_run_names_are_not_removed_while_it_is_written(out: Place) -> None:
    """The run before, whose tables it takes over, is by then neither the latest nor one of those to keep."""
    write(out, "old")
    with new_run(out, "other", Manifest(new_run_id())) as slow:
        for word in ("new", "newer"):
            write(out, word, alone=True, keep=1)
        assert len(run_ids(out)) == 3
        slow.write(BROKERS, [])
    assert words(out)[1] == "newer" and len(tables_at(out).parts(BROKERS)) == 1
    last = write(out, "last", alone=True, keep=1)
    assert run_ids(out) == [last], "who ends last removes them"


def test_a_job_of_a_run_is_published_with_it_and_leaves_nothing_if_it_fails(tmp_path: Path) -> None:
    with new_run(tmp_path, "run", Manifest(new_run_id()), alone=True) as whole:
        with new_run(whole, "one", Manifest(whole.run_id, snapshot_time=NOON)) as draft:
            draft.write(SETTINGS, [("", "one", "1", "f")])
        assert whole.has(SETTINGS) and not tables_if_there(tmp_path).paths
        with pytest.raises(ValueError, match="x"), new_run(whole, "two", Manifest(whole.run_id)) as draft:
            draft.write(BROKERS, [])
            raise ValueError("x")
        assert not whole.has(BROKERS)
    assert fleet_results.tables(tmp_path) == {"settings"} and tables_at(tmp_path).snapshot_time == NOON
    assert sorted(path.name for path in tmp_path.iterdir()) == [LATEST, RUNS, "settings"]


def test_a_late_attempt_of_a_task_adds_nothing_to_a_run_that_has_ended(tmp_path: Path) -> None:
    rows = SETTINGS.columns_of([("", "late", "1", "f")])
    named = write(tmp_path, "on time")
    with pytest.raises(FileNotFoundError), Parts(Folders(tmp_path, named, "job"), None, 0) as parts:
        parts.write(SETTINGS, rows)
    assert len([*fleet_results.parts(tmp_path, "settings")[0].parent.iterdir()]) == 1


def test_what_a_killed_run_left_is_removed_when_it_is_a_day_old(tmp_path: Path) -> None:
    for age, name in ((timedelta(days=2), "old"), (timedelta(hours=1), "young")):
        run = f"{datetime.now(UTC) - age:%Y%m%dT%H%M%S}000Z-{name}"
        for folder in (tmp_path / "settings" / f"run_id={run}", tmp_path / ".work" / run / "job"):
            folder.mkdir(parents=True)
            (folder / "part-0.parquet").write_bytes(b"half")
    write(tmp_path, "new")
    left = {path.name.rpartition("-")[2] for path in (tmp_path / "settings").iterdir()}
    assert "old" not in left and "young" in left
    assert [path.name.rpartition("-")[2] for path in (tmp_path / ".work").iterdir()] == ["young"]


def test_the_result_of_an_earlier_release_is_refused_and_kept(tmp_path: Path) -> None:
    (tmp_path / "summary.json").write_text("{}")
    with pytest.raises(InputError, match="earlier release"):
        tables_at(tmp_path)
    with pytest.raises(InputError, match="earlier release"):
        write(tmp_path, "new")
    assert [path.name for path in tmp_path.iterdir()] == ["summary.json"]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("{", "not the manifest"),
        ('{"run_id": 3}', "not the manifest"),
        ('{"run_id": "r", "format": "other/9"}', "another release"),
        ('{"run_id": "r", "format": "ringside.run/1"}', "another release"),
        ('{"run_id": "r", "tables": {"settings": ["../../etc/run_id=r/x.parquet"]}}', "not a part"),
        ('{"run_id": "r", "tables": {"settings": ["/etc/passwd"]}}', "not a part"),
    ],
)
def test_a_manifest_that_means_nothing_is_refused(text: str, word: str, tmp_path: Path) -> None:
    (tmp_path / RUNS).mkdir()
    (tmp_path / RUNS / "r.json").write_text(text)
    (tmp_path / LATEST).write_text("r\n")
    with pytest.raises(InputError, match=word):
        tables_at(tmp_path)


def test_a_run_id_is_used_once(out: Place) -> None:
    named = write(out, "old")
    with pytest.raises(InputError, match=named):
        write(out, "new", run_id=named)
    assert words(out) == (["old"], "old")


def test_an_unknown_run_is_reported_with_the_known_ones(out: Place) -> None:
    with pytest.raises(InputError, match="no result"):
        result_at(out)
    known = write(out, "old")
    for name in ("nothing", "../latest", ""):
        if name:
            with pytest.raises(InputError, match=known):
                result_at(out, name)


def test_a_result_can_be_moved(tmp_path: Path) -> None:
    write(tmp_path / "a", "old")
    (tmp_path / "a").rename(tmp_path / "b")
    assert words(tmp_path / "b") == (["old"], "old")


def test_spark_and_arrow_write_the_same_columns(spark: SparkSession, tmp_path: Path) -> None:
    """Also added after one another; who reads the folder has the run as a column."""
    with new_run(tmp_path, "x", Manifest("r", snapshot_time=NOON)) as draft:
        draft.write(SETTINGS, [("", "a", "1", "f")])
        draft.write_frame(SETTINGS, spark.createDataFrame([("", "b", "1", "f")], SETTINGS.ddl), add=True)
        draft.write_frame(FILES, spark.createDataFrame([], FILES.ddl))
    parts = fleet_results.parts(tmp_path, "settings")
    assert {pq.read_schema(part).field("snapshot_time").type for part in parts} == {pa.timestamp("us", "UTC")}
    assert len({tuple(pq.read_schema(part).names) for part in parts}) == 1
    query = f"select name, run_id from read_parquet('{tmp_path}/settings/*/*.parquet', hive_partitioning = true)"
    assert duckdb.sql(f"{query} order by all").fetchall() == [("a", "r"), ("b", "r")]
    assert spark.read.parquet(str(tmp_path / "settings")).where("run_id = 'r'").count() == 2
    assert pq.read_table(tmp_path / "settings")["run_id"].to_pylist() == ["r", "r"]
