"""Scalable topics: as commands, so that every state is one the engine can be in."""

from __future__ import annotations

from typing import Any, Final

from engine.cluster.commands import Command
from engine.cluster.grammar.reading import parse_command
from engine.cluster.state import ClusterState
from engine.cluster.timeline import Timeline
from tui.app import RingsideApp
from tui.kit.session import Session
from tui.scalable.screen import ScalableScreen

TOPIC: Final = "topic://shop/orders/orders"
BEGUN: Final = (
    f"topic add {TOPIC} segments 2",
    "consumer join worker-1 to billing",
    "consumer join worker-2 to billing",
    "consumer join worker-3 to billing",
)


def timeline_after(*lines: str) -> Timeline:
    """The steps of these lines, from an empty cluster on."""
    timeline = Timeline.start(ClusterState(), 0, "a test")
    for line in lines:
        command = parse_command(line, timeline.state)
        assert isinstance(command, Command), (line, command)
        timeline, refused = timeline.submit(command)
        assert refused is None, (line, refused)
    return timeline


def scalable_app(*lines: str, **how: Any) -> RingsideApp:
    """A still app in true colour on two segments and three consumers, after some commands that are its steps."""
    app = RingsideApp(
        Session(Timeline.start(timeline_after(*BEGUN).state, 0, "a test")),
        **(dict[str, Any](animate=False, depth="truecolor") | how),
    )
    for line in lines:
        refused = app.store.submit_line(line)
        assert refused is None, (line, refused)
    return app


def scalable_screen(app: RingsideApp) -> ScalableScreen:
    """The screen of a scalable topic, also below a dialog."""
    return next(screen for screen in app.screen_stack if isinstance(screen, ScalableScreen))
