"""``ringside fleet`` as a process of its own: what it leaves behind, also when somebody presses ctrl+c."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from engine.views.fleet.summary import read_summary
from tests import fleet_results
from tests.patience import HANG_S
from tests.pipeline.conftest import SHORT_LIVED
from tests.process.conftest import ROOT
from tests.starting import signals_heard

RECORDING = ROOT / "tests" / "recordings" / "f-inventory-2"
pytestmark = pytest.mark.xdist_group("java")


def started(env: dict[str, str], folder: Path, *words: str) -> subprocess.Popen[str]:
    """In a folder and with a temporary folder of its own, so that everything it leaves is seen."""
    for name in ("work", "tmp"):
        (folder / name).mkdir(exist_ok=True)
    command = [sys.executable, "-c", "import sys; from tui.cli.main import main; sys.exit(main())", *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with signals_heard():
        return subprocess.Popen(
            command, cwd=folder / "work", env={**env, "TMPDIR": str(folder / "tmp")}, text=True, **pipes
        )


def java_of(pid: int) -> list[int]:
    """The JVMs that a process has started."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children if "java" in Path(f"/proc/{child}/comm").read_text()]


def test_a_whole_run_leaves_its_result_and_nothing_else(env: dict[str, str], tmp_path: Path) -> None:
    """With the settings of users."""
    out = tmp_path / "out"
    words = ("fleet", "run", str(RECORDING), str(out), "--json", "--add", "newcomer", "--master", "local[2]")
    with started(env, tmp_path, *words) as process:
        result, talk = process.communicate(timeout=HANG_S)
    assert process.returncode == 0, talk
    assert json.loads(result) == fleet_results.document(out, "summary.json")
    assert read_summary(result.encode()).jobs == ("import", "assign", "keys", "bundles", "lint", "balance")
    assert fleet_results.document(out, "assign.json")["changes"]["add"] == ["newcomer"]
    # Not on a terminal: plain lines, one for each step.
    assert "ringside: import …" in talk and "ringside: report: " in talk and "\x1b" not in talk
    assert list((tmp_path / "work").iterdir()) == []
    assert list((tmp_path / "tmp").iterdir()) == []
    assert not any(path.name.startswith("ringside-") for path in out.iterdir())


def test_ctrl_c_ends_a_watch_with_its_java_and_keeps_the_last_batch(env: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    source = RECORDING.with_name("a-priority-001-8p-hash")
    words = ("fleet", "watch", str(source), str(out), "--every", "1")
    with started(env | {"JDK_JAVA_OPTIONS": SHORT_LIVED}, tmp_path, *words) as process:
        assert process.stderr is not None
        lines = []
        for line in process.stderr:
            lines.append(line)
            if "batch 0" in line:
                break
        java = java_of(process.pid)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=HANG_S)
    assert java, lines
    assert process.returncode == 130
    assert "Traceback" not in said and len(said.splitlines()) <= 2, said
    for pid in java:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert fleet_results.document(out, "watch.json")["batches"] == 1
    assert list((tmp_path / "tmp").iterdir()) == []
