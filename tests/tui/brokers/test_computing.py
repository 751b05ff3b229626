"""What keys do while the screen of brokers computes: in real threads, since the answer must be late."""

from __future__ import annotations

from threading import Event
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.patience import HANG_S
from tests.tui.broker_scenes import brokers_app, brokers_screen, settled
from tests.tui.screens_under_test import run
from tui.brokers import screen as screen_module


@pytest.fixture(autouse=True)
def virtual_time() -> None:
    """Threads are threads here."""


def test_a_key_while_something_is_computed_is_refused_and_escape_cancels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen_module, "QUICK_BUNDLES", 0)
    app = brokers_app()

    async def story(pilot: Pilot[int]) -> None:
        await settled(app, pilot)
        screen = brokers_screen(app)
        goes_on = Event()
        computed = screen_module.brokers_view

        def waiting(*given: Any) -> Any:
            goes_on.wait(HANG_S)
            return computed(*given)

        monkeypatch.setattr(screen_module, "brokers_view", waiting)
        before = screen.view
        await pilot.press("a")
        assert screen.sentence[0] == "computing"
        await pilot.press("r")
        assert screen.sentence[0] == "refusal"
        await pilot.press("right_square_bracket")
        assert screen.cycle == 1
        await pilot.press("x")
        goes_on.set()
        await settled(app, pilot)
        assert [change.kind for change in screen.question.changes] == ["joins"]
        assert (screen.cycle, screen.view is before) == (0, False)
        goes_on.clear()
        before = screen.view
        await pilot.press("x", "escape")
        goes_on.set()
        await settled(app, pilot)
        assert app.screen is screen
        assert (screen.view is before, len(screen.question.changes), len(screen.compared)) == (True, 1, 5)

    run(app, story)
