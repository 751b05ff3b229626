"""The fleet screen: what its keys do, what is opened, and what stands where at every size."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.tui.fleet_scenes import NAMESPACE, large_result, small_result
from tests.tui.screens_under_test import text_of
from tui.cli.fleet_screen import session_of
from tui.fleet_app import FleetApp
from tui.screens.fleet import Chosen, Place
from tui.sources.fleet_results import Listing, read_results


def app_on(folder: Path, place: Place | None = None) -> FleetApp:
    return FleetApp(read_results(folder), place, depth="truecolor")


def play(app: FleetApp, *keys: str, size: tuple[int, int] = (120, 40)) -> str:
    """The screen as text after some keys."""
    seen: list[str] = []

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            for key in keys:
                await pilot.press(key)
                await pilot.pause()
            seen.append(text_of(app))

    asyncio.run(run())
    return seen[0]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return small_result(tmp_path / "out")


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_the_worst_stand_first_with_a_bar_and_the_spread_below(folder: Path, size: tuple[int, int]) -> None:
    """At every size the names, the unevenness, a full bar for the worst and the histogram are to be seen."""
    told = play(app_on(folder), size=size)
    lines = told.splitlines()
    first = next(at for at, line in enumerate(lines) if "billing" in line)
    assert NAMESPACE in lines[first] and "2.50" in lines[first] and "██████████" in lines[first]
    assert first < next(at for at, line in enumerate(lines) if "1.25" in line and "orders" in line)
    assert "1.25 .. 2.50 times the mean" in told and "worst subscriptions (3 subscriptions)" in told


def test_tab_shows_the_namespaces_and_comes_back(folder: Path) -> None:
    assert "worst namespaces (2 namespaces)" in play(app_on(folder), "tab")
    assert "worst subscriptions" in play(app_on(folder), "tab", "tab")


def test_a_filter_narrows_while_it_is_typed_and_escape_takes_it_away(folder: Path) -> None:
    told = play(app_on(folder), "slash", *"loose")
    assert "1 of 3 subscriptions" in told and "billing" not in told
    assert "filter: loose" in play(app_on(folder), "slash", *"loose", "enter")
    assert "(3 subscriptions)" in play(app_on(folder), "slash", *"loose", "enter", "escape")


def test_sorting_goes_through_the_columns_and_turns_round(folder: Path) -> None:
    app = app_on(folder)
    told = play(app, "s")
    assert "Sorted by parts, highest first" in told and "parts v" in told
    again = play(app_on(folder), "s", "r")
    assert "Sorted by parts, lowest first" in again and "parts ^" in again
    assert "Sorted by subscription, lowest first" in play(app_on(folder), "S")


def test_enter_opens_what_stands_under_the_cursor(folder: Path) -> None:
    """A subscription, a namespace; the place is kept, and the session shows the same consumers."""
    app = app_on(folder)
    play(app, "enter")
    assert app.chosen == Chosen(NAMESPACE, "billing", True) and app.return_code == 0
    session = session_of(folder, app.chosen)
    assert [row.name for row in session.view.consumers] == ["billing-0", "billing-1", "billing-2"]
    other = app_on(folder)
    play(other, "tab", "down", "enter")
    assert other.chosen == Chosen("shop/loose", "", False) and other.place.shows_namespaces
    assert other.place.cursor == 1


def test_one_comes_back_to_where_one_left(folder: Path) -> None:
    """Filter, order and cursor of before; a complaint says why something could not be opened."""
    place = Place(False, "shop", "subscription", False, 2)
    app = FleetApp(read_results(folder), place, depth="truecolor", complaint="nothing to show there")
    told = play(app)
    assert "nothing to show there" in told and "filter: shop" in told and "subscription ^" in told
    again = app_on(folder, place)
    play(again, "enter")
    assert again.chosen == Chosen(NAMESPACE, "orders", False) and again.place == place


def test_an_export_is_written_and_a_refusal_stays_in_the_prompt(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "3 rows written to worst-subscriptions.csv" in play(app_on(folder), "e", "enter")
    assert (tmp_path / "worst-subscriptions.csv").read_text().count("\n") == 4
    assert "is there already" in play(app_on(folder), "e", "enter")


def test_help_lists_the_keys(folder: Path) -> None:
    told = play(app_on(folder), "question_mark")
    assert "Only what has a text in its name" in told and "open in the simulator" in told


def test_a_long_list_makes_the_rows_in_sight_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty thousand rows, the end and back, a filter: some hundred rows are made."""
    made: list[int] = []
    original = Listing.row

    def counting(self: Listing, at: int) -> object:
        made.append(at)
        return original(self, at)

    monkeypatch.setattr(Listing, "row", counting)
    app = app_on(large_result(tmp_path / "out", 50_000))
    told = play(app, "G", "s", "slash", *"ns-7")
    assert "of 50,000 subscriptions" in told and len(made) < 1_000
