"""Which files are read, in which order, and what they learn from their neighbours."""

from __future__ import annotations

import gzip
import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from engine.admin.files import LARGEST_PASTE_BYTES
from engine.admin.kinds import AnswerKind
from engine.admin.text import plain_json
from engine.errors import InputError
from pipeline.reading.contexts import contexts_of, subjects_of
from pipeline.reading.files import (
    BYTES_PER_TASK,
    FILES_PER_TASK,
    FoundFile,
    deal,
    find_answers,
    last_moment,
    unpack_zstd,
)
from pipeline.reading.traces import find_traces, has_traces

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


def put(folder: Path, name: str, value: object = None) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({} if value is None else value))
    return path


def report(broker: str) -> dict[str, object]:
    return {"webServiceUrl": f"http://{broker}:8080", "pulsarServiceUrl": "x"}


def test_files_come_at_any_depth_in_natural_order_and_without_the_result(tmp_path: Path) -> None:
    for name in ("b/10-x.json", "b/9-x.json.gz", "a/x.json.zst", "notes.txt", ".hidden.json", "out/import.json"):
        put(tmp_path, name)
    answers = find_answers(tmp_path, tmp_path / "out")
    assert [file.name for file in answers.files] == ["a/x.json.zst", "b/9-x.json.gz", "b/10-x.json", "notes.txt"]
    assert [file.position for file in answers.files] == [0, 1, 2, 3]
    assert answers.passed_over == 1


def test_texts_that_may_have_an_answer_are_found_unless_they_are_empty_or_as_long_as_logs(tmp_path: Path) -> None:
    for name in ("stats.txt", "broker.log", "nohup.out", "stats", "_SUCCESS", "x.parquet", "x.json"):
        put(tmp_path, name)
    (tmp_path / "empty.txt").touch()
    with (tmp_path / "long.log").open("wb") as long:
        long.truncate(LARGEST_PASTE_BYTES + 1)
    answers = find_answers(tmp_path)
    assert {file.name for file in answers.files} == {"stats.txt", "broker.log", "nohup.out", "stats", "x.json"}
    assert answers.passed_over == 4


def test_one_file_can_be_named(tmp_path: Path) -> None:
    path = put(tmp_path, "x.json")
    assert [file.name for file in find_answers(path).files] == ["x.json"]


def test_an_empty_or_missing_folder_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no \.json or .* file lies in"):
        find_answers(tmp_path)
    for look in (find_answers, find_traces, has_traces):
        with pytest.raises(InputError, match="does not exist"):
            look(tmp_path / "nowhere")
        with pytest.raises(InputError, match="File name too long"):
            look(tmp_path / ("x" * 300))


def test_what_cannot_be_looked_at_is_reported_and_the_rest_is_found(tmp_path: Path) -> None:
    """Links that lead nowhere or in a circle, links to folders, names that are no UTF-8."""
    put(tmp_path, "in/here/x.json")
    (tmp_path / "in" / "dead.json").symlink_to("nowhere")
    (tmp_path / "in" / "round.json").symlink_to("round.json")
    (tmp_path / "in" / "here" / "up").symlink_to("..")
    (tmp_path / "in" / "here" / "same.json").symlink_to("x.json")
    os.mkfifo(tmp_path / "in" / "pipe.json")
    (tmp_path / "in" / os.fsdecode(b"\xff.json")).write_text("{}")
    answers = find_answers(tmp_path / "in")
    assert [file.name for file in answers.files] == ["\\udcff.json", "here/same.json", "here/x.json"]
    assert answers.passed_over == 1
    reported = {problem.source: problem.reason for problem in answers.problems}
    assert reported.keys() == {"dead.json", "round.json", "here/up"}
    assert "leads nowhere" in reported["dead.json"] and "not followed" in reported["here/up"]
    assert "cannot be read" in reported["round.json"]
    advice = {problem.source: problem.advice for problem in answers.problems}
    assert "remove the link" in advice["dead.json"] and "permissions" in advice["round.json"]
    for file in answers.files:
        assert Path(file.path).read_text() == "{}"


def test_traces_are_looked_for_in_the_same_way(tmp_path: Path) -> None:
    put(tmp_path, "in/x.jsonl")
    (tmp_path / "in" / "dead.csv").symlink_to("nowhere")
    pieces, problems = find_traces(tmp_path / "in")
    assert [piece.name for piece in pieces] == ["x.jsonl"]
    assert [problem.source for problem in problems] == ["dead.csv"]
    with pytest.raises(InputError, match="leads nowhere"):
        find_traces(tmp_path / "in" / "dead.csv")


def test_every_file_is_dealt_to_one_task_in_order() -> None:
    sizes = [1, 2, BYTES_PER_TASK * 3, 5, *([7] * 1000)]
    files = [FoundFile(str(place), Path(), size, place) for place, size in enumerate(sizes)]
    groups = deal(files)
    assert [file for group in groups for file in group] == files
    assert max(len(group) for group in groups) == FILES_PER_TASK
    assert all(len(group) == 1 or sum(file.size_bytes for file in group) <= BYTES_PER_TASK for group in groups)


def test_the_broker_is_that_of_the_load_report_beside_the_statistics(tmp_path: Path) -> None:
    put(tmp_path, "two/broker-stats-topics-a.json")
    put(tmp_path, "two/broker-stats-topics-b.json")
    put(tmp_path, "two/load-report-a.json", report("east"))
    put(tmp_path, "two/load-report-b.json", report("west"))
    put(tmp_path, "one/broker-stats-topics.json")
    put(tmp_path, "one/load-report.json", report("north"))
    put(tmp_path, "broker-7/broker-stats-topics.json")
    put(tmp_path, "broker-stats-topics-x.json")
    contexts = contexts_of(find_answers(tmp_path).files)
    named = {name: one.broker for name, one in contexts.items() if "broker-stats" in name}
    assert named == {
        "two/broker-stats-topics-a.json": "east:8080",
        "two/broker-stats-topics-b.json": "west:8080",
        "one/broker-stats-topics.json": "north:8080",
        "broker-7/broker-stats-topics.json": "broker-7",
        "broker-stats-topics-x.json": "x",
    }


def test_the_subject_of_an_answer_comes_from_the_recording_the_file_name_or_the_neighbours(tmp_path: Path) -> None:
    answers = [{"request": "GET /admin/v2/namespaces/t/n/bundles", "file": "7-x.json"}]
    put(tmp_path, "rec/scenario.json", {"scenario": "s", "steps": [{"answers": answers}]})
    put(tmp_path, "rec/7-x.json")
    put(tmp_path, "persistent%3A%2F%2Ft%2Fn%2Fa-stats.json")
    put(tmp_path, "bundles/n2-bundles.json")
    put(tmp_path, "bundles/stats-b.json")
    files = {file.name: file for file in find_answers(tmp_path).files}
    contexts = contexts_of(list(files.values()))
    assert contexts["rec/7-x.json"].about == "t/n"
    assert contexts["persistent%3A%2F%2Ft%2Fn%2Fa-stats.json"].about == "persistent://t/n/a"
    assert contexts["bundles/n2-bundles.json"].about == ""
    waiting = [
        (files["bundles/n2-bundles.json"], AnswerKind.BUNDLES),
        (files["bundles/stats-b.json"], AnswerKind.TOPIC_STATS),
    ]
    subjects = subjects_of(waiting, {"brokers": {"t/n1", "t/n2"}}, {"brokers": {"persistent://t/n1/b"}})
    assert subjects == {"bundles/n2-bundles.json": "t/n2", "bundles/stats-b.json": "persistent://t/n1/b"}


def test_in_a_mirror_what_was_asked_without_consumers_is_read_before_what_has_them(tmp_path: Path) -> None:
    below = "2026-11-22T09-48-07Z/admin/v2/persistent/t/n"
    names = ("x/stats.json", "x/stats@excludeConsumers=true.json", "x/stats@getPreciseBacklog=true.json", "x.json")
    for name in names:
        path = tmp_path / below / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    result = [file.name.removeprefix(f"{below}/") for file in find_answers(tmp_path).files]
    assert result.index("x/stats@excludeConsumers=true.json") < result.index("x/stats.json")
    assert result.index("x/stats.json") < result.index("x/stats@getPreciseBacklog=true.json")


def test_a_moment_is_that_of_the_folder_else_that_of_the_file(tmp_path: Path) -> None:
    named, written = "2026-11-22T12-00-00Z/topics.json", "later/topics.json"
    for name in (named, written):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).touch()
    os.utime(tmp_path / written, (NOON.timestamp() - 5, NOON.timestamp() - 5))
    before = datetime(2026, 11, 22, 11, 59, 55, tzinfo=UTC)
    files = {file.name: file for file in find_answers(tmp_path).files}
    assert (files[named].moment, files[written].moment) == (NOON, before)
    assert last_moment(files.values()) == NOON
    (alone,) = find_answers(tmp_path / written).files
    assert alone.moment == before
    assert last_moment([]) is None


def test_what_unpacks_to_too_much_is_advised_the_same_however_it_is_packed() -> None:
    whole = b" " * 10_000
    _, of_gzip = plain_json(gzip.compress(whole), "x", limit=1_000)
    _, of_zstd = unpack_zstd(pa.compress(whole, "zstd", asbytes=True), "x", limit_bytes=1_000)
    assert [problem.advice for problem in of_gzip] == [problem.advice for problem in of_zstd]
