"""Runs kept beside the newest result: whole or not at all, each a result folder of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from engine.errors import RingsideError
from engine.views.fleet.summary import FILE_NAME, VERSION, FleetSummary, FleetTotals, read_summary, summary_text
from pipeline import history
from pipeline.history import HISTORY, keep_run, runs_kept
from pipeline.manifests import document_of, parts_of
from pipeline.schemas import FILES, SETTINGS
from pipeline.stamps import Stamp
from pipeline.storage import Place, StorePath, for_arrow
from pipeline.writing import replacing, write_json

RUNS = [f"2026112{day}T060000Z-{day}{day}{day}" for day in range(1, 5)]
SUMMARY = FleetSummary(VERSION, ("import",), FleetTotals(), (), (), (), (), (), (), (), {})


def write_run(target: Place, run_id: str, *, settings: bool = True) -> None:
    """A result of the job import; without ``settings`` those of an earlier run stay beside it."""
    stamp = Stamp(run_id)
    with replacing(target, "import", stamp) as draft:
        draft.write(FILES, [("", run_id, 0, "kind", 1, "read")])
        write_json(draft.folder, "import.json", {"run": run_id})
    if settings:
        with replacing(target, "lint", stamp) as draft:
            draft.write(SETTINGS, [("", run_id, "1", "f")])
            write_json(draft.folder, "lint.json", {"run": run_id})
    with replacing(target, "report", stamp) as draft:
        (draft.folder / FILE_NAME).write_bytes(summary_text(replace(SUMMARY, run_id=run_id)))


def files_of(folder: Place) -> list[str]:
    """The texts of the table of files."""
    tables = [pq.read_table(for_arrow(part)) for part in parts_of(folder / FILES.name)]
    return [name for table in tables for name in table["file"].to_pylist()]


@pytest.fixture(params=["disk", "store"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "disk":
        return tmp_path / "out"
    place: StorePath = request.getfixturevalue("place")
    return place


def test_the_newest_runs_stay_and_each_can_be_opened(target: Place) -> None:
    for run_id in RUNS:
        write_run(target, run_id)
        keep_run(target, run_id, ["import", "lint"], 3)
    assert runs_kept(target) == RUNS[1:]
    for run_id in RUNS[1:]:
        kept = target / HISTORY / run_id
        assert files_of(kept) == [run_id]
        assert read_summary(document_of(kept, FILE_NAME)).run_id == run_id
        assert run_id.encode() in document_of(kept, "lint.json")
    assert files_of(target) == [RUNS[3]]
    if isinstance(target, Path):
        rows = duckdb.sql(f"select run_id from '{target}/{HISTORY}/*/{FILES.name}/*.parquet' order by all").fetchall()
        assert rows == [(run_id,) for run_id in RUNS[1:]]
        [part], [kept_part] = ([*(folder / FILES.name).glob("*")] for folder in (target, target / HISTORY / RUNS[3]))
        assert part.samefile(kept_part), "the newest run is there twice"


def test_what_another_run_left_is_not_taken_along(target: Place) -> None:
    write_run(target, RUNS[0])
    write_run(target, RUNS[1], settings=False)
    keep_run(target, RUNS[1], ["import"], 1)
    kept = target / HISTORY / RUNS[1]
    assert files_of(kept) == [RUNS[1]]
    assert not parts_of(kept / SETTINGS.name)
    assert not (kept / "lint.json").exists()


def test_a_run_that_was_not_written_to_its_end_does_not_count(target: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither after a fault nor after a kill; the next one removes what is left."""
    write_run(target, RUNS[0])

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(history, "_copy", full)
        with pytest.raises(RingsideError, match="No space left"):
            keep_run(target, RUNS[0], ["import"], 2)
    assert runs_kept(target) == []
    write_run(target, RUNS[1])
    keep_run(target, RUNS[1], ["import"], 2)
    assert runs_kept(target) == [RUNS[1]]
    if isinstance(target, Path):
        assert [path.name for path in (target / HISTORY).iterdir()] == [RUNS[1]]


def test_a_disk_without_second_names_gets_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("os.link", refused)
    write_run(tmp_path, RUNS[0])
    keep_run(tmp_path, RUNS[0], ["import"], 1)
    assert files_of(tmp_path / HISTORY / RUNS[0]) == [RUNS[0]]
