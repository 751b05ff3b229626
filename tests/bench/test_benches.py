"""The fleet benchmarks run, agree with their peers before they time them, and are written as a table and as JSON."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.bench import __main__ as bench
from tests.bench import fleet_hash, fleet_ring, fleet_updates
from tests.bench.fleet_support import Size
from tests.bench.table import Row, lines, write_json

SMALL = Size(topics=3_000, consumers=12, rounds=1)
SMALLEST = Size(topics=300, consumers=12, rounds=1)
"""The peer of rings takes a tenth of a millisecond for a topic, and is asked many times."""


@pytest.fixture
def no_collections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each timing begins with one, which goes through all objects of a test session: that was 38 s for the rings."""
    monkeypatch.setattr(gc, "collect", lambda: 0)


@pytest.mark.usefixtures("no_collections")
@pytest.mark.parametrize(
    ("run", "bars"),
    [
        (lambda: fleet_hash.rows(SMALL), set()),
        (lambda: fleet_ring.rows(SMALLEST, (1, 12)), {">= 200x", ">= 12x", ">= 25x", ">= 5x"}),
        (lambda: fleet_updates.rows(SMALL), {">= 1000x", ">= 10x", "bit-identical", "<= 12 bytes", "<= 8 bytes"}),
    ],
    ids=["hash", "ring", "updates"],
)
def test_a_small_run_agrees_with_its_peers_and_names_its_bars(run: Callable[[], list[Row]], bars: set[str]) -> None:
    rows = run()
    assert {row.aim for row in rows} - {""} == bars
    assert all(row.ours_ms > 0 and row.peer_ms > 0 and row.peer for row in rows)


def test_rows_are_printed_and_written_with_the_peer_over_ours_as_ratio(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "BENCHES", {"one": lambda: [Row("a", 2.0, "b", 500.0, ">= 200x")], "two": list})
    bench.main(["one", "--json", str(tmp_path / "rows.json")])
    assert json.loads((tmp_path / "rows.json").read_text(encoding="utf-8")) == [
        {"name": "a", "ours_s": 0.002, "peer": "b", "peer_s": 0.5, "ratio": 250.0, "bar": ">= 200x"}
    ]
    printed = capsys.readouterr().out.splitlines()
    assert printed == lines([Row("a", 2.0, "b", 500.0, ">= 200x")])
    assert printed[-1].split() == ["a", "2.00", "b", "500", "250x", ">=", "200x"]


def test_what_is_not_about_time_is_printed_with_its_unit_and_written_as_it_is(tmp_path: Path) -> None:
    row = Row("bytes a point", 8.5, "the most it may be", 12, "<= 12 bytes", unit="B")
    assert lines([row])[-1].split("  ")[-1].strip() == "<= 12 bytes"
    assert "8.50 B" in lines([row])[-1] and "12.0 B" in lines([row])[-1]
    write_json([row], tmp_path / "rows.json")
    (written,) = json.loads((tmp_path / "rows.json").read_text(encoding="utf-8"))
    assert (written["ours_s"], written["peer_s"]) == (8.5, 12)


def test_an_unknown_benchmark_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench.main(["speed"])
    assert "no benchmark is called speed" in capsys.readouterr().err
