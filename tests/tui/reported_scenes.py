"""Apps and sessions on dumps, as somebody opens them."""

from __future__ import annotations

from pathlib import Path

from engine.cluster.timeline import Timeline
from tui.app import RingsideApp
from tui.scene import Scene
from tui.sources.answers import opened


def app_on(path: Path, *, topic: str | None = None, mono: bool = False) -> RingsideApp:
    """A still app on answers."""
    found = opened(str(path), topic=topic)
    timeline = Timeline.start(found.state, 0, "a dump")
    return RingsideApp(Scene(timeline, seen=found.seen), animate=False, depth="truecolor", mono=mono)
