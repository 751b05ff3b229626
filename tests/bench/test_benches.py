"""Every benchmark runs, small, and agrees with its peers before it times them; rows become a table and JSON."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.bench import __main__ as bench
from tests.bench import (
    compare,
    dashboard_view,
    decode,
    fleet_hash,
    fleet_ring,
    large_state,
    presses,
    ring_frame,
    shedding,
    start,
    why,
)
from tests.bench.fleet_support import Size
from tests.bench.going_on import NotTimedError
from tests.bench.table import Row, lines, write_json

SMALL: Final[dict[str, tuple[Callable[[], list[Row]], int]]] = {
    "ring_frame": (lambda: ring_frame.rows(rounds=1), 1),
    "presses": (
        lambda: presses.rows(
            presses.Size(
                topics=20,
                consumers=4,
                message_keys=10,
                producers=3,
                bundle_topics=20,
                brokers=3,
                read_topics=40,
                fleet=50,
                rounds=1,
                every=20,
            )
        ),
        8 * 2,
    ),
    "large_state": (lambda: large_state.rows(large_state.Size(topics=200, consumers=8, rounds=1)), 20),
    "start": (lambda: start.rows(runs=1), 5),
    "decode": (lambda: decode.rows(megabytes=1, rounds=1), 1),
    "dashboard_view": (lambda: dashboard_view.rows(topics=20, consumers=5, steps=2), 1),
    "fleet_hash": (lambda: fleet_hash.rows(Size(topics=3_000, consumers=12, rounds=1)), 3),
    # The peer of rings takes a tenth of a millisecond for a topic, and is asked many times.
    "fleet_ring": (lambda: fleet_ring.rows(Size(topics=300, consumers=12, rounds=1), (1, 12)), 10),
    "compare": (lambda: compare.rows(compare.Sizes((20, 3), (30, 4), (200, 20), (200, 20))), 5),
    "why": (lambda: why.rows(topics=50, rounds=1), 2),
    "shedding": (lambda: shedding.rows(brokers=4, bundles=4), 14),
}
"""Each benchmark at a size that is there in a moment, and how many rows it has at least."""
ELSEWHERE: Final = {"refresh"}
"""``tests/broker`` has a broker for it."""


@pytest.fixture
def no_collections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each timing begins with one, which goes through all objects of a test session: that was 38 s for the rings."""
    monkeypatch.setattr(gc, "collect", lambda: 0)


def test_every_benchmark_is_run() -> None:
    assert set(SMALL) | ELSEWHERE == set(bench.BENCHES)


@pytest.mark.usefixtures("no_collections")
@pytest.mark.parametrize("name", SMALL)
def test_a_small_run_agrees_with_its_peers(name: str) -> None:
    run, least = SMALL[name]
    rows = run()
    assert len(rows) >= least
    assert all(row.ours_ms > 0 and row.peer_ms > 0 and row.peer for row in rows)


def test_rows_are_printed_and_written_with_the_peer_over_ours_as_ratio(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "BENCHES", {"one": lambda: [Row("a", 2.0, "b", 500.0, ">= 200x")], "two": list})
    assert bench.main(["one", "--json", str(tmp_path / "rows.json")]) == 0
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


def test_the_longest_is_printed_and_written_beside_the_median(tmp_path: Path) -> None:
    row = Row("key c", 8.5, "bare", 2.5, most_ms=17.25)
    assert lines([row])[-1].split()[2:4] == ["8.50", "17.2"]
    write_json([row], tmp_path / "rows.json")
    (written,) = json.loads((tmp_path / "rows.json").read_text(encoding="utf-8"))
    assert written["most_s"] == 0.01725


def test_where_one_fails_the_others_run_and_it_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails() -> list[Row]:
        raise AttributeError("timeline")

    def lacks_something() -> list[Row]:
        raise NotTimedError("no Java")

    benches = {"one": fails, "two": lacks_something, "three": lambda: [Row("a", 2.0, "b", 4.0)]}
    monkeypatch.setattr(bench, "BENCHES", benches)
    assert bench.main([]) == 1
    printed = capsys.readouterr()
    assert printed.out.splitlines() == lines([Row("a", 2.0, "b", 4.0)])
    assert printed.err.splitlines()[-2:] == ["not timed: two (no Java)", "failed: one (AttributeError)"]
    assert bench.main(["two", "three"]) == 0


def test_an_unknown_benchmark_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench.main(["speed"])
    assert "no benchmark is called speed" in capsys.readouterr().err
