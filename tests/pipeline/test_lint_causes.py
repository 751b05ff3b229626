"""The causes of a fleet are those that ``why`` names of each dump: every recorded fault, in one run."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from engine.admin.clusters import root_of
from engine.admin.moments import read_moments
from engine.diagnosis.findings import CAUSE_RULES, findings_of
from engine.diagnosis.why import why
from engine.lint.model import Severity
from engine.views.fleet.tables import ANSWERS, EVERYWHERE, FINDINGS
from pipeline.jobs import job_called
from pipeline.jobs.result import JobOptions
from pipeline.transforms.findings import finding_row
from tests import fleet_results
from tests.engine.diagnosis.samples import NAMES, dump, sample

RULES = {rule.id for rule in CAUSE_RULES}


def namespaces_of(name: str) -> set[str]:
    """The namespaces that a recording asks about."""
    paths = [path for answers in sample(name)["moments"].values() for path in answers]
    return {"/".join(path.split("/")[3:5]) for path in paths if path.startswith("admin/v2/persistent/")}


def fleet_of_samples(folder: Path) -> dict[str, str]:
    """Dumps of many clusters, each in a folder of its own; the recording by namespace. No two share a namespace."""
    result: dict[str, str] = {}
    for name in NAMES:
        own = namespaces_of(name)
        if own and own.isdisjoint(result):
            result |= dict.fromkeys(own, name)
            dump(name, folder / name)
    return result


def test_a_fleet_of_faults_has_the_causes_of_each_dump(spark: SparkSession, tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    recordings = fleet_of_samples(source)
    assert len(set(recordings.values())) > 50
    job_called("import")(spark, source, out, JobOptions())
    job_called("lint")(spark, out, out, JobOptions())
    rows = [row for row in fleet_results.rows(out, FINDINGS.name) if row["rule"] in RULES]
    for namespace, name in recordings.items():
        expected = findings_of(why(read_moments(source / name)), namespace=namespace)
        mine = [row for row in rows if row["namespace"] == namespace]
        reported = [tuple(row[column] for column in FINDINGS.names) for row in mine]
        assert sorted(reported, key=repr) == sorted((finding_row(name, each) for each in expected), key=repr), name
        cause = sample(name)["cause"]
        if cause is None:
            assert all(row["severity_level"] <= Severity.INFO for row in mine), name
    assert {row["namespace"] for row in rows} <= set(recordings)


def test_a_result_keeps_answers_by_namespace_and_those_for_all_apart(spark: SparkSession, tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    name = NAMES[0]
    dump(name, source)
    job_called("import")(spark, source, out, JobOptions())
    kept = fleet_results.rows(out, ANSWERS.name)
    assert {row["namespace"] for row in kept} >= {EVERYWHERE, *namespaces_of(name)}
    assert {row["file"].rpartition("/")[2] for row in kept if row["namespace"] == EVERYWHERE} == {"runtime.json"}
    assert all(row["body"] for row in kept)


@pytest.mark.parametrize(
    ("name", "root"),
    [
        ("eu/2026-11-22T09-48-07Z/admin/v2/brokers/configuration/runtime.json", "eu/"),
        ("2026-11-22T09-48-07.231Z/lookup/v2/topic/persistent/t/n/x.json", ""),
        ("admin/v2/broker-stats/topics.json", ""),
        ("eu/broker-a/topics.json", "eu/broker-a/"),
        ("topics.json", ""),
    ],
)
def test_a_dump_is_what_precedes_time_and_request(name: str, root: str) -> None:
    assert root_of(name) == root
