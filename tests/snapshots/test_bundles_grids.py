"""The screen "bundles" as plain text beside committed grids, at every size and in every look.

``pytest tests/snapshots --snapshot-update`` writes the grids anew; read the difference before you commit it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from tests.tui.bundle_scenes import after_b, bundles_app, flow_state

FOLDER: Final = Path(__file__).parent / "grids_bundles"
SMALL, MIDDLE, LARGE = (80, 24), (120, 40), (200, 60)
TIGHT: Final = {"loadBalancerNamespaceBundleMaxMsgRate": 28}

GRIDS: Final[dict[str, tuple[dict[str, Any], dict[str, Any], tuple[str, ...], tuple[int, int]]]] = {
    "now-60x18": ({}, {}, (), (60, 18)),
    "now-80x24": ({}, {}, (), SMALL),
    "now-120x40": ({}, {}, (), MIDDLE),
    "now-200x60": ({}, {}, (), LARGE),
    "after-cycle-1-80x24": ({}, {}, ("right_square_bracket",), SMALL),
    "after-cycle-1-120x40": ({}, {}, ("right_square_bracket",), MIDDLE),
    "after-cycle-1-200x60": ({}, {}, ("right_square_bracket",), LARGE),
    "three-by-range-120x40": (TIGHT, {}, ("1", "end"), MIDDLE),
    "one-by-flow-120x40": (TIGHT, {}, ("down", "down", "down"), MIDDLE),
    "extensible-counting-200x60": ({}, {}, ("m", "right_square_bracket", "right_square_bracket"), LARGE),
    "proposed-rule-120x40": ({}, {}, ("r",), MIDDLE),
    "one-broker-80x24": ({}, {}, ("minus",), SMALL),
    "growing-120x40": ({}, {}, ("t", "t", "end"), MIDDLE),
    "mono-80x24": ({}, {"mono": True}, ("right_square_bracket",), SMALL),
    "mono-120x40": ({}, {"mono": True}, ("right_square_bracket",), MIDDLE),
    "ascii-80x24": ({}, {"ascii_only": True}, ("right_square_bracket",), SMALL),
    "ascii-120x40": ({}, {"ascii_only": True}, ("right_square_bracket",), MIDDLE),
    "ascii-200x60": ({}, {"ascii_only": True}, ("r",), LARGE),
    "forecast-zoomed-80x24": ({}, {}, ("z", "z", "z"), SMALL),
    "curve-zoomed-80x24": ({}, {}, ("z", "z"), SMALL),
    "help-120x40": ({}, {}, ("question_mark",), MIDDLE),
}


@pytest.mark.parametrize("name", GRIDS)
def test_screen(name: str, request: pytest.FixtureRequest) -> None:
    """The screen reads as the committed grid does."""
    settings, how, keys, size = GRIDS[name]
    seen = after_b(bundles_app(flow_state(**settings), **how), *keys, size=size).rstrip("\n") + "\n"
    path = FOLDER / f"{name}.txt"
    if request.config.getoption("update_snapshots"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(seen, encoding="utf-8")
    assert path.is_file(), f"{path} is missing; --snapshot-update writes it"
    assert seen == path.read_text(encoding="utf-8")


def test_every_committed_grid_is_checked() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(GRIDS)
