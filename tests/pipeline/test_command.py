"""Jobs from a command line: what cannot be carried out is refused before Spark starts; stdout has the summary."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline.jobs import MODULES, job_called
from pipeline.jobs.result import JobOptions, JobResult
from tests import fleet_results
from tui.cli.main import main


@pytest.mark.parametrize(
    "words",
    [
        ["import", "a", "b", "--fail-on", "info"],
        ["import", "a", "b", "--set", "colour=red"],
        ["lint", "a", "b", "--fail-on", "x"],
        ["run", "a", "ftp://b/out"],
        ["watch", "a", "s3n://b/out"],
    ],
)
def test_what_cannot_be_carried_out_is_refused_before_spark_starts(
    words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.session.open_session", pytest.fail)
    assert main(["fleet", *words]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)


def test_a_full_disk_is_one_sentence(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tui.cli.fleet.command._done", full)
    assert main(["fleet", "import", "a", "b"]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_every_job_has_a_module_with_a_run() -> None:
    assert {"import", "assign", "bundles"} <= MODULES.keys()
    for name in MODULES:
        assert callable(job_called(name))


def test_a_job_is_given_whole_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Executors work in folders of their own, where a relative name means something else."""
    given: list[Path] = []

    def run(spark: object, source: Path, target: Path, options: JobOptions) -> JobResult:
        given.extend((source, target))
        return JobResult("import", {})

    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "broker-stats.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("pipeline.jobs.importing.run", run)
    job_called("import")(None, Path("in"), Path("out"), JobOptions())  # type: ignore[arg-type]
    assert given == [tmp_path / "in", tmp_path / "out"]


def test_a_job_runs_from_the_command_line_and_prints_its_summary(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "in"
    source.mkdir()
    topic = {"msgRateIn": 1.0, "publishers": [], "subscriptions": {}}
    stats = {"t/n": {"0x00000000_0xffffffff": {"persistent": {"persistent://t/n/x": topic}}}}
    (source / "broker-stats.json").write_text(json.dumps(stats))
    assert main(["fleet", "import", str(source), str(tmp_path / "out"), "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out) == fleet_results.document(tmp_path / "out", "import.json")
    assert "import: 1 files found" in printed.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]
