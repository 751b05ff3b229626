"""Presses of keys on an app without a terminal, timed by when the app painted after them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from rich.console import RenderableType
from textual._compositor import CompositorUpdate
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Static

from tests.bench.table import Row

SIZE: Final = (120, 40)
BAR: Final = "< 50 ms"
PEER: Final = "Textual with one Static that changes"
Clock = Callable[[], float]


class Bare(App[None]):
    """The peer: Textual alone with one Static that gets another text."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("c", "change")]

    def compose(self) -> ComposeResult:
        yield Static("x" * SIZE[0] * SIZE[1])

    def action_change(self) -> None:
        self.query_one(Static).update(str(time.perf_counter()) * 200)


@dataclass
class Taken:
    """Milliseconds from a key to the last paint that it caused, one entry a press, for each thing that was pressed."""

    presses: dict[str, list[float]] = field(default_factory=dict)

    def add(self, what: str, ms: float | None) -> None:
        """Note a press; one that painted nothing has no time."""
        if ms is not None:
            self.presses.setdefault(what, []).append(ms)

    def rows(self, where: str, peer_ms: float, aim: str = BAR) -> list[Row]:
        """For each what the median press took, and the longest one."""
        return [
            Row(f"{where}, {what}", statistics.median(taken), PEER, peer_ms, aim, most_ms=max(taken))
            for what, taken in self.presses.items()
        ]


class Paints:
    """When an app painted, by ``clock`` (seconds). Apps without a terminal make no bytes, so that is done here."""

    def __init__(self, app: App[Any], clock: Clock) -> None:
        self._app = app
        self._clock = clock
        self._last: float | None = None
        stock = app._display

        def display(screen: Screen[Any], renderable: RenderableType | None) -> None:
            if isinstance(renderable, CompositorUpdate):
                renderable.render_segments(app.console)
                self._last = clock()
            stock(screen, renderable)

        app._display = display  # type: ignore[method-assign]

    async def press(self, pilot: Pilot[Any], key: str) -> float | None:
        """Milliseconds until the last paint, None without any. The pilot's own waiting is left out."""
        self.begin()
        await pilot.press(key)
        await pilot.pause()
        return self.taken()

    def begin(self) -> None:
        """Time starts to count."""
        self._last, self._begin = None, self._clock()

    def taken(self) -> float | None:
        """Milliseconds between the beginning and the last paint since, None without any."""
        return None if self._last is None else (self._last - self._begin) * 1000


async def press(app: App[Any], keys: Sequence[str], clock: Clock) -> Taken:
    """What the presses of ``keys`` took, one after the other."""
    paints, taken = Paints(app, clock), Taken()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        for key in keys:
            taken.add(key, await paints.press(pilot, key))
    return taken


async def peer_ms(clock: Clock, presses: int = 40) -> float:
    """The median press of the peer."""
    return statistics.median((await press(Bare(), ["c"] * presses, clock)).presses["c"])
