"""The benchmark of the jobs runs, at any size, and its peers give what the jobs give."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline.jobs.result import JobOptions
from tests.bench_spark import __main__ as bench_spark
from tests.bench_spark import assign_peers, key_peers, synthetic
from tests.bench_spark.benches import HEADING, Benches, Line, Sizes, exponent, text_of
from tests.bench_spark.spending import Spent, peak_mb, spent

SMALL = Sizes(
    partitions=3_000,
    topics=900,
    events=5_000,
    document_topics=60,
    few_topics=20,
    grown=(1_000, 4_000),
    rounds=0,
    fleet=2_000,
)


@pytest.mark.parametrize("name", bench_spark.NAMES)
def test_jobs_and_peers_write_the_same_rows(name: str, spark: SparkSession, tmp_path: Path) -> None:
    """Each benchmark compares results before it reports a time, and leaves no input or result behind."""
    lines = list(getattr(Benches(spark, tmp_path, SMALL), name)())
    assert len(lines) >= 2
    for line in lines:
        assert line.ours.wall_sec > 0
        assert line.what in text_of(line)
        assert len(text_of(line)) < len(HEADING) + 20
    if name == "growth":
        assert exponent(lines, SMALL.grown) < 3
    assert [path.name for path in tmp_path.rglob("*.parquet")] == []


def test_where_one_fails_the_others_run_and_it_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = Line("assign", Spent(1.0, 2.0), "", None)

    class Some:
        def __init__(self, *_: object) -> None: ...

        def bundles(self) -> Iterator[Line]:
            raise AssertionError("nothing was compared")

        def assign(self) -> Iterator[Line]:
            yield line

    monkeypatch.setattr(bench_spark, "open_session", lambda **_: nullcontext())
    monkeypatch.setattr(bench_spark, "Benches", Some)
    assert bench_spark.main(["bundles", "assign"]) == 1
    printed = capsys.readouterr()
    assert text_of(line) in printed.out.splitlines()
    assert printed.err.splitlines()[-1] == "failed: bundles (AssertionError)"
    assert bench_spark.main(["assign"]) == 0


def test_a_peer_that_gives_something_else_is_no_peer(spark: SparkSession, tmp_path: Path) -> None:
    """The comparison can fail: one with another size does."""
    benches = Benches(spark, tmp_path, replace(SMALL, partitions=500))
    for name, rows in (("one", 500), ("other", 516)):
        synthetic.write_failover(tmp_path / name, rows)
        (tmp_path / f"peer-{name}").mkdir()
        assign_peers.by_numpy(tmp_path / name, tmp_path / f"peer-{name}")
    _, _, ours = benches._job("assign", tmp_path / "one", JobOptions({"policies": "pulsar"}))
    assert assign_peers.check_equal(ours, tmp_path / "peer-one") == 500
    with pytest.raises(AssertionError, match="rows differ"):
        assign_peers.check_equal(ours, tmp_path / "peer-other")


def test_a_trace_with_another_key_is_distinguished_from_this_one(spark: SparkSession, tmp_path: Path) -> None:
    """The comparison of key traces can fail: with one event more, slots are not the same."""
    for name, events in (("one", 400), ("other", 401)):
        synthetic.write_trace(tmp_path / name, events)
        (tmp_path / f"peer-{name}").mkdir()
        key_peers.by_duckdb(tmp_path / name, tmp_path / f"peer-{name}", 1)
    lists = {"consumers-from": str(tmp_path / "one" / "consumers.json")}
    _, _, ours = Benches(spark, tmp_path, SMALL)._job("keys", tmp_path / "one" / "traces", JobOptions(lists))
    assert key_peers.check_equal(ours, tmp_path / "peer-one") > 0
    with pytest.raises(AssertionError, match="slots differ"):
        key_peers.check_equal(ours, tmp_path / "peer-other")


def test_work_of_other_processes_counts() -> None:
    taken = spent(lambda: subprocess.run([sys.executable, "-c", "sum(range(3_000_000))"], check=True))
    assert taken.wall_sec > 0
    assert taken.cpu_sec > 0 or sys.platform != "linux"
    assert all(size > 0 for size in peak_mb().values())
