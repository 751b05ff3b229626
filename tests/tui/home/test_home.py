"""The list of everything: it comes first where there are many, opens what is chosen, and comes back with 0."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from textual.pilot import Pilot

from engine.admin.moments import read_moments
from engine.cluster.timeline import Timeline
from engine.scenarios.opening import open_moments
from tests.engine.scenarios.recordings import RECORDINGS
from tests.patience import HANG_S
from tests.tui.screens_under_test import app_of, cluster, run, text_of
from themes.palettes import Depth, ThemeName
from tui.app import RingsideApp
from tui.home.screen import HomeScreen
from tui.kit.line_table import RowsTable
from tui.kit.screen import DashboardScreen
from tui.kit.session import Session

pytestmark = pytest.mark.real_time  # the list is made in a thread


def many(*, theme: ThemeName = "dark", depth: Depth = "truecolor", is_chosen: bool = False) -> RingsideApp:
    opened = open_moments(read_moments(str(RECORDINGS / "f-inventory-2")))
    timeline = Timeline.start(opened.state, opened.seed, "f-inventory-2")
    session = Session(timeline, 0, opened.problems, opened.notes, seen=opened.seen, is_chosen=is_chosen)
    app = RingsideApp(session, animate=False, theme=theme, depth=depth)
    app.opens_home = True
    return app


async def until(pilot: Pilot[int], true: Callable[[], bool]) -> None:
    async with asyncio.timeout(HANG_S):
        while not true():
            await pilot.pause()


def rows(app: RingsideApp) -> int:
    screen = app.screen
    return screen.query_one(RowsTable).lines.count if isinstance(screen, HomeScreen) else -1


def test_it_comes_first_and_enter_opens_the_marked_row() -> None:
    app = many()

    async def story(pilot: Pilot[int]) -> None:
        await until(pilot, lambda: rows(app) == 74)
        row = app.screen.query_one(RowsTable).listed[3]
        await pilot.press("down", "down", "down", "enter")
        await until(pilot, lambda: isinstance(app.screen, DashboardScreen))
        assert app.store.shown.key == row.key
        await pilot.press("0")
        await until(pilot, lambda: rows(app) == 74)
        assert app.screen.query_one(RowsTable).listed[app.screen.query_one(RowsTable).cursor].key == row.key

    run(app, story)


def test_a_filter_leaves_what_fits_and_escape_shows_all_then_goes_back() -> None:
    app = many()

    async def story(pilot: Pilot[int]) -> None:
        await until(pilot, lambda: rows(app) == 74)
        await pilot.press("slash", *"idle>2", "enter")
        await until(pilot, lambda: rows(app) == 1)
        await pilot.press("escape")
        await until(pilot, lambda: rows(app) == 74)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, DashboardScreen))

    run(app, story)


def test_a_step_is_seen_in_the_list() -> None:
    app = app_of(cluster())

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("x", "0")
        await until(pilot, lambda: rows(app) == 1)
        (row,) = app.screen.query_one(RowsTable).listed
        assert (row.consumers, row.verdict, row.backlog) == (2, None, None)
        assert "billing" in text_of(app) and "after 1 step: only" in text_of(app)

    run(app, story)


def test_it_is_not_first_where_there_are_few_or_somebody_named_one() -> None:
    for app in (many(is_chosen=True), app_of(cluster())):
        app.opens_home = True

        async def story(pilot: Pilot[int], app: RingsideApp = app) -> None:
            await pilot.pause()
            assert isinstance(app.screen, DashboardScreen)

        run(app, story)


def test_sorting_by_a_typed_column() -> None:
    app = many()

    async def story(pilot: Pilot[int]) -> None:
        await until(pilot, lambda: rows(app) == 74)
        await pilot.press("colon", *"sort consumers", "enter")
        await pilot.pause()
        listed = [row.consumers for row in app.screen.query_one(RowsTable).listed]
        assert listed == sorted(listed, reverse=True)

    run(app, story)
