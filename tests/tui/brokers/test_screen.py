"""The screen "brokers": every key does what its words say, at every size, with and without colours."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot

from engine.balance.brokers import report_of
from engine.balance.limits import BundleStats
from engine.balance.shed_question import SHEDDERS, ShedQuestion
from engine.scenarios.broker_scenes import broker_scene
from tests.engine.scenarios.recordings import RECORDINGS
from tests.tui.broker_scenes import brokers_app
from tests.tui.reported_scenes import app_on
from tests.tui.screens_under_test import app_of, run, text_of
from tui.brokers import screen as module
from tui.brokers.app import BrokersApp
from tui.brokers.screen import BrokersScreen
from tui.failover.screen import MainScreen
from tui.kit.help import HelpScreen

SIZES = [(80, 24), (120, 40), (200, 60)]


def after(app: BrokersApp, *keys: str, size: tuple[int, int] = (120, 40)) -> tuple[str, BrokersScreen]:
    """The screen as text after keys, and the screen itself."""
    seen: list[tuple[str, BrokersScreen]] = []

    async def story(pilot: Pilot[int]) -> None:
        await pilot.pause()
        for key in keys:
            await pilot.press(key)
        await pilot.pause()
        screen = app.screen_stack[0]
        assert isinstance(screen, BrokersScreen)
        seen.append((text_of(app), screen))

    run(app, story, size)
    return seen[0]


@pytest.mark.parametrize("size", [(60, 18), *SIZES])
@pytest.mark.parametrize("how", [{}, {"mono": True}, {"ascii_only": True}, {"theme": "light"}])
def test_no_line_is_wider_than_the_screen(size: tuple[int, int], how: dict[str, Any]) -> None:
    text, screen = after(brokers_app("endless", **how), "right_square_bracket", "x", "a", "end", "r", size=size)
    lines = text.split("\n")
    assert len(lines) == size[1] and all(len(line) <= size[0] for line in lines)
    assert screen.question.lost and screen.question.added == ("new-1:8080",)
    if how.get("ascii_only"):
        assert text.isascii()


def test_a_small_terminal_is_told_in_words() -> None:
    assert "Ringside needs 60x18" in after(brokers_app(), size=(50, 12))[0]


def test_brackets_go_through_the_cycles_and_stop_at_the_ends() -> None:
    assert after(brokers_app(), "left_square_bracket")[1].number == 1
    assert after(brokers_app(), "right_square_bracket", "right_curly_bracket")[1].number == 7
    text, screen = after(brokers_app(), "end", "right_square_bracket")
    assert screen.number == 21 and "after 20 cycles" in text
    assert after(brokers_app(), "end", "home")[1].number == 1


def test_s_goes_to_the_next_unload_and_says_when_there_is_none() -> None:
    _, screen = after(brokers_app("upgrade"), "s")
    assert screen.view is not None
    first = next(number for number, cycle in enumerate(screen.view.cycles, 1) if cycle.unloads and number > 1)
    assert screen.number == first
    _, last = after(brokers_app(), "s")
    assert (last.number, last.sentence[0]) == (1, "refusal")


def test_a_lost_broker_says_where_its_bundles_land_and_u_takes_it_back() -> None:
    text, screen = after(brokers_app(), "x")
    assert screen.question.lost == ("broker-1:8080",) and "broker-1:8080 is gone" in text
    assert [row.broker for row in screen.frame.brokers] == [f"broker-{at}:8080" for at in (2, 3, 4)]
    _, back = after(brokers_app(), "x", "a", "u", "u")
    assert (back.question.lost, back.question.added) == ((), ())
    assert after(brokers_app(), "u")[1].sentence[0] == "refusal"


def test_the_last_broker_cannot_be_lost() -> None:
    _, screen = after(brokers_app("uniform-never"), "x", "x")
    assert len(screen.question.lost) == 1 and screen.sentence[0] == "refusal"


def test_an_added_broker_has_a_name_of_its_own() -> None:
    _, screen = after(brokers_app(), "a", "a")
    assert screen.question.added == ("new-1:8080", "new-2:8080")
    assert [row.presence for row in screen.frame.brokers] == ["reported"] * 4 + ["added"] * 2


@pytest.mark.parametrize("place", range(5))
def test_digits_choose_a_shedder_and_tabs_compare_them_all(place: int) -> None:
    _, screen = after(brokers_app(), str(place + 1))
    assert screen.question.shedder == screen.chosen == SHEDDERS[place]
    assert tuple(row.shedder for row in screen.tabs) == SHEDDERS
    assert screen.view is not None and screen.tabs[place].unloads == screen.view.unloads


def test_r_m_t_and_plus_change_the_rules() -> None:
    assert after(brokers_app(), "r")[1].question.shedder == "OverloadShedder"
    assert after(brokers_app(), "m")[1].question.shedder == "TransferShedder"
    assert after(brokers_app(), "m", "m")[1].question.shedder == "ThresholdShedder"
    assert after(brokers_app(), "t")[1].question.placement == "LeastResourceUsageWithWeight"
    assert after(brokers_app(), "m", "t")[1].sentence[0] == "refusal"
    settings = after(brokers_app(), "plus", "plus", "minus")[1].question.settings
    assert settings.loadBalancerBrokerThresholdShedderPercentage == 15


def test_what_a_release_does_not_have_is_refused_and_the_picture_stays() -> None:
    _, screen = after(brokers_app("comes-back"), "5")
    assert (screen.question.shedder, screen.sentence[0]) == ("ThresholdShedder", "refusal")


def test_the_cursor_chooses_the_broker_below() -> None:
    text, screen = after(brokers_app(), "down", "down")
    assert "broker broker-3:8080" in text
    assert screen.frame.brokers[2].broker == "broker-3:8080"
    assert after(brokers_app(), "down", "x")[1].question.lost == ("broker-2:8080",)


@pytest.mark.parametrize(("times", "shown"), [(1, "4 brokers, as"), (2, "─ next ─"), (3, "─ broker broker-1:8080 ─")])
def test_z_gives_the_body_to_one_panel(times: int, shown: str) -> None:
    text, _ = after(brokers_app(), *["z"] * times)
    assert [title for title in ("4 brokers, as", "─ next ─", "─ broker broker-1:8080 ─") if title in text] == [shown]


def test_help_lists_every_key_and_escape_leaves() -> None:
    app = brokers_app()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("question_mark")
        assert isinstance(app.screen, HelpScreen)
        await pilot.press("escape", "escape")

    run(app, story)
    assert app.return_code == 0


def test_hostile_names_are_shown_as_they_are() -> None:
    name = "[@click=app.quit]x[/]\x1b[2J"
    stats = [BundleStats(f"[/t]/n/0x0000000{at}_0x0000000{at + 1}", 1, msg_rate_in=5.0) for at in range(3)]
    question = ShedQuestion((report_of(name, stats), report_of("b:2", [])), cycles=3)
    text, _ = after(BrokersApp(question, name, depth="truecolor"), "x", "a", "end")
    assert "\x1b" not in text and "[@click" in text


def test_many_bundles_are_computed_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "QUICK_BUNDLES", 3)
    app = brokers_app()

    async def story(pilot: Pilot[int]) -> None:
        screen = app.screen
        assert isinstance(screen, BrokersScreen)
        while screen.view is None or len(screen.tabs) != 5 or screen.tabs[0].after is None:
            await pilot.pause(0.01)
        assert screen.view.unloads == 2
        await pilot.press("2")
        while screen.question.shedder != "OverloadShedder":
            await pilot.pause(0.01)

    run(app, story)


def test_B_opens_the_brokers_of_a_dump_and_escape_comes_back() -> None:
    app = app_on(RECORDINGS / "g-shed-modular-uniform")

    async def story(pilot: Pilot[int]) -> None:
        below = app.screen
        await pilot.press("B")
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, BrokersScreen)
        assert len(screen.frame.brokers) == 2
        await pilot.press("escape")
        await pilot.pause()
        assert app.screen is below

    run(app, story)


def test_B_says_what_is_missing_without_a_load_report() -> None:
    app = app_of()

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("B")
        await pilot.pause()
        assert isinstance(app.screen, MainScreen)
        assert "load-report" in app.screen.sentence[1]

    run(app, story)


def test_nothing_is_asked_while_a_question_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "QUICK_BUNDLES", 0)
    app = BrokersApp(replace(broker_scene("uneven").question(), cycles=2), "x", depth="truecolor")

    async def story(pilot: Pilot[int]) -> None:
        screen = app.screen
        assert isinstance(screen, BrokersScreen)
        screen._computing = True
        await pilot.press("r")
        assert screen.question.shedder == "ThresholdShedder"
        assert screen.sentence == ("hint", module.STILL_COMPUTING)

    run(app, story)
