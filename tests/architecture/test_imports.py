"""Who may load whom, proved by what is in ``sys.modules`` afterwards."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = "import sys, tui.cli.main as m\ncode = m.main({words!r})\nprint(code, *sorted(sys.modules), file=sys.stderr)"
EVERY_MODULE = """
import importlib, pkgutil, sys, {package}
for found in pkgutil.walk_packages({package}.__path__, "{package}."):
    if not found.name.endswith("__main__"):
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
        ["forecast"],
        ["curve", "LARGEST"],
        ["occupancy"],
        ["bundles-needed", "--topics", "9", "--brokers", "2"],
    ],
    ids=" ".join,
)
def test_textual_is_loaded_for_the_screen_only(words: list[str], tmp_path: Path) -> None:
    code, modules = loaded_by(words, tmp_path)
    assert code == 0
    assert modules.isdisjoint({"textual", "pyspark", "pyarrow", "pipeline"})


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["--flag", "maybe"]], ids=" ".join)
def test_what_needs_no_state_loads_no_numpy(words: list[str], tmp_path: Path) -> None:
    """Help, the version and a mistyped option are answered before anything heavy is read."""
    _, modules = loaded_by(words, tmp_path)
    assert "numpy" not in modules


def loaded_with(package: str, cwd: Path) -> set[str]:
    """The modules loaded by every module of a package in a fresh interpreter."""
    program = EVERY_MODULE.format(package=package)
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=cwd, check=True)
    return set(ran.stdout.split())


def test_the_engine_loads_no_shell_no_screen_library_and_no_network(tmp_path: Path) -> None:
    modules = loaded_with("engine", tmp_path)
    assert "engine.cluster.timeline" in modules
    shells = {"tui", "pipeline", "themes", "textual", "rich", "click"}
    assert modules.isdisjoint(shells | {"httpx", "pyspark", "asyncio"})


def test_the_pipeline_loads_the_engine_and_no_other_shell(tmp_path: Path) -> None:
    modules = loaded_with("pipeline", tmp_path)
    assert {"engine.errors", "pipeline.session"} <= modules
    assert modules.isdisjoint({"tui", "themes", "textual", "rich", "click", "httpx"})


def test_the_screen_loads_no_pipeline(tmp_path: Path) -> None:
    """They meet in files; only the command line knows both, and imports each when it is asked for."""
    modules = loaded_with("tui", tmp_path)
    assert "tui.app" in modules
    assert modules.isdisjoint({"pipeline", "pyspark"})
