"""Who may load whom, proved by what is in ``sys.modules`` afterwards."""

from __future__ import annotations

import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Final

import grimp
import pytest

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = """
import os, sys, tui.cli.main as m
for words in {commands!r}:
    if os.fork() == 0:
        code = m.main(words)
        print(code, *sorted(sys.modules), file=sys.stderr, flush=True)
        os._exit(0)
    os.wait()
    print("ENDED", file=sys.stderr, flush=True)
"""
"""Each command in a child of an interpreter that has read the command line's own modules and nothing else."""
EVERY_MODULE = """
import importlib, pkgutil, sys, {package}
for found in pkgutil.walk_packages({package}.__path__, "{package}."):
    if not found.name.endswith("__main__"):
        importlib.import_module(found.name)
print(*sorted(sys.modules))
"""


Loaded = dict[tuple[str, ...], tuple[int, set[str]]]
PLAIN: Final = (
    ("--once",),
    ("--json",),
    ("--help",),
    ("--version",),
    ("demo",),
    ("new", "--once"),
    ("explain", "topic-7"),
    ("split", "LARGEST"),
    ("split", "LARGEST", "--json"),
    ("forecast",),
    ("forecast", "--curve", "LARGEST"),
    ("suggest", "bundles", "--topics", "9", "--brokers", "2"),
)
WITHOUT_STATE: Final = (("--help",), ("--version",), ("--flag", "maybe"))


@pytest.fixture(scope="module")
def loaded_by(tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    """The exit code of ``ringside`` with some words, and the modules loaded by its end."""
    commands = list(dict.fromkeys([*PLAIN, *WITHOUT_STATE]))
    program = SAMPLE.format(commands=[list(words) for words in commands])
    folder = tmp_path_factory.mktemp("empty")
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=folder, check=True)
    loaded = {}
    for words, printed in zip(commands, ran.stderr.split("ENDED\n"), strict=False):
        code, *modules = printed.strip().splitlines()[-1].split()
        loaded[words] = int(code), set(modules)
    assert len(loaded) == len(commands)
    return loaded


@pytest.mark.xdist_group("imports")
@pytest.mark.parametrize("words", PLAIN, ids=" ".join)
def test_textual_is_loaded_for_the_screen_only(loaded_by: Loaded, words: tuple[str, ...]) -> None:
    code, modules = loaded_by[words]
    assert code == 0
    assert "tui.cli.main" in modules
    assert modules.isdisjoint({"textual", "pyspark", "pyarrow", "pipeline"})


@pytest.mark.xdist_group("imports")
@pytest.mark.parametrize("words", WITHOUT_STATE, ids=" ".join)
def test_what_needs_no_state_loads_no_numpy(loaded_by: Loaded, words: tuple[str, ...]) -> None:
    """Help, the version and a mistyped option are answered before anything heavy is read."""
    _, modules = loaded_by[words]
    assert "tui.cli.main" in modules
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
    assert modules.isdisjoint(shells | {"httpx2", "pyspark", "asyncio"})


def test_the_pipeline_loads_the_engine_and_no_other_shell(tmp_path: Path) -> None:
    modules = loaded_with("pipeline", tmp_path)
    assert {"engine.errors", "pipeline.session"} <= modules
    assert modules.isdisjoint({"tui", "themes", "textual", "rich", "click", "httpx2"})


def test_the_screen_loads_no_pipeline(tmp_path: Path) -> None:
    """They meet in files; only the command line knows both, and imports each when it is asked for."""
    modules = loaded_with("tui", tmp_path)
    assert "tui.app" in modules
    assert modules.isdisjoint({"pipeline", "pyspark"})


FIRST_PICTURE: Final[dict[str, set[str]]] = {
    "engine.balance": {"leadership", "leadership.policies", "settings"},
    "engine.bundles": {"boundaries", "columns", "loads"},
    "engine.cluster.grammar": set(),
    "engine.cluster.journal": set(),
    "engine.cluster.keys": {"state"},
    "engine.cluster.producers": {"state"},
    "engine.compare": {"verdict"},
    "engine.failover": {"bulk", "bulk_ring", "choose", "live", "model", "ring"},
    "engine.keyshared": {"model"},
    "engine.lint": set(),
    "engine.plan": set(),
    "engine.reading": {"others", "settings_text", "shapes"},
    "engine.routing": {"clients", "producers", "producers.settings"},
    "engine.scenarios": {"embedded", "key_subscriptions", "opening", "subscriptions"},
    "engine.verify": set(),
    "engine.views.keys": set(),
    "engine.views.producers": set(),
    "engine.views.comparing": set(),
    "engine.views.brokers": set(),
    "engine.views.bundles": set(),
    "engine.views.fleet": set(),
    "tui.brokers": set(),
    "tui.bundles": set(),
    "tui.fleet": set(),
    "tui.keys": set(),
    "tui.live": set(),
    "tui.producers": set(),
    "tui.reported": set(),
    "tui.sources.cluster": set(),
    "httpx2": set(),
    "numpy.ma": set(),
    "pyarrow": set(),
    "sortedcontainers": set(),
}
"""What of a room, or of a package, the main screen of the embedded cluster may load."""


FRAME_NEEDS: Final = {"engine.answer", "engine.errors", "engine.memo", "engine.text"}
"""Of the engine, before anything is opened."""
MOST_MODULES: Final = {"frame": 46, "picture": 219}
"""Of ours. One that is needed at the start makes the number larger; one that is not is imported where it is used."""


@pytest.fixture(scope="module")
def painted() -> tuple[set[str], set[str]]:
    """The modules that are loaded when the empty frame is painted, and when the main screen is."""
    program = [sys.executable, "-m", "tests.architecture.first_picture"]
    ran = subprocess.run(program, capture_output=True, text=True, cwd=ROOT, check=True)
    frame, picture = (set(line.split()) for line in ran.stdout.splitlines())
    return frame, picture


@pytest.fixture(scope="module")
def first_picture(painted: tuple[set[str], set[str]]) -> set[str]:
    return painted[1]


def ours(modules: set[str]) -> set[str]:
    return {name for name in modules if name.partition(".")[0] in {"engine", "tui", "themes"}}


@pytest.mark.xdist_group("imports")
def test_the_frame_is_painted_before_anything_heavy_is_loaded(painted: tuple[set[str], set[str]]) -> None:
    frame, _ = painted
    assert {name for name in ours(frame) if name.startswith("engine.")} == FRAME_NEEDS
    assert frame.isdisjoint({"numpy", "mmh3", "httpx2"})


@pytest.mark.xdist_group("imports")
def test_no_more_modules_are_loaded_at_the_start(painted: tuple[set[str], set[str]]) -> None:
    frame, picture = map(ours, painted)
    assert len(frame) <= MOST_MODULES["frame"], sorted(frame)
    assert len(picture) <= MOST_MODULES["picture"], sorted(picture)


@pytest.mark.xdist_group("imports")
def test_the_first_picture_is_the_main_screen(first_picture: set[str]) -> None:
    assert {"tui.failover.screen", "engine.views.failover.dashboard", "numpy"} <= first_picture


@pytest.mark.xdist_group("imports")
@pytest.mark.parametrize("room", FIRST_PICTURE)
def test_the_first_picture_loads_nothing_else(first_picture: set[str], room: str) -> None:
    """Half of the start was spent on importing rules of Key_Shared, producers and load managers that nobody saw."""
    inside = {name.removeprefix(f"{room}.") for name in first_picture if name.startswith(f"{room}.")}
    if not FIRST_PICTURE[room]:
        inside |= {name for name in first_picture if name == room}
    assert inside <= FIRST_PICTURE[room]


@pytest.mark.xdist_group("imports")
def test_rules_of_other_screens_are_loaded_behind_the_first_picture() -> None:
    later = {
        "engine.cluster.grammar.reading",
        "engine.cluster.journal.file",
        "engine.cluster.keys.decide",
        "engine.cluster.producers.decide",
    }
    later |= {"engine.views.keys.view", "engine.views.producers.view", "tui.brokers.screen", "tui.bundles.screen"}
    program = "import sys, tui.navigator; tui.navigator.import_the_rest(); print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    assert later <= set(ran.stdout.split())


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Imports inside functions and for types count as well: such a circle can only be read as a whole."""
    house = grimp.build_graph("engine", "pipeline", "themes", "tui", cache_dir=None)
    imports = {module: house.find_modules_directly_imported_by(module) for module in house.modules}
    assert len(imports) > 600
    TopologicalSorter(imports).prepare()
