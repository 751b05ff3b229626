"""What the keys of every screen cost, at realistic sizes on 120x40: until the last paint that a press caused.

In processor time of the thread that paints: a person waits for that, whatever else the machine does, and for nothing
that a thread computes beside the screen. The keys are those of the bindings, so that a new one is timed as well.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from textual.app import App
from textual.binding import Binding
from textual.pilot import Pilot
from textual.widgets import Input

from engine.admin.facts import WrittenLoad
from engine.admin.shed_inputs import ShedInputs
from engine.cluster.producers.state import ProducerPlan
from engine.cluster.scalable.evolve import begun_topic
from engine.cluster.scalable.group import Group, settled
from engine.cluster.scalable.opening import seen_event, statistics_of
from engine.cluster.scalable.running import created
from engine.cluster.scalable.state import ScalableTopic
from engine.cluster.state import ClusterState
from engine.cluster.timeline import Timeline
from engine.errors import Rejection
from engine.scalable.coordinator import Coordinator
from engine.scenarios.opening import Opened, open_moments
from engine.scenarios.synthetic import synthetic_keys, synthetic_producers, synthetic_state
from engine.views.brokers.model import BrokersInput, BrokersQuestion
from engine.views.fleet.runs import result_at
from tests.bench.pressing import SIZE, Paints, Taken, peer_ms
from tests.bench.shedding import HOT, cluster
from tests.bench.table import Row, lines
from tests.bench.why import dump_of
from tests.tui.fleet_scenes import large_result
from tui.app import RingsideApp
from tui.brokers.app import BrokersApp
from tui.brokers.bindings import BINDINGS as OF_BROKERS
from tui.bundles.bindings import BINDINGS as OF_BUNDLES
from tui.failover.bindings import BINDINGS as OF_FAILOVER
from tui.fleet.app import FleetApp
from tui.fleet.bindings import BINDINGS as OF_FLEET
from tui.keys.bindings import BINDINGS as OF_KEYS
from tui.kit.collecting import collect_seldom
from tui.kit.session import Session
from tui.producers.bindings import BINDINGS as OF_PRODUCERS
from tui.reported.screen import BINDINGS as OF_REPORTED
from tui.scalable.bindings import BINDINGS as OF_SCALABLE
from tui.sources.fleet_results import read_results

MOVES: Final = ("down", "up", "pagedown", "pageup", "question_mark")
"""Keys of all screens that their bindings do not have, since a table or the app has them."""
NOT_PRESSED: Final = frozenset({"open", "back", "close", "all", "play", "export"})
"""Actions that end the app, go back to another screen, go on by themselves or write files."""
LEFT: Final = "esc, what was opened is closed"
MOST_OPEN: Final = 3
IDLE_S: Final = 0.02
"""Between two looks whether work beside the screen is done."""


@dataclass(frozen=True, slots=True)
class Size:
    """How large what is shown is, how often each key is pressed, and every how many-th key of a screen is."""

    topics: int = 1_000
    segments: int = 1_000
    consumers: int = 100
    message_keys: int = 1_000
    producers: int = 100
    bundle_topics: int = 10_000
    brokers: int = 100
    read_topics: int = 10_000
    fleet: int = 100_000
    rounds: int = 4
    every: int = 1


FULL: Final = Size()


@dataclass(frozen=True, slots=True)
class Place:
    """A screen: ``app`` opens with it, or with one from which the keys of ``way`` lead there."""

    name: str
    app: Callable[[], App[Any]]
    bindings: Sequence[Binding]
    way: tuple[str, ...] = ()

    def keys(self) -> Iterator[tuple[str, str]]:
        """Each key and its name in the table."""
        yield from ((key, f"key {key}") for key in MOVES)
        for binding in self.bindings:
            if binding.action.partition("(")[0] not in NOT_PRESSED and binding.key not in MOVES:
                yield binding.key.partition(",")[0], f"key {binding.key_display or binding.key}, {binding.description}"


def places(size: Size, folder: Path) -> tuple[Place, ...]:
    """Every screen; ``folder`` takes what is read."""

    def ring() -> Opened:
        return synthetic_state(size.topics, 1, size.consumers, consistent_hashing=True)

    main = f"{size.topics:,} topics x {size.consumers:,} consumers"
    plan = ProducerPlan(count=size.producers, lazy=True, batching=False)
    partitions = 10 * size.producers
    return (
        Place(f"main, {main}", lambda: _app(synthetic_state(size.topics, 1, size.consumers)), OF_FAILOVER),
        Place(f"main, {main}, the ring decides", lambda: _app(ring()), OF_FAILOVER),
        Place(f"keys, {size.message_keys:,} keys", lambda: _app(synthetic_keys(size.message_keys, 20)), OF_KEYS),
        Place(
            f"producers, {size.producers:,} x {partitions:,} partitions",
            lambda: _app(synthetic_producers(plan, partitions)),
            OF_PRODUCERS,
        ),
        Place(f"reported, {size.read_topics:,} topics", lambda: _reported(size.read_topics), OF_REPORTED),
        Place(
            f"bundles, {size.bundle_topics:,} topics",
            lambda: _app(synthetic_state(size.bundle_topics, 1, size.consumers, bundles=64)),
            OF_BUNDLES,
            ("b",),
        ),
        Place(
            f"scalable, {size.segments:,} segments x {size.segments:,} consumers",
            lambda: _scalable(size.segments),
            OF_SCALABLE,
        ),
        Place(f"brokers, {size.brokers} x {size.brokers} bundles", lambda: _brokers(size.brokers), OF_BROKERS),
        Place(f"fleet, {size.fleet:,} subscriptions", lambda: _fleet(folder, size.fleet), OF_FLEET),
    )


def _app(opened: Opened) -> RingsideApp:
    return RingsideApp(Session(Timeline.start(opened.state, opened.seed, "bench")), animate=False)


def _scalable(segments: int) -> RingsideApp:
    begun = created("topic://bench/wide/topic", segments)
    assert not isinstance(begun, Rejection)
    names = {f"worker-{at:04}": True for at in range(segments)}
    dealt = Coordinator(begun.layout, True, False, names).with_layout(begun.layout)
    read = replace(begun, groups={"billing": settled(Group("STREAM", dealt), begun.now_ms)})
    printed = seen_event(
        begun.topic, begun.layout, statistics_of(read), begun.clocks, now_ms=begun.now_ms, max_buckets=1024
    )
    topic = begun_topic(printed)
    assert isinstance(topic, ScalableTopic), topic
    return RingsideApp(Session(Timeline.start(ClusterState(scalable_topics=(topic,)), 0, "bench")), animate=False)


def _reported(topics: int) -> RingsideApp:
    opened = open_moments(dump_of(topics))
    session = Session(Timeline.start(opened.state, 0, "bench"), seen=opened.seen)
    app = RingsideApp(session, animate=False)
    listed = app.store.places
    app.store.show_subscription(next(at for at in range(len(listed.keys)) if listed.kind(at) == "reported"))
    app.store.prepare()
    return app


def _brokers(brokers: int) -> BrokersApp:
    loads = cluster(brokers, brokers, busy=True)
    return BrokersApp(BrokersInput(ShedInputs(tuple(WrittenLoad(load, 1) for load in loads)), HOT), BrokersQuestion())


def _fleet(folder: Path, rows: int) -> FleetApp:
    return FleetApp(read_results(result_at(large_result(folder, rows))))


async def _presses(place: Place, size: Size) -> Taken:
    app, taken = place.app(), Taken()
    paints = Paints(app, time.thread_time)
    async with app.run_test(size=SIZE) as pilot:
        await _settled(pilot)
        for key in place.way:
            await pilot.press(key)
            await _settled(pilot)
        screen = app.screen
        gc.collect()
        collect_seldom()  # as the program does when it has started
        for key, name in [*place.keys()][:: size.every] * size.rounds:
            taken.add(name, await paints.press(pilot, key))
            await _settled(pilot)
            for _ in range(MOST_OPEN):
                if app.screen is screen and not isinstance(app.focused, Input):
                    break
                taken.add(LEFT, await paints.press(pilot, "escape"))
                await _settled(pilot)
            assert app.screen is screen, f"{place.name}: {name} led to {app.screen}, and escape not back"
        gc.unfreeze()
    return taken


async def _settled(pilot: Pilot[Any]) -> None:
    """Wait until nothing is computed any more: an answer may begin the next comparison."""
    await pilot.pause()
    while pilot.app.workers:
        await asyncio.sleep(IDLE_S)
        await pilot.pause()


def rows(size: Size = FULL) -> list[Row]:
    """A row for each key of each screen that paints something."""
    peer = asyncio.run(peer_ms(time.thread_time, 10 * size.rounds))
    with tempfile.TemporaryDirectory() as folder:
        return [
            row
            for place in places(size, Path(folder))
            for row in asyncio.run(_presses(place, size)).rows(place.name, peer)
        ]


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines(rows())) + "\n")
