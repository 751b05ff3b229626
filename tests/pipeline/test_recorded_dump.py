"""What ``ringside record`` saves is read by the fleet jobs as it is."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from pyspark.sql import SparkSession

from pipeline.jobs import job_called
from pipeline.jobs.result import JobOptions
from tests import fleet_results
from tests.playing.server import playing
from tui.cli.commands import record
from tui.cli.main import main


def test_a_recorded_cluster_goes_through_all_jobs(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dump, out = tmp_path / "dump", tmp_path / "out"
    monkeypatch.setattr(record, "times", lambda every, lasts: iter([None] * 2))
    with playing() as server:
        assert main(["record", server.url, str(dump), "--every", "10s"]) == 0
    assert len(list(dump.iterdir())) == 2, "two moments of one cluster, which count once"
    result = job_called("run")(spark, dump, out, JobOptions())
    assert result.summary["failed"] == {}
    summary = fleet_results.document(out, "summary.json")
    assert summary["agreement"] == {"reported": 6, "agreeing": 6}
    (rule,) = summary["rules"]
    assert (rule["release"], rule["release_basis"], rule["flag_basis"]) == ("4.2.4", "reported", "reported")
    assert (summary["tables"]["topics"], summary["tables"]["bundles"]) == (11, 4)
    assert (summary["balance"]["clusters"], summary["balance"]["brokers"]) == (1, 1)
    assert summary["records"]["bad"] == 0
    assert {entry["kind"] for entry in summary["quarantine"]} == {"superseded"}
    subscriptions = duckdb.sql(
        f"select subscription, type, count(*) from {fleet_results.sql(out, 'subscriptions')} group by all order by all"
    ).fetchall()
    assert subscriptions[1:] == [
        ("__system_reader-reader-b6b7225a87", "Exclusive", 1), ("billing", "Failover", 6), ("ks", "Key_Shared", 1)
    ]  # fmt: skip
