"""Dumps that arrive: every file counts once, whatever is killed when, and readers see whole batches."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyspark.sql import SparkSession

from engine.errors import InputError, RingsideError
from engine.views.fleet.runs import result_at, run_ids
from pipeline.jobs import importing, job_called, watching
from pipeline.jobs.result import JobOptions
from pipeline.reading.files import FoundFile, moment_of
from tests import fleet_results
from tests.pipeline.driver_rows import rows_of_driver
from tui.sources.fleet_part import part_of
from tui.sources.fleet_results import read_results


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
    return dict(job_called("watch")(spark, source, target, JobOptions({"once": "true", **options})).summary)


def query(target: Path, columns: str, table: str, rest: str = "") -> list[tuple[Any, ...]]:
    return duckdb.sql(f"select {columns} from {fleet_results.sql(target, table)} {rest}").fetchall()


def test_dumps_become_tables_with_a_history_and_crashes_count_nothing_twice(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out = tmp_path / "in", tmp_path / "out put"
    arrive(source, "2026-11-24T06-00-00Z/b1-broker-stats-topics.json", stats(["a", "b"], 1.0, 2))
    assert watch(spark, source, out)["batches"] == 1
    assert query(out, "count(*)", "topics") == [(6,)]
    # Nothing new: nothing happens.
    assert watch(spark, source, out)["batches"] == 1

    arrive(source, "2026-11-24T07-00-00Z/b1-broker-stats-topics.json", stats(["b", "c"], 5.0, 3))
    arrive(source, "two/half.json", '{"t/n": {"0x00')

    def killed(*_: object) -> None:
        raise OSError("killed")

    for step in ("broker_rows", "imbalance_rows", "_append"):
        with monkeypatch.context() as patch:
            patch.setattr(watching, step, killed)
            with pytest.raises(RingsideError, match="killed"):
                watch(spark, source, out)
        assert query(out, "distinct msg_rate_in", "topics") == [(1.0,)]
    assert watch(spark, source, out)["batches"] == 2
    # The broker lists a no more.
    rates = query(out, "partitioned_topic, sum(msg_rate_in)", "topics", "group by all order by all")
    assert rates == [(f"persistent://t/n/{name}", 15.0) for name in ("b", "c")]
    assert query(out, "count(*)", "subscriptions") == [(6,)]
    assert query(out, "count(*)", "consumers") == [(6 * 3,)]
    assert query(out, "distinct broker", "topics") == [("b1",)]
    assert query(out, "distinct file", "quarantine") == [("two/half.json",)]
    assert query(out, "count(*), count(distinct file)", "files") == [(2, 2)]
    history = query(out, "batch, partitions, consumers, policy", "imbalance_history", "order by all")
    assert history == [(0, 6, 2, "flag_off"), (1, 6, 3, "flag_off")]
    assert query(out, "batch, broker, topics", "broker_history", "order by all") == [(0, "b1", 6), (1, "b1", 6)]
    summary = read_results(result_at(out)).summary
    assert summary is not None
    assert (summary.totals.topics, summary.totals.brokers, summary.jobs) == (6, 1, ("import", "assign"))
    assert part_of(result_at(out), "", "t/n", "s") is not None

    # Written again under its name it is newer, unless its path says its time.
    later = (out / "runs" / f"{fleet_results.manifest(out)['run_id']}.json").stat().st_mtime_ns + 10**9
    for name, topic in (("two/half.json", "d"), ("2026-11-24T07-00-00Z/b1-broker-stats-topics.json", "e")):
        arrive(source, name, stats([topic], 1.0, 1))
        os.utime(source / name, ns=(later, later))
    assert watch(spark, source, out)["batches"] == 3
    assert query(out, "count(*)", "quarantine", "where file <> ''") == [(0,)]


def test_dumps_count_by_their_moments_and_not_by_their_arrival(spark: SparkSession, tmp_path: Path) -> None:
    """A backlog in one batch, a dump that is late, one that is half, and files that are older than a week."""
    source, out = tmp_path / "in", tmp_path / "out"
    dump = "broker-stats-topics.json"
    for moment, names, rate in (("T08", ["a", "b"], 8.0), ("T06", ["a"], 6.0)):
        arrive(source, f"b1/2026-11-24{moment}-00-00Z/{dump}", stats(names, rate, 1))
    arrive(source, f"b2/2026-11-24T08-30-00Z/{dump}", stats(["b"], 8.5, 2))
    long_ago = 1_000_000_000
    arrive(source, f"b3/{dump}", stats(["z"], 1.0, 1))
    os.utime(source / "b3" / dump, (long_ago, long_ago))
    watch(spark, source, out)
    topics = "split_part(partitioned_topic, '/', 5), broker, sum(msg_rate_in)"
    # b went over to b2.
    expected = [("a", "b1", 24.0), ("b", "b2", 25.5), ("z", "b3", 3.0)]
    assert query(out, topics, "topics", "group by all order by all") == expected
    moments = query(out, "distinct epoch_ms(snapshot_time) // 60000 % 1440", "broker_history", "order by all")
    assert moments == [(6 * 60,), (8 * 60 + 30,)]

    # A late one counts for nothing; half a dump takes no topic away.
    arrive(source, f"b1/2026-11-24T07-00-00Z/{dump}", stats(["a", "gone"], 7.0, 1))
    arrive(source, f"b2/2026-11-24T09-00-00Z/{dump}", stats(["c", "d"], 9.0, 1)[:-300])
    watch(spark, source, out)
    now = query(out, topics, "topics", "group by all order by all")
    assert now[:2] == expected[:2] and now[-1] == expected[-1]
    assert now[2][:2] == ("c", "b2")

    # Whole again, it does: b is where the newest answer that lists it says.
    arrive(source, f"b2/2026-11-24T10-00-00Z/{dump}", stats(["c"], 10.0, 1))
    watch(spark, source, out)
    now = query(out, topics, "topics", "group by all order by all")
    assert now == [expected[0], ("b", "b1", 24.0), ("c", "b2", 30.0), expected[-1]]


def test_an_answer_that_did_not_change_is_taken_as_it_was_read(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "LEAST_KEPT_BYTES", 1)
    source, out, dump = tmp_path / "in", tmp_path / "out", "broker-stats-topics.json"
    first = source / f"b1/2026-11-24T06-00-00Z/{dump}"
    arrive(source, f"b1/2026-11-24T06-00-00Z/{dump}", stats(["a", "b"], 1.0, 2))
    arrive(source, f"b2/2026-11-24T06-00-00Z/{dump}", stats(["c"], 1.0, 3))
    watch(spark, source, out)
    # Whoever reads it again sees other rates.
    before, own = first.read_text(), first.stat()
    first.write_text(before.replace("1.0", "9.0"))
    os.utime(first, ns=(own.st_atime_ns, own.st_mtime_ns))
    arrive(source, f"b2/2026-11-24T07-00-00Z/{dump}", stats(["b", "d"], 2.0, 1))
    watch(spark, source, out)
    first.write_text(before)
    os.utime(first, ns=(own.st_atime_ns, own.st_mtime_ns))
    job_called("import")(spark, source, tmp_path / "whole", JobOptions({"clusters": "one"}))
    newest = "where file not like 'b2/2026-11-24T06%' order by all"
    for table in ("topics", "subscriptions", "consumers", "publishers"):
        rows = query(out, "* exclude (snapshot_time)", table, "order by all")
        # In the folder there is the older answer as well, to which c alone belongs.
        assert rows == query(tmp_path / "whole", "* exclude (snapshot_time)", table, newest)
        assert rows or table == "publishers"
    assert query(out, "distinct msg_rate_in", "topics", "order by all") == [(1.0,), (2.0,)]
    assert {path.parent.name for path in fleet_results.parts(out, "read_answers")} == {
        f"run_id={run}" for run in run_ids(out)
    }

    # What no answer that counts is in is not named any more.
    arrive(source, f"b1/2026-11-24T08-00-00Z/{dump}", stats(["a"], 3.0, 2))
    watch(spark, source, out)
    parts = fleet_results.parts(out, "read_answers")
    assert {path.parent.name for path in parts} == {f"run_id={run}" for run in run_ids(out)[-2:]}
    assert query(out, "distinct msg_rate_in", "topics", "order by all") == [(2.0,), (3.0,)]


BROKERS = [f"b{number}" for number in range(8)]


@pytest.fixture(scope="module")
def backlogs(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[int, tuple[Path, tuple[int, ...]]]:
    """Results of two moments of all brokers, by the topics of a broker, the first of which is gone at the second
    moment; and how many rows the driver took at a time."""
    results = {}
    with pytest.MonkeyPatch.context() as patch:
        rows = rows_of_driver(spark, patch)
        for topics in (2, 5):  # with fewer, a task may have partitions of one consumer only
            folder = tmp_path_factory.mktemp("backlog")
            for broker in BROKERS:
                names = [f"{broker}-{number}" for number in range(topics)]
                for moment, listed in (("T06", names), ("T07", names[1:])):
                    name = f"{broker}/2026-11-24{moment}-00-00Z/broker-stats-topics.json"
                    arrive(folder / "in", name, stats(listed, 1.0, 2))
            rows.clear()
            watch(spark, folder / "in", folder / "out")
            results[topics] = folder / "out", tuple(rows)
    return results


def test_what_the_driver_collects_does_not_depend_on_the_number_of_topics(
    backlogs: dict[int, tuple[Path, tuple[int, ...]]],
) -> None:
    for topics, (out, _) in backlogs.items():
        assert query(out, "count(*)", "topics") == [(3 * len(BROKERS) * (topics - 1),)]
    few, many = (rows for _, rows in backlogs.values())
    assert few == many and any(few)


def test_a_part_of_the_history_is_the_same_in_every_run(backlogs: dict[int, tuple[Path, tuple[int, ...]]]) -> None:
    for out, _ in backlogs.values():
        rows = fleet_results.frame(out, "broker_history", columns=["snapshot_time", "broker"])
        assert rows["broker"].to_pylist() == BROKERS * 2
        assert rows["snapshot_time"].to_pylist() == sorted(rows["snapshot_time"].to_pylist())


def test_rounds_are_in_the_order_of_moments_and_have_the_newest_of_each() -> None:
    def dump(thing: str, hour: int) -> FoundFile:
        name = f"{thing}/2026-11-24T{hour:02}-00-00Z/a.json"
        return FoundFile(name, Path(name), 1, 0, moment_of(name, None))

    dumps = [dump("x", 9), dump("x", 5), dump("y", 7), dump("x", 2), dump("z", 3)]
    noon = datetime(2026, 11, 24, tzinfo=UTC)
    read = {"x/a.json": noon.replace(hour=4), "z/a.json": noon.replace(hour=3)}
    rounds = watching.rounds_of(dumps, read)
    named = [[(file.name[0], file.moment.hour if file.moment else 0) for file in files] for files in rounds]
    assert named == [[("z", 3), ("x", 5), ("y", 7)], [("z", 3), ("y", 7), ("x", 9)]]
    assert [file.position for file in rounds[0]] == [0, 1, 2]
    assert watching.rounds_of(dumps, read | {"x/a.json": noon.replace(hour=9), "y/a.json": noon.replace(hour=7)}) == []


def test_what_cannot_be_watched_is_refused_before_anything_is_written(spark: SparkSession, tmp_path: Path) -> None:
    source, empty = tmp_path / "in", tmp_path / "empty"
    empty.mkdir()
    for folder, out, options, word in (
        (source / "x", tmp_path / "out", {}, "is not a folder"),
        (tmp_path, tmp_path / "out", {}, "put the result elsewhere"),
        (tmp_path, tmp_path / "out", {"every": "soon"}, "every is a whole number"),
        (tmp_path, tmp_path / "out", {"often": "1"}, "no option 'often'"),
        (empty, tmp_path / "out", {}, "no .json"),
    ):
        with pytest.raises(InputError, match=word):
            watch(spark, folder, out, **options)
    assert not (tmp_path / "out").exists()
