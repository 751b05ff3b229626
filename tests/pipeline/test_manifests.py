"""In a store a result appears all at once for those who read what its manifest names, whoever is stopped when."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from engine.errors import RingsideError
from pipeline.manifests import RUNS, document_of, parts_of, results_at
from pipeline.schemas import FILES, SETTINGS
from pipeline.storage import StorePath, for_arrow
from pipeline.tables import PartWriter, check_folder, write_rows
from pipeline.writing import replacing, withdraw, write_json

STEPS = ("rename", "write_bytes", "unlink", "remove_folder")
"""Everything that is changed in a store is changed by one of these, or by a writer of parts."""


def write_result(target: StorePath, word: str, job: str = "job") -> None:
    with replacing(target, job) as draft:
        writer = PartWriter(SETTINGS, draft.table(SETTINGS), 7)
        writer.write(SETTINGS.columns_of([("", word, "1", "f")]))
        writer.close()
        write_rows(FILES, draft.table(FILES), [])
        (draft.aside("staged") / "left-over").write_bytes(b"x")
        write_json(draft.folder, f"{job}.json", {"run": word})


def words(target: StorePath, job: str = "job") -> tuple[list[str], str]:
    """What the manifest says: rows of the table, and the document."""
    tables = [pq.read_table(for_arrow(part)) for part in parts_of(target / SETTINGS.name)]
    return [name for table in tables for name in table["name"].to_pylist()], json.loads(
        document_of(target, f"{job}.json")
    )["run"]


def plain_words(target: StorePath) -> list[str]:
    """What a reader of the folder sees that knows nothing of manifests."""
    folder = target / SETTINGS.name
    return list(pyarrow.dataset.dataset(folder.path, filesystem=folder.store).to_table()["name"].to_pylist())


def names(target: StorePath) -> set[str]:
    """Every file, without the numbers of runs."""
    result = (path.path.removeprefix(f"{target.path}/") for path, _ in target.files(below=True))
    return {name.split(".job-")[0].split("/job-")[0] for name in result}


def test_a_new_result_takes_the_place_of_the_old_one_and_nothing_else_stays(place: StorePath) -> None:
    write_result(place, "old")
    before = names(place)
    write_result(place, "new")
    assert words(place) == (["new"], "new")
    assert plain_words(place) == ["new"]
    assert json.loads((place / "job.json").read_bytes()) == {"run": "new"}
    assert check_folder(FILES, place / FILES.name) == 0
    assert len(names(place)) == len(before) == 4
    assert [path.name for path, _ in (place / RUNS).files(below=True)] == [
        path.name for path, _ in (place / RUNS).files()
    ]


def test_a_result_that_fails_leaves_the_old_one(place: StorePath) -> None:
    write_result(place, "old")
    before = names(place)
    with pytest.raises(ZeroDivisionError), replacing(place, "job") as draft:
        write_rows(SETTINGS, draft.table(SETTINGS), [("", "new", "1", "f")])
        raise ZeroDivisionError
    assert (words(place), plain_words(place), names(place)) == ((["old"], "old"), ["old"], before)


class Stopped(BaseException):
    """As after a kill nothing is tidied up."""


@pytest.mark.parametrize("step", range(2, 11))
def test_whenever_a_run_is_killed_its_manifest_names_the_old_result_or_the_new_one(
    place: StorePath, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_result(place, "old")
    made = 0

    def counted(name: str, real: Any) -> Any:
        def stopping(*args: Any, **named: Any) -> Any:
            nonlocal made
            made += 1
            if made > step:
                raise Stopped
            return real(*args, **named)

        return stopping

    with monkeypatch.context() as patch:
        for name in STEPS:
            patch.setattr(StorePath, name, counted(name, getattr(StorePath, name)))
        try:
            write_result(place, "new")
            finished = True
        except Stopped:
            finished = False
    rows, word = words(place)
    assert rows == [word] and word in ("old", "new")
    assert word == "new" or not finished
    write_result(place, "next")
    assert words(place) == (["next"], "next")


def test_some_of_those_kills_come_before_the_new_result_is_named_and_some_after(
    place: StorePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = StorePath.unlink

    def stopping(self: StorePath, *, missing_ok: bool = False) -> None:
        raise Stopped

    write_result(place, "old")
    monkeypatch.setattr(StorePath, "unlink", stopping)
    with pytest.raises(Stopped):
        write_result(place, "new")
    monkeypatch.setattr(StorePath, "unlink", real)
    assert words(place) == (["new"], "new")
    assert sorted(plain_words(place)) == ["new", "old"]
    write_result(place, "next")
    assert plain_words(place) == ["next"]


def test_a_reader_between_two_steps_sees_one_result(place: StorePath, monkeypatch: pytest.MonkeyPatch) -> None:
    write_result(place, "old")
    seen: list[tuple[list[str], str]] = []

    def looking(real: Any) -> Any:
        def looked(*args: Any, **named: Any) -> Any:
            seen.append(words(place))
            return real(*args, **named)

        return looked

    for name in STEPS:
        monkeypatch.setattr(StorePath, name, looking(getattr(StorePath, name)))
    write_result(place, "new")
    monkeypatch.undo()
    assert set(map(str, seen)) == {str((["old"], "old")), str((["new"], "new"))}


def test_results_of_other_jobs_stay_and_one_can_be_withdrawn(place: StorePath) -> None:
    with replacing(place, "first") as draft:
        write_rows(FILES, draft.table(FILES), [])
        write_json(draft.folder, "first.json", {})
    with replacing(place, "second") as draft:
        write_rows(SETTINGS, draft.table(SETTINGS), [("", "a", "1", "f")])
        write_json(draft.folder, "second.json", {})
    withdraw(place, "second")
    assert not parts_of(place / SETTINGS.name) and parts_of(place / FILES.name)
    assert [path.name for path, _ in place.files()] == ["first.json"]
    with pytest.raises(FileNotFoundError):
        document_of(place, "second.json")


def test_a_file_of_somebody_else_is_in_the_way_and_stays(place: StorePath) -> None:
    theirs = place / SETTINGS.name / "theirs.parquet"
    theirs.write_bytes(b"x")
    with pytest.raises(RingsideError, match="theirs"):
        write_result(place, "new")
    assert theirs.read_bytes() == b"x"
    assert names(place) == {f"{SETTINGS.name}/theirs.parquet"}


@pytest.mark.parametrize("text", [b"{", b'{"run": 3}', b'{"run": "job-000001-00000000", "format": "other/9"}'])
def test_a_manifest_that_means_nothing_is_refused(place: StorePath, text: bytes) -> None:
    (place / RUNS / "job-000001-00000000.json").write_bytes(text)
    with pytest.raises(RingsideError, match="job-000001"):
        parts_of(place / SETTINGS.name)


def test_tables_without_a_manifest_are_all_parts_in_their_folder(place: StorePath) -> None:
    for name in ("b.parquet", "a.parquet", "_SUCCESS"):
        (place / SETTINGS.name / name).write_bytes(b"x")
    assert [part.name for part in parts_of(place / SETTINGS.name)] == ["a.parquet", "b.parquet"]


def test_the_manifest_is_a_document_with_a_format(place: StorePath) -> None:
    write_result(place, "new")
    [path] = [path for path, _ in (place / RUNS).files()]
    result = msgspec.json.decode(path.read_bytes())
    assert result["format"] == "ringside.manifest/1"
    assert [(place / table / name).exists() for table, parts in result["parts"].items() for name in parts] == [
        True,
        True,
    ]
    assert results_at(place).name == place.name
