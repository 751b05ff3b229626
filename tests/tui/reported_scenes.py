"""Apps on answers of brokers, as somebody opens them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, Final

from engine.admin.files import AnswerFile
from engine.admin.moments import Moment, read_moments
from engine.cluster.timeline import Timeline
from engine.scenarios.opening import Opened, open_moments
from tests.engine.diagnosis.samples import sample
from tui.app import RingsideApp
from tui.scene import Scene
from tui.sources.answers import opened

RECORDINGS: Final = Path(__file__).parents[1] / "recordings"
LOAD_REPORT: Final = RECORDINGS / "pip392-flag-on" / "03-load-report.json.gz"


def app_on(path: Path, *, topic: str | None = None, mono: bool = False) -> RingsideApp:
    """A still app on answers."""
    return app_of_opened(opened(str(path), topic=topic), mono=mono)


def app_of_opened(found: Opened, **how: Any) -> RingsideApp:
    """A still app on what was opened, with everything that is prepared before the first picture."""
    timeline = Timeline.start(found.state, 0, "a dump")
    app = RingsideApp(Scene(timeline, seen=found.seen), **({"animate": False, "depth": "truecolor"} | how))
    app.store.prepare()
    return app


def sample_app(name: str, **how: Any) -> RingsideApp:
    """A still app on a recorded fault, with its moments."""
    files = [
        AnswerFile(f"{time}/{path}.json", json.dumps(answer).encode())
        for time, answers in sample(name)["moments"].items()
        for path, answer in answers.items()
    ]
    return app_of_opened(open_moments(read_moments(*files)), **how)


def draining_app(**how: Any) -> RingsideApp:
    """A still app on the six statistics of a recording of draining, as moments a second apart."""
    return app_of_opened(open_moments(draining_moments()), **how)


def draining_moments() -> tuple[Moment, ...]:
    """The statistics of that recording."""
    path = "admin/v2/persistent/shop/orders/placed/stats.json"
    found = sorted((RECORDINGS / "c-keyshared-draining").glob("0*-stats.json.gz"))
    return read_moments(
        *(
            AnswerFile(f"2026-11-21T11-02-{at + 30}Z/{path}", gzip.decompress(file.read_bytes()))
            for at, file in enumerate(found)
        )
    )
