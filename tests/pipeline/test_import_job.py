"""The whole import: recordings and spoilt folders into tables that add up and that others read without Spark."""

from __future__ import annotations

import gzip
import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from pyspark.sql import SparkSession

from engine.admin.snapshot import read_answers
from engine.errors import InputError, RingsideError
from engine.views.fleet.runs import Manifest
from engine.views.fleet.tables import EVERY_TABLE
from pipeline.jobs import importing, job_called
from pipeline.jobs.import_tables import TableAccount, whole_namespaces
from pipeline.jobs.result import JobOptions, JobResult
from pipeline.reading import files
from pipeline.runs import Parts, new_run
from pipeline.tables import tables_at
from tests import fleet_results

RECORDINGS = Path(__file__).parents[1] / "recordings"
BY_NAME = {table.name: table for table in EVERY_TABLE}
TOPIC: dict[str, Any] = {
    "msgRateIn": 1.0,
    "publishers": [{"producerName": "p"}],
    "subscriptions": {"s": {"type": "Failover", "consumers": [{"consumerName": "a"}, {"consumerName": "b"}]}},
}


def imported(spark: SparkSession, source: Path, target: Path, **options: str) -> JobResult:
    return job_called("import")(spark, source, target, JobOptions(options))


def query(target: Path, table: str, columns: str = "*", where: str = "true") -> list[tuple[Any, ...]]:
    """Rows as DuckDB reads them."""
    return duckdb.sql(f"select {columns} from {fleet_results.sql(target, table)} where {where} order by all").fetchall()


def check(target: Path, result: JobResult) -> None:
    """Every table is as declared, and what came in is a row or in the quarantine."""
    tables: dict[str, int] = result.summary["tables"]  # type: ignore[assignment]
    for name, rows in tables.items():
        assert tables_at(target).check(BY_NAME[name]) == rows
    aside: Counter[str] = Counter()
    for table, count in query(target, "quarantine", '"table", "rows"'):
        aside[table] += count
    rows_in: dict[str, int] = result.summary["rows_in"]  # type: ignore[assignment]
    for name in ("topics", "subscriptions", "consumers", "publishers", "listed", "bundle_reports", "brokers"):
        assert rows_in.get(name, 0) == tables[name] + aside[name]


def query_quarantine(target: Path) -> str:
    return "\n".join(
        f"{file} {place}: {reason}" for file, place, reason in query(target, "quarantine", "file, place, reason")
    )


@pytest.mark.parametrize("folder", ["f-inventory-2", "g-two-brokers"])
def test_an_installation_becomes_tables_that_add_up(spark: SparkSession, folder: str, tmp_path: Path) -> None:
    """The topics are those of ``read_answers``; again into the same place gives the same summary, byte for byte."""
    result = imported(spark, RECORDINGS / folder, tmp_path)
    check(tmp_path, result)
    snapshot = read_answers(RECORDINGS / folder)
    reported = {
        row[0]: row[1:] for row in query(tmp_path, "topics", "topic, bundle, publishers, kind = 'broker-stats'")
    }
    assert reported.keys() == snapshot.topics.keys()
    for name, (bundle, _, loaded_only) in reported.items():
        assert loaded_only == (snapshot.topics[name].kind == "broker-stats")
        assert (bundle is None) == (name not in snapshot.bundle_of_topic)
    lists = Counter(row[0] for row in query(tmp_path, "bundles", "namespace"))
    assert lists == Counter({namespace: len(each.ranges) for namespace, each in snapshot.bundles.items()})
    first = fleet_results.text_of(tmp_path, "import.json")
    imported(spark, RECORDINGS / folder, tmp_path)
    assert fleet_results.text_of(tmp_path, "import.json") == first


def broker_stats(*names: str, bundle: str = "0x00000000_0xffffffff") -> dict[str, Any]:
    return {"t/n": {bundle: {"persistent": {f"persistent://t/n/{name}": TOPIC for name in names}}}}


def put(folder: Path, name: str, value: Any) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    text = value if isinstance(value, str) else json.dumps(value)
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())


def test_without_a_list_bundles_are_those_that_reports_and_statistics_name_between_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Only where they name every range: half of a file leaves a gap, and what was split meanwhile overlaps."""
    source, target = tmp_path / "in", tmp_path / "out"
    low, high = "0x00000000_0x80000000", "0x80000000_0xffffffff"
    whole, quarter = "0x00000000_0xffffffff", "0x00000000_0x40000000"
    named = {
        "b1": [f"t/both/{low}", f"t/gap/{low}", f"t/split/{whole}", f"t/list/{whole}"],
        "b2": [f"t/both/{high}", f"t/split/{low}", f"t/split/{high}", f"t/gap/{quarter}"],
    }
    for broker, bundles in named.items():
        report = {"webServiceUrl": f"http://{broker}:8080", "pulsarServiceUrl": "x", "bundles": bundles}
        put(source, f"{broker}/load-report.json", {**report, "lastStats": {}})
        bundle, topic = (low, "a") if broker == "b1" else (high, "b")
        stats = {"t/stats": {bundle: {"persistent": {f"persistent://t/stats/{topic}": TOPIC}}}}
        put(source, f"{broker}/broker-stats-topics.json", stats)
    put(
        source,
        "admin/v2/namespaces/t/list/bundles.json",
        {"boundaries": ["0x00000000", "0x80000000", "0xffffffff"], "numBundles": 2},
    )
    check(target, imported(spark, source, target))
    assert query(target, "bundles", "namespace, range") == [
        (namespace, bundle) for namespace in ("t/both", "t/list", "t/stats") for bundle in (low, high)
    ]


def test_bad_input_is_counted_and_reported_and_never_stops_the_good_rows(spark: SparkSession, tmp_path: Path) -> None:
    source, target = tmp_path / "in", tmp_path / "out"
    whole = json.dumps(broker_stats(*(f"half-{number}" for number in range(20))))
    put(source, "a/broker-stats-topics.json.gz", broker_stats("one", "two"))
    put(source, "a/load-report.json", report("east", "4.0.7", "t/n/0x00000000_0xffffffff"))
    put(source, "b/broker-stats-topics.json", broker_stats("two", "three"))
    put(source, "b/load-report.json", report("west", "3.3.6", "t/n/0x00000000_0xffffffff"))
    put(source, "d/load-report.json", report("north", "4.0.7", "t/n/0x00000000_0x10000000"))
    put(source, "c/half.json", whole[: len(whole) // 2])
    put(source, "c/cut.json.gz", "x")
    (source / "c/cut.json.gz").write_bytes(gzip.compress(whole.encode())[:-30])
    bad = broker_stats("ok")
    inside = bad["t/n"]["0x00000000_0xffffffff"]["persistent"]
    inside |= {"persistent://t/n/minus": TOPIC | {"msgRateIn": -1}, "persistent://t//nonsense": TOPIC}
    put(source, "c/bad.json", bad)
    put(source, "c/nonsense.json", "{nonsense")
    put(source, "c/empty.json", "")
    put(source, "bundles-of-n.json", {"boundaries": ["0x00000000", "0xffffffff"], "numBundles": 1})
    put(source, "c/stats-one.json", TOPIC | {"msgRateOut": 7.0})
    result = imported(spark, source, target, clusters="one")
    check(target, result)
    names = {row[0].rpartition("/")[2]: row[1] for row in query(target, "topics", "topic, kind")}
    assert {"one", "two", "three", "ok"} <= names.keys()
    assert not {"minus", "nonsense"} & names.keys()
    assert names["one"] == "stats"
    assert sum(name.startswith("half-") for name in names) >= 8
    assert query(target, "bundles", "bundle, file") == [("t/n/0x00000000_0xffffffff", "bundles-of-n.json")]
    assert query(target, "topics", "bundle, broker, msg_rate_out", "topic like '%/one'") == [
        ("0x00000000_0xffffffff", "east:8080", 7.0)
    ]
    reported = query_quarantine(target)
    for words in (
        "east:8080 (a/broker-stats-topics.json.gz, a/load-report.json) and",
        "west:8080 (b/broker-stats-topics.json, b/load-report.json)",
        "different releases",
        "in the middle",
        "cannot be negative",
        "c/nonsense.json",
        "the file is empty",
        "a better or later answer is in b/broker-stats-topics.json",
    ):
        assert words in reported
    assert result.summary["files"]["quarantined"] == 2  # type: ignore[index]


def test_clusters_with_the_same_namespaces_claim_no_bundle_of_each_other(spark: SparkSession, tmp_path: Path) -> None:
    """Each has a folder; in the one of the west a bundle is reported by two of its brokers."""
    source, target = tmp_path / "in", tmp_path / "out"
    for cluster in ("east", "west"):
        for at, half in enumerate(("0x00000000_0x80000000", "0x80000000_0xffffffff")):
            put(source, f"{cluster}/load-report-{at}.json", report(f"{cluster}-{at}", "4.0.7", f"t/n/{half}"))
    put(source, "west/load-report-2.json", report("west-2", "4.0.7", "t/n/0x80000000_0xffffffff"))
    imported(spark, source, target)
    claims = [line for line in query_quarantine(target).splitlines() if "claimed" in line]
    assert len(claims) == 1
    assert "west-1:8080" in claims[0] and "west-2:8080" in claims[0] and "east" not in claims[0]
    assert query(target, "quarantine", "distinct cluster") == [("west",)]


def report(broker: str, version: str, *bundles: str) -> dict[str, Any]:
    stats = {bundle: {"topics": 2} for bundle in bundles}
    return {
        "webServiceUrl": f"http://{broker}:8080",
        "pulsarServiceUrl": "x",
        "brokerVersionString": version,
        "lastStats": stats,
    }


def test_five_thousand_small_files_are_one_fleet(spark: SparkSession, tmp_path: Path) -> None:
    source, target = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    for number in range(5000):
        put(source, f"persistent%3A%2F%2Ft%2Fn%2Fx{number}.json", TOPIC)
    result = imported(spark, source, target)
    check(target, result)
    tables: dict[str, int] = result.summary["tables"]  # type: ignore[assignment]
    assert (tables["topics"], tables["consumers"], tables["consumer_sets"]) == (5000, 10_000, 1)


def test_an_import_that_fails_leaves_the_old_result_whole(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = tmp_path / "in", tmp_path / "out"
    put(source, "broker-stats.json", broker_stats("one"))
    imported(spark, source, target)
    before = fleet_results.text_of(target, "import.json")
    put(source, "broker-stats.json", broker_stats("one", "two"))
    monkeypatch.setattr(importing, "_summary", lambda *_: {}["full"])
    with pytest.raises(KeyError):
        imported(spark, source, target)
    assert fleet_results.text_of(target, "import.json") == before
    assert query(target, "topics", "topic") == [("persistent://t/n/one",)]


def test_a_task_that_cannot_write_is_one_sentence(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a worker says reaches people without the story around it."""
    source, target = tmp_path / "in", tmp_path / "out"
    put(source, "broker-stats.json", broker_stats("one"))

    def write_nowhere(batches: Iterator[Any], parts: Parts) -> TableAccount:
        Path("gone", "part.parquet").write_bytes(b"")
        return TableAccount()

    monkeypatch.setattr(importing, "write_tables", write_nowhere)
    with pytest.raises(RingsideError) as caught:
        imported(spark, source, target)
    assert "the job import failed" in str(caught.value)
    assert "No such file or directory" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("padding", [0, 17_000_000], ids=["small", "large"])
def test_a_number_that_no_column_holds_costs_only_its_row(spark: SparkSession, tmp_path: Path, padding: int) -> None:
    """JSON has numbers of any size."""
    answer = broker_stats("one", "two", "three")
    inside = answer["t/n"]["0x00000000_0xffffffff"]["persistent"]
    inside["persistent://t/n/two"] = TOPIC | {"storageSize": 10**30}
    inside["persistent://t/n/three"] = TOPIC | {"publishers": [{"producerId": -(10**30)}]}
    put(tmp_path / "in", "broker-stats.json", json.dumps(answer) + " " * padding)
    result = imported(spark, tmp_path / "in", tmp_path / "out")
    check(tmp_path / "out", result)
    assert query(tmp_path / "out", "topics", "topic") == [("persistent://t/n/one",), ("persistent://t/n/three",)]
    assert result.summary["quarantined"] == {"publishers": 1, "topics": 1}
    assert query_quarantine(tmp_path / "out").count("is out of range") == 2


def test_answers_about_one_topic_are_judged_alike_in_one_task_and_in_several(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two brokers, statistics of single topics and one file of many answers, all about some of the same topics."""
    source = tmp_path / "in"
    put(source, "1-broker-stats-a.json", broker_stats("one", "two", "three"))
    put(source, "2-broker-stats-b.json", broker_stats("two", "three", "four"))
    put(source, "3-named.json", {"persistent://t/n/three": TOPIC, "persistent://t/n/five": TOPIC})
    put(source, "4-many.json", {"broker-stats-topics": broker_stats("five", "six"), "topics": ["persistent://t/n/one"]})
    tables = ("topics", "subscriptions", "consumers", "publishers", "quarantine", "files")
    one = imported(spark, source, tmp_path / "one")
    check(tmp_path / "one", one)
    monkeypatch.setattr(files, "BYTES_PER_TASK", 1)
    monkeypatch.setattr(importing, "_BYTES_PER_TASK", 400)
    several = imported(spark, source, tmp_path / "several")
    assert len(fleet_results.parts(tmp_path / "several", "topics")) > 1
    assert several.summary == one.summary
    assert several.summary["quarantined"]["topics"] == 4  # type: ignore[index]
    for table in tables:
        columns = ", ".join(f'"{name}"' for name in BY_NAME[table].names)
        assert query(tmp_path / "several", table, columns) == query(tmp_path / "one", table, columns)
    assert dict(query(tmp_path / "one", "topics", "topic, file"))["persistent://t/n/three"] == "3-named.json"
    assert "is claimed by" in query_quarantine(tmp_path / "one")


def test_tables_of_topics_are_sorted_and_row_groups_end_with_a_namespace(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a reader of one namespace passes over the row groups of others; each row has a whole namespace about it."""
    source = tmp_path / "in"
    spaces = {f"t/n{number}": [f"x{at}" for at in range(9, -1, -1)] for number in (2, 0, 1)}
    for broker in ("a", "b"):
        document = {
            name: {
                "0x00000000_0xffffffff": {"persistent": {f"persistent://{name}/{broker}{at}": TOPIC for at in local}}
            }
            for name, local in spaces.items()
        }
        put(source, f"{broker}/broker-stats-topics.json", document)
    check(tmp_path / "out", imported(spark, source, tmp_path / "out", clusters="one"))
    for table in ("topics", "subscriptions", "consumers", "publishers"):
        assert len(fleet_results.parts(tmp_path / "out", table)) == 1
        names = fleet_results.frame(tmp_path / "out", table)["topic"].to_pylist()
        assert names == sorted(names)
        assert len(names) == 60 * (2 if table == "consumers" else 1)
    rows = np.repeat(np.arange(5), [12000, 8000, 400, 24000, 28])
    assert list(whole_namespaces(rows)) == [(0, 20000), (20000, 44400), (44400, 44428)]


def test_an_answer_that_another_names_counts_with_the_rest(spark: SparkSession, tmp_path: Path) -> None:
    """Its topic is known only once all others are read, so all are read again; what nothing names is set aside."""
    source, target = tmp_path / "in", tmp_path / "out"
    put(source, "broker-stats-topics.json", broker_stats("one", "two"))
    put(source, "stats-one.json", TOPIC | {"msgRateOut": 7.0})
    put(source, "stats-of-something.json", TOPIC)
    result = imported(spark, source, target)
    check(target, result)
    assert query(target, "topics", "topic, kind, bundle, msg_rate_out") == [
        ("persistent://t/n/one", "stats", "0x00000000_0xffffffff", 7.0),
        ("persistent://t/n/two", "broker-stats", "0x00000000_0xffffffff", None),
    ]
    assert result.summary["quarantined"]["topics"] == 2  # type: ignore[index]
    assert result.summary["files"]["quarantined"] == 1  # type: ignore[index]


def test_a_folder_without_answers_is_refused_before_anything_is_written(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with pytest.raises(InputError):
        imported(spark, tmp_path / "in", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_result_may_lie_among_the_answers(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path, "broker-stats.json", broker_stats("one"))
    first = imported(spark, tmp_path, tmp_path / "out")
    assert imported(spark, tmp_path, tmp_path / "out").summary == first.summary
    shutil.rmtree(tmp_path / "out")


def test_an_empty_table_still_has_its_columns(tmp_path: Path) -> None:
    with new_run(tmp_path, "import", Manifest("r")) as draft:
        draft.fill(*EVERY_TABLE)
    for table in EVERY_TABLE:
        assert tables_at(tmp_path).check(table) == 0
        assert query(tmp_path, table.name) == []
