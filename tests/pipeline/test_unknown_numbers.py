"""What an answer lacks is null in the tables of a fleet, in their sums and on its page; what it has is there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from engine.views.fleet.summary import PartialSum, fleet_families, read_summary
from pipeline.jobs import job_called
from pipeline.jobs.result import JobOptions
from tests import fleet_results
from tui.cli.fleet.page import fleet_lines

RATES = ("msg_rate_in", "msg_rate_out", "msg_throughput_in", "msg_throughput_out")


def statistics(**more: Any) -> dict[str, Any]:
    consumer = {"consumerName": "a", "msgRateOut": 1.0, "msgThroughputOut": 10.0, "unackedMessages": 2,
                "availablePermits": 5}  # fmt: skip
    members = {"type": "Failover", "activeConsumerName": "a", "consumers": [consumer], "msgRateOut": 1.0,
               "msgThroughputOut": 10.0, "msgBacklog": 7, "unackedMessages": 2}  # fmt: skip
    return {"msgRateIn": 2.0, "msgRateOut": 1.0, "msgThroughputIn": 20.0, "msgThroughputOut": 10.0, "storageSize": 100,
            "backlogSize": 70, "publishers": [{"producerName": "p", "msgRateIn": 2.0}],
            "subscriptions": {"s": members}, **more}  # fmt: skip


def without(value: Any, *members: str) -> Any:
    if isinstance(value, dict):
        return {name: without(inner, *members) for name, inner in value.items() if name not in members}
    return [without(inner, *members) for inner in value] if isinstance(value, list) else value


def rows_of(folder: Path, table: str) -> dict[str, dict[str, Any]]:
    return {row.get("topic") or row["namespace"]: row for row in fleet_results.rows(folder, table)}


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    source, out = tmp_path_factory.mktemp("answers"), tmp_path_factory.mktemp("fleet")
    less = without(statistics(), "msgRateIn", "msgRateOut", "msgThroughputIn", "msgThroughputOut", "msgBacklog",
                   "backlogSize", "storageSize", "publishers")  # fmt: skip
    (source / "stats").mkdir()
    topics = {
        "persistent://t/whole/x": statistics(),
        "persistent://t/part/x-partition-0": statistics(),
        "persistent://t/part/x-partition-1": less,
        "persistent://t/part/y": without(statistics(), "consumers"),
    }
    (source / "stats" / "topics.json").write_text(json.dumps(topics))
    job_called("import")(spark, source, out, JobOptions())
    for job in ("assign", "bundles", "lint", "report"):
        job_called(job)(spark, out, out, JobOptions())
    return out


def test_a_number_that_an_answer_lacks_is_null_in_its_row(folder: Path) -> None:
    topics, dispatchers = rows_of(folder, "topics"), rows_of(folder, "subscriptions")
    less = topics["persistent://t/part/x-partition-1"]
    members = (*RATES, "storage_size_bytes", "backlog_size_bytes", "publishers")
    assert {less[name] for name in members} == {None}
    whole = topics["persistent://t/whole/x"]
    assert [whole[name] for name in members] == [2.0, 1.0, 20.0, 10.0, 100, 70, 1]
    unknown = dispatchers["persistent://t/part/x-partition-1"]
    assert (unknown["msg_rate_out"], unknown["msg_backlog_entries"], unknown["unacked_messages"]) == (None, None, 2)
    assert dispatchers["persistent://t/part/y"]["consumers"] is None
    assert dispatchers["persistent://t/whole/x"]["consumers"] == 1


def test_a_sum_with_an_unknown_part_is_null(folder: Path) -> None:
    namespaces, subscriptions = rows_of(folder, "worst_namespaces"), rows_of(folder, "worst_subscriptions")
    assert {namespaces["t/part"][name] for name in (*RATES, "backlog_size_bytes")} == {None}
    assert [namespaces["t/whole"][name] for name in RATES] == [2.0, 1.0, 20.0, 10.0]
    assert namespaces["t/whole"]["backlog_size_bytes"] == 70
    assert (subscriptions["t/part"]["msg_rate_out"], subscriptions["t/part"]["msg_backlog_entries"]) == (None, None)
    assert (subscriptions["t/whole"]["msg_rate_out"], subscriptions["t/whole"]["msg_backlog_entries"]) == (1.0, 7)


def test_the_summary_says_what_is_known(folder: Path) -> None:
    summary = read_summary(fleet_results.text_of(folder, "summary.json"))
    assert (summary.totals.topics, summary.totals.msg_rate_in, summary.totals.backlog_size_bytes) == (4, None, None)
    assert summary.totals.partial["msg_rate_in"] == PartialSum(6.0, 1)
    assert summary.totals.partial["backlog_size_bytes"] == PartialSum(210, 1)
    assert "partitioned_topics" not in summary.totals.partial
    page = "\n".join(fleet_lines(summary))
    assert "at least 6 msg/s in, at least 3 out, at least 210 bytes of backlog" in page
    names = {family.name for family in fleet_families(summary)}
    assert "ringside_fleet_topics" in names
    assert "ringside_fleet_msg_rate_in" not in names
