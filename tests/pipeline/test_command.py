"""``python -m pipeline``: what is typed wrong is told before Spark starts; a job's summary is what stdout has."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.__main__ import main
from pipeline.jobs import MODULES, job_called


@pytest.mark.parametrize("words", [[], ["colour", "a", "b"], ["import", "a"], ["import", "a", "b", "--set", "x"]])
def test_a_mistyped_line_is_refused_with_exit_code_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    assert "usage:" in capsys.readouterr().err


def test_every_job_has_a_module_with_a_run() -> None:
    assert {"import", "assign", "bundles"} <= MODULES.keys()
    for name in MODULES:
        assert callable(job_called(name))


@pytest.mark.xdist_group("spark")
def test_a_job_runs_from_the_command_line_and_prints_its_summary(tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.mkdir()
    topic = {"msgRateIn": 1.0, "publishers": [], "subscriptions": {}}
    stats = {"t/n": {"0x00000000_0xffffffff": {"persistent": {"persistent://t/n/x": topic}}}}
    (source / "broker-stats.json").write_text(json.dumps(stats))
    command = [sys.executable, "-m", "pipeline", "import", str(source), str(tmp_path / "out"), "--master", "local[1]"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == json.loads((tmp_path / "out" / "import.json").read_text())
    assert "import: 1 files found" in ran.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out"]
