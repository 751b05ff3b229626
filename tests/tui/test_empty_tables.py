"""Tables, lists and trees without a row: every key and every click that moves or opens does nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from textual.events import MouseScrollDown, MouseScrollUp
from textual.pilot import Pilot

from engine.cluster.state import ClusterState
from engine.scenarios.synthetic import synthetic_state
from engine.views.fleet.runs import result_at
from tests import fleet_results
from tests.tui.fleet_scenes import small_result
from tests.tui.key_scenes import in_mode, keys_app
from tests.tui.producer_scenes import producers_app
from tests.tui.screens_under_test import app_of, cluster, main_screen, run
from tui.fleet.app import FleetApp
from tui.kit.themed_app import ThemedApp
from tui.sources.fleet_results import read_results

MOVES = ("up", "down", "pageup", "pagedown", "home", "end", "g", "G", "j", "k", "left", "right", "enter")
SIZES = [(60, 18), (80, 24), (120, 40)]


async def press_on_every_panel(app: ThemedApp, pilot: Pilot[int], panels: str) -> None:
    """All keys that move or open, then the wheel and clicks, on the panels with these digits."""
    for panel in panels:
        for key in MOVES:
            await pilot.press(panel, key)
            assert app.is_running, (panel, key)
            if len(app.screen_stack) > 1:
                await pilot.press("escape")
    for widget in list(app.screen.query(".panel, .panel *")):
        if widget.region and widget.is_on_screen:
            x, y = widget.region.offset
            for wheel in (MouseScrollDown, MouseScrollUp):
                app.post_message(wheel(None, x, y, 0, 0, 0, False, False, False, x, y))
            await pilot.click(offset=(x + 1, min(y + 1, widget.region.bottom - 1)), times=2)
            if len(app.screen_stack) > 1:
                await pilot.press("escape")
    await pilot.pause()
    assert app.is_running


@pytest.mark.parametrize("size", SIZES)
def test_an_arrow_on_an_emptied_consumer_table_does_not_end_the_screen(size: tuple[int, int]) -> None:
    """``ringside new --consumers 2 --topics 6``, then ``x x up``."""
    app = app_of(synthetic_state(6, 1, 2, 0, 4).state)

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("x", "x", *MOVES)
        await pilot.pause()
        assert app.is_running and main_screen(app).selected == -1
        assert app.store.submit_line("add late") is None
        await pilot.pause()
        assert main_screen(app).selected == app.store.shown.failover_view.consumers[0].consumer_id

    run(app, story, size)


@pytest.mark.parametrize("size", SIZES)
def test_an_arrow_on_a_table_whose_filter_leaves_nobody_does_not_end_the_screen(size: tuple[int, int]) -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("slash", *"zzzz", "enter", *MOVES)
        await pilot.pause()
        assert app.is_running and not main_screen(app).list_panel.listed
        await pilot.press("escape")
        await pilot.pause()
        assert len(main_screen(app).list_panel.listed) == 3

    run(app, story, size)


@pytest.mark.parametrize("key", MOVES)
def test_a_key_on_the_table_of_a_cluster_without_consumers_does_not_end_the_screen(key: str) -> None:
    app = app_of(cluster(()))

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("2", key)
        await pilot.pause()
        assert app.is_running

    run(app, story, (80, 24))


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
@pytest.mark.parametrize(
    "state",
    [ClusterState(), cluster(()), cluster(topics=0), replace(cluster(()), namespaces={}), in_mode("sticky", 0)],
    ids=["nothing", "nobody", "no topics", "no bundles", "nobody with keys"],
)
def test_nothing_to_be_on_is_safe_on_every_panel(state: ClusterState, size: tuple[int, int]) -> None:
    app = app_of(state)

    async def story(pilot: Pilot[int]) -> None:
        await press_on_every_panel(app, pilot, "1234")

    run(app, story, size)


@pytest.mark.parametrize("panels", ["123456"])
def test_a_filter_that_leaves_nothing_is_safe_on_keys_and_producers(panels: str) -> None:
    for app in (keys_app(), producers_app()):

        async def story(pilot: Pilot[int], app: ThemedApp = app) -> None:
            await pilot.press("slash", *"zzzz", "enter")
            await press_on_every_panel(app, pilot, panels)

        run(app, story)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_a_fleet_list_that_is_filtered_empty_is_safe(tmp_path: Path, size: tuple[int, int]) -> None:
    app = FleetApp(read_results(result_at(small_result(tmp_path / "out"))), depth="truecolor")

    async def story(pilot: Pilot[int]) -> None:
        for panel in "1234":
            await pilot.press(panel, "slash", *"zzzz", "enter")
            await press_on_every_panel(app, pilot, panel)
            assert app.screen.query_one("#rows").lines.count == 0 and app.chosen is None

    run(app, story, size)


def test_a_fleet_without_its_report_is_safe_and_shows_what_the_other_jobs_found(tmp_path: Path) -> None:
    folder = small_result(tmp_path / "out")
    fleet_results.drop(folder, "worst_subscriptions", "worst_namespaces", "summary.json")
    app = FleetApp(read_results(result_at(folder)), depth="truecolor")

    async def story(pilot: Pilot[int]) -> None:
        for panel, count in (("1", 0), ("2", 0), ("3", 2), ("4", 2)):
            await pilot.press(panel)
            assert app.screen.query_one("#rows").lines.count == count
            if not count:
                await press_on_every_panel(app, pilot, panel)

    run(app, story, (120, 40))
