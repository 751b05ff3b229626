"""Where a session begins, by name: every demo, every embedded scene, clusters of all kinds, hostile names, fleets.

A name may have endings: ``pip392+animate+light+ascii+mono+loading``.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace
from textual.app import App

from engine.admin.snapshot import read_answers
from engine.cluster.journal.file import Journal
from engine.cluster.producers.state import ProducerPlan
from engine.cluster.timeline import Timeline
from engine.errors import InputError
from engine.scenarios.embedded import SCENES, embedded
from engine.scenarios.opening import Opened, open_snapshot
from engine.scenarios.script.run import SHIPPED_SCRIPTS, shipped_script, start_of
from engine.scenarios.synthetic import synthetic_keys, synthetic_producers, synthetic_state
from engine.views.fleet.runs import result_at
from tests.soak_ui.terminal import RecordingDriver
from tests.tui import fleet_scenes, key_scenes, producer_scenes
from tests.tui.screens_under_test import cluster
from tui.app import RingsideApp
from tui.cli.fleet.screen import FleetPartApp, session_of
from tui.fleet.app import FleetApp
from tui.fleet.screen import Chosen, Place
from tui.kit.session import Opening, Session
from tui.sources.fleet_results import read_results
from tui.sources.sessions import SessionSaver

RECORDINGS: Final = Path(__file__).parents[1] / "recordings"
ENDINGS: Final = ("animate", "light", "ascii", "mono", "loading")
HOSTILE_NAMES: Final = (
    "[/x]", "[@click=app.quit]a[/]", "a\x1b[2Jb", "消費者-1", "x" * 300, "", "[bold]", "$(touch pwned)", "a b", "\n",
)  # fmt: skip


def _timeline(opened: Opened) -> Session:
    return Session(Timeline.start(opened.state, opened.seed, opened.source), 0, opened.problems, opened.notes)


def _demo(name: str) -> Session:
    script = shipped_script(name)
    opened = start_of(script)
    timeline = Timeline.start(opened.state, opened.seed, opened.source)
    return Session(timeline, 0, opened.problems, opened.notes, None, script)


def _state(state: Any) -> Session:
    return Session(Timeline.start(state, 7, "a test"))


def _recorded(name: str) -> Session:
    return _timeline(open_snapshot(read_answers(RECORDINGS / name)))


def _mixed_producers() -> Session:
    return Session(producer_scenes.mixed_app().store.timeline)


SCENES_BY_NAME: Final[dict[str, tuple[float, Callable[[], Session]]]] = {
    **{scene.name: (3.0, lambda name=scene.name: _timeline(embedded(name))) for scene in SCENES},
    **{f"demo-{name}": (1.0, lambda name=name: _demo(name)) for name in SHIPPED_SCRIPTS},
    "small": (6.0, lambda: _state(cluster())),
    "one": (1.5, lambda: _state(cluster(("only",), topics=1))),
    "empty": (1.5, lambda: _state(cluster((), topics=3))),
    "nothing": (1.0, lambda: _timeline(synthetic_state(0, 0, 0, 0, 1))),
    "priorities": (1.5, lambda: _state(cluster(priorities=(0, 1, 1), partitions=4, unacked=9))),
    "old": (1.0, lambda: _state(cluster(release="2.11.0"))),
    "hostile": (3.0, lambda: _state(cluster(HOSTILE_NAMES, topics=6, partitions=3))),
    "two-kinds": (4.0, lambda: _state(key_scenes.two_kinds())),
    "keys": (3.0, lambda: _state(key_scenes.in_mode("consistent-auto-split"))),
    "keys-sticky": (1.5, lambda: _state(key_scenes.in_mode("consistent-sticky"))),
    "keys-moving": (2.0, lambda: _state(key_scenes.before_a_move())),
    "keys-gap": (1.5, lambda: _state(key_scenes.with_a_gap())),
    "keys-none": (1.0, lambda: _state(key_scenes.in_mode("auto-split", 0, ()))),
    "producers": (3.0, _mixed_producers),
    "producers-few": (2.0, lambda: _timeline(synthetic_producers(ProducerPlan(count=2, lazy=True, batching=False), 3))),
    "producers-none": (1.0, lambda: _timeline(synthetic_producers(ProducerPlan(count=0), 4))),
    "namespaces": (2.0, lambda: _recorded("f-inventory-2")),
    "recorded-keys": (1.0, lambda: _recorded("c-keyshared-draining")),
    "consumers-100": (0.6, lambda: _timeline(synthetic_state(100, 4, 100))),
    "consumers-320": (0.3, lambda: _timeline(synthetic_state(40, 1, 320))),
    "topics-3000": (0.1, lambda: _timeline(synthetic_state(3_000, 1, 12, 0, 16))),
    "keys-1000": (0.4, lambda: _timeline(synthetic_keys(1_000, 20))),
    "producers-100": (0.3, lambda: Session(producer_scenes.hundred_app().store.timeline)),
}  # fmt: skip
"""How often each is chosen, and what it begins with."""
FLEETS: Final[dict[str, float]] = {"fleet": 5.0, "fleet-600": 1.0, "part": 2.0}
"""Results of a fleet, and a part of one in the simulator."""
WEIGHTS: Final[dict[str, float]] = {name: weight for name, (weight, _) in SCENES_BY_NAME.items()} | FLEETS


@cache
def _scene(name: str) -> Session:
    return SCENES_BY_NAME[name][1]()


def forget_scenes() -> None:
    """Make each scene anew when it is opened next. What is remembered is found by the identity of its parts."""
    _scene.cache_clear()


@cache
def _results(name: str) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="soak-ui-fleet-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return fleet_scenes.installation(folder) if name == "fleet-600" else fleet_scenes.small_result(folder)


@dataclass(slots=True)
class Launched:
    """An app, and where its journal is; None where it has none."""

    app: App[Any]
    journal: Path | None
    keeping: SessionSaver | None
    fleet: Path | None = None
    scene: Session | None = None

    def close(self) -> str:
        """Close the journal; what could not be saved."""
        return self.keeping.close() if self.keeping is not None else ""


class Launcher:
    """Opens a scene's app, and the next one where one app is followed by another."""

    def __init__(self, name: str, folder: Path) -> None:
        self._name, *endings = name.split("+")
        unknown = set(endings) - set(ENDINGS)
        if self._name not in WEIGHTS or unknown:
            raise ValueError(
                f"no scene is called {name!r}; there are {', '.join(WEIGHTS)}, endings {', '.join(ENDINGS)}"
            )
        self._endings = frozenset(endings)
        self._folder = folder
        self._count = 0

    def first(self) -> Launched:
        if self._name == "part":
            return self._part(_results("part"), Chosen("", fleet_scenes.NAMESPACE, "", None))
        if self._name in FLEETS:
            return self._fleet(_results(self._name), None)
        return self._simulator(RingsideApp, _scene(self._name))

    def after(self, launched: Launched) -> Launched | None:
        """What is shown when this app has ended, as ``ringside fleet open`` does it."""
        app = launched.app
        if isinstance(app, FleetApp) and app.chosen is not None and launched.fleet is not None:
            try:
                return self._part(launched.fleet, app.chosen)
            except InputError as error:
                return self._fleet(launched.fleet, app.place, str(error))
        if isinstance(app, FleetPartApp) and app.went_back and launched.fleet is not None:
            return self._fleet(launched.fleet, None)
        return None

    @property
    def _how(self) -> dict[str, Any]:
        return {
            "theme": "light" if "light" in self._endings else "dark",
            "mono": "mono" in self._endings,
            "ascii_only": "ascii" in self._endings,
            "depth": None if "mono" in self._endings else "truecolor",
        }

    def _fleet(self, folder: Path, place: Place | None, complaint: str = "") -> Launched:
        app = FleetApp(read_results(result_at(folder)), place, complaint=complaint, **self._how)
        return _recording(Launched(app, None, None, folder))

    def _part(self, folder: Path, chosen: Chosen) -> Launched:
        return self._simulator(FleetPartApp, session_of(result_at(folder), chosen), folder)

    def _simulator(self, kind: type[RingsideApp], scene: Session, fleet: Path | None = None) -> Launched:
        self._count += 1
        path = self._folder / f"{self._count}.journal"
        journal = Journal.create(path, scene.timeline)
        assert isinstance(journal, Journal), journal
        keeping = SessionSaver(lambda: path, journal=journal, path=path)
        kept = replace(scene, journal=keeping)
        shown = Opening(self._name, lambda: kept) if "loading" in self._endings else kept
        app = kind(shown, animate="animate" in self._endings, **self._how)
        return _recording(Launched(app, path, keeping, fleet, kept))


def _recording(launched: Launched) -> Launched:
    launched.app.driver_class = RecordingDriver
    return launched
