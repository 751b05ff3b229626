"""The map for newcomers names what is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
PATHS = sorted(set(re.findall(r"`((?:engine|tui|pipeline|tests|themes)/[\w/.]*)`", TEXT)))


@pytest.mark.parametrize("path", PATHS)
def test_a_path_of_the_map_is_there(path: str) -> None:
    assert (ROOT / path).exists()


def test_every_room_of_the_engine_is_on_the_map() -> None:
    rooms = {f"engine/{path.name}/" for path in (ROOT / "engine").iterdir() if (path / "__init__.py").exists()}
    assert rooms <= set(PATHS)


def test_names_of_the_walks_are_there() -> None:
    for name, file in (
        ("ELSEWHERE", "tui/keys/bindings.py"),
        ("SPLIT_ALGORITHMS", "engine/config.py"),
        ("SplitAlgorithmName", "engine/config.py"),
        ("BrokerSettings", "engine/config.py"),
        ("ReleaseBehaviour", "engine/config.py"),
        ("default_settings", "engine/config.py"),
    ):
        assert name in TEXT and name in (ROOT / file).read_text()
