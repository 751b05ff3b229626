"""The snippets of ``docs/fleets.md`` do what the page says; its commands are parsed with those of all pages."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd  # type: ignore[import-untyped]
import pytest
from pyspark.sql import SparkSession

from pipeline.jobs import job_called
from pipeline.jobs.result import JobOptions
from tests import fleet_results

PAGE = (Path(__file__).parents[2] / "docs" / "fleets.md").read_text(encoding="utf-8")
STORE = '"s3a://bucket/what-if"'


def snippets(language: str) -> list[str]:
    found = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert found
    return found


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the page begins: two runs over ``answers`` are in ``out``."""
    folder = tmp_path_factory.mktemp("page")
    consumers = [{"consumerName": f"billing-{number}"} for number in range(4)]
    topic = {"subscriptions": {"s": {"type": "Failover", "consumers": consumers}}}
    topics = {f"persistent://t/n/x-partition-{index}": topic for index in range(8)}
    (folder / "answers").mkdir()
    document = {"t/n": {"0x00000000_0xffffffff": {"persistent": topics}}}
    (folder / "answers" / "broker-stats-topics.json").write_text(json.dumps(document))
    for job in ("import", "assign"):
        job_called(job)(spark, folder / ("answers" if job == "import" else "out"), folder / "out", JobOptions())
    return folder


def snippet_with(words: str, folder: Path) -> str:
    """The only snippet with these words, in ``folder``: the session of the tests began elsewhere."""
    (snippet,) = (text for text in snippets("python") if words in text)
    return snippet.replace('"out/', f'"{folder}/out/')


def test_a_job_is_a_function_of_a_session(spark: SparkSession, folder: Path) -> None:
    snippet = snippet_with("JobOptions", folder)
    assert STORE in snippet
    exec(snippet.replace(STORE, f'"{folder}/what-if"'), {"spark": spark})
    assert fleet_results.document(folder / "what-if", "assign.json")["changes"]["kill"] == ["billing-3"]


def test_readers_get_the_latest_run(spark: SparkSession, folder: Path) -> None:
    job_called("import")(spark, folder / "answers", folder / "out", JobOptions())
    counted: dict[str, int] = {}

    class Polars:
        """Not among what tests need; DuckDB reads the pattern as it does."""

        @staticmethod
        def read_parquet(pattern: str) -> Any:
            return duckdb.read_parquet(pattern).df()

    names = {"spark": spark, "polars": Polars, "pandas": pd, "counted": counted}
    lines = snippet_with("out/latest", folder).splitlines()
    exec(lines[0], names)
    for line in lines[1:]:
        call = line.partition("  #")[0]
        frame = eval(call, names)
        counted[call] = frame.count() if call.startswith("spark") else len(frame)
    assert len(counted) == 3 and set(counted.values()) == {8}


def test_duckdb_reads_the_latest_run_and_all_of_them(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    latest = (folder / "out" / "latest").read_text().strip()
    runs = len(list((folder / "out" / "topics").iterdir()))
    queries = re.findall(r'^\$ duckdb -c "(.*?)"  ', PAGE, re.MULTILINE)
    one, every = (duckdb.execute(query.replace("$(cat out/latest)", latest)).fetchall() for query in queries)
    assert (len(one), len(every), {row[-1] for row in every}) == (8, runs, {8})
