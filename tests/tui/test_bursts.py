"""Keys and clicks that come faster than they are handled: a late message meets rows that are gone, or a screen."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, OptionList

from engine.cluster.timeline import Timeline
from engine.scenarios.script.run import shipped_script, start_of
from tests.tui.key_scenes import before_a_move, keys_app, keys_screen, sent, two_kinds
from tests.tui.producer_scenes import producers_app, producers_screen
from tests.tui.screens_under_test import app_of, at_once, cluster, main_screen, run
from tui.app import RingsideApp
from tui.bundles.screen import BundlesScreen
from tui.failover.dialogs import PartitionsScreen
from tui.failover.screen import MainScreen
from tui.keys.screen import KeysScreen
from tui.kit.line_table import LineTable
from tui.kit.list_panel import ListPanel
from tui.kit.session import Session


def demo_app(name: str) -> RingsideApp:
    script = shipped_script(name)
    start = start_of(script)
    timeline = Timeline.start(start.state, start.seed, start.source)
    return RingsideApp(
        Session(timeline, 0, start.problems, start.notes, None, script), animate=False, depth="truecolor"
    )


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_the_last_row_of_a_tree_that_shrinks_at_once_does_not_end_the_screen(size: tuple[int, int]) -> None:
    """``b end end G 1 home`` at once on the demo three-splits."""
    app = demo_app("three-splits")

    async def story(pilot: Pilot[int]) -> None:
        await at_once(pilot, "b", "end", "end", "G", "1", "home")
        assert isinstance(app.screen, BundlesScreen)
        table = app.screen.query_one("#tree", LineTable)
        assert app.screen.cycle == 0 and 0 <= table.cursor < table.lines.count

    run(app, story, size)


def test_a_row_marked_before_the_rows_went_is_not_looked_for() -> None:
    """What a table said about its last row arrives when there are fewer rows, or none."""
    app = app_of(cluster([f"c-{at}" for at in range(302)], topics=4))

    async def story(pilot: Pilot[int]) -> None:
        screen = main_screen(app)
        table = screen.query_one("#table", LineTable)
        table.cursor = 301
        table.action_open()
        screen.list_panel.filter_text = "c-30"
        screen.list_panel.filter_text = ""
        await pilot.pause()
        assert isinstance(app.screen, PartitionsScreen)
        await pilot.press("escape")
        table.action_open()
        table.lines = type(table.lines)(0, table.lines.line)
        await pilot.pause()
        assert app.is_running and app.screen is screen

    run(app, story)


def test_a_line_is_edited_in_the_order_of_its_keys() -> None:
    """Keys that edit came behind the letters that were typed after them, as they go up to the app first."""
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("e")
        await pilot.pause()
        await at_once(pilot, "ctrl+u", "a", "b", "left", "c", "backspace", "home", "d")
        assert app.screen.query_one(Input).value == "dab"

    run(app, story)


@pytest.mark.parametrize("times", [2, 3])
def test_a_double_click_in_a_dialog_leaves_it_once(times: int) -> None:
    """The second click found a dialog that was going, and took the screen below away."""
    app = keys_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("m")
        await pilot.pause()
        options = app.screen.query_one(OptionList)
        await pilot.click(options, offset=(4, 4), times=times)
        await pilot.pause()
        assert app.is_running and app.screen is keys_screen(app)
        assert len(app.store.timeline.log) <= times

    run(app, story)


def test_a_double_click_on_a_partition_leaves_its_list_once() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("enter")
        await pilot.pause()
        await pilot.click(LineTable, offset=(4, 1), times=3)
        await pilot.pause()
        assert app.is_running and app.screen is main_screen(app)
        assert main_screen(app).has_class("-explaining")

    run(app, story)


@pytest.mark.parametrize("make", [app_of, keys_app, producers_app])
@pytest.mark.parametrize("enters", [2, 3])
def test_enter_pressed_twice_in_a_dialog_does_its_work_once(make: type[RingsideApp], enters: int) -> None:
    app = make()

    async def story(pilot: Pilot[int]) -> None:
        before = len(app.store.timeline.log)
        await pilot.press("a")
        await pilot.pause()
        field = app.screen.query(Input).first()
        for _ in range(enters):  # what enter posts, so often before the first is handled
            field.post_message(Input.Submitted(field, field.value))
        await pilot.pause()
        await pilot.pause()
        assert app.is_running and len(app.screen_stack) == 1
        assert len(app.store.timeline.log) == before + 1

    run(app, story)


def test_a_dialog_that_is_dismissed_below_another_screen_takes_nothing_away() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("s")
        await pilot.pause()
        preview = app.screen
        await pilot.press("question_mark")
        await pilot.pause()
        stack = list(app.screen_stack)
        preview.dismiss()
        await pilot.pause()
        assert list(app.screen_stack) == stack
        await pilot.press("escape", "escape")
        await pilot.pause()
        assert app.screen is main_screen(app)

    run(app, story)


@pytest.mark.parametrize("make", [app_of, keys_app])
def test_killing_more_consumers_than_there_are_is_refused(make: type[RingsideApp]) -> None:
    app = make()

    async def story(pilot: Pilot[int]) -> None:
        await at_once(pilot, *"x" * 8)
        screen = app.screen_stack[0]
        assert app.is_running and screen.selected == -1 and not screen.consumers
        assert screen.sentence[0] == "refusal"

    run(app, story)


def test_a_consumer_that_is_gone_is_neither_selected_nor_opened() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        panel = main_screen(app).list_panel
        panel.post_message(ListPanel.Selected(99))
        panel.post_message(ListPanel.Opened(99))
        await pilot.pause()
        assert isinstance(app.screen, MainScreen) and main_screen(app).selected == 0

    run(app, story)


def test_a_producer_that_a_burst_took_back_is_not_asked_about() -> None:
    app = producers_app(1)

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("a", "enter")
        await pilot.pause()
        await at_once(pilot, "u", "u", "C", "t", "escape", "f", "enter")
        assert app.is_running
        await at_once(pilot, "ctrl+r", "C", "u", "u", "u", "C", "f", "enter")
        assert app.is_running and producers_screen(app).selected < max(1, len(producers_screen(app).producers))

    run(app, story)


def test_a_consumer_opened_while_another_subscription_comes_to_the_front_opens_nothing() -> None:
    app = keys_app(two_kinds())

    async def story(pilot: Pilot[int]) -> None:
        if app.store.shown.kind != "keys":
            await pilot.press("n")
            await pilot.pause()
        screen = app.screen
        assert isinstance(screen, KeysScreen)
        consumer = screen.consumers[0].consumer_id
        app.store.show_subscription(1)
        screen.open_owned(consumer)
        await pilot.pause()
        assert app.is_running and isinstance(app.screen, MainScreen)

    run(app, story)


def test_what_waits_is_said_of_the_consumers_it_was_seen_with() -> None:
    """The table reports its row between a step and its view: its consumers are not those of the store any more."""
    app = keys_app(before_a_move(), "add worker-3", *sent())

    async def story(pilot: Pilot[int]) -> None:
        screen = keys_screen(app)
        assert any(wait.owner >= 0 for wait in screen.waits)
        for row in screen.consumers:
            assert app.store.submit_line(f"kill {row.name}") is None
        screen._describe_wait()
        await pilot.pause()
        assert not screen.consumers

    run(app, story)
