"""The screen "bundles": every key does what its words say, at every size, with and without colours."""

from __future__ import annotations

from threading import Event
from typing import Any

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from engine.cluster.state import ClusterState, Namespace
from engine.scenarios.synthetic import synthetic_state
from engine.views.bundles.model import BalanceQuestion, BalanceView
from engine.views.bundles.view import balance_view
from tests.patience import HANG_S
from tests.tui.bundle_scenes import after_b, bundles_app, bundles_screen, flow_state
from tests.tui.screens_under_test import run, text_of
from tui.app import RingsideApp
from tui.bundles import screen as module
from tui.bundles.bindings import BINDINGS
from tui.bundles.screen import BundlesScreen
from tui.failover.screen import MainScreen
from tui.kit.flow_panel import FlowPanel
from tui.kit.help import HelpScreen
from tui.kit.line_table import LineTable
from tui.kit.session import Session

SIZES = [(80, 24), (120, 40), (200, 60)]


@pytest.mark.parametrize("size", SIZES)
def test_b_opens_the_namespace_with_the_next_split_and_its_curve(size: tuple[int, int]) -> None:
    screen = after_b(bundles_app(), size=size)
    assert "0x00000000_0x40000000 splits next, in 15 min" in screen
    assert "4 bundles now, 3 above a limit" in screen and "159% msg/s" in screen
    assert "flow of 0x00000000_0x40000000, merged rule: 1 cut makes 2 pieces" in screen
    assert "40/s" in screen and "105MB/s" in screen and "0x23b8ec31" in screen
    assert "20 cycles  [ ] step" in screen and "esc Back" in screen


@pytest.mark.parametrize("size", [(60, 18), *SIZES])
@pytest.mark.parametrize("how", [{}, {"mono": True}, {"ascii_only": True}, {"theme": "light"}])
def test_no_line_is_wider_than_the_screen_and_every_cycle_can_be_drawn(
    size: tuple[int, int], how: dict[str, Any]
) -> None:
    screen = after_b(bundles_app(**how), "right_square_bracket", "tab", "end", "r", "down", size=size)
    lines = screen.split("\n")
    assert len(lines) == size[1] and all(len(line) <= size[0] for line in lines)
    assert "bundles after cycle 20" in screen
    if how.get("ascii_only"):
        assert screen.isascii()


def test_a_small_terminal_is_reported_in_words() -> None:
    assert "Ringside needs 60x18" in after_b(bundles_app(), size=(50, 12))


def test_brackets_step_through_the_cycles_and_stop_at_the_ends() -> None:
    app = bundles_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("b")
        screen = bundles_screen(app)
        seen = []
        keys = ("left_square_bracket", "right_square_bracket", "right_curly_bracket", "end", "right_square_bracket")
        for key in (*keys, "left_curly_bracket", "home"):
            await pilot.press(key)
            seen.append(screen.cycle)
        assert seen == [0, 1, 6, 20, 20, 15, 0]

    run(app, story)


def test_the_tree_shows_the_state_after_the_cycle() -> None:
    screen = after_b(bundles_app(), "right_square_bracket")
    assert "6 bundles after cycle 1, 1 above a limit" in screen
    assert "split in cycle 1: MsgRate" in screen and "*├ 0x00000000_0x23b8ec31" in screen
    assert "cycle 1 of 20, 15 min" in screen


@pytest.mark.parametrize(("key", "place", "bundles"), [("1", 0, 7), ("2", 1, 9), ("3", 2, 4), ("4", 3, 6)])
def test_digits_choose_the_algorithm(key: str, place: int, bundles: int) -> None:
    app = bundles_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("b", key, "end")
        await pilot.pause()
        assert bundles_screen(app).algorithm == place
        assert f"{bundles} bundles after cycle 20" in text_of(app)

    run(app, story)


def test_tab_goes_round_the_algorithms_in_both_directions() -> None:
    app = bundles_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("b")
        screen = bundles_screen(app)
        assert screen.shown_tree.configured and screen.algorithm == 3
        await pilot.press("tab")
        assert screen.algorithm == 0
        await pilot.press("shift+tab", "shift+tab")
        assert screen.algorithm == 2
        assert screen.focused is screen.query_one("#tree")

    run(app, story)


def test_m_plus_minus_and_t_ask_another_question() -> None:
    app = bundles_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("b", "m")
        screen = bundles_screen(app)
        assert screen.question.load_manager == "extensible"
        await pilot.pause()
        assert "splits next, in 4 min" in text_of(app)
        await pilot.press("plus", "plus", "t")
        assert (screen.question.brokers, screen.question.growth_per_cycle) == (4, 1.05)
        await pilot.press("t", "t", "t", "t", "minus")
        assert (screen.question.brokers, screen.question.growth_per_cycle) == (3, 1.0)

    run(app, story)


def test_a_forecasts_as_if_automatic_splits_were_on_where_they_are_off() -> None:
    app = bundles_app(flow_state(loadBalancerAutoBundleSplitEnabled=False))
    on = balance_view(flow_state(), "ring/ddflowmsgrate4x60", BalanceQuestion())
    assert isinstance(on, BalanceView)

    async def story(pilot: Pilot[int]) -> None:
        seen = []
        for key in ("b", "A", "A"):
            await pilot.press(key)
            await app.workers.wait_for_complete()
            await pilot.pause()
            view = bundles_screen(app).view
            assert view is not None and view.namespace == on.namespace
            seen.append((bool(view.idle), view.trees == on.trees, "as if automatic splits were on" in text_of(app)))
        assert seen == [(True, False, False), (False, True, True), (True, False, False)]

    run(app, story)


def test_a_says_that_automatic_splits_are_on_where_they_are() -> None:
    assert "automatic splits are on" in after_b(bundles_app(), "A")


def test_no_brokers_is_refused_in_words_and_one_broker_says_that_nothing_splits() -> None:
    app = bundles_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("b", "minus")
        await pilot.pause()
        screen = bundles_screen(app)
        assert "a cluster of one broker never splits by itself" in text_of(app)
        await pilot.press("minus")
        await pilot.pause()
        assert screen.question.brokers == 1 and "0 brokers own no bundle" in text_of(app)
        await pilot.press("right_square_bracket")
        await pilot.pause()
        assert "0 brokers own no bundle" not in text_of(app)

    run(app, story)


def test_s_goes_from_split_to_split_and_says_when_there_are_no_more() -> None:
    app = bundles_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("b", "2")
        screen = bundles_screen(app)
        seen = []
        for _ in range(4):
            await pilot.press("s")
            seen.append(screen.cycle)
        assert seen == [1, 2, 3, 3]
        await pilot.pause()
        assert "no more split within 20 cycles under topic_count_equally_divide" in text_of(app)

    run(app, story)


def test_arrows_mark_a_bundle_and_draw_its_curve_and_r_the_other_rule() -> None:
    app = bundles_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("b", "down", "down")
        await pilot.pause()
        panel = app.screen.query_one(FlowPanel)
        assert panel.picture is not None and panel.picture.lower == 0x80000000 and not panel.picture.cuts
        assert panel.picture.gate == pytest.approx(1.1) and "below the gate" in text_of(app)
        await pilot.press("r")
        await pilot.pause()
        assert panel.picture is not None and panel.picture.cuts == (0x914D9F4A,)
        assert "which no Pulsar has" in text_of(app)

    run(app, story)


def test_enter_marks_the_bundle_that_splits_next() -> None:
    app = bundles_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("b", "end", "home", "down", "down", "enter")
        await pilot.pause()
        assert app.screen.query_one("#tree", LineTable).cursor == 0

    run(app, story)


def test_z_gives_the_room_to_one_panel_after_the_other() -> None:
    app = bundles_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("b")
        seen = []
        for _ in range(4):
            await pilot.press("z")
            await pilot.pause()
            shown = [panel for panel in ("tree", "curve", "forecast") if app.screen.query_one(f"#{panel}").display]
            seen.append(shown)
        assert seen == [["tree"], ["curve"], ["forecast"], ["tree", "curve", "forecast"]]

    run(app, story, (80, 24))


def test_a_zoomed_forecast_tells_loops_and_occupancy_even_on_a_small_terminal() -> None:
    screen = after_b(bundles_app(), "z", "z", "z", size=(80, 24))
    assert "! 0x80000000_0xc0000000: tried again and again without effect" in screen
    assert "fullest bundle 18 of 61 topics (by chance 19.4)" in screen
    assert "4 bundles: 3 would do for 2 brokers" in screen


@pytest.mark.parametrize("key", ["escape", "b"])
def test_escape_and_b_go_back_to_the_main_screen(key: str) -> None:
    app = bundles_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("b", key)
        await pilot.pause()
        assert isinstance(app.screen, MainScreen)

    run(app, story)


def test_question_mark_tells_every_key_of_this_screen() -> None:
    app = bundles_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("b", "question_mark")
        await pilot.pause()
        assert isinstance(app.screen, HelpScreen)
        screen = text_of(app)
        assert all(binding.tooltip in screen for binding in BINDINGS)
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(app.screen, BundlesScreen)

    run(app, story, (200, 60))


def test_another_theme_repaints_the_drawings() -> None:
    app = bundles_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("b", "f2")
        await pilot.pause()
        await pilot.pause()
        assert bundles_screen(app).colours.theme == "light"
        assert app.screen.query_one(FlowPanel).colours.theme == "light"

    run(app, story)


def test_n_and_p_go_through_the_namespaces() -> None:
    state = flow_state()
    other = replace(state, namespaces={**state.namespaces, "a/b": Namespace("a/b", (0, 0xFFFFFFFF))})
    app = bundles_app(other)

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("b")
        screen = bundles_screen(app)
        await pilot.press("n")
        await pilot.pause()
        first = text_of(app)
        await pilot.press("p")
        await pilot.pause()
        assert screen.view is not None and "/2 n p]" in first and first != text_of(app)

    run(app, story)


def test_without_a_namespace_b_says_so() -> None:
    app = RingsideApp(Session(bundles_app(ClusterState()).store.timeline), animate=False)

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("b")
        await pilot.pause()
        assert isinstance(app.screen, MainScreen)
        assert "there is no namespace whose bundles could be shown" in text_of(app)

    run(app, story)


def test_a_bundle_without_topics_has_words_in_the_place_of_a_curve() -> None:
    empty = ClusterState(namespaces={"a/b": Namespace("a/b", (0, 0x40000000, 0xFFFFFFFF))})
    screen = after_b(bundles_app(empty))
    assert "2 bundles now" in screen and "nothing splits within 20 cycles" in screen
    assert "holds none of the usable topics" in screen or "too-few" in screen or "one topic alone" in screen


def test_a_forecast_is_computed_beside_the_screen() -> None:
    app = bundles_app(synthetic_state(40, 1, 3, 0, 4).state)

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("b")
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert bundles_screen(app).view is not None and "4 bundles now" in text_of(app)

    run(app, story)


def test_where_there_is_one_namespace_n_and_p_say_so() -> None:
    for key in ("n", "p"):
        assert "! there is no other namespace to show" in after_b(bundles_app(), key)
    assert "no other namespace" not in after_b(bundles_app(), "n", "right_square_bracket")


@pytest.mark.real_time
def test_leaving_waits_for_no_forecast(monkeypatch: pytest.MonkeyPatch) -> None:
    """A million topics take minutes: with q the terminal is free at once, not when the last forecast is through."""
    release, through = Event(), list[bool]()

    def slow(*_args: object) -> None:
        release.wait(HANG_S)
        through.append(True)

    monkeypatch.setattr(module, "balance_view", slow)
    app = bundles_app(synthetic_state(40, 1, 3, 0, 4).state)

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("b")
        assert "computing 20 cycles for 40 topics" in text_of(app)
        await pilot.press("q")

    run(app, story)
    assert not through and app.return_code == 0
    release.set()
