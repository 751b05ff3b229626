"""The screen of brokers on the shipped cluster and on made-up ones."""

from __future__ import annotations

from typing import Any

from textual.pilot import Pilot

from engine.scenarios.broker_scenes import embedded_brokers
from engine.views.brokers.model import BrokersInput, BrokersQuestion
from engine.views.brokers.view import brokers_input
from tests.tui.screens_under_test import run, text_of
from tui.brokers.app import BrokersApp
from tui.brokers.screen import BrokersScreen


def brokers_app(given: BrokersInput | None = None, question: BrokersQuestion | None = None, **how: Any) -> BrokersApp:
    """A still app."""
    shown = brokers_input(embedded_brokers(), source="the embedded cluster") if given is None else given
    return BrokersApp(shown, question or BrokersQuestion(), **(dict[str, Any](depth="truecolor") | how))


def brokers_screen(app: Any) -> BrokersScreen:
    """The screen, wherever it is in the stack."""
    return next(screen for screen in app.screen_stack if isinstance(screen, BrokersScreen))


async def settled(app: Any, pilot: Pilot[int]) -> None:
    """Until nothing is computed any more: an answer begins the next comparison."""
    for _ in range(8):
        await app.workers.wait_for_complete()
        await pilot.pause()


def brokers_after(app: BrokersApp, *keys: str, size: tuple[int, int] = (120, 40)) -> str:
    """The screen as text after some keys."""
    seen: list[str] = []

    async def story(pilot: Pilot[int]) -> None:
        await pilot.pause()
        for key in keys:
            await pilot.press(key)
        await pilot.pause()
        seen.append(text_of(app))

    run(app, story, size)
    return seen[0]
