"""Make the README's pictures anew from the apps themselves: shipped demo scripts played, and what the jobs find in an
invented installation (that takes Java).

Run: python -m tests.pictures FOLDER (default docs/pictures)
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from engine.cluster.timeline import Timeline
from engine.scenarios.broker_scenes import BROKER_SCENES
from engine.scenarios.opening import open_path
from engine.scenarios.script.run import shipped_script, start_of
from engine.views.brokers.model import BrokersQuestion
from engine.views.brokers.view import brokers_input
from engine.views.fleet.runs import result_at
from pipeline.jobs import job_called
from pipeline.jobs.result import JobOptions
from pipeline.session import open_session
from tests.engine.diagnosis.samples import dump
from tests.engine.scenarios.recordings import RECORDINGS
from tests.inventory import write_inventory
from tests.pipeline.load_report_folders import SHEDDERS, random_cluster
from tui.app import RingsideApp
from tui.brokers.app import BrokersApp
from tui.cli.showing import demo_session
from tui.drawing.film import moving
from tui.fleet.app import FleetApp
from tui.kit.pictures import picture_of
from tui.kit.screen import DashboardScreen
from tui.kit.session import Session
from tui.recording import film_of
from tui.sources.fleet_results import read_results


@dataclass(frozen=True, slots=True)
class Picture:
    """A moment of a shipped script: the simulated time to play to, and the keys to press there."""

    name: str
    script: str
    at_seconds: float
    keys: tuple[str, ...] = ()


SIZE: Final = (120, 40)
PICTURES: Final = (
    Picture("flag-on", "pip392", 20),
    Picture("split", "flow-split", 2, ("s", "down", "down", "down")),
    Picture("keys", "keys-blocked", 15),
    Picture("producers", "producers-lazy", 60),
    Picture("bundles", "flow-split", 2, ("b",)),
    Picture("scalable", "scalable-split", 14, ("w",)),
)


async def draw(picture: Picture) -> str:
    """The picture as SVG. Nothing in it depends on the clock, so the same code draws the same bytes."""
    script = shipped_script(picture.script)
    opened = start_of(script)
    app = RingsideApp(
        Session(Timeline.start(opened.state, opened.seed, opened.source), script=script),
        animate=False,
        depth="truecolor",
    )
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, DashboardScreen)
        screen.playback.play_on(picture.at_seconds)
        # A panel that comes into view writes once it knows its width, so it takes two rounds.
        await pilot.pause()
        await pilot.pause()
        for key in picture.keys:
            await pilot.press(key)
            await pilot.pause()
        return picture_of(app)


@dataclass(frozen=True, slots=True)
class Note:
    """Lines of words from a point on, and the place that they are about, in the units of a picture."""

    lines: tuple[str, ...]
    at: tuple[int, int]
    about: tuple[int, int]

    def element(self) -> str:
        """The words, a thin line and a point."""
        (x, y), (to_x, to_y) = self.at, self.about
        width = 10 * max(map(len, self.lines))
        from_x, from_y = (x + width + 6 if to_x > x + width else x - 6), y - 5
        texts = "".join(
            f'<text x="{x}" y="{y + 20 * line}" fill="#e8eaf0" textLength="{10 * len(text)}" xml:space="preserve">'
            f"{text}</text>"
            for line, text in enumerate(self.lines)
        )
        stroke = 'stroke="#e8eaf0" stroke-width="1.5"'
        line = f'<line x1="{from_x}" y1="{from_y}" x2="{to_x}" y2="{to_y}" {stroke}/>'
        return f'{texts}{line}<circle cx="{to_x}" cy="{to_y}" r="4" fill="#101218" {stroke}/>'


RING: Final = Picture("ring", "pip392", 20, ("1", "z"))
NOTES: Final = (
    Note(("1 outside: whose each", "  hash is"), (30, 150), (340, 230)),
    Note(("2 inside: how much of", "  the ring each consumer", "  has, with its letter"), (960, 150), (790, 258)),
    Note(("3 a dot: a partition", "  at its hash, coloured", "  as its active consumer"), (30, 600), (456, 520)),
    Note(("4 hash 0 is at the top;", "  hashes grow clockwise"), (960, 320), (662, 300)),
    Note(("5 the rule, and what the", "  marked consumer has"), (960, 600), (715, 422)),
)


async def draw_ring() -> str:
    """The ring with notes on its parts."""
    return (await draw(RING)).replace("</svg>", "".join(note.element() for note in NOTES) + "</svg>")


async def draw_demo() -> str:
    """A demo as a film."""
    return moving(await film_of(demo_session("pip392"), 100, 32), poster=4)


async def draw_why() -> str:
    """What a real broker said of a blocked subscription, and its cause, as SVG."""
    with TemporaryDirectory() as folder:
        opened = open_path(dump("keyshared-draining-a", Path(folder)))
        timeline = Timeline.start(opened.state, 0, "answers/")
        app = RingsideApp(Session(timeline, seen=opened.seen), animate=False, depth="truecolor")
        app.store.prepare()
        async with app.run_test(size=SIZE) as pilot:
            await pilot.pause()
            await pilot.press("w")
            await app.workers.wait_for_complete()
            await pilot.pause()
            return picture_of(app)


async def draw_home() -> str:
    """The list of a recorded inventory, as SVG."""
    opened = open_path(RECORDINGS / "f-inventory-2")
    timeline = Timeline.start(opened.state, opened.seed, "answers/")
    app = RingsideApp(Session(timeline, notes=opened.notes, seen=opened.seen), animate=False, depth="truecolor")
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("0")
        await pilot.pause()
        await app.workers.wait_for_complete()
        await pilot.press("g")
        await pilot.pause()
        return picture_of(app)


async def draw_brokers() -> str:
    """The shipped cluster of brokers before the next cycle of shedding, as SVG."""
    scene = BROKER_SCENES[0]
    app = BrokersApp(brokers_input(scene.inputs(), source="reports/"), BrokersQuestion(), depth="truecolor")
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        await app.workers.wait_for_complete()
        await pilot.pause()
        return picture_of(app)


CLUSTERS: Final = {"ap-south": 3, "eu-central": 1, "eu-west": 2, "us-east": 5}
"""Folders of load reports beside the invented installation, and the seed of each."""


def fleet_result(folder: Path) -> Path:
    """What the jobs find in an invented installation and in the load reports of some clusters."""
    answers, out = folder / "answers", folder / "out"
    write_inventory(answers / "us-west")
    for at, (cluster, seed) in enumerate(CLUSTERS.items()):
        random_cluster(answers / cluster, seed, SHEDDERS[at])
    with open_session() as spark:
        job_called("run")(spark, answers, out, JobOptions({}))
    return out


async def draw_fleet(result: Path, *keys: str) -> str:
    """A list of that installation as SVG, after some keys."""
    app = FleetApp(read_results(result_at(result)), depth="truecolor")
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        for key in keys:
            await pilot.press(key)
            await pilot.pause()
        await pilot.pause()
        return picture_of(app)


def main(folder: Path) -> None:
    """Write every picture into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    drawings = {picture.name: partial(draw, picture) for picture in PICTURES}
    drawings |= {"demo": draw_demo, "ring": draw_ring, "home": draw_home, "why": draw_why, "brokers": draw_brokers}
    with TemporaryDirectory() as temporary:
        result = fleet_result(Path(temporary))
        drawings["fleet"] = partial(draw_fleet, result, *["down"] * 4)
        drawings["fleet-brokers"] = partial(draw_fleet, result, "5", "down")
        for name, drawing in drawings.items():
            path = folder / f"{name}.svg"
            path.write_text(asyncio.run(drawing()), encoding="utf-8")
            sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/pictures"))
