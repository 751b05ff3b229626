"""Answers and traces in a store are found and read as those in a folder are."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest

from engine.errors import InputError
from pipeline.reading.files import find_answers, read_answer
from pipeline.reading.trace_pieces import read_piece
from pipeline.reading.trace_rows import TraceAccount
from pipeline.reading.traces import find_traces
from pipeline.storage import StorePath

FILES = {
    "10-x.json": b"{}",
    "9-x.json": b"{}",
    "deep/er/a.json.gz": gzip.compress(b'{"a": 1}'),
    ".hidden/a.json": b"{}",
    "out/topics.json": b"{}",
    "notes.txt": b"x",
    "t.jsonl": b'{"key": "a"}\n{"key": "b"}\n',
    "t.csv.gz": gzip.compress(b"key,count\na,2\n"),
}


@pytest.fixture
def stored_twice(place: StorePath, tmp_path: Path) -> tuple[StorePath, Path]:
    for name, data in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
        (place / name).write_bytes(data)
    return place, tmp_path


def test_the_same_files_are_found_in_the_same_order(stored_twice: tuple[StorePath, Path]) -> None:
    there, here = (find_answers(folder, folder / "out") for folder in stored_twice)
    assert [file.name for file in there.files] == ["9-x.json", "10-x.json", "deep/er/a.json.gz", "notes.txt"]
    sizes = [[(file.name, file.size_bytes) for file in found.files] for found in (there, here)]
    assert sizes[0] == sizes[1]
    assert there.passed_over == here.passed_over == 2
    assert [file.name for file in find_answers(stored_twice[0] / "9-x.json").files] == ["9-x.json"]
    with pytest.raises(InputError):
        find_answers(stored_twice[0] / "nothing")


def test_a_file_is_read_out_of_what_it_is_packed_in(stored_twice: tuple[StorePath, Path]) -> None:
    for folder in stored_twice:
        file = find_answers(folder / "deep").files[0]
        assert read_answer(file.path, file.name) == (b'{"a": 1}', ())
    data, problems = read_answer(stored_twice[0] / "gone.json", "gone.json")
    assert data is None and [problem.advice for problem in problems] == ["check its permissions"]


class Counted(io.BytesIO):
    """Bytes that remember how many of them were read."""

    taken = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self.taken += len(data)
        return data


def test_of_a_file_that_is_too_large_no_more_than_the_limit_is_fetched(
    place: StorePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "large.json").write_bytes(b"x")
    fetched = Counted(b" " * 100_000)
    monkeypatch.setattr(StorePath, "open", lambda *_: fetched)
    data, problems = read_answer(place / "large.json", "large.json", limit_bytes=1000)
    assert data is None and len(problems) == 1
    assert fetched.taken == 1001


def test_traces_have_the_same_pieces_and_rows(stored_twice: tuple[StorePath, Path]) -> None:
    result = []
    for folder in stored_twice:
        pieces, problems = find_traces(folder, folder / "out")
        account = TraceAccount()
        rows = [table.to_pydict() for piece in pieces for table in read_piece(piece, account, spread=False)]
        result.append(([(piece.name, piece.first, piece.last) for piece in pieces], problems, rows))
    assert result[0] == result[1] and len(result[0][2]) == 2
