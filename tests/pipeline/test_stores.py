"""Every job reads from and writes to an object store, with the same result as on this machine."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from engine.errors import InputError, RingsideError
from engine.views.fleet.runs import RUNS, ResultFolder, result_at, run_ids
from engine.views.fleet.summary import FILE_NAME, read_summary
from engine.views.fleet.tables import EVERY_TABLE, SUBSCRIPTIONS, TOPICS
from pipeline.jobs import job_called
from pipeline.jobs.result import JobOptions
from pipeline.runs import WORK
from pipeline.stamps import COLUMNS as STAMP
from pipeline.storage import Place, StorePath, for_arrow, place_for, place_of
from pipeline.tables import tables_at
from tests import fleet_results
from tests.pipeline.stores import BUCKET, NoJarsError, jars, settings_for
from tui.cli.main import main
from tui.sources.fleet_part import part_of
from tui.sources.fleet_results import SEARCHED, read_results

NAMESPACE = "t/n"
BY_NAME = {table.name: table for table in EVERY_TABLE}
OPTIONS = {"assign.policies": "all", "keys.consumers": "3", "keys.top": "5"}


@pytest.fixture
def store(spark: SparkSession, place: StorePath, store_url: str) -> Iterator[StorePath]:
    """A folder that the session can read and write as well."""
    try:
        jars()
    except NoJarsError as reason:
        pytest.skip(f"Spark cannot read S3 here: {reason}")
    given = {name.removeprefix("spark.hadoop."): value for name, value in settings_for(store_url).items()}
    for name, value in given.items():
        spark.conf.set(name, value)
    yield place
    for name in given:
        spark.conf.unset(name)


def upload(folder: Path, place: StorePath) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            (place / path.relative_to(folder).as_posix()).write_bytes(path.read_bytes())


def answers(folder: Path) -> None:
    """Packed statistics of two brokers of one cluster, each with a half of the topics, a file that is cut, and key
    traces in three forms."""
    names = [f"persistent://{NAMESPACE}/x-partition-{index}" for index in range(8)]
    for half, (broker, bundle) in enumerate((("one", "0x00000000_0x80000000"), ("two", "0x80000000_0xffffffff"))):
        (folder / broker).mkdir(parents=True)
        topics: dict[str, Any] = {}
        for index, name in enumerate(names):
            if zlib.crc32(name.encode()) >> 31 != half:
                continue
            result = {"consumers": [{"consumerName": f"c-{number}"} for number in range(3)], "msgRateOut": 2.0}
            failover = {"type": "Failover", "activeConsumerName": f"c-{index % 3}", **result}
            topics[name] = {
                "msgRateIn": 2.0,
                "subscriptions": {"s": failover, "k": {"type": "Key_Shared", **result}},
            }
        stats = {NAMESPACE: {bundle: {"persistent": topics}}}
        report = {
            "pulsarServiceUrl": "x",
            "webServiceUrl": f"http://{broker}:8080",
            "brokerVersionString": "4.2.4",
            "lastStats": {f"{NAMESPACE}/{bundle}": {}},
        }
        (folder / broker / "broker-stats.json.gz").write_bytes(gzip.compress(json.dumps(stats).encode()))
        (folder / broker / "load-report.json").write_text(json.dumps(report))
    (folder / "bundles.json").write_text(
        json.dumps({"boundaries": ["0x00000000", "0x80000000", "0xffffffff"], "numBundles": 2})
    )
    (folder / "broken.json").write_text('{"a": ')
    lines = [f"{NAMESPACE},k,key-{number % 50},{number}" for number in range(500)]
    (folder / "trace.csv.gz").write_bytes(
        gzip.compress("\n".join(["namespace,subscription,key,count", *lines]).encode())
    )
    (folder / "trace.jsonl").write_text(
        "\n".join(json.dumps({"subscription": "k", "key": f"{at}"}) for at in range(90))
    )
    pq.write_table(pa.table({"subscription": ["k"] * 40, "key": [f"p-{at}" for at in range(40)]}), folder / "p.parquet")


def rows(place: Place, table: str) -> list[str]:
    """A table as a reader of its plain folder sees it."""
    parts = tables_at(place).parts(BY_NAME[table])
    table = pa.concat_tables([pq.read_table(for_arrow(part), partitioning=None) for part in parts])
    # The two results are those of two runs, of files written one after the other.
    own = [name for name in ("moment", *STAMP.names) if name in table.column_names]
    return sorted(map(repr, table.drop_columns(own).to_pylist()))


def test_a_whole_run_in_a_store_is_that_of_a_folder(
    spark: SparkSession, store: StorePath, store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    answers(tmp_path / "in")
    upload(tmp_path / "in", store / "in")
    run = job_called("run")
    here = run(spark, tmp_path / "in", tmp_path / "out", JobOptions(OPTIONS, run_id="one"))
    source, target = place_for(spark, f"s3://{store.path}/in"), place_for(spark, f"{store}/in/out")
    there = run(spark, source, target, JobOptions(OPTIONS, run_id="one"))
    assert here.summary["failed"] == there.summary["failed"] == {}
    assert there.summary == here.summary
    assert {row["msgs"] for row in fleet_results.rows(tmp_path / "out", "key_spreads")} == {sum(range(500)), 90 + 40}
    tables = [BY_NAME[name] for name in fleet_results.tables(tmp_path / "out")]
    assert len(tables) > 25
    for table in tables:
        assert tables_at(target).check(table) == tables_at(tmp_path / "out").check(table)
        assert rows(target, table.name) == rows(tmp_path / "out", table.name), table.name
    near, far = (read_summary(result_at(folder).document(FILE_NAME)) for folder in (tmp_path / "out", target))
    assert near.snapshot_time and far.snapshot_time, "files in a store are as old as their upload"
    assert replace(far, snapshot_time=None) == replace(near, snapshot_time=None)
    assert isinstance(target, StorePath)
    assert [path.name for path, _ in (target / RUNS).files(below=True)] == ["one.json"]
    assert not [*(target / WORK).files(below=True)]
    compare_screens(result_at(target), result_at(tmp_path / "out"))
    for name, variable in (("access.key", "AWS_ACCESS_KEY_ID"), ("secret.key", "AWS_SECRET_ACCESS_KEY")):
        monkeypatch.setenv(variable, settings_for(store_url)[f"spark.hadoop.fs.s3a.{name}"])
    monkeypatch.setenv("AWS_ENDPOINT_URL", store_url)
    assert main(["fleet", "open", f"s3://{store.path}/in/out", "--json"]) == 0
    assert capsys.readouterr().out.encode() == result_at(target).document(FILE_NAME)
    assert main(["fleet", "open", f"s3://{store.path}/nothing", "--json"]) == 2


def compare_screens(there: ResultFolder, here: ResultFolder) -> None:
    """What the screen reads, and what enter opens."""
    one, other = read_results(there), read_results(here)
    assert one.summary is not None and other.summary is not None
    assert replace(one.summary, snapshot_time=None) == replace(other.summary, snapshot_time=None)
    for name in SEARCHED:
        near, far = (each.listing(name).columns.table for each in (other, one))
        own = [column for column in near.column_names if column not in STAMP.names]
        assert near.column_names == far.column_names and own
        assert near.select(own).to_pylist() == far.select(own).to_pylist()
    opened = part_of(there, "", NAMESPACE, "s")
    assert opened == part_of(here, "", NAMESPACE, "s") and len(opened.snapshot.topics) == 8


def test_a_job_reads_here_and_writes_there_and_the_other_way_round(
    spark: SparkSession, store: StorePath, tmp_path: Path
) -> None:
    answers(tmp_path / "in")
    job_called("import")(spark, tmp_path / "in", store / "out", JobOptions())
    job_called("assign")(spark, store / "out", tmp_path / "out", JobOptions())
    assert len(rows(tmp_path / "out", "assignments")) == 8
    job_called("keys")(spark, tmp_path / "in", tmp_path / "out", JobOptions({"tables": str(store / "out")}))
    assert rows(tmp_path / "out", "key_loads")


def test_a_second_run_names_its_parts_in_place_of_the_first(
    spark: SparkSession, store: StorePath, tmp_path: Path
) -> None:
    answers(tmp_path / "in")
    run = job_called("import")
    run(spark, tmp_path / "in", store, JobOptions())
    before = rows(store, TOPICS.name)
    (tmp_path / "in" / "two" / "broker-stats.json.gz").unlink()
    run(spark, tmp_path / "in", store, JobOptions())
    assert 2 * len(rows(store, TOPICS.name)) == len(before)
    assert tables_at(store).check(SUBSCRIPTIONS) == len(before)
    assert len(run_ids(store)) == 2


def test_what_is_not_there_is_refused(spark: SparkSession, store: StorePath) -> None:
    with pytest.raises(InputError):
        job_called("import")(spark, store / "nothing", store / "out", JobOptions())
    with pytest.raises(InputError):
        job_called("lint")(spark, store / "nothing", store / "out", JobOptions())
    with pytest.raises(InputError):
        job_called("watch")(spark, store / "in", store / "out", JobOptions({"once": "true"}))
    assert not [*store.files(below=True)]


def test_a_watch_reads_a_store_and_writes_into_it(spark: SparkSession, store: StorePath) -> None:
    topic = {"persistent": {"persistent://t/n/x": {"msgRateIn": 1.0}}}
    for hour in ("06", "07"):
        answer = json.dumps({"t/n": {"0x00000000_0xffffffff": topic}})
        (store / f"in/b1/2026-11-24T{hour}-00-00Z/broker-stats-topics.json").write_text(answer)
    for _ in range(2):
        done = job_called("watch")(spark, store / "in", store / "out", JobOptions({"once": "true"}))
        assert done.summary["batches"] == 2
    assert tables_at(store / "out").check(TOPICS) == 1


def test_a_store_that_does_not_answer_is_reported_in_a_sentence(spark: SparkSession, store_url: str) -> None:
    lost = place_of(f"s3a://{BUCKET}/x", {**settings_for("http://127.0.0.1:9")}.get)
    assert isinstance(lost, StorePath)
    with pytest.raises(RingsideError, match=str(lost)):
        lost.check_reachable()


@pytest.mark.parametrize(
    ("story", "kind"),
    [
        ("java.lang.RuntimeException: java.lang.ClassNotFoundException: Class org.apache.hadoop.fs.s3a.X", InputError),
        ("No FileSystem for scheme s3a", InputError),
        ("java.nio.file.AccessDeniedException: fleet: no", RingsideError),
    ],
)
def test_a_session_that_cannot_read_a_store_is_reported_before_anything_is_read(
    store_url: str, place: StorePath, story: str, kind: type[RingsideError]
) -> None:
    def refused(_: str) -> None:
        raise Py4JError(story)

    conf = SimpleNamespace(get=lambda name, _: settings_for(store_url).get(name))
    bare: Any = SimpleNamespace(conf=conf, read=SimpleNamespace(schema=lambda _: SimpleNamespace(text=refused)))
    with pytest.raises(RingsideError) as caught:
        place_for(bare, str(place))
    assert type(caught.value) is kind
