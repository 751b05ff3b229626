"""What brokers reported on the screens of consumers and of keys, and what a step makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.engine.diagnosis.samples import dump
from tests.tui.reported_scenes import app_on
from tests.tui.screens_under_test import app_of, run, text_of
from tui.kit.line_table import LineTable
from tui.kit.ring_panel import RingPanel

SIZES = [(80, 24), (120, 40), (200, 60)]
DRAINING = Path(__file__).parents[2] / "recordings" / "c-keyshared-draining" / "05-stats.json.gz"


@pytest.mark.parametrize("mono", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_reported_draining_slots_are_what_waits(size: tuple[int, int], mono: bool) -> None:
    async def story(pilot: Pilot[int]) -> None:
        shown = text_of(pilot.app)
        assert "(nothing)" not in shown
        assert "73 messages in replay" in shown and "seen after 11:02:35Z" in shown
        assert "!B" in shown and "!C" in shown
        assert "! for A" in shown or "! waits for A" in shown
        assert "31179" in shown and "37 slots" in shown
        assert pilot.app.screen.query_one("#waiting", LineTable).lines.count == 73
        assert len(pilot.app.screen.query_one(RingPanel).marks) == 73

    run(app_on(DRAINING, topic="persistent://t/n/x", mono=mono), story, size)


def test_numbers_are_computed_from_the_first_step_on() -> None:
    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("x")
        await pilot.pause()
        shown = text_of(pilot.app)
        assert "what-if: computed" in shown and "*permits" not in shown and "31179" not in shown
        assert pilot.app.screen.query_one(RingPanel).marks == ()
        await pilot.press("u")
        await pilot.pause()
        assert "*permits" in text_of(pilot.app) and "31179" in text_of(pilot.app)

    run(app_on(DRAINING, topic="persistent://t/n/x"), story)


def test_enter_on_a_draining_slot_selects_who_holds_it_up() -> None:
    async def story(pilot: Pilot[int]) -> None:
        await pilot.press("down", "3", "enter")
        await pilot.pause()
        screen = pilot.app.screen
        assert screen.selected == 0  # type: ignore[attr-defined]

    run(app_on(DRAINING, topic="persistent://t/n/x"), story)


@pytest.mark.parametrize("size", SIZES)
def test_a_blocked_active_consumer_is_marked_on_ring_and_table(tmp_path: Path, size: tuple[int, int]) -> None:
    async def story(pilot: Pilot[int]) -> None:
        shown = text_of(pilot.app)
        assert "!A app-1" in shown
        assert "! permits" in shown or "! no permits" in shown
        assert "*waiting" in shown and "258" in shown
        assert "A!" in shown
        assert len(pilot.app.screen.query_one(RingPanel).marks) == 1

    run(app_on(dump("failover-active-no-permits-a", tmp_path)), story, size)


def test_without_anything_reported_nothing_is_said_of_it() -> None:
    async def story(pilot: Pilot[int]) -> None:
        assert "*" not in text_of(pilot.app).partition("[3] bundles")[0].replace("flag*", "")

    run(app_of(), story)
