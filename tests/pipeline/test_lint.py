"""The doctor over tables finds what the doctor over answers finds, finding by finding; the report counts them."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from engine.admin.client_facts import client_facts
from engine.admin.moments import read_moments
from engine.admin.snapshot import read_answers
from engine.diagnosis.findings import findings_of
from engine.diagnosis.producing import HOT_PARTITION
from engine.diagnosis.why import why
from engine.errors import InputError
from engine.lint import Finding, lint
from engine.lint.model import in_order
from engine.scenarios.linting import reported_facts
from engine.scenarios.opening import open_snapshot
from engine.views.fleet.summary import read_summary
from engine.views.fleet.tables import FINDINGS, SUBSCRIPTIONS, WORST_NAMESPACES, WORST_SUBSCRIPTIONS
from pipeline.jobs import job_called
from pipeline.jobs.result import JobOptions
from pipeline.transforms.findings import finding_row
from tests import fleet_results

RECORDINGS = Path(__file__).parents[1] / "recordings"


def moment(folder: str, prefix: str, target: Path) -> Path:
    """The answers of one moment of a recording, with what is known at all moments."""
    target.mkdir()
    for path in sorted((RECORDINGS / folder).iterdir()):
        if path.name.startswith(prefix) or "scenario" in path.name:
            shutil.copy(path, target / path.name)
    return target


def doctor(source: Path) -> tuple[Finding, ...]:
    snapshot = read_answers(str(source))
    state = open_snapshot(snapshot).state
    return in_order(lint(state, reported_facts(snapshot, state, client_facts(str(source)))))


@pytest.mark.parametrize(
    ("folder", "prefix", "at_least"),
    [
        ("g-autosplit-extensible-flow", "08", 3),
        ("v4.0.7-c-keyshared-sticky-gaps", "04", 1),
        ("a-namesakes-4p-hash", "05", 1),
        ("a-priority-001-8p-hash", "04", 0),
        ("v2.11.0-b-priority-nonpartitioned-hash", "04", 1),
    ],
)
def test_findings_over_tables_are_those_over_answers(
    folder: str, prefix: str, at_least: int, spark: SparkSession, tmp_path: Path
) -> None:
    source, out = moment(folder, prefix, tmp_path / "in"), tmp_path / "out"
    job_called("import")(spark, source, out, JobOptions())
    # A scenario tells the release, but the jobs hear it of the brokers only.
    release = re.match(r"v([\d.]+)-", folder)
    result = job_called("lint")(spark, out, out, JobOptions({"pulsar": release[1]} if release else {}))
    count = compare_findings(source, out)
    assert count >= at_least
    assert result.summary["tables"] == {FINDINGS.name: count}


def compare_findings(source: Path, out: Path) -> int:
    """The findings of a result against those over the answers, the most severe first; gives their number."""
    expected = (*doctor(source), *findings_of(why(read_moments(source))))
    outcome = [tuple(row[name] for name in FINDINGS.names) for row in fleet_results.rows(out, FINDINGS.name)]
    assert sorted(outcome, key=repr) == sorted((finding_row("", each) for each in expected), key=repr)
    assert [row[5] for row in outcome] == sorted((row[5] for row in outcome), reverse=True)
    return len(expected)


def test_partitions_as_wholes_are_judged_as_over_answers(spark: SparkSession, tmp_path: Path) -> None:
    """Full partitions by the policies of namespaces and by the broker's setting; consumers that keys cannot reach."""
    source, out = tmp_path / "in", tmp_path / "out"
    ranges = {"a": [[0, 1]], "b": [[2, 65_535]]}
    keyed = {
        "type": "Key_Shared",
        "consumers": [{"consumerName": name, "keyHashRangeArrays": pieces} for name, pieces in ranges.items()],
    }
    policies = {"few": {"max_producers_per_topic": 4}, "mixed": {"max_producers_per_topic": 0}}
    for namespace, producers in (("few", 3), ("many", 3), ("mixed", 9)):
        partitions = {
            f"persistent://t/{namespace}/orders-partition-{at}": {
                "publishers": [{"producerId": number} for number in range(producers + at % 2)],
                "subscriptions": {"s": keyed},
            }
            for at in range(4)
        }
        stats = {"metadata": {"partitions": 4}, "partitions": partitions}
        folder, namespaces = source / f"admin/v2/persistent/t/{namespace}/orders", source / "admin/v2/namespaces/t"
        folder.mkdir(parents=True)
        namespaces.mkdir(parents=True, exist_ok=True)
        (folder / "partitioned-stats.json").write_text(json.dumps(stats))
        bundles = {"boundaries": ["0x00000000", "0xffffffff"], "numBundles": 1}
        known = {"replication_clusters": ["c"], "bundles": bundles, **policies.get(namespace, {})}
        (namespaces / f"{namespace}.json").write_text(json.dumps(known))
    brokers = source / "admin/v2/brokers"
    (brokers / "configuration").mkdir(parents=True)
    (brokers / "version.json").write_text("5.0.1")
    (brokers / "configuration/runtime.json").write_text(json.dumps({"maxProducersPerTopic": "3"}))
    job_called("import")(spark, source, out, JobOptions())
    job_called("lint")(spark, out, out, JobOptions())
    rules = ("producers-full", "key-hash-resonance")
    rows = fleet_results.rows(out, FINDINGS.name)
    outcome = [tuple(row[name] for name in FINDINGS.names) for row in rows if row["rule"] in rules]
    expected = [finding for finding in doctor(source) if finding.rule in rules]
    assert sorted(outcome, key=repr) == sorted((finding_row("", each) for each in expected), key=repr)
    full = {finding.where.namespace: finding for finding in expected if finding.rule == "producers-full"}
    numbers = {name: [one.number(of) for of in ("full_partitions", "max_producers")] for name, one in full.items()}
    assert numbers == {"t/few": [2, 4], "t/many": [4, 3]}
    reached = [finding for finding in expected if finding.rule == "key-hash-resonance"]
    assert [(finding.number("consumers"), finding.number("slots")) for finding in reached] == [(1, 16_384)] * 3


def test_a_report_counts_findings_and_says_the_same_bytes_again(spark: SparkSession, tmp_path: Path) -> None:
    source, out = RECORDINGS / "f-inventory-2", tmp_path / "out"
    results: list[str] = []
    job_called("run")(spark, source, out, JobOptions({"assign.policies": "pulsar"}, results.append))
    assert compare_findings(source, out) == 25
    first = fleet_results.text_of(out, "summary.json")
    summary = read_summary(first)
    assert summary.jobs == ("import", "assign", "keys", "bundles", "lint", "balance")
    assert sum(finding.count for finding in summary.findings) == summary.tables[FINDINGS.name] == 25
    assert summary.totals.topics == summary.tables["topics"] == 714
    assert [policy.policy for policy in summary.policies] == ["flag_off", "flag_on"]
    assert [policy.in_force for policy in summary.policies] == [True, False]
    subscriptions = fleet_results.rows(out, WORST_SUBSCRIPTIONS.name)
    uneven = [row["busiest_over_average"] for row in subscriptions if row["busiest_over_average"] is not None]
    assert uneven == sorted(uneven, reverse=True)
    hot = [row for row in fleet_results.rows(out, FINDINGS.name) if row["rule"] == HOT_PARTITION]
    assert [(row["topic"].rpartition("/")[2], row["subscription"]) for row in hot] == [("invoice-168", "")]
    assert sum(row["findings"] for row in subscriptions) == 25 - len(hot)
    dispatchers = fleet_results.rows(out, SUBSCRIPTIONS.name)
    for row in subscriptions:
        same = ("namespace", "subscription", "type")
        mine = [dispatcher for dispatcher in dispatchers if all(dispatcher[name] == row[name] for name in same)]
        assert row["msg_rate_out"] == pytest.approx(sum(row["msg_rate_out"] for row in mine), abs=1e-6)
        assert row["msg_backlog_entries"] == sum(row["msg_backlog_entries"] for row in mine)
    assert any(row["msg_rate_out"] for row in subscriptions)
    namespaces = fleet_results.rows(out, WORST_NAMESPACES.name)
    assert sum(row["topics"] for row in namespaces) == 714
    assert sum(row["msg_rate_in"] for row in namespaces) == pytest.approx(summary.totals.msg_rate_in)
    assert (namespaces[0]["worst_busiest_over_average"], namespaces[0]["worst_subscription"]) == (
        subscriptions[0]["busiest_over_average"], subscriptions[0]["subscription"],
    )  # fmt: skip
    job_called("report")(spark, out, out, JobOptions())
    assert fleet_results.text_of(out, "summary.json") == first
    assert [job for text in results if text.endswith("…") for job in text.removesuffix(" …").split(", ")] == [
        "import", "assign", "keys", "bundles", "lint", "balance", "report",
    ]  # fmt: skip


def test_brokers_with_statistics_alone_are_counted_and_what_bundles_lack_is_reported(
    spark: SparkSession, tmp_path: Path
) -> None:
    source, out, result = tmp_path / "in", tmp_path / "out", []
    for broker in range(3):
        (source / f"b-{broker}").mkdir(parents=True)
        stats = {"t/n": {"0x00000000_0x80000000": {"persistent": {f"persistent://t/n/o-{broker}": {"msgRateIn": 1.0}}}}}
        (source / f"b-{broker}" / "broker-stats-topics.json").write_text(json.dumps(stats))
    for job in ("import", "bundles", "report"):
        job_called(job)(spark, source if job == "import" else out, out, JobOptions({}, result.append))
    totals = read_summary(fleet_results.text_of(out, "summary.json")).totals
    assert (totals.topics, totals.brokers, totals.bundles) == (3, 3, 0)
    assert "bundles: 0 topics placed" in result
    assert any("3 topics belong to namespaces whose bundles no answer lists" in text for text in result)


def test_without_an_import_every_job_over_tables_says_what_to_do(tmp_path: Path) -> None:
    for job in ("lint", "report"):
        with pytest.raises(InputError, match="no result of a fleet"):
            job_called(job)(None, tmp_path, tmp_path / "out", JobOptions())  # type: ignore[arg-type]
