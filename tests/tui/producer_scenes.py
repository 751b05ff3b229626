"""Topics with producers: as commands, so that every state is one the engine can be in."""

from __future__ import annotations

from typing import Any, Final

from engine.cluster.producers.state import ProducerPlan
from engine.cluster.timeline import Timeline
from engine.scenarios.synthetic import synthetic_producers
from tui.app import RingsideApp
from tui.kit.session import Session
from tui.producers.screen import ProducersScreen

MIXED: Final = (
    "producer send all times 4",
    "producer send #3 key order-1",
    "producer add client python named py",
    "producer add count 2 lazy partial 3 named some",
    "producer send all times 3",
    "partition fail 7",
    "producer send all times 2",
    "topic partitions topic-0 28",
    "wait 60000",
    "producer send #1 times 2",
)
"""Every reason, a partition that is not served, one that was added, several clients and routers."""


def producers_app(count: int = 4, partitions: int = 12, *lines: str, **how: Any) -> RingsideApp:
    """A still app in true colour on lazy producers, after some commands that are steps of its timeline."""
    opened = synthetic_producers(ProducerPlan(count=count, lazy=True, batching=False), partitions)
    timeline = Timeline.start(opened.state, opened.seed, opened.source)
    app = RingsideApp(Session(timeline), **(dict[str, Any](animate=False, depth="truecolor") | how))
    for line in lines:
        refused = app.store.submit_line(line)
        assert refused is None, (line, refused)
    return app


def mixed_app(**how: Any) -> RingsideApp:
    """Thirteen producers of several kinds on 28 partitions."""
    return producers_app(10, 24, *MIXED, **how)


def hundred_app(**how: Any) -> RingsideApp:
    """A hundred lazy producers on a thousand partitions."""
    return producers_app(100, 1000, "producer send all times 10", "producer send #3 key order-1", **how)


def producers_screen(app: RingsideApp) -> ProducersScreen:
    """The screen of producers, also below a dialog."""
    return next(screen for screen in app.screen_stack if isinstance(screen, ProducersScreen))
