"""The screen of brokers as plain text beside committed grids.

``pytest tests/snapshots --snapshot-update`` writes the grids anew; read the difference before you commit it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from tests.tui.broker_scenes import brokers_after, brokers_app

FOLDER: Final = Path(__file__).parent / "grids_brokers"
SMALL, MIDDLE, LARGE = (80, 24), (120, 40), (200, 60)
NEXT: Final = ("right_square_bracket",)

GRIDS: Final[dict[str, tuple[dict[str, Any], tuple[str, ...], tuple[int, int]]]] = {
    "now-80x24": ({}, (), SMALL),
    "now-120x40": ({}, (), MIDDLE),
    "now-200x60": ({}, (), LARGE),
    "after-cycle-1-120x40": ({}, NEXT, MIDDLE),
    "killed-80x24": ({}, ("x",), SMALL),
    "killed-120x40": ({}, ("x",), MIDDLE),
    "added-under-uniform-120x40": ({}, ("r", "r", "a"), MIDDLE),
    "extensible-200x60": ({}, ("m", "a"), LARGE),
    "mono-80x24": ({"mono": True, "depth": None}, (), SMALL),
    "ascii-120x40": ({"ascii_only": True}, (), MIDDLE),
    "next-zoomed-80x24": ({}, ("z", "z"), SMALL),
    "settings-120x40": ({}, ("equals_sign",), MIDDLE),
}


@pytest.mark.parametrize("name", GRIDS)
def test_screen(name: str, request: pytest.FixtureRequest) -> None:
    """The screen reads as the committed grid does."""
    how, keys, size = GRIDS[name]
    seen = brokers_after(brokers_app(**how), *keys, size=size).rstrip("\n") + "\n"
    path = FOLDER / f"{name}.txt"
    if request.config.getoption("update_snapshots"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(seen, encoding="utf-8")
    assert path.is_file(), f"{path} is missing; --snapshot-update writes it"
    assert seen == path.read_text(encoding="utf-8")


def test_every_committed_grid_is_checked() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(GRIDS)
