"""Apps on small clusters, and what stands on their screens as plain text."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from rich.console import Console
from textual import events
from textual.app import App
from textual.pilot import Pilot

from engine.cluster.state import ClusterState, Namespace, Subscription
from engine.cluster.tables.topics import Load, Topic
from engine.cluster.timeline import Timeline
from engine.failover.model import Consumer
from tests.patience import HANG_S
from tui.app import RingsideApp
from tui.failover.screen import MainScreen
from tui.kit.session import Journal, Session
from tui.kit.themed_app import ThemedApp

NAMESPACE = "shop/orders"
Story = Callable[[Pilot[int]], Awaitable[None]]


def cluster(
    names: Sequence[str] = ("billing-0", "billing-1", "billing-2"),
    *,
    topics: int = 12,
    partitions: int = 1,
    priorities: Sequence[int] = (),
    unacked: int = 0,
    release: str = "4.2.4",
) -> ClusterState:
    """One Failover subscription over topics that carry 1, 2, 3, ... messages per second."""
    listed = [Topic(f"persistent://{NAMESPACE}/order-{at}", partitions) for at in range(topics)]
    every = [name for topic in listed for name in topic.partition_names()]
    levels = [*priorities, *[0] * len(names)]
    subscription = Subscription(
        key="billing",
        name="billing",
        namespace=NAMESPACE,
        topics=tuple(topic.name for topic in listed),
        consumers=tuple(Consumer(at, name, levels[at]) for at, name in enumerate(names)),
    )
    return ClusterState(
        release=release,
        topics={topic.name: topic for topic in listed},
        loads={name: Load(0.0, at + 1, 0.0, 100.0 * (at + 1), unacked) for at, name in enumerate(every)},
        subscriptions=(subscription,),
        namespaces={NAMESPACE: Namespace(NAMESPACE, (0, 0x80000000, 0xFFFFFFFF))},
        next_consumer_id=len(names),
    )


def app_of(state: ClusterState | None = None, journal: Journal | None = None, **how: Any) -> RingsideApp:
    """A still app in true colour on a state."""
    timeline = Timeline.start(cluster() if state is None else state, 7, "a test")
    return RingsideApp(Session(timeline, journal=journal), **({"animate": False, "depth": "truecolor"} | how))


def run(app: ThemedApp, story: Story, size: tuple[int, int] = (120, 40)) -> None:
    """Let a story happen on an app."""

    async def play() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await story(pilot)

    asyncio.run(play())


def after_keys(app: RingsideApp, *keys: str, size: tuple[int, int] = (120, 40)) -> str:
    """The screen as text after some keys."""
    seen: list[str] = []

    async def story(pilot: Pilot[int]) -> None:
        await pilot.press(*keys)
        await pilot.pause()
        seen.append(text_of(app))

    run(app, story, size)
    return seen[0]


def text_of(app: App[Any]) -> str:
    """What stands on the screen, a line for a row, without colours and trailing blanks."""
    width, height = app.size
    console = Console(
        width=width, height=height, file=io.StringIO(), force_terminal=True, color_system=None, record=True,
        legacy_windows=False,
    )  # fmt: skip
    console.print(app.screen._compositor.render_update(full=True))
    lines = console.export_text().split("\n")
    return "\n".join(line.rstrip() for line in lines[:height])


def main_screen(app: RingsideApp) -> MainScreen:
    """The main screen, also below a dialog."""
    screen = app.screen_stack[0]
    assert isinstance(screen, MainScreen)
    return screen


async def until(app: App[Any], settled: Callable[[str], bool]) -> str:
    """The screen as text once it is as wanted: what timers of the library bring up has no other end to wait for."""
    async with asyncio.timeout(HANG_S):
        while not settled(text := text_of(app)):
            await asyncio.sleep(0.01)
    return text


async def at_once(pilot: Pilot[int], *keys: str) -> None:
    """Send keys without letting the app handle one before the next is there, then wait until all are handled."""
    for key in keys:
        pilot.app.post_message(events.Key(key, key if len(key) == 1 else None))
    for _ in range(3):
        await pilot.pause()
