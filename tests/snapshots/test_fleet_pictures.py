"""Pictures of the fleet screen. Each docstring says what must be visible; look at a picture before you accept it.

``pytest tests/snapshots --snapshot-update`` draws them anew.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engine.views.fleet.runs import result_at
from tests.tui.fleet_scenes import installation, large_result, small_result, with_brokers
from themes.palettes import Depth
from tui.fleet.app import FleetApp
from tui.sources.fleet_results import read_results

SIZES = [(80, 24), (120, 40), (200, 60)]
Compare = Callable[..., bool]


def app_on(folder: Path, *, depth: Depth = "truecolor", ascii_only: bool = False) -> FleetApp:
    return FleetApp(read_results(result_at(folder)), depth=depth, ascii_only=ascii_only)


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x40", "200x60"])
class TestFleet:
    """The lists of a whole fleet, at every size."""

    def test_worst_subscriptions(self, snap_compare: Compare, tmp_path: Path, size: tuple[int, int]) -> None:
        """Bars from red to green, the spread of six hundred, a mark where the cursor is; findings in the head."""
        app = app_on(installation(tmp_path / "result"))
        assert snap_compare(app, press=["pagedown", "down"], terminal_size=size)

    def test_the_first_screen(self, snap_compare: Compare, tmp_path: Path, size: tuple[int, int]) -> None:
        """What the fleet is, five lists with their counts, the worst row in words, the keys in the last line."""
        assert snap_compare(app_on(small_result(tmp_path / "result")), terminal_size=size)

    def test_namespaces(self, snap_compare: Compare, tmp_path: Path, size: tuple[int, int]) -> None:
        """Two namespaces, one without any number, the worst subscription of the other named where there is room."""
        assert snap_compare(app_on(small_result(tmp_path / "result")), press=["tab"], terminal_size=size)

    def test_brokers(self, snap_compare: Compare, tmp_path: Path, size: tuple[int, int]) -> None:
        """The fullest first, bars by usage, "(all)" for the top folder, a dash where nothing is known."""
        app = app_on(with_brokers(small_result(tmp_path / "result")))
        assert snap_compare(app, press=["5"], terminal_size=size)


def test_fleet_without_colours(snap_compare: Compare, tmp_path: Path) -> None:
    """No colour at all: the marked row and the list's name reversed, bars by their length, severities in words."""
    app = app_on(small_result(tmp_path / "result"), depth="mono")
    assert snap_compare(app, press=["down"], terminal_size=(80, 24))


def test_fleet_in_ascii(snap_compare: Compare, tmp_path: Path) -> None:
    """Frames, bars, histogram and marks of ASCII alone, with a filter that leaves a part of the rows."""
    app = app_on(large_result(tmp_path / "result", 500), ascii_only=True)
    assert snap_compare(app, press=["s", "slash", *"ns-1", "enter"], terminal_size=(120, 40))


def test_findings(snap_compare: Compare, tmp_path: Path) -> None:
    """Severities in their colours, below the finding under the cursor with what to do and where."""
    assert snap_compare(app_on(small_result(tmp_path / "result")), press=["3"], terminal_size=(120, 40))


def test_what_was_set_aside(snap_compare: Compare, tmp_path: Path) -> None:
    """Kind, table, file and reason; below file, place, line and what to do."""
    assert snap_compare(app_on(small_result(tmp_path / "result")), press=["4"], terminal_size=(80, 24))


def test_help(snap_compare: Compare, tmp_path: Path) -> None:
    """All keys, how a filter is written, what the columns and the drawing say."""
    app = app_on(small_result(tmp_path / "result"))
    assert snap_compare(app, press=["question_mark"], terminal_size=(120, 40))
