"""Key traces in every form: the key is what the broker would hash, and what is wrong is counted and reported."""

from __future__ import annotations

import base64
import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import InputError
from engine.keyshared.keys import EntryMetadata, sticky_key
from pipeline.reading import traces
from pipeline.reading.trace_pieces import read_piece
from pipeline.reading.trace_rows import TraceAccount
from pipeline.reading.traces import find_traces

EVENTS: list[dict[str, Any]] = [
    {"subscription": "s", "key": "order-1"},
    {"subscription": "s", "key": "", "producer_name": "p", "sequence_id": 7},
    {"subscription": "s", "key": "é\n,\"", "count": 3},
    {"subscription": "s", "key_base64": base64.b64encode(b"\x00\xff").decode()},
    {"subscription": "s", "ordering_key": "first", "key": "second"},
    {"subscription": "t", "namespace": "a/b", "producer_name": "p", "sequence_id": 7},
    {"subscription": "t", "namespace": "a/b", "cluster": "east", "key": "order-1"},
    {"subscription": "s", "producer_name": "p"},
    {"subscription": "s", "key": "k", "count": 0},
]  # fmt: skip


def read(source: Path, *, spread: bool = True) -> tuple[list[tuple[str, bytes, int]], TraceAccount]:
    account = TraceAccount()
    pieces, problems = find_traces(source)
    assert not problems
    rows: list[tuple[str, bytes, int]] = []
    for piece in pieces:
        for table in read_piece(piece, account, spread=spread):
            rows += zip(table["space"].to_pylist(), table["key"].to_pylist(), table["msgs"].to_pylist(), strict=True)
    aside = sum(row[5] for row in account.quarantine())
    assert account.rows == len(rows) + aside and account.good == len(rows)
    return rows, account


def expected(events: list[dict[str, Any]]) -> list[tuple[str, bytes, int]]:
    """What the plain engine says, one event at a time."""
    result = []
    for event in events:
        ordering = event.get("ordering_key")
        encoded = event.get("key_base64")
        metadata = EntryMetadata(
            ordering_key=None if ordering is None else ordering.encode(),
            partition_key=event.get("key", encoded),
            partition_key_b64_encoded="key" not in event and encoded is not None,
            producer_name=event.get("producer_name"),
            sequence_id=event.get("sequence_id"),
        )
        space = "\n".join(event.get(name, "") for name in ("cluster", "namespace", "subscription"))
        result.append((space, sticky_key(metadata).data, event.get("count", 1)))
    return result


def write(path: Path, events: list[dict[str, Any]]) -> None:
    names = list(dict.fromkeys(name for event in events for name in event))
    if path.suffix == ".parquet":
        pq.write_table(pa.table({name: [event.get(name) for event in events] for name in names}), path)
    elif ".csv" in path.name:
        lines = [",".join(names)]
        for event in events:
            cells = [event.get(name) for name in names]
            # Nothing is not a key, "" in quotes is the empty key: the csv module writes both alike.
            lines.append(",".join("" if c is None else '"' + str(c).replace('"', '""') + '"' for c in cells))
        path.write_text("\n".join(lines) + "\n", newline="")
    else:
        path.write_text("".join(json.dumps(event) + "\n" for event in events))
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(path.read_bytes()))


@pytest.mark.parametrize("name", ["t.parquet", "t.csv", "t.csv.gz", "t.jsonl", "t.ndjson.gz"])
def test_every_form_gives_the_key_the_broker_hashes(name: str, tmp_path: Path) -> None:
    write(tmp_path / name, EVENTS)
    assert read(tmp_path)[0] == expected(EVENTS)


def test_before_4_0_messages_without_a_key_share_one(tmp_path: Path) -> None:
    write(tmp_path / "t.jsonl", [EVENTS[5]])
    assert read(tmp_path, spread=False)[0] == [("\na/b\nt", b"NONE_KEY", 1)]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "key": st.text(),
                "subscription": st.text(st.characters(codec="utf-8", exclude_characters="\n\0")),
            },
        )
    ),
    st.integers(20, 200),
)
def test_lines_are_read_once_wherever_the_pieces_end(events: list[dict[str, Any]], size: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(traces, "BYTES_PER_PIECE", size)
        path = Path(folder) / "t.jsonl"
        path.write_text("".join(json.dumps(event) + "\n" for event in events))
        assert sorted(read(path)[0]) == sorted(expected(events))


def test_bad_events_are_counted_by_reason_and_the_good_ones_stay(tmp_path: Path) -> None:
    good = '{"key": "k"}\n'
    bad = ['{"key": 5}', '{"key": "k"', "[1]", '{"key": "k", "count": -1}', '{"key": "k", "count": "NaN"}',
           '{"key": "k", "count": 1.5}', '{"key_base64": "a=b"}', '{"key": "k", "count": 1e300}']  # fmt: skip
    (tmp_path / "t.jsonl").write_text(good + "\n".join(bad) + "\n\n" + good)
    rows, account = read(tmp_path)
    assert rows == [("\n\n", b"k", 1)] * 2
    reasons = {row[7]: row[5] for row in account.quarantine()}
    assert reasons == {
        "the line is not an event": 2,
        "the line is not JSON": 1,
        "count is negative, no whole number, or larger than 2^53": 4,
        "key_base64 is not base64": 1,
    }
    assert all(row[0] == "t.jsonl" and row[1] for row in account.quarantine())


@pytest.mark.parametrize("name", ["t.jsonl.gz", "t.csv.gz"])
def test_a_gzip_that_ends_early_keeps_whole_lines_and_is_reported(name: str, tmp_path: Path) -> None:
    events = [{"subscription": "s", "key": f"key-{number}"} for number in range(20_000)]
    write(tmp_path / name, events)
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: len(whole) // 2])
    rows, account = read(tmp_path)
    assert 1_000 < len(rows) < 20_000
    assert rows == expected(events)[: len(rows)]
    assert ["damaged" in row[7] for row in account.reported] == [True]


def test_csv_lines_with_too_many_fields_are_set_aside(tmp_path: Path) -> None:
    with (tmp_path / "t.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([("subscription", "key"), ("s", "a"), ("s", "b", "c"), ("s", "d")])
    rows, account = read(tmp_path)
    assert [row[1] for row in rows] == [b"a", b"d"]
    assert account.rows == 3


def test_files_that_are_no_traces_are_reported_and_the_others_read(tmp_path: Path) -> None:
    write(tmp_path / "good.jsonl", EVENTS)
    (tmp_path / "half.parquet").write_bytes(b"PAR1half")
    pieces, problems = find_traces(tmp_path)
    assert [problem.source for problem in problems] == ["half.parquet"]
    assert [piece.name for piece in pieces] == ["good.jsonl"]
    (tmp_path / "half.parquet").unlink()
    (tmp_path / "numbers.csv").write_text("a,b\n1,2\n")
    pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "numbers.parquet")
    pq.write_table(pa.table({"key": [1.5, 2.0]}), tmp_path / "floats.parquet")
    rows, account = read(tmp_path)
    assert len(rows) == len(EVENTS)
    assert {row[0] for row in account.quarantine()} == {"numbers.csv", "numbers.parquet", "floats.parquet"}


def test_a_folder_without_traces_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no key trace"):
        find_traces(tmp_path)
    with pytest.raises(InputError, match="does not exist"):
        find_traces(tmp_path / "x")


def test_bytes_and_dictionaries_of_parquet_are_taken_as_they_are(tmp_path: Path) -> None:
    texts = pa.array(["s", "s", "t"]).dictionary_encode()
    table = pa.table({"subscription": texts, "key": pa.array([b"\x00", b"\xff", None], pa.large_binary())})
    pq.write_table(table, tmp_path / "t.parquet")
    assert read(tmp_path)[0] == [("\n\ns", b"\x00", 1), ("\n\ns", b"\xff", 1), ("\n\nt", b"NONE_KEY", 1)]


def test_lines_of_something_else_are_set_aside_and_are_no_events_without_a_key(tmp_path: Path) -> None:
    (tmp_path / "series.jsonl").write_text('{"t": 0.5, "path": "/a"}\n' * 3)
    rows, account = read(tmp_path)
    assert (rows, account.rows, account.good) == ([], 3, 0)
    (result,) = account.quarantine()
    assert (result[0], result[5]) == ("series.jsonl", 3) and "no line has any of ordering_key" in result[7]


@pytest.mark.parametrize("known", ["{}", '{"key": null}', '{"count": 1, "t": 0.5}', '{"key": "k"}'])
def test_one_event_among_lines_keeps_all_of_them(known: str, tmp_path: Path) -> None:
    """Who writes a message without its empty members writes nothing of one without a key."""
    (tmp_path / "t.jsonl").write_text('{"publish_time": 5}\n' + known + "\n")
    rows, account = read(tmp_path)
    assert sum(count for _, _, count in rows) == account.rows == account.good == 2
