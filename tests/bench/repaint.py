"""How long a key press takes until the screen is painted anew, with 1,000 topics and 100 consumers at 120x40."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Sequence
from typing import ClassVar

from rich.console import RenderableType
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Static

from engine.cluster.timeline import Timeline
from engine.scenarios.synthetic import synthetic_state
from tests.bench.table import Row
from tui.app import RingsideApp

TOPICS, CONSUMERS, SIZE = 1_000, 100, (120, 40)
KEYS = ("c", "c", "u", "[", "]", "v", "v", "v", "down", "up") * 2


class Painted:
    """Mixed into an app: notes when it last painted."""

    painted_at = 0.0

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        super()._display(screen, renderable)  # type: ignore[misc]
        self.painted_at = time.perf_counter()


class Dashboard(Painted, RingsideApp):
    """The product, timed."""


class Bare(Painted, App[None]):
    """The peer: Textual alone with one Static that gets another text."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("c", "change")]

    def compose(self) -> ComposeResult:
        yield Static("x" * SIZE[0] * SIZE[1])

    def action_change(self) -> None:
        self.query_one(Static).update(str(time.perf_counter()) * 200)


async def _press(app: Dashboard | Bare, keys: Sequence[str]) -> dict[str, list[float]]:
    """Milliseconds from a key's event to the last paint that it caused, by key. The pilot's own waiting is left out."""
    taken: dict[str, list[float]] = {}
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        for key in keys:
            begin = time.perf_counter()
            await pilot.press(key)
            await pilot.pause()
            taken.setdefault(key, []).append((app.painted_at - begin) * 1000)
    return taken


def rows() -> list[Row]:
    """A row for each key, and one for the slowest single press."""
    opened = synthetic_state(topics=TOPICS, partitions=1, consumers=CONSUMERS)
    ours = asyncio.run(_press(Dashboard(Timeline.start(opened.state, source="bench"), animate=False), KEYS))
    peer = statistics.median(asyncio.run(_press(Bare(), ["c"] * len(KEYS)))["c"])
    name = "Textual with one Static that changes"
    found = [
        Row(f"key {key!r}: {TOPICS} topics x {CONSUMERS} consumers", statistics.median(taken), name, peer, "< 50 ms")
        for key, taken in ours.items()
    ]
    slowest = max(max(taken) for taken in ours.values())
    return [*found, Row("the slowest single press of these", slowest, name, peer)]
