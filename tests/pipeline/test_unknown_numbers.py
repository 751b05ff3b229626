"""What an answer lacks is null in the tables of a fleet, in their sums and on its page; what it has is there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from engine.views.fleet.summary import fleet_families, read_summary
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
        "persistent://t/none/x": less,
    }
    (source / "stats" / "topics.json").write_text(json.dumps(topics))
    for namespace in ("whole", "part", "none"):
        bundles = {"boundaries": ["0x00000000", "0xffffffff"], "numBundles": 1}
        (source / f"bundles-t%2F{namespace}.json").write_text(json.dumps(bundles))
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


def test_a_sum_is_of_what_is_known_and_says_how_many_lack_it(folder: Path) -> None:
    namespaces, subscriptions = rows_of(folder, "worst_namespaces"), rows_of(folder, "worst_subscriptions")
    names = (*RATES, "backlog_size_bytes", "storage_size_bytes")
    for namespace, sums, lacking in (
        ("t/whole", [2.0, 1.0, 20.0, 10.0, 70, 100], 0),
        ("t/part", [4.0, 2.0, 40.0, 20.0, 140, 200], 1),
        ("t/none", [None] * 6, 1),
    ):
        row = namespaces[namespace]
        assert [row[name] for name in names] == sums
        assert {row[f"{name}_unknown"] for name in names} == {lacking}
    names = ("msg_rate_out", "msg_backlog_entries")
    for namespace, sums, lacking in (("t/whole", [1.0, 7], 0), ("t/part", [2.0, 14], 1), ("t/none", [None, None], 1)):
        row = subscriptions[namespace]
        assert [row[name] for name in names] == sums
        assert {row[f"{name}_unknown"] for name in names} == {lacking}


def test_loads_of_bundles_and_brokers_say_what_is_known(folder: Path) -> None:
    bundles = {row["namespace"]: row for row in fleet_results.rows(folder, "bundle_loads")}
    (broker,) = fleet_results.rows(folder, "broker_loads")
    nothing = [None] * 4
    for row, sums, lacking in (
        (bundles["t/whole"], [2.0, 1.0, 20.0, 10.0], 0),
        (bundles["t/part"], [4.0, 2.0, 40.0, 20.0], 1),
        (bundles["t/none"], nothing, 1),
        (broker, [6.0, 3.0, 60.0, 30.0], 2),
    ):
        assert [row[name] for name in RATES] == sums
        assert {row[f"{name}_unknown"] for name in RATES} == {lacking}
    summary = read_summary(fleet_results.text_of(folder, "summary.json"))
    assert {row.bundle.rpartition("/")[0]: row.msgs_per_sec for row in summary.worst_bundles} == {
        "t/whole": 3.0, "t/part": 6.0, "t/none": None
    }  # fmt: skip


def test_the_summary_says_what_is_known(folder: Path) -> None:
    summary = read_summary(fleet_results.text_of(folder, "summary.json"))
    totals = summary.totals
    assert (totals.topics, totals.msg_rate_in, totals.backlog_size_bytes) == (5, 6.0, 210)
    assert totals.unknown == dict.fromkeys((*RATES, "backlog_size_bytes", "storage_size_bytes"), 2)
    groups = {group.tenant: group for group in summary.groups}
    assert (groups["t"].msg_rate_in, groups["t"].unknown["msg_rate_in"]) == (6.0, 2)
    rows = {row.namespace: row.unknown for row in summary.worst_namespaces}
    assert (rows["t/whole"], rows["t/part"]["msg_rate_in"]) == ({}, 1)
    assert "6+ msg/s in, 3+ out, 210+ bytes of backlog" in "\n".join(fleet_lines(summary))
    families = {family.name: family for family in fleet_families(summary)}
    assert [sample.value for sample in families["ringside_fleet_msg_rate_in"].samples] == [6.0]
    lacking = {
        dict(sample.labels)["number"]: sample.value for sample in families["ringside_fleet_topics_lacking"].samples
    }
    assert lacking == totals.unknown
