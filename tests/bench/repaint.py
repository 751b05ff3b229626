"""How long a key press takes until the screen is painted anew, with 1,000 topics and 100 consumers at 120x40."""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from rich.console import RenderableType
from textual._compositor import CompositorUpdate
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Static

from engine.cluster.timeline import Timeline
from engine.scenarios.synthetic import synthetic_state
from tests.bench.table import Row, lines
from tui.app import RingsideApp

TOPICS, CONSUMERS, SIZE = 1_000, 100, (120, 40)
KEYS = ("c", "c", "u", "[", "]", "v", "v", "v", "down", "up", "x") * 4


class Painted:
    """Mixed into an app: notes when it painted, by ``clock``. Headless apps make no bytes, so that is done here."""

    @staticmethod
    def clock() -> float:
        """Seconds."""
        return time.perf_counter()

    def __init__(self, *args: Any, **how: Any) -> None:
        super().__init__(*args, **how)
        self.paints: list[float] = []

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        if isinstance(renderable, CompositorUpdate):
            renderable.render_segments(self.console)  # type: ignore[attr-defined]
            self.paints.append(self.clock())
        super()._display(screen, renderable)  # type: ignore[misc]


class Dashboard(Painted, RingsideApp):
    """The product, timed."""


class Bare(Painted, App[None]):
    """The peer: Textual alone with one Static that gets another text."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("c", "change")]

    def compose(self) -> ComposeResult:
        yield Static("x" * SIZE[0] * SIZE[1])

    def action_change(self) -> None:
        self.query_one(Static).update(str(time.perf_counter()) * 200)


@dataclass
class Taken:
    """Milliseconds from a key to the first paint after it and to the last one that it caused, one entry a press."""

    first: list[float] = field(default_factory=list)
    last: list[float] = field(default_factory=list)


async def press(app: Dashboard | Bare, keys: Sequence[str]) -> dict[str, Taken]:
    """What the presses took by the app's clock, for each key. The pilot's own waiting is left out."""
    taken: dict[str, Taken] = {}
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        for key in keys:
            app.paints.clear()
            begin = app.clock()
            await pilot.press(key)
            await pilot.pause()
            if app.paints:
                entry = taken.setdefault(key, Taken())
                entry.first.append((app.paints[0] - begin) * 1000)
                entry.last.append((app.paints[-1] - begin) * 1000)
    return taken


def rows() -> list[Row]:
    """Two rows for each key (its first and its last paint), and one for the slowest single press."""
    opened = synthetic_state(topics=TOPICS, partitions=1, consumers=CONSUMERS)
    ours = asyncio.run(press(Dashboard(Timeline.start(opened.state, source="bench"), animate=False), KEYS))
    bare = asyncio.run(press(Bare(), ["c"] * len(KEYS)))["c"]
    peer = statistics.median(bare.last)
    name = "Textual with one Static that changes"
    result = []
    for key, taken in ours.items():
        result.append(Row(f"key {key!r} to its first paint", statistics.median(taken.first), name, peer))
        result.append(Row(f"key {key!r} to its last paint", statistics.median(taken.last), name, peer, "< 50 ms"))
    slowest = max(max(taken.last) for taken in ours.values())
    return [*result, Row("the slowest single press of these", slowest, name, peer)]


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines(rows())) + "\n")
