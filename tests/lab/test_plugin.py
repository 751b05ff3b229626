"""``--recordings-dir``: one closing line per folder, a failure for each difference, and the exit code says it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from tests.lab.folder import SCENARIO, Folder, recording

ROOT = Path(__file__).parents[2]
FLAG = "activeConsumerFailoverConsistentHashing"


def _write(folder: Folder, path: Path) -> None:
    path.mkdir(parents=True)
    for name, data in folder.files.items():
        (path / name).write_bytes(data)


def test_other_folders_are_compared_and_reported(tmp_path: Path) -> None:
    good = recording("v2.11.0-b-priority-nonpartitioned-hash")
    other = recording("a-failover-3p-hash").with_scenario(lambda s: s["broker_settings"].update({FLAG: "false"}))
    unreadable = good.with_file("03-stats.json", good.files["03-stats.json"][:-9])
    _write(good, tmp_path / "good")
    _write(other, tmp_path / "deep" / "er" / "other")
    _write(unreadable, tmp_path / "unreadable")
    _write(Folder("", {SCENARIO: b"{"}), tmp_path / "broken")
    _write(Folder("", {SCENARIO: json.dumps({"steps": []}).encode()}), tmp_path / "nothing")
    command = [sys.executable, "-m", "pytest", "tests/lab", "-q", "-p", "no:cacheprovider", "--recordings-dir"]
    # With CI set pytest repeats each message in full in its summary.
    environment = {name: value for name, value in os.environ.items() if name not in ("CI", "BUILD_NUMBER")}
    run = subprocess.run(
        [*command, str(tmp_path)], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    lines = [line.removeprefix("lab ") for line in run.stdout.splitlines() if line.startswith("lab ")]
    assert lines[0] == "broken: 0 facts agree, 0 differ, 1 unreadable"
    differ = re.fullmatch(r"deep/er/other: \d+ facts agree, (\d+) differ", lines[1])
    assert differ is not None, lines
    assert lines[2:4] == ["good: 50 facts agree, 0 differ", "nothing: 0 facts agree, 0 differ"]
    assert re.fullmatch(r"unreadable: \d\d facts agree, 0 differ, \d unreadable", lines[4]), lines
    failed = [line for line in run.stdout.splitlines() if line.startswith("FAILED")]
    assert sum("deep/er/other" in line for line in failed) == int(differ[1]) > 1
    assert not any("[good]" in line or "[nothing]" in line for line in failed)
    assert run.stdout.count("\nexpected: ") == run.stdout.count("\nseen:     ") == int(differ[1])
    assert run.returncode == 1
