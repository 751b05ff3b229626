"""What is shipped is what was written: facts that stand in two files agree, and the built wheel has every file."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import engine
from tests.process.terminal import Terminal

ROOT = Path(__file__).resolve().parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
PACKAGES = ("engine", "tui", "pipeline", "themes")

pytestmark = pytest.mark.xdist_group("process")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as it would be published."""
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    return next(out.glob("*.whl"))


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel installed and nothing of the source tree."""
    target = tmp_path_factory.mktemp("installed")
    command = [sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--target", str(target), str(wheel)]
    subprocess.run(command, check=True, capture_output=True)
    return target


def environment(installed: Path, home: Path) -> dict[str, str]:
    """A user's environment in which the installed packages come first."""
    return {
        "PATH": os.environ.get("PATH", ""),
        "PYTHONPATH": str(installed),
        "HOME": str(home),
        "XDG_STATE_HOME": str(home / "state"),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
    }


def test_the_wheel_holds_every_file_of_the_packages(wheel: Path) -> None:
    """Stylesheets, palettes, scenes, scripts, schemas and typing marks are part of the product."""
    with zipfile.ZipFile(wheel) as archive:
        shipped = set(archive.namelist())
    written = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert written - shipped == set()
    assert {f"{package}/py.typed" for package in PACKAGES} <= shipped
    kinds = {Path(name).suffix for name in shipped if name.startswith(("themes/", "engine/"))}
    assert {".tcss", ".toml", ".json"} <= kinds


def test_the_wheel_holds_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == set(PACKAGES)


@pytest.mark.parametrize("option", ["--once", "--json"])
def test_the_installed_command_works_in_an_empty_folder(installed: Path, tmp_path: Path, option: str) -> None:
    code = "import tui; print(tui.__file__)"
    env = environment(installed, tmp_path)
    where = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=env, cwd=tmp_path, check=True
    )
    assert where.stdout.startswith(str(installed))
    command = [sys.executable, str(installed / "bin" / "ringside"), option]
    ran = subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "activeConsumerFailoverConsistentHashing" in ran.stdout or '"consistent_hashing"' in ran.stdout


def test_the_installed_command_opens_the_screen(installed: Path, tmp_path: Path) -> None:
    program = (sys.executable, str(installed / "bin" / "ringside"))
    env = environment(installed, tmp_path)
    with Terminal(["--no-animation"], env=env, cwd=tmp_path, program=program) as terminal:
        terminal.wait_for("billing-9")
        terminal.send("q")
        assert terminal.wait() == 0


def test_the_command_named_in_the_project_file_exists() -> None:
    module, _, name = PROJECT["project"]["scripts"]["ringside"].partition(":")
    assert callable(getattr(import_module(module), name))


def test_the_changelog_has_the_version_that_is_built() -> None:
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert engine.__version__ == headings[0]


def test_every_tool_is_configured_for_the_same_oldest_python() -> None:
    oldest = PROJECT["project"]["requires-python"].removeprefix(">=")
    assert PROJECT["tool"]["mypy"]["python_version"] == oldest
    assert PROJECT["tool"]["ruff"]["target-version"] == "py" + oldest.replace(".", "")
    assert f"({oldest.replace('.', ', ')})" in (ROOT / "Makefile").read_text()
    assert f"Programming Language :: Python :: {oldest}" in PROJECT["project"]["classifiers"]


def test_every_dependency_is_locked() -> None:
    locked = {
        re.split("[=<>~ ]", line)[0].lower().replace("_", "-")
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if line and not line.startswith("#")
    }
    extras = PROJECT["project"]["optional-dependencies"].values()
    expected = [*PROJECT["project"]["dependencies"], *(line for extra in extras for line in extra)]
    names = {re.split(r"[=<>~\[; ]", line)[0].lower().replace("_", "-") for line in expected}
    assert names - locked == set()


def test_the_wheel_is_built_of_the_packages_that_are_checked() -> None:
    targets = PROJECT["tool"]["hatch"]["build"]["targets"]
    assert tuple(targets["wheel"]["packages"]) == PACKAGES
    assert tuple(PROJECT["tool"]["mypy"]["packages"]) == PACKAGES
    assert tuple(PROJECT["tool"]["importlinter"]["root_packages"]) == PACKAGES
