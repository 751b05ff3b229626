"""Pictures of the fleet screen. Each docstring says what must be visible; look at a picture before you accept it.

``pytest tests/snapshots --snapshot-update`` draws them anew.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tui.fleet_scenes import large_result, small_result
from tui.fleet_app import FleetApp
from tui.sources.fleet_results import read_results

SIZES = [(80, 24), (120, 40), (200, 60)]
Compare = Callable[..., bool]


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x40", "200x60"])
class TestFleet:
    """The lists of a whole fleet, at every size."""

    def test_worst_subscriptions(self, snap_compare: Compare, tmp_path: Path, size: tuple[int, int]) -> None:
        """Hot bars above, the most uneven first, the spread of five hundred below; more columns where there is room."""
        app = FleetApp(read_results(large_result(tmp_path / "result", 500)), depth="truecolor")
        assert snap_compare(app, press=["r", "r"], terminal_size=size)

    def test_namespaces(self, snap_compare: Compare, tmp_path: Path, size: tuple[int, int]) -> None:
        """Two namespaces, one without any number, the worst subscription of the other named where there is room."""
        app = FleetApp(read_results(small_result(tmp_path / "result")), depth="truecolor")
        assert snap_compare(app, press=["tab"], terminal_size=size)


def test_fleet_without_colours(snap_compare: Compare, tmp_path: Path) -> None:
    """No colour at all: the marked row reversed, bars by their length."""
    app = FleetApp(read_results(small_result(tmp_path / "result")), mono=True)
    assert snap_compare(app, press=["down"], terminal_size=(80, 24))
