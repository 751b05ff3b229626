"""The picker: what is typed narrows, enter goes there, also to another screen."""

from __future__ import annotations

import pytest
from textual.app import App
from textual.pilot import Pilot

from tests.tui.key_scenes import keys_app, two_kinds
from tests.tui.reported_scenes import draining_app, sample_app
from tests.tui.screens_under_test import app_of, cluster, main_screen, run, text_of
from tui.app import RingsideApp
from tui.failover.screen import MainScreen
from tui.keys.screen import KeysScreen
from tui.kit.line_table import LineTable
from tui.kit.picker import PickerScreen
from tui.kit.text_panels import ExplainPanel


async def typed(pilot: Pilot[int], *keys: str) -> None:
    """Open the picker and type, with what was asked for found."""
    await pilot.press("ctrl+f")
    await pilot.pause()
    await pilot.press(*keys)
    await looked(pilot)


async def looked(pilot: Pilot[int]) -> None:
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


def names(app: App[int]) -> list[str]:
    screen = app.screen
    assert isinstance(screen, PickerScreen)
    table = screen.query_one(LineTable)
    return [table.lines.line(at, 100).plain.split()[1] for at in range(table.lines.count)]


def test_what_is_typed_narrows_and_enter_marks_the_consumer() -> None:
    app = app_of(cluster())

    async def story(pilot: Pilot[int]) -> None:
        await typed(pilot)
        assert names(app)[:4] == ["billing", "billing-0", "billing-1", "billing-2"]
        await pilot.press(*"g-2")
        await looked(pilot)
        assert names(app) == ["billing-2"]
        await pilot.press("enter")
        await looked(pilot)
        assert (app.screen, main_screen(app).selected) == (main_screen(app), 2)

    run(app, story)


def test_a_topic_is_explained_and_a_partitioned_one_by_its_first_partition() -> None:
    app = app_of(cluster(topics=3, partitions=2))

    async def story(pilot: Pilot[int]) -> None:
        await typed(pilot, *"order-1", "enter")
        await looked(pilot)
        assert main_screen(app).topic == "persistent://shop/orders/order-1-partition-0"
        assert app.screen.query_one(ExplainPanel).display
        await typed(pilot, *"order-1-partition-1", "enter")
        await looked(pilot)
        assert main_screen(app).topic == "persistent://shop/orders/order-1-partition-1"

    run(app, story)


def test_enter_goes_to_another_subscription_on_its_own_screen_and_back() -> None:
    app = keys_app(two_kinds())

    async def story(pilot: Pilot[int]) -> None:
        assert isinstance(app.screen, MainScreen)
        await typed(pilot, *"worker-2", "enter")
        await looked(pilot)
        screen = app.screen
        assert isinstance(screen, KeysScreen)
        worker = next(row for row in screen.now.consumers if row.name == "worker-2")
        assert screen.selected == worker.consumer_id
        await typed(pilot, *"billing", "enter")
        await looked(pilot)
        assert isinstance(app.screen, MainScreen)

    run(app, story)


def test_arrows_choose_and_escape_changes_nothing() -> None:
    app = app_of(cluster())

    async def story(pilot: Pilot[int]) -> None:
        before = main_screen(app).selected
        await typed(pilot, "down", "down", "pagedown", "pageup", "down", "escape")
        assert (app.screen, main_screen(app).selected) == (main_screen(app), before)
        await typed(pilot, "down", "down", "enter")
        await looked(pilot)
        assert main_screen(app).selected == 1

    run(app, story)


def test_nothing_has_such_a_name() -> None:
    app = app_of(cluster())

    async def story(pilot: Pilot[int]) -> None:
        await typed(pilot, *"[/x]", "enter")
        assert (names(app), app.screen.query_one("#said").visible) == ([], True)
        await pilot.press("escape")
        assert app.screen is main_screen(app)

    run(app, story)


@pytest.mark.parametrize("make", [draining_app, lambda: sample_app("slow-consumer-a")])
def test_consumers_that_brokers_reported_are_found(make: object) -> None:
    app = make()  # type: ignore[operator]
    assert isinstance(app, RingsideApp)

    async def story(pilot: Pilot[int]) -> None:
        await typed(pilot)
        result = names(app)
        assert len(result) >= 2
        await pilot.press("down", "enter")
        await looked(pilot)
        assert result[1] in text_of(app)

    run(app, story)
