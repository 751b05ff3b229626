"""Who may load whom, proved by what is in ``sys.modules`` afterwards."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = "import sys, tui.cli.main as m\ncode = m.main({words!r})\nprint(code, *sorted(sys.modules), file=sys.stderr)"
ENGINE = """
import importlib, pkgutil, sys, engine
for found in pkgutil.walk_packages(engine.__path__, "engine."):
    importlib.import_module(found.name)
print(*sorted(sys.modules))
"""


def loaded_by(words: list[str], cwd: Path) -> tuple[int, set[str]]:
    """The exit code of ``ringside`` with ``words`` in a fresh interpreter, and the modules loaded by its end."""
    ran = subprocess.run(
        [sys.executable, "-c", SAMPLE.format(words=words)], capture_output=True, text=True, cwd=cwd, check=True
    )
    code, *modules = ran.stderr.strip().splitlines()[-1].split()
    return int(code), set(modules)


@pytest.mark.parametrize(
    "words",
    [
        ["--once"],
        ["--json"],
        ["--help"],
        ["--version"],
        ["demo"],
        ["new", "--once"],
        ["explain", "topic-7"],
        ["split", "LARGEST"],
        ["split", "LARGEST", "--json"],
    ],
    ids=" ".join,
)
def test_textual_is_loaded_for_the_screen_only(words: list[str], tmp_path: Path) -> None:
    code, modules = loaded_by(words, tmp_path)
    assert code == 0
    assert "textual" not in modules


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["--flag", "maybe"]], ids=" ".join)
def test_what_needs_no_state_loads_no_numpy(words: list[str], tmp_path: Path) -> None:
    """Help, the version and a mistyped option are answered before anything heavy is read."""
    _, modules = loaded_by(words, tmp_path)
    assert "numpy" not in modules


def test_the_engine_loads_no_shell_no_screen_library_and_no_network(tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", ENGINE], capture_output=True, text=True, cwd=tmp_path, check=True)
    modules = set(ran.stdout.split())
    assert "engine.cluster.timeline" in modules
    assert modules.isdisjoint({"textual", "rich", "click", "tui", "themes", "httpx", "pyspark", "asyncio"})
