"""A result appears all at once or not at all, whoever is killed when."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.dataset
import pytest

from engine.errors import InputError, RingsideError
from pipeline.jobs import job_called
from pipeline.jobs.result import JobOptions
from pipeline.schemas import BROKERS, CONSUMER_SETS, EVERY_TABLE, FILES, SETTINGS, Table
from pipeline.sink import Parts
from pipeline.stamps import Stamp
from pipeline.tables import PartWriter, check_folder, write_rows
from pipeline.writing import RUNS, one_after_another, replacing, write_json

KILLED = """
import os, signal, sys
from pathlib import Path
from pipeline import writing
from pipeline.schemas import SETTINGS, FILES
steps = iter(range(1000))
stop = int(sys.argv[2])
for name in ("_link", "_sweep", "write_rows", "write_json"):
    def wrapped(*args, _real=getattr(writing, name), **named):
        if next(steps) == stop:
            os.kill(os.getpid(), signal.SIGKILL)
        return _real(*args, **named)
    setattr(writing, name, wrapped)
with writing.replacing(Path(sys.argv[1]), "job") as draft:
    writing.write_rows(SETTINGS, draft.table(SETTINGS), [("", "new", "1", "f")])
    writing.write_rows(FILES, draft.table(FILES), [])
    writing.write_json(draft.folder, "job.json", {"run": "new"})
print("done")
"""


def write_result(target: Path, word: str, job: str = "job") -> None:
    with replacing(target, job) as draft:
        write_rows(SETTINGS, draft.table(SETTINGS), [("", word, "1", "f")])
        write_rows(FILES, draft.table(FILES), [])
        write_json(draft.folder, f"{job}.json", {"run": word})


def words(target: Path) -> tuple[list[str], str]:
    """What DuckDB reads without knowing anything of runs and links, and the summary."""
    rows = duckdb.sql(f"select name from '{target}/settings/*.parquet'").fetchall()
    return [row[0] for row in rows], json.loads((target / "job.json").read_text())["run"]


def test_a_late_attempt_of_a_task_does_not_make_a_removed_folder_again(tmp_path: Path) -> None:
    rows = SETTINGS.columns_of([("", "a", "1", "f")])
    with pytest.raises(FileNotFoundError), Parts(tmp_path / "removed", Stamp(), 0) as parts:
        parts.write(SETTINGS, rows)
    assert not list(tmp_path.iterdir())


def test_a_new_result_takes_the_place_of_the_old_one_and_nothing_else_stays(tmp_path: Path) -> None:
    write_result(tmp_path, "old")
    write_result(tmp_path, "new")
    assert words(tmp_path) == (["new"], "new")
    assert [path.name for path in (tmp_path / RUNS).iterdir() if path.name.startswith("job-")] == ["job-2"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [RUNS, "files", "job.json", "settings"]
    assert pa.dataset.dataset(tmp_path / "settings").to_table()["name"].to_pylist() == ["new"]


@pytest.mark.parametrize("fault", [ValueError("x"), KeyboardInterrupt(), SystemExit(143)], ids=repr)
def test_whatever_goes_wrong_the_old_result_stays(fault: BaseException, tmp_path: Path) -> None:
    write_result(tmp_path, "old")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}
    with pytest.raises(type(fault)), replacing(tmp_path, "job") as draft:
        write_rows(SETTINGS, draft.table(SETTINGS), [("", "new", "1", "f")])
        raise fault
    assert words(tmp_path) == (["old"], "old")
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")} == before


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS])
def test_a_full_or_forbidden_disk_is_reported_in_a_sentence(number: int, tmp_path: Path) -> None:
    write_result(tmp_path, "old")
    with pytest.raises(RingsideError, match="The result that was there is untouched"), replacing(tmp_path, "job"):
        raise OSError(number, os.strerror(number))
    assert words(tmp_path) == (["old"], "old")


def test_killed_at_any_step_the_old_or_the_new_result_is_there_whole(tmp_path: Path) -> None:
    """SIGKILL before each step of the writing, one after another, until a run ends by itself."""
    seen = set()
    for step in range(40):
        target = tmp_path / str(step)
        write_result(target, "old")
        command = [sys.executable, "-c", KILLED, str(target), str(step)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        result, summary = words(target)
        assert result == [summary]
        seen.add(summary)
        write_result(target, "after")
        assert words(target) == (["after"], "after")
        assert len([path for path in (target / RUNS).iterdir() if path.name.startswith("job-")]) == 1
        if ran.returncode != -signal.SIGKILL:
            assert (ran.returncode, ran.stdout) == (0, "done\n")
            break
    else:
        pytest.fail("no run ended by itself")
    assert seen == {"old", "new"}


def test_two_runs_do_not_write_to_one_place_at_once(tmp_path: Path) -> None:
    with replacing(tmp_path, "job") as draft:
        write_rows(SETTINGS, draft.table(SETTINGS), [("", "first", "1", "f")])
        write_json(draft.folder, "job.json", {"run": "first"})
        with pytest.raises(RingsideError, match="another run is writing"), replacing(tmp_path, "other"):
            pytest.fail("this must not be reached")
    assert words(tmp_path) == (["first"], "first")


OTHER = """
import sys
from pathlib import Path
from engine.errors import RingsideError
from pipeline.writing import replacing
try:
    with replacing(Path(sys.argv[1]), "other"):
        print("alone")
except RingsideError as refusal:
    print(refusal)
"""


def another_run(target: Path) -> str:
    command = [sys.executable, "-c", OTHER, str(target)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_nobody_comes_between_the_jobs_of_one_run(tmp_path: Path) -> None:
    with one_after_another(tmp_path):
        write_result(tmp_path, "first")
        assert "another run is writing" in another_run(tmp_path)
        write_result(tmp_path, "second", job="next")
    assert json.loads((tmp_path / "job.json").read_text()) == {"run": "first"}
    assert json.loads((tmp_path / "next.json").read_text()) == {"run": "second"}
    assert another_run(tmp_path) == "alone"


def test_a_run_without_anything_to_read_leaves_no_out(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with pytest.raises(InputError):
        job_called("run")(None, tmp_path / "in", tmp_path / "out", JobOptions())  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()


def test_jobs_keep_their_tables_apart(tmp_path: Path) -> None:
    write_result(tmp_path, "one")
    with replacing(tmp_path, "other") as draft:
        write_rows(BROKERS, draft.table(BROKERS), [])
    assert words(tmp_path) == (["one"], "one")
    assert check_folder(BROKERS, tmp_path / "brokers") == 0


def test_a_table_that_a_newer_run_no_longer_has_is_gone(tmp_path: Path) -> None:
    write_result(tmp_path, "old")
    with replacing(tmp_path, "job") as draft:
        write_rows(SETTINGS, draft.table(SETTINGS), [])
    assert sorted(path.name for path in tmp_path.iterdir()) == [RUNS, "settings"]


def test_what_somebody_else_wrote_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "settings").mkdir()
    (tmp_path / "settings" / "mine.txt").write_text("mine")
    with pytest.raises(RingsideError, match="is in the way"):
        write_result(tmp_path, "new")
    assert (tmp_path / "settings" / "mine.txt").read_text() == "mine"


def test_a_result_can_be_moved(tmp_path: Path) -> None:
    write_result(tmp_path / "here", "x")
    (tmp_path / "here").rename(tmp_path / "there")
    assert words(tmp_path / "there") == (["x"], "x")


def test_the_same_summary_gives_the_same_bytes(tmp_path: Path) -> None:
    write_json(tmp_path, "a", {"b": 1, "a": {"d": 2.5, "c": None}})
    write_json(tmp_path, "b", {"a": {"c": None, "d": 2.5}, "b": 1})
    digests = {hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in ("a", "b")}
    assert len(digests) == 1


def test_a_part_holds_its_rows_and_a_discarded_one_is_gone(tmp_path: Path) -> None:
    writer, other = PartWriter(SETTINGS, tmp_path, 1), PartWriter(SETTINGS, tmp_path, 1)
    for number in range(3):
        writer.write(SETTINGS.columns_of([("", "a", str(number), "f")]))
        other.write(SETTINGS.columns_of([("", "b", str(number), "f")]))
    other.discard()
    assert writer.close() in {path.name for path in tmp_path.iterdir()}
    assert (writer.rows, check_folder(SETTINGS, tmp_path)) == (3, 3)


def test_texts_may_be_written_as_dictionaries_and_are_read_as_texts(tmp_path: Path) -> None:
    writer = PartWriter(SETTINGS, tmp_path, 0)
    plain = SETTINGS.columns_of([("", "a", "x", "f"), ("", "a", "y", "f")])
    arrays = [plain["cluster"], plain["name"].combine_chunks().dictionary_encode(), plain["value"], plain["file"]]
    writer.write(pa.Table.from_arrays(arrays, names=list(SETTINGS.names)))
    writer.close()
    assert check_folder(SETTINGS, tmp_path) == 2


FIRST = ("cluster string", "name string")


@pytest.mark.parametrize(
    ("table", "rows", "reason"),
    [
        (Table("settings", (*FIRST, "value bigint", "file string")), [("", "a", 1, "f")], "value"),
        (Table("settings", (*FIRST, "file string")), [("", "a", "f")], "value"),
        (Table("settings", (*FIRST, "value string?", "file string")), [("", "a", None, "f")], "empty places"),
    ],
    ids=["type", "missing", "empty"],
)
def test_a_folder_that_is_not_the_declared_table_is_refused(
    table: Table, rows: list[tuple[object, ...]], reason: str, tmp_path: Path
) -> None:
    write_rows(table, tmp_path, rows)
    with pytest.raises(InputError, match=reason):
        check_folder(SETTINGS, tmp_path)


def test_every_table_has_a_name_and_columns_of_its_own() -> None:
    assert len({table.name for table in EVERY_TABLE}) == len(EVERY_TABLE)
    for table in EVERY_TABLE:
        assert len(set(table.names)) == len(table.names)
        assert table.columns_of([]).schema == table.arrow
    assert CONSUMER_SETS.columns_of([("", 1, ["a", "b"])])["names"].to_pylist() == [["a", "b"]]
