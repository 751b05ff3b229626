"""The panels of the screen of producers: filter, notices, zoom, time, other places, stories, and other clothes."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from engine.cluster.timeline import Timeline
from engine.scenarios.script.run import shipped_script, start_of
from tests.tui.key_scenes import keys_app, two_kinds
from tests.tui.producer_scenes import mixed_app, producers_app, producers_screen
from tests.tui.screens_under_test import after_keys, run, text_of
from tui.app import RingsideApp
from tui.failover.screen import MainScreen
from tui.keys.screen import KeysScreen
from tui.kit.help import HelpScreen
from tui.kit.session import Session
from tui.producers.bindings import BINDINGS
from tui.producers.panels import MatrixPanel
from tui.producers.screen import ProducersScreen


def test_v_colours_by_producer_and_back() -> None:
    app = mixed_app()

    async def story(pilot: Pilot[int]) -> None:
        assert "lazy" in text_of(app)
        await pilot.press("v")
        await pilot.pause()
        panel = producers_screen(app).query_one(MatrixPanel)
        assert panel.by_producer and "■ lost" in text_of(app)
        await pilot.press("v")
        await pilot.pause()
        assert not panel.by_producer

    run(app, story)


def test_the_filter_lists_producers_by_name() -> None:
    app = mixed_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("slash", *"some", "enter")
        await pilot.pause()
        assert "[2] 2 of 13 producers" in text_of(app)
        await pilot.press("j")
        await pilot.pause()
        assert producers_screen(app).selected == 12
        await pilot.press("escape")
        await pilot.pause()
        assert "[2] 13 producers" in text_of(app)

    run(app, story)


def test_the_notices_tell_everything_in_full() -> None:
    app = mixed_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("i")
        await pilot.pause()
        assert isinstance(app.screen, HelpScreen)
        text = text_of(app)
        assert "BoostHash" in text and "not served" in text
        assert "order-1  Java 10, Python 6" in text

    run(app, story, (120, 60))


@pytest.mark.parametrize("size", [(60, 18), (80, 24), (120, 40), (200, 60)])
@pytest.mark.parametrize("panel", ["1", "2", "3", "4", "5", "6"])
def test_every_panel_can_be_reached_and_zoomed_at_every_size(panel: str, size: tuple[int, int]) -> None:
    app = mixed_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press(panel)
        await pilot.pause()
        screen = producers_screen(app)
        if not screen.zooming.zoomed:
            await pilot.press("z")
            await pilot.pause()
        expected = {"1": "ring", "2": "consumers", "3": "costs", "4": "stats", "5": "events", "6": "sent"}[panel]
        assert screen.zooming.zoomed == expected
        assert screen.query_one(f"#{expected}").size.width > size[0] * 0.8
        await pilot.press("escape")
        await pilot.pause()
        assert not screen.zooming.zoomed

    run(app, story, size)


def test_time_goes_back_and_on() -> None:
    app = mixed_app()

    async def story(pilot: Pilot[int]) -> None:
        end = app.store.timeline.state
        await pilot.press("home")
        await pilot.pause()
        assert "[1] who has opened what: 10 x 24" in text_of(app)
        await pilot.press("right_square_bracket", "right_curly_bracket")
        await pilot.pause()
        assert app.store.timeline.state == end and "13 x 28" in text_of(app)

    run(app, story)


def test_nobody_yet_and_everybody_gone_say_what_to_press() -> None:
    nobody = producers_app(0, 6)

    async def story(pilot: Pilot[int]) -> None:
        assert "Nobody produces to this topic. Press a" in text_of(nobody)
        for key, words in (
            ("x", "no producer to close"),
            ("t", "no producer that could"),
            ("f", "no producer whose"),
        ):
            await pilot.press(key)
            await pilot.pause()
            assert words in text_of(nobody), key

    run(nobody, story)
    assert "Press a to create producers" in after_keys(producers_app(1, 6), "x")


def test_n_and_p_go_through_subscriptions_and_topics_with_producers() -> None:
    """Failover, Key_Shared, producers: each has its screen, and a topic whose first producers come is shown."""
    app = keys_app(two_kinds())

    async def story(pilot: Pilot[int]) -> None:
        assert app.store.submit_line("topic add made partitions 4") is None
        assert app.store.submit_line("producer add count 2 on made") is None
        await pilot.pause()
        assert isinstance(app.screen, ProducersScreen) and "[3/3 n p]" in text_of(app)
        for key, kind, words in (
            ("n", MainScreen, "[1/3 n p]"),
            ("n", KeysScreen, "[2/3 n p]"),
            ("n", ProducersScreen, "[3/3 n p]"),
            ("p", KeysScreen, "[1] slots"),
            ("p", MainScreen, "[1] hash ring"),
            ("p", ProducersScreen, "[1] who has opened what"),
        ):
            await pilot.press(key)
            await pilot.pause()
            await pilot.pause()
            assert isinstance(app.screen, kind), (key, kind)
            assert words in text_of(app)
        await pilot.press("u", "u")
        await pilot.pause()
        await pilot.pause()
        assert not isinstance(app.screen, ProducersScreen), "their topic is gone with the steps"

    run(app, story)


def test_what_the_keys_are_stands_in_the_help_and_none_twice() -> None:
    seen = [binding.key for binding in BINDINGS]
    assert len(seen) == len(set(seen))
    text = after_keys(producers_app(), "question_mark", size=(200, 60))
    for binding in BINDINGS:
        assert binding.tooltip in text, binding.key


@pytest.mark.parametrize("name", ["producers-lazy", "producers-partial", "producers-bursts"])
def test_a_story_plays_on_the_screen_and_none_of_its_promises_fails(name: str) -> None:
    script = shipped_script(name)
    opened = start_of(script)
    app = RingsideApp(
        Session(Timeline.start(opened.state, opened.seed, opened.source), script=script),
        animate=False,
        depth="truecolor",
    )

    async def story(pilot: Pilot[int]) -> None:
        screen = producers_screen(app)
        screen.playback.play_on(60.0)
        await pilot.pause()
        assert screen.playback.stage.failed_expectations == 0
        assert "expectation" not in text_of(app)

    run(app, story)


def test_light_and_dark_and_no_colours_at_all() -> None:
    app = mixed_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("f2")
        await pilot.pause()
        assert producers_screen(app).colours.theme == "light"

    run(app, story)
    mono = after_keys(mixed_app(mono=True))
    assert "e:eager" in mono and "lrrrxrrrrr" in mono
    assert after_keys(mixed_app(ascii_only=True)).isascii()
