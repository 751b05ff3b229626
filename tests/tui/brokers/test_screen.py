"""The keys of the screen of brokers: cycles, what-ifs, taking them back, dialogs, and long computations."""

from __future__ import annotations

from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from engine.balance.thresholds import thresholds_of
from engine.scenarios.broker_scenes import broker_scene, embedded_brokers
from engine.views.brokers.model import BrokersQuestion, BrokersView
from engine.views.brokers.view import SHEDDERS, brokers_frame, brokers_input, brokers_view
from tests.tui.broker_scenes import brokers_app, brokers_screen, settled
from tests.tui.bundle_scenes import bundles_app
from tests.tui.screens_under_test import run, text_of
from tui.app import RingsideApp
from tui.brokers import screen as screen_module
from tui.brokers.bindings import BINDINGS
from tui.brokers.dialogs import OTHER, SettingsScreen, Sliders
from tui.brokers.panels import StripPanel
from tui.brokers.screen import BrokersScreen
from tui.brokers.words import next_lines
from tui.kit.help import HelpScreen
from tui.kit.session import Session


def view_of(screen: BrokersScreen) -> BrokersView:
    """The answer that is shown."""
    assert screen.view is not None
    return screen.view


def test_no_key_has_two_meanings_and_every_action_exists() -> None:
    keys = [key for binding in BINDINGS for key in binding.key.split(",")]
    assert len(keys) == len(set(keys))
    for binding in BINDINGS:
        assert hasattr(BrokersScreen, f"action_{binding.action.partition('(')[0]}"), binding


def test_brackets_go_through_the_cycles_and_stop_at_both_ends() -> None:
    app = brokers_app()

    async def story(pilot: Pilot[int]) -> None:
        screen = brokers_screen(app)
        seen = []
        for key in ("[", "]", "}", "end", "]", "home"):
            await pilot.press(
                {"[": "left_square_bracket", "]": "right_square_bracket", "}": "right_curly_bracket"}.get(key, key)
            )
            seen.append(screen.cycle)
        assert seen == [0, 1, 11, 20, 20, 0]

    run(app, story)


def test_a_death_and_a_newcomer_are_taken_back_one_by_one() -> None:
    app = brokers_app()

    async def story(pilot: Pilot[int]) -> None:
        screen = brokers_screen(app)
        await pilot.press("down", "x", "a")
        assert [(change.kind, change.broker) for change in screen.question.changes] == [
            ("dies", "broker-2:8080"),
            ("joins", ""),
        ]
        assert [row.broker for row in screen.frame.rows] == [
            "broker-1:8080",
            "broker-3:8080",
            "broker-4:8080",
            "new-broker-1:8080",
        ]
        await pilot.press("u")
        assert len(screen.question.changes) == 1
        await pilot.press("u", "u")
        assert not screen.question.changes
        assert screen.sentence[0] == "refusal"

    run(app, story)


def test_strategies_go_round_and_the_extensible_manager_refuses() -> None:
    app = brokers_app()

    async def story(pilot: Pilot[int]) -> None:
        screen = brokers_screen(app)
        seen = []
        for _ in range(4):
            await pilot.press("r")
            seen.append(view_of(screen).shedder)
        assert seen == ["OverloadShedder", "UniformLoadShedder", "AvgShedder", "ThresholdShedder"]
        await pilot.press("t")
        assert view_of(screen).placement == "LeastResourceUsageWithWeight"
        await pilot.press("m")
        assert view_of(screen).load_manager == "extensible"
        await pilot.press("r")
        assert screen.sentence[0] == "refusal"
        await pilot.press("m")
        assert view_of(screen).load_manager == "modular"

    run(app, story)


def test_settings_are_refused_in_the_dialog_or_change_the_forecast() -> None:
    app = brokers_app()

    async def story(pilot: Pilot[int]) -> None:
        screen = brokers_screen(app)
        await pilot.press("equals_sign")
        await pilot.pause()
        dialog: Any = app.screen
        assert isinstance(dialog, SettingsScreen)
        field = dialog.query_one(Input)
        field.value = "many"
        await pilot.press("enter")
        assert app.screen is dialog
        field.value = "70"
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, BrokersScreen)
        assert view_of(screen).ahead.moves == ()

    run(app, story)


def test_sliders_move_a_threshold_in_its_range_and_the_forecast_follows() -> None:
    app = brokers_app()

    async def story(pilot: Pilot[int]) -> None:
        screen = brokers_screen(app)
        await pilot.press("equals_sign")
        await pilot.pause()
        sliders = app.screen.query_one(Sliders)
        name, field = sliders.names[0], sliders.field
        seen = []
        for key in ("ctrl+right", "pageup", "ctrl+left", "pagedown", "pagedown"):
            await pilot.press(key)
            seen.append(field.value)
        assert seen == ["11", "21", "20", "10", "0"]
        assert sliders.share_of(name) == 0.0
        await pilot.press(*["pageup"] * 12)
        assert (field.value, sliders.share_of(name)) == ("100", 1.0)
        await pilot.press("enter")
        await pilot.pause()
        assert view_of(screen).ahead.moves == ()

    run(app, story)


def test_a_refused_setting_is_marked_and_any_other_is_typed_below_them() -> None:
    app = brokers_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("equals_sign")
        await pilot.pause()
        sliders = app.screen.query_one(Sliders)
        await pilot.press("up", *"loadBalancerSheddingEnabled", "enter")
        await pilot.pause()
        assert sliders.name_marked == OTHER  # it has no value
        await pilot.press(*"=false", "tab", "tab", "x", "tab", "enter")
        await pilot.pause()
        assert (sliders.marked, sliders.field.value) == (1, "10.0x")
        await pilot.press("backspace", "down", "enter")
        await pilot.pause()
        assert brokers_screen(app).question.settings == (("loadBalancerSheddingEnabled", "false"),)

    run(app, story)


def test_a_click_marks_the_setting_below_it() -> None:
    app = brokers_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("equals_sign")
        await pilot.pause()
        sliders = app.screen.query_one(Sliders)
        await pilot.click(Sliders, offset=(3, 5))
        await pilot.pause()
        assert (sliders.marked, sliders.field.value, sliders.field.region.y) == (2, "0.9", sliders.region.y + 5)

    run(app, story)


def test_every_threshold_of_every_shedder_is_a_field_that_can_be_reached() -> None:
    """At the smallest size as well: the field with the focus is scrolled into sight."""
    app = brokers_app()

    async def story(pilot: Pilot[int]) -> None:
        for shedder in SHEDDERS:
            brokers_screen(app)._take_shedder(shedder)
            await pilot.press("equals_sign")
            await pilot.pause()
            dialog = app.screen
            placement = view_of(brokers_screen(app)).placement
            names = [threshold.name for threshold in thresholds_of(shedder, placement)]
            sliders = dialog.query_one(Sliders)
            assert sliders.names == (*names, OTHER)
            for name in sliders.names:
                assert (sliders.name_marked, dialog.focused) == (name, sliders.field)
                assert dialog.query_one(".dialog").region.contains_region(sliders.field.region)
                assert sliders.field.value == sliders.texts[name]
                await pilot.press("tab")
                await pilot.pause()
            assert sliders.marked == 0
            await pilot.press("escape")
            await pilot.pause()

    run(app, story, (80, 24))


def test_help_and_bundles_open_and_close() -> None:
    app = brokers_app()

    async def story(pilot: Pilot[int]) -> None:
        for key in ("question_mark", "enter"):
            await pilot.press(key)
            await pilot.pause()
            assert isinstance(app.screen, HelpScreen)
            await pilot.press("escape")
            await pilot.pause()
            assert isinstance(app.screen, BrokersScreen)

    run(app, story)


def test_a_large_cluster_is_computed_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen_module, "QUICK_BUNDLES", 0)
    app = brokers_app()

    async def story(pilot: Pilot[int]) -> None:
        await settled(app, pilot)
        screen = brokers_screen(app)
        assert screen.view is not None
        assert len(screen.compared) == 5
        await pilot.press("a")
        await settled(app, pilot)
        assert [change.kind for change in screen.question.changes] == ["joins"]
        await pilot.press("u")
        await settled(app, pilot)
        assert not screen.question.changes

    run(app, story)


def test_b_on_the_main_screen_opens_the_shipped_brokers_and_escape_goes_back() -> None:
    from engine.cluster.timeline import Timeline
    from engine.scenarios.embedded import DEFAULT_SCENE, embedded

    scene = embedded(DEFAULT_SCENE)
    app = RingsideApp(Session(Timeline.start(scene.state, scene.seed, scene.source)), animate=False, depth="truecolor")

    async def story(pilot: Pilot[int]) -> None:
        below = app.screen
        await pilot.press("B")
        await pilot.pause()
        assert isinstance(app.screen, BrokersScreen)
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is below

    run(app, story)


def test_without_load_reports_b_says_which_call_is_missing() -> None:
    app: Any = bundles_app()  # a made-up state

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("B")
        await pilot.pause()
        assert not isinstance(app.screen, BrokersScreen)
        assert "broker-stats/load-report" in text_of(app)

    run(app, story)


def test_names_from_outside_are_no_markup() -> None:
    from dataclasses import replace

    from msgspec import structs

    inputs = embedded_brokers()
    first = inputs.written[0]
    odd = structs.replace(first, load=replace(first.load, broker="[red]x[/]:1"))
    app = brokers_app(brokers_input(replace(inputs, written=(odd, *inputs.written[1:]))))

    async def story(pilot: Pilot[int]) -> None:
        await pilot.pause()
        assert "[red]x[/]:1" in text_of(app)

    run(app, story)


def test_the_cycles_play_one_by_one_and_end_with_the_last() -> None:
    app = brokers_app(question=BrokersQuestion(cycles=3))

    async def story(pilot: Pilot[int]) -> None:
        screen = brokers_screen(app)
        await pilot.press("space")
        assert screen.is_playing
        await pilot.press("space")
        assert not screen.is_playing
        await pilot.press("space")
        for _ in range(5):
            screen.play_on()
        assert (screen.cycle, screen.is_playing) == (3, False)
        await pilot.press("space")
        assert (screen.cycle, screen.is_playing) == (0, True)
        await pilot.press("a")
        assert not screen.is_playing

    run(app, story)


@pytest.mark.parametrize("width", [80, 120, 200])
def test_the_title_names_the_placement_whole_at_every_width(width: int) -> None:
    placements = set()
    for keys in ((), ("x",), ("r", "r", "r"), ("m",), ("t",)):
        app = brokers_app(brokers_input(embedded_brokers(), source="/srv/answers/of/a/long/name/2026-11-26"))

        async def story(pilot: Pilot[int], app: Any = app, keys: tuple[str, ...] = keys) -> None:
            await pilot.press(*keys)
            title = text_of(app).splitlines()[0]
            assert "…" not in title.partition("4.0.7")[2]
            placements.add(view_of(brokers_screen(app)).placement or "")
            assert (view_of(brokers_screen(app)).placement or "extensible") in title

        run(app, story, (width, 24 if width == 80 else 40))
    assert len(placements) == 4


def test_a_loop_of_many_cycles_is_described_in_a_few_words() -> None:
    view = brokers_view(brokers_input(broker_scene("heavy-bundle").inputs()), BrokersQuestion(cycles=600))
    assert isinstance(view, BrokersView)
    (loop,) = view.loops
    assert loop.times == 298
    (text,) = [text for text, role in next_lines(view, brokers_frame(view, 0)) if role == "bad"]
    assert "292 more" in text and len(text) < 300


@pytest.mark.parametrize(("size", "lines"), [((80, 24), 3), ((120, 40), 3), ((200, 60), 23)])
def test_a_large_screen_shows_how_full_each_broker_is_before_each_cycle(size: tuple[int, int], lines: int) -> None:
    app = brokers_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.pause()
        strip = brokers_screen(app).query_one(StripPanel)
        assert strip.size.height == lines
        if lines > 3:
            assert strip.strip is not None and strip.strip.course_lines == 5
            at = [row.usage for row in brokers_screen(app).frame.rows]
            for place, usage in enumerate(at):
                drawn = strip.render_line(5 * place).text.split()
                assert drawn[1] == f"{usage * 100:.1f}%"
                column = "".join(strip.render_line(5 * place + line).text[18] for line in range(1, 5))
                assert abs(sum(" ▁▂▃▄▅▆▇█".index(cell) for cell in column) / 32 - usage) <= 1 / 64
            assert strip.render_line(20).text.startswith(" unloads")

    run(app, story, size=size)
