"""The key w: what brokers reported about the shown subscription, its cause, and where to go."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from textual.pilot import Pilot

from engine.cluster.timeline import Timeline
from engine.scenarios.opening import open_path
from tests.engine.diagnosis.answers import consumer, stats
from tests.engine.diagnosis.samples import dump, mended_dump
from tests.tui.screens_under_test import app_of, run, text_of
from tui.app import RingsideApp
from tui.kit.line_table import LineTable
from tui.kit.screen import DashboardScreen
from tui.kit.session import Session
from tui.kit.why_panel import WhyPanel

SIZES = [(80, 24), (120, 40), (200, 60)]


def app_on(folder: Path) -> RingsideApp:
    opened = open_path(folder)
    timeline = Timeline.start(opened.state, 0, "a dump")
    return RingsideApp(Session(timeline, seen=opened.seen), animate=False, depth="truecolor")


async def press(pilot: Pilot[int], *keys: str) -> None:
    """Press keys, and let the app come to rest after each."""
    for key in keys:
        await pilot.press(key)
        await pilot.pause()


def dashboard(pilot: Pilot[int]) -> DashboardScreen[object]:
    screen = pilot.app.screen
    assert isinstance(screen, DashboardScreen)
    return screen


def causes(pilot: Pilot[int]) -> list[str]:
    panel = dashboard(pilot).query_one(WhyPanel)
    assert panel.display and panel.diagnosis is not None
    return [cause.id for cause in panel.diagnosis.causes]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("keyshared-draining-a", "keyshared_draining"),
        ("failover-active-no-permits-a", "failover_active_no_permits"),
        ("dispatch-rate-limited-a", "dispatch_rate_limited"),
    ],
)
def test_the_cause_is_shown_on_the_screens_of_all_types(
    tmp_path: Path, name: str, cause: str, size: tuple[int, int]
) -> None:
    async def story(pilot: Pilot[int]) -> None:
        await press(pilot, "w")
        assert causes(pilot)[0] == cause
        shown = text_of(pilot.app)
        assert "what is wrong" in shown and "to do" in shown
        await press(pilot, "escape")
        assert not dashboard(pilot).query_one(WhyPanel).display

    run(app_on(dump(name, tmp_path)), story, size)


def test_enter_goes_to_the_consumer_that_blocks(tmp_path: Path) -> None:
    async def story(pilot: Pilot[int]) -> None:
        await press(pilot, "down", "w", "enter")
        screen = dashboard(pilot)
        names = {row.consumer_id: row.name for row in screen.now.consumers}  # type: ignore[attr-defined]
        assert names[screen.selected] == "node-1"
        assert not screen.query_one(WhyPanel).display

    run(app_on(dump("keyshared-draining-a", tmp_path)), story)


def test_w_again_shows_the_next_subscription_and_goes_round(tmp_path: Path) -> None:
    for name, type_, waiting in (("a", "Failover", 0), ("b", "Shared", 9)):
        place = tmp_path / f"admin/v2/persistent/t/n/{name}"
        place.mkdir(parents=True)
        shown = stats(type_, [consumer("c")] if not waiting else [], msgBacklog=waiting, topic={"msgInCounter": 9})
        shown["subscriptions"] = {f"of-{name}": shown["subscriptions"]["s"]}
        (place / "stats.json").write_text(json.dumps(shown))

    async def story(pilot: Pilot[int]) -> None:
        await press(pilot, "w")
        assert causes(pilot) == ["fine_idle"], "the shown one first, though another one is worse"
        await press(pilot, "w")
        assert causes(pilot) == ["no_consumers"]
        assert "(1 of 2, worst first)" in text_of(pilot.app)
        await press(pilot, "enter")
        assert dashboard(pilot).store.shown.name == ("t/n", "of-b")
        await press(pilot, "w", "w")
        assert causes(pilot) == ["fine_idle"]

    run(app_on(tmp_path), story)


def test_steps_of_the_simulation_leave_what_was_seen_as_it_is(tmp_path: Path) -> None:
    async def story(pilot: Pilot[int]) -> None:
        await press(pilot, "x", "w")
        assert causes(pilot)[0] == "failover_active_no_permits"
        assert "1 step of the simulation" in text_of(pilot.app)

    run(app_on(dump("failover-active-no-permits-a", tmp_path)), story, (120, 40))


def test_an_invented_cluster_has_nothing_that_was_seen() -> None:
    async def story(pilot: Pilot[int]) -> None:
        await press(pilot, "w")
        assert dashboard(pilot).sentence[0] == "refusal"
        assert not dashboard(pilot).query_one(WhyPanel).display

    run(app_of(), story)


def test_a_zoomed_panel_keeps_its_place_and_explanations_take_turns_with_it(tmp_path: Path) -> None:
    async def story(pilot: Pilot[int]) -> None:
        screen = dashboard(pilot)
        await press(pilot, "w", "z")
        assert screen.zooming.zoomed == "explain" and screen.query_one(WhyPanel).display
        await press(pilot, "z", "f", "enter")
        assert not screen.query_one(WhyPanel).display and screen.query_one("#explain").display
        await press(pilot, "w")
        assert screen.query_one(WhyPanel).display and not screen.query_one("#explain").display
        assert screen.focused is screen.query_one(WhyPanel).query_one(LineTable)

    run(app_on(dump("failover-active-no-permits-a", tmp_path)), story)


def test_trouble_is_said_before_anybody_asks(tmp_path: Path) -> None:
    async def story(pilot: Pilot[int]) -> None:
        assert "reported as blocked" in text_of(pilot.app)
        await press(pilot, "x")
        assert "reported as blocked" not in text_of(pilot.app), "a step later it is about the simulation"

    run(app_on(dump("failover-active-no-permits-a", tmp_path)), story)


def test_w_judges_the_moment_that_is_shown(tmp_path: Path) -> None:
    folder = mended_dump("failover-active-no-permits-a", "failover-active-no-permits-a-healthy", tmp_path)

    async def story(pilot: Pilot[int]) -> None:
        panel = dashboard(pilot).query_one(WhyPanel)
        await press(pilot, "w")
        assert causes(pilot)[0] == "failover_standby" and panel.moment == 4
        await press(pilot, "left_square_bracket", "left_square_bracket")
        assert causes(pilot)[0] == "failover_active_no_permits" and panel.moment == 2
        assert "moment 2 of 4" in text_of(pilot.app)
        await press(pilot, "end")
        assert causes(pilot)[0] == "failover_standby" and panel.moment == 4
        await press(pilot, "escape", "home", "w")
        assert panel.diagnosis is not None and panel.diagnosis.moments == 1

    run(app_on(folder), story)


def test_numbered_files_are_the_moments_that_the_command_reads_and_past_harm_is_said_first(tmp_path: Path) -> None:
    for at, shown in enumerate([stats("Shared", [], msgBacklog=5, msgOutCounter=3), stats("Shared", [consumer("a")])]):
        (tmp_path / f"{at}-all.json").write_text(json.dumps({"persistent://t/n/x": shown}))

    async def story(pilot: Pilot[int]) -> None:
        panel = dashboard(pilot).query_one(WhyPanel)
        await press(pilot, "w")
        assert panel.diagnosis is not None
        assert (panel.moment, panel.diagnosis.moments) == (2, 2)
        assert [cause.id for cause in panel.diagnosis.said] == ["no_consumers", "fine_idle"]
        assert panel.marked_text.startswith(panel.diagnosis.said[0].what)
        in_headline = 1
        assert "blocks before" in text_of(pilot.app) and text_of(pilot.app).count("moment 1 of 2") == 1 + in_headline
        await press(pilot, "down")
        assert text_of(pilot.app).count("moment 1 of 2") == in_headline

    run(app_on(tmp_path), story)
