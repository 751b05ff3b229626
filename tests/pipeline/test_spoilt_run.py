"""A folder in which nearly everything is wrong: all jobs go to the end, what is lost is counted, the rest is there."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from engine.errors import InputError
from engine.views.fleet.summary import read_summary
from engine.views.fleet.tables import FINDINGS, HOT_KEYS, WORST_SUBSCRIPTIONS
from pipeline.jobs import job_called
from pipeline.jobs.result import JobOptions
from tests import fleet_results


def topic(rate: Any = 1.0, kind: str = "Failover", names: tuple[Any, ...] = ("a", "b")) -> dict[str, Any]:
    consumers = [{"consumerName": name} for name in names]
    return {"msgRateIn": rate, "subscriptions": {"s": {"type": kind, "msgRateOut": rate, "consumers": consumers}}}


def broker(topics: dict[str, Any], bundle: str = "0x00000000_0xffffffff") -> str:
    return json.dumps({"t/n": {bundle: {"persistent": topics}}})


def spoil(source: Path) -> None:
    good = {f"persistent://t/n/x-partition-{index}": topic() for index in range(4)}
    odd = {
        "persistent://t/n/negative": topic(-1.0),
        "persistent://t/n/endless": topic(float("nan")),
        "no topic at all": topic(),
        "persistent://t/n/twins": topic(names=("c", "c", "c\u0000\n\u202e", "")),
        "persistent://t/n/keys": topic(kind="Key_Shared", names=("k", "k", "l")),
        "persistent://t/n/strange": topic(kind="Of_Another_Kind"),
        "persistent://t/n/list": [],
        "persistent://t/n/huge": topic(1e308),
    }
    report = {"pulsarServiceUrl": "x", "lastStats": {"t/n/0x00000000_0xffffffff": {"topics": 9}}}
    for name, version in (("b1", "4.0.1"), ("b2", "2.11.0")):
        folder = source / name
        folder.mkdir(parents=True)
        result = {**report, "webServiceUrl": f"http://{name}:8080", "brokerVersionString": version}
        (folder / "load-report.json").write_text(json.dumps(result))
    (source / "b1" / "broker-stats-topics.json").write_text(broker(good))
    (source / "b2" / "broker-stats-topics.json").write_text(broker(odd))
    whole = broker({f"persistent://t/n/half-{number}": topic() for number in range(50)}).encode()
    (source / "half.json").write_bytes(whole[: len(whole) // 2])
    packed = gzip.compress(whole.replace(b"half-", b"early-"))
    (source / "early.json.gz").write_bytes(packed[: len(packed) // 2])
    (source / "empty.json").write_bytes(b"")
    (source / "noise.json").write_bytes(bytes(range(256)) * 4)
    trace = [{"namespace": "t/n", "subscription": "s", "key": f"k{number % 7}"} for number in range(700)]
    (source / "trace.jsonl").write_text("\n".join(map(json.dumps, trace)) + '\n{"key": 5}\n{"coun')
    (source / "no-trace.csv").write_bytes(b"\x00\xff\n1,2\n")
    (source / "half.parquet").write_bytes(b"PAR1")


def test_everything_wrong_is_counted_and_nothing_good_is_lost(spark: SparkSession, tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    spoil(source)
    job_called("run")(spark, source, out, JobOptions({"assign.policies": "pulsar"}, run_id="this-run"))
    summary = read_summary(fleet_results.text_of(out, "summary.json"))
    assert summary.jobs == ("import", "assign", "keys", "bundles", "lint", "balance")
    aside: Counter[tuple[str, str]] = Counter()
    for each in summary.quarantine:
        aside[each.source, each.table] += each.rows
    latest = max(path.stat().st_mtime for path in source.rglob("*.json*") if path.suffix != ".jsonl")
    for name in fleet_results.tables(out):
        stamps = fleet_results.frame(out, name, columns=["snapshot_time"])
        assert {part.parent.name for part in fleet_results.parts(out, name)} == {"run_id=this-run"}, name
        for moment in set(stamps["snapshot_time"].to_pylist()):
            assert moment.timestamp() == pytest.approx(latest, abs=1e-5), name
    document = fleet_results.document(out, "import.json")
    for table, rows in document["rows_in"].items():
        assert rows == document["rows_out"][table] + aside["import", table], table
    names = set(fleet_results.frame(out, "topics")["topic"].to_pylist())
    assert {f"persistent://t/n/x-partition-{index}" for index in range(4)} <= names
    assert {"persistent://t/n/twins", "persistent://t/n/keys"} <= names
    assert sum("half-" in name for name in names) >= 20
    refused = ("negative", "endless", "no topic", "huge")
    assert not {name for name in names if any(word in name for word in refused)}
    assert aside["import", "files"] >= 2
    # Neither half a file nor one that was packed and cut is a broker; what they tell of topics is kept.
    assert summary.totals.brokers == 2
    halves = [row for row in fleet_results.rows(out, "topics") if "half-" in row["topic"]]
    assert {row["broker"] for row in halves} == {None}
    # Both load reports name the only bundle, so nothing else has to say where it begins and ends; the statistics at the
    # top, which name no broker, are of a cluster without a name.
    bundles = sorted((row["cluster"], row["range"]) for row in fleet_results.rows(out, "bundles"))
    assert bundles == [(cluster, "0x00000000_0xffffffff") for cluster in ("", "b1", "b2")]
    assert aside["keys", "key_events"] == 2
    assert fleet_results.document(out, "keys.json")["rows_out"] == 700
    assert {row["key"] for row in fleet_results.rows(out, HOT_KEYS.name)} == {f"k{n}" for n in range(7)}
    rules = {row["rule"] for row in fleet_results.rows(out, FINDINGS.name)}
    assert {"failover-duplicate-names", "key-duplicate-names"} <= rules
    assert fleet_results.frame(out, WORST_SUBSCRIPTIONS.name).num_rows >= 2
    reasons = " ".join(fleet_results.frame(out, "quarantine")["reason"].to_pylist())
    # Two folders with one broker each and the same bundle are two clusters, so nobody claims what another one has, and
    # each cluster has its own release.
    assert "different releases" not in reasons and "is claimed by" not in reasons
    brokers = {(row["cluster"], row["version"]) for row in fleet_results.rows(out, "brokers")}
    assert brokers == {("b1", "4.0.1"), ("b2", "2.11.0")}
    keys_told = {row["file"] for row in fleet_results.rows(out, "quarantine") if row["job"] == "keys"}
    assert {"trace.jsonl", "no-trace.csv", "half.parquet"} <= keys_told


def test_options_nobody_takes_and_empty_folders_are_refused(tmp_path: Path) -> None:
    nobody: Any = None
    with pytest.raises(InputError, match="knows no option"):
        job_called("run")(nobody, tmp_path, tmp_path / "out", JobOptions({"flavour": "x"}))
    with pytest.raises(InputError, match=r"no \.json"):
        job_called("run")(nobody, tmp_path, tmp_path / "out", JobOptions())
    assert not (tmp_path / "out").exists()
