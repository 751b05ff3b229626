"""Failover and Key_Shared subscriptions side by side: one store, one script, two screens."""

from __future__ import annotations

import asyncio

import pytest
from textual.pilot import Pilot

from engine.cluster.timeline import Timeline
from engine.scenarios.script.model import Script
from engine.scenarios.script.run import parse_script, start_of
from tests.patience import HANG_S
from tests.tui.key_scenes import TOPIC, in_mode, keys_app, two_kinds
from tests.tui.screens_under_test import app_of, run, text_of
from tui.app import RingsideApp
from tui.failover.screen import MainScreen
from tui.keys.screen import KeysScreen
from tui.kit.help import HelpScreen
from tui.kit.session import Opening, Session
from tui.kit.store import Store


def test_n_and_p_go_through_both_kinds_and_each_has_its_screen() -> None:
    app = keys_app(two_kinds())

    async def story(pilot: Pilot[int]) -> None:
        assert isinstance(app.screen, MainScreen)
        assert "[1/2 n p]" in text_of(app)
        for key, kind, words in (
            ("n", KeysScreen, "[2/2 n p]"),
            ("n", MainScreen, "[1] hash ring"),
            ("p", KeysScreen, "[1] slots"),
            ("p", MainScreen, "[3] bundles"),
        ):
            await pilot.press(key)
            await pilot.pause()
            assert isinstance(app.screen, kind)
            assert words in text_of(app)

    run(app, story)


def test_what_is_done_on_one_screen_is_there_on_the_other() -> None:
    app = keys_app(two_kinds())

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("c", "n", "x", "n")
        await pilot.pause()
        assert "step 2/2" in text_of(app)
        await pilot.press("u", "u", "p")
        await pilot.pause()
        assert "[2] 3 consumers" in text_of(app)
        assert "step 0/2" in text_of(app)

    run(app, story)


def test_colours_follow_to_the_other_screen() -> None:
    app = keys_app(two_kinds())

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("n", "f2", "n")
        await pilot.pause()
        assert isinstance(app.screen, MainScreen)
        assert app.screen.colours.theme == "light"
        await pilot.press("f2", "n")
        await pilot.pause()
        assert app.screen.colours.theme == "dark"

    run(app, story)


def test_a_new_key_shared_subscription_is_shown_and_an_undo_goes_back() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        topic = next(iter(app.store.timeline.state.topics))
        await pilot.press("n")
        assert isinstance(app.screen, MainScreen)
        await pilot.press("colon", *f"subscribe keys to {topic}", "enter")
        await pilot.pause()
        assert isinstance(app.screen, KeysScreen)
        assert app.store.shown.key == "keys"
        assert "done. Press a to connect a consumer." in text_of(app)
        await pilot.press("a", "enter")
        await pilot.pause()
        assert "[2] 1 consumer" in text_of(app)
        await pilot.press("u", "u")
        await pilot.pause()
        assert isinstance(app.screen, MainScreen)
        assert app.store.shown.key == "billing"
        await pilot.press("ctrl+r")
        await pilot.pause()
        assert "[1/2 n p]" in text_of(app)

    run(app, story)


def test_help_and_palette_are_those_of_the_screen_in_front() -> None:
    app = keys_app(two_kinds())

    async def story(pilot: Pilot[int]) -> None:
        assert "Toggle the consistent-hashing flag (c)" in {
            command.title for command in app.get_system_commands(app.screen)
        }
        await pilot.press("n")
        await pilot.pause()
        commands = {command.title: command for command in app.get_system_commands(app.screen)}
        assert "Change how keys are shared (m)" in commands
        assert "Toggle the consistent-hashing flag (c)" not in commands
        await pilot.press("question_mark")
        await pilot.pause()
        assert isinstance(app.screen, HelpScreen)
        assert "Change how keys are shared" in text_of(app)
        await pilot.press("escape")
        commands["Show billing"].callback()
        await pilot.pause()
        assert isinstance(app.screen, MainScreen)

    run(app, story, (150, 60))


def test_a_subscription_that_changes_below_a_dialog_has_its_screen_when_the_dialog_closes() -> None:
    app = keys_app(two_kinds())

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("question_mark")
        app.store.show_subscription(1)
        await pilot.pause()
        assert isinstance(app.screen, HelpScreen)
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(app.screen, KeysScreen)

    run(app, story)


def test_where_no_key_shared_subscription_is_the_main_screen_is_all_there_is() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("n", "p")
        await pilot.pause()
        assert isinstance(app.screen, MainScreen)
        assert "n p]" not in text_of(app)
        assert app.store.shown.keys_view is None

    run(app, story)


def script_of(text: str) -> Script:
    script = parse_script(text, "story")
    assert isinstance(script, Script), script
    return script


STORY = f"""# Keys come in
new topics 2 consumers 2
say A Failover subscription
at 1
say Keys now
topic add {TOPIC}
subscribe orders to {TOPIC}
add worker-0
add worker-1
view map
select worker-1
at 2
send order-1 order-2 times 3
say Sent
select order-1
"""


def playing(text: str, **how: object) -> RingsideApp:
    script = script_of(text)
    opened = start_of(script)
    timeline = Timeline.start(opened.state, opened.seed, opened.source)
    return RingsideApp(Session(timeline, script=script), depth="truecolor", **({"animate": False} | how))  # type: ignore[arg-type]


def test_a_script_goes_on_where_its_subscription_is_shown() -> None:
    app = playing(STORY)

    async def story(pilot: Pilot[int]) -> None:
        main = app.screen
        assert isinstance(main, MainScreen)
        assert "» A Failover subscription" in text_of(app)
        await pilot.press("space")
        main.playback.play_on(1.0)
        await pilot.pause()
        await pilot.pause()
        keys = app.screen
        assert isinstance(keys, KeysScreen)
        assert not main.playing
        assert keys.playing
        assert "» Keys now" in text_of(app)
        assert [row.name for row in keys.consumers] == ["worker-0", "worker-1"]
        assert keys.selected == keys.consumers[1].consumer_id
        assert "v: hash map" in text_of(app)
        keys.playback.play_on(1.0)
        await pilot.pause()
        assert keys.topic == "order-1"
        assert "» Sent" in text_of(app)
        assert not keys.playing
        await pilot.press("q")

    run(app, story)
    assert app.return_code == 0


def test_a_failed_expectation_counts_on_whatever_screen() -> None:
    app = playing(STORY + "expect totals.consumers = 17\n")

    async def story(pilot: Pilot[int]) -> None:
        app.screen.playback.play_on(1.0)  # type: ignore[attr-defined]
        await pilot.pause()
        await pilot.pause()
        app.screen.playback.play_on(5.0)  # type: ignore[attr-defined]
        await pilot.pause()
        assert "the script expects totals.consumers = 17" in text_of(app)
        await pilot.press("q")

    run(app, story)
    assert app.return_code == 1


def test_the_store_makes_a_view_once_and_only_the_one_that_is_asked_for() -> None:
    store = Store(Session(Timeline.start(two_kinds(), 7, "a test")))
    assert (store.places.keys, store.shown.key, store.shown.keys_view) == (("billing", "orders"), "billing", None)
    store.show_subscription(1)
    assert store.shown.kind == "keys"
    view = store.shown.keys_view
    assert view is not None
    assert store.shown.keys_view is view
    assert view.status.subscriptions == store.places.keys
    assert store.submit_line("send a") is None
    assert store.shown.keys_view is not view
    assert store.shown.failover_view.status.subscription == "billing"
    store.show_subscription(-1)
    assert store.shown.keys_view is None


@pytest.mark.parametrize("subscription", [0, 1, 7, -3])
def test_any_place_opens_a_subscription_that_is_there(subscription: int) -> None:
    for state in (two_kinds(), in_mode("auto-split", 1, ("a",))):
        store = Store(Session(Timeline.start(state, 7, "a test"), subscription))
        assert store.shown.key in store.places.keys


def test_what_is_loaded_behind_the_empty_frame_opens_on_the_screen_of_its_kind() -> None:
    app = RingsideApp(
        Opening("two kinds", lambda: Session(Timeline.start(two_kinds(), 7, "a test"), subscription=1)),
        animate=False,
        depth="truecolor",
    )

    async def story(pilot: Pilot[int]) -> None:
        async with asyncio.timeout(HANG_S):
            while not isinstance(app.screen, KeysScreen) or "worker-2" not in text_of(app):
                await pilot.pause()
        await pilot.press("n")
        await pilot.pause()
        assert isinstance(app.screen, MainScreen)
        await pilot.press("n", "t", "enter", "q")

    run(app, story)
    assert app.store.timeline.length == 1
    assert app.return_code == 0


def test_of_many_consumers_the_last_can_be_killed() -> None:
    """The table asks for the rows in sight only."""
    app = keys_app(in_mode("auto-split", 40, ("a",)))

    async def story(pilot: Pilot[int]) -> None:
        screen = app.screen
        assert isinstance(screen, KeysScreen)
        assert "v: hash map (auto)" in text_of(app)
        await pilot.press("G", "x")
        await pilot.pause()
        assert len(screen.consumers) == 39
        assert screen.selected == screen.consumers[-1].consumer_id
        assert "worker-38" in text_of(app)

    run(app, story)
