"""A cluster whose answers name no release is judged by the one that their shapes show, as screens judge it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from engine.admin.files import AnswerFile
from engine.admin.inference import Basis
from engine.admin.snapshot import read_answers
from engine.diagnosis.release import release_seen
from engine.views.fleet.summary import read_summary
from pipeline.clusters import reported
from pipeline.jobs import job_called
from pipeline.jobs.result import JobOptions
from pipeline.tables import tables_at
from tests import fleet_results
from tests.public_cases.answers import Recorded, recorded

CLUSTERS = {
    "first": "v2.11.0-a-failover-6p-hash partitioned-stats",
    "second": "v3.3.6-c-keyshared-ring stats",
    "third": "v4.0.7-c-keyshared-autosplit stats",
}


def answer(name: str) -> Recorded:
    return next(each for each in recorded() if each.name == name)


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    source, out = tmp_path_factory.mktemp("answers"), tmp_path_factory.mktemp("fleet")
    for cluster, name in CLUSTERS.items():
        each = answer(name)
        path, _, query = each.path.strip("/").partition("?")
        file = source / cluster / f"{path}{'@' if query else ''}{query}.json"
        file.parent.mkdir(parents=True)
        file.write_bytes(each.data)
    job_called("import")(spark, source, out, JobOptions())
    for job in ("assign", "report"):
        job_called(job)(spark, out, out, JobOptions())
    return out


def shown(cluster: str) -> Any:
    """What `why` takes for the release of the same answer."""
    each = answer(CLUSTERS[cluster])
    path, _, query = each.path.strip("/").partition("?")
    seen = release_seen([read_answers(AnswerFile(f"{path}{'@' if query else ''}{query}.json", each.data))])
    assert seen.basis is Basis.INFERRED
    return seen.behaviour


def test_each_cluster_has_the_release_that_its_answers_show(folder: Path) -> None:
    known = reported(tables_at(folder))
    assert {cluster: known.release_of(cluster).label for cluster in CLUSTERS} == {
        cluster: shown(cluster).label for cluster in CLUSTERS
    }
    assert len({shown(cluster).label for cluster in CLUSTERS}) == len(CLUSTERS)


def test_the_summary_says_which_release_was_inferred(folder: Path) -> None:
    rules = {rule.cluster: rule for rule in read_summary(fleet_results.text_of(folder, "summary.json")).rules}
    assert (rules["first"].release_basis, rules["first"].release) == ("inferred", f"{shown('first').label} or alike")
