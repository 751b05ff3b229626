"""Dumps that arrive: every file counts once, whatever is killed when, and readers see whole batches."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyspark.sql import SparkSession

from engine.errors import InputError, RingsideError
from pipeline.jobs import job_called, watching
from pipeline.jobs.result import JobOptions
from pipeline.writing import alone


def stats(names: list[str], rate: float, consumers: int) -> str:
    """What topics/broker-stats of one broker looks like."""
    topics = {
        f"persistent://t/n/{name}-partition-{index}": {
            "msgRateIn": rate,
            "subscriptions": {
                "s": {
                    "type": "Failover",
                    "msgRateOut": rate,
                    "consumers": [{"consumerName": f"c{number}"} for number in range(consumers)],
                }
            },
        }
        for name in names
        for index in range(3)
    }
    return json.dumps({"t/n": {"0x00000000_0xffffffff": {"persistent": topics}}})


def arrive(folder: Path, name: str, text: str) -> None:
    """A file that appears whole."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = folder.parent / "arriving"
    fresh.write_text(text)
    fresh.replace(path)


def watch(spark: SparkSession, source: Path, target: Path, **options: str) -> dict[str, Any]:
    return dict(job_called("watch")(spark, source, target, JobOptions(options)).summary)


def query(target: Path, columns: str, table: str, rest: str = "") -> list[tuple[Any, ...]]:
    return duckdb.sql(f"select {columns} from '{target}/{table}/*.parquet' {rest}").fetchall()


def test_dumps_become_tables_with_a_history_and_crashes_count_nothing_twice(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash before a result is in place, and one after it, before Spark has noted the end of the batch."""
    source, out = tmp_path / "in", tmp_path / "out put"
    arrive(source, "one/b1-broker-stats-topics.json", stats(["a", "b"], 1.0, 2))
    assert watch(spark, source, out)["batches"] == 1
    assert query(out, "count(*)", "topics") == [(6,)]
    # Nothing new: nothing happens.
    assert watch(spark, source, out)["batches"] == 1

    arrive(source, "two/b1-broker-stats-topics.json", stats(["b", "c"], 5.0, 3))
    arrive(source, "two/half.json", '{"t/n": {"0x00')
    for step in ("_place", "_clean"):

        def crash(*_: object, step: str = step) -> None:
            raise OSError(f"killed in {step}")

        with monkeypatch.context() as patch:
            patch.setattr(watching._Watch, step, crash)
            with pytest.raises(RingsideError, match=f"killed in {step}"):
                watch(spark, source, out)
        expected = 6 if step == "_place" else 9
        assert query(out, "count(*)", "topics") == [(expected,)]
    assert watch(spark, source, out)["batches"] == 2
    # Of b the later answer counts, a is as it was told last.
    rates = query(out, "partitioned_topic, sum(msg_rate_in)", "topics", "group by all order by all")
    assert rates == [(f"persistent://t/n/{name}", rate) for name, rate in (("a", 3.0), ("b", 15.0), ("c", 15.0))]
    assert query(out, "count(*)", "subscriptions") == [(9,)]
    assert query(out, "count(*)", "consumers") == [(6 * 3 + 3 * 2,)]
    assert query(out, "distinct file", "quarantine") == [("two/half.json",)]
    assert query(out, "count(*), count(distinct file)", "files") == [(3, 3)]
    history = query(out, "batch, partitions, consumers, policy", "imbalance_history", "order by all")
    assert history == [(0, 6, 2, "flag_off"), (1, 9, 3, "flag_off")]
    assert query(out, "batch, topics", "broker_history", "order by all") == [(0, 6), (1, 3), (1, 6)]
    assert sorted(path.name for path in (out / watching.OWN).iterdir()) == [".lock", "checkpoint"]

    # Nobody takes in a file twice, and nobody is left to believe it.
    later = (out / "watch_state.json").stat().st_mtime_ns + 10**9
    arrive(source, "two/half.json", stats(["d"], 1.0, 1))
    os.utime(source / "two" / "half.json", ns=(later, later))
    said: list[str] = []
    job_called("watch")(spark, source, out, JobOptions({}, said.append))
    assert query(out, "count(*)", "topics") == [(9,)]
    assert [line for line in said if "two/half.json" in line and "needs a new name" in line] == said
    with alone(out / watching.OWN / ".lock", out), pytest.raises(RingsideError, match="another run is writing"):
        watch(spark, source, out)

    shutil.rmtree(out / watching.OWN)
    with pytest.raises(RingsideError, match="not the one its tables were made with"):
        watch(spark, source, out)


def test_what_cannot_be_watched_is_refused_before_anything_is_written(spark: SparkSession, tmp_path: Path) -> None:
    source = tmp_path / "in"
    for folder, out, options, word in (
        (source / "x", tmp_path / "out", {}, "is no folder"),
        (tmp_path, tmp_path / "out", {}, "put the result elsewhere"),
        (tmp_path, tmp_path / "out", {"every": "soon"}, "every is a whole number"),
        (tmp_path, tmp_path / "out", {"often": "1"}, "no option 'often'"),
    ):
        with pytest.raises(InputError, match=word):
            watch(spark, folder, out, **options)
    assert not (tmp_path / "out").exists()
